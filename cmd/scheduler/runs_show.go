package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/cmd/scheduler/terminal"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/fleet"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

func newRunsShow(a *app) *cobra.Command {
	var asJSON bool
	var step string
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "Show a run: its steps, what it waits for, its error",
		Example: strings.Trim(`
  scheduler runs show last
  scheduler runs show 0199f0c2 --json | jq .waiting
  scheduler runs show last --prompt answer         # its prompts, every piece with its source
  scheduler runs show last --prompt answer --json  # the same as data
  scheduler runs show last --prompt 'each[2]'      # of an item
  scheduler runs show last --prompt outer/inner    # of a step in a flow that a step ran`, "\n"),
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeRuns(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := a.service.FindRun(cmd.Context(), service.Principal{}, args[0])
			if err != nil {
				return a.beforeRun(err)
			}
			return a.showRun(cmd.Context(), id, step, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&step, "prompt", "", "show the prompts that a `step` sent or built, every piece with its source and tokens")
	return cmd
}

func (a *app) showRun(ctx context.Context, id, step string, asJSON bool) error {
	run, notes, err := a.service.ShowRun(ctx, service.Principal{}, id)
	if err != nil {
		return a.beforeRun(err)
	}
	if step != "" {
		prompts, err := a.service.Prompts(ctx, run, step)
		if err != nil {
			return promptsError(err)
		}
		prompts = prompts.WithFileNames(shortPath) // a run names files as given, and the journal has them from the root
		if asJSON {
			return a.PrintJSON(value.Must(prompts))
		}
		return a.PrintPrompts(prompts)
	}
	a.printNotes(notes)
	if asJSON {
		doc, err := a.runJSON(ctx, run.Info)
		if err != nil {
			return err
		}
		whole := doc.Map().Clone()
		for k, v := range value.Must(run.State).Map().All() {
			whole.Set(k, v)
		}
		if run.State.Usage.Cost > 0 {
			whole.Set("currency", value.OfString(a.settings.LLM.Currency.Code()))
		}
		return a.PrintJSON(value.OfMap(whole))
	}
	totals, err := a.service.Totals(ctx, run.Info)
	if err != nil {
		return a.beforeRun(err)
	}
	goOn, err := a.commandToGoOn(ctx, run)
	if err != nil {
		return a.beforeRun(err)
	}
	waits, err := a.whyWaiting(ctx, run.Info)
	if err != nil {
		return err
	}
	return a.printRun(run.Info, run.State, totals, goOn, waits)
}

// commandToGoOn returns the command that continues a run; "" if there is nothing to resume. A run that another one
// waits for is continued by resuming that one, which takes the answers.
func (a *app) commandToGoOn(ctx context.Context, run *service.RunDetails) (string, error) {
	info, waiting := run.Info, run.State.Waiting
	root, err := a.service.RootRun(ctx, service.Principal{}, info)
	switch {
	case err != nil:
		return "", err
	case root == nil || root.State == journal.RunFinished || root.Holder != nil:
		return "", nil
	case root != info:
		waiting, err = a.service.WaitsFor(ctx, service.Principal{}, root)
	}
	command := a.resumeCommand(root.ID, waiting, nil)
	if address := run.RemoteAddress(); root.Labels[journal.LabelRunsOn] != "" && a.remoteName() == "" && address != "" {
		command += " --on " + terminal.ShellQuote(address) // it is in no settings
	}
	return command, err
}

// shownStretches is how many of the servers and workers that carried a run out are printed: the last ones.
const shownStretches = 5

// printRun prints a run for people. goOn is the command that continues it, waits the reason why no server or
// worker carries it out; "" and nil for none.
func (a *app) printRun(info *journal.RunInfo, state *journal.RunState, totals *service.Totals, goOn string, waits *fleet.Reason) error {
	waiting := state.Waiting
	var b strings.Builder
	b.WriteString(a.Language.Say("run      %s\nflow     %s\nstate    %s\nstarted  %s\nupdated  %s\ntime     %s\ntokens   %d in, %d out\n",
		info.ID, info.Flow, stateWord(info, a.Language), info.StartedAt.Local().Format(time.DateTime), info.UpdatedAt.Local().Format(time.DateTime),
		terminal.Milliseconds(float64(totals.Duration.Microseconds())/1000), state.Usage.InputTokens, state.Usage.OutputTokens))
	if state.Usage.Cost > 0 {
		b.WriteString(a.Language.Say("cost     %s\n", a.costText(state.Usage)))
	}
	if info.Holder != nil {
		b.WriteString(a.Language.Say("held by  %v\n", info.Holder))
	}
	if waits != nil {
		b.WriteString(a.Language.Say("waits    %s\n", terminal.Visible(waits.Text.In(string(a.Language)))))
	}
	for _, s := range state.Stretches[max(0, len(state.Stretches)-shownStretches):] {
		b.WriteString(a.Language.Say("worker   process %d on %s (%s), from event %d, %s\n", s.PID, terminal.Visible(s.Host), terminal.Visible(s.Version), s.Seq, s.Since.Local().Format(time.DateTime)))
	}
	if labels := labelsText(info.Labels); labels != "" {
		b.WriteString(a.Language.Say("labels   %s\n", terminal.Visible(labels)))
	}
	b.WriteString("\n")
	outcomes, err := newOutcomes()
	if err != nil {
		return err
	}
	w := terminal.NewTable(&b)
	fmt.Fprintln(w, a.Language.Say("STEP\tCALL\tSTATE\tATTEMPTS\tTIME\tTOKENS\tNOTE"))
	for _, s := range state.Steps {
		a.printStep(w, s, waiting, outcomes)
		for _, item := range s.Items {
			a.printStep(w, item, waiting, outcomes)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for i, w := range state.Warnings {
		if i == 0 {
			b.WriteString("\n" + a.Language.Say("warnings") + "\n")
		}
		fmt.Fprintf(&b, "  %s\n", terminal.Visible(fmt.Sprintf("%s: %s (%s)", w.Step, w.Text, a.PlaceHere(w.Source))))
	}
	if state.Error != nil {
		info := *state.Error
		info.Position = a.PlaceHere(info.Position)
		fmt.Fprintf(&b, "\n%s\n", a.Language.Say("error: %s", terminal.Visible((&scheduler.Failure{Info: info}).In(string(a.Language)))))
	}
	for _, one := range waiting {
		fmt.Fprintf(&b, "\n%s", terminal.WaitingText(one, a.Language))
	}
	if state.Reply != "" {
		fmt.Fprintf(&b, "\n%s\n%s\n", a.Language.Say("reply"), terminal.Visible(state.Reply))
	}
	if !state.Outputs.IsNull() {
		fmt.Fprintf(&b, "\n%s\n%s\n", a.Language.Say("outputs"), terminal.JSONText(state.Outputs))
	}
	if goOn != "" {
		fmt.Fprintf(&b, "\n%s\n  %s\n", a.Language.Say("Go on with:"), goOn)
	}
	_, err = fmt.Fprint(a.Stdout, b.String())
	return err
}

// outcomes knows the built-in calls whose output has a word for the outcome of a step, such as choice.
type outcomes struct{ registry *calls.Registry }

func newOutcomes() (outcomes, error) {
	registry, err := builtin.Registry()
	return outcomes{registry}, err
}

// of returns the word of a step, "" for none.
func (o outcomes) of(s *journal.StepState) string {
	def, isKnown := o.registry.Call(s.Call)
	if !isKnown {
		return ""
	}
	return def.Info.OutcomeOf(s.Output)
}

// labelsText returns the labels of a run, in the order of their names.
func labelsText(labels map[string]string) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		pairs = append(pairs, name+"="+labels[name])
	}
	return strings.Join(pairs, " ")
}

// printStep prints the row of a step; remarks follow at its end.
func (a *app) printStep(w io.Writer, s *journal.StepState, waiting []journal.WaitingFor, outcomes outcomes) {
	note := wording.Of(s.Reason).In(string(a.Language))
	if branch := outcomes.of(s); branch != "" {
		note = a.Language.Say("branch %s", branch)
	}
	if s.Child != "" {
		note = a.Language.Say("run %s", s.Child)
	}
	switch {
	case s.FromRun != "":
		note = a.Language.Say("kept from run %s", s.FromRun)
	case s.IsGiven:
		note = a.Language.Say("given output")
	}
	if failed := s.FailedItems(); failed > 0 {
		note = "✗ " + terminal.FailedItems(a.Language, failed, len(s.Items))
	}
	if s.Error != nil {
		note = "✗ " + a.Language.Say("%s: %s", s.Error.Kind.Name(), terminal.FirstLine(s.Error.Message))
	}
	for _, one := range waiting {
		if one.Step == s.ID {
			note = a.Language.Say("waits for %s", strings.Join(one.Pointers(), ", "))
		}
	}
	took := "-" // not over yet
	if s.DurationMS > 0 {
		took = terminal.Milliseconds(s.DurationMS)
	}
	fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%d\t%s\n",
		s.ID, s.Call, a.Language.Say(string(s.State)), s.Attempts, took, s.Usage.Total(), terminal.Visible(note))
}
