package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/service"
)

// forkFlags are the flags of the subcommand fork.
type forkFlags struct {
	at       string
	inputs   []string
	outputs  []string
	params   []string
	flowFile string
	provider string
	yes      bool
	dryRun   bool
	show     showFlags
}

func newFork(a *app) *cobra.Command {
	var f forkFlags
	cmd := &cobra.Command{
		Use:   "fork RUN",
		Short: "Run a flow again from a step of a run",
		Long: `Make a new run that begins where another one stood, and carry it out. The steps that
ended there, and depend neither on the step --at nor on a change, keep their outputs:
they do not run again, and cost nothing again. The other run stays as it is. RUN is a
run's id, the beginning or the end of one, or last; it may have finished, failed, been
cancelled, or wait.

Without --at the new run begins with the first step that a change touches: a new input
(-i), an output in place of a step's own (--set-output), another value in the parameters
that a step had (--set), an edited flow (--flow). A run that has not finished can be
forked without any change. An agent can be forked at a round: --at clerk/round-3.

What is kept and what runs is printed before. On a terminal you are asked if a step
would run a second time that may act outside, for example send a message.

Exit codes: as of run.`,
		Example: strings.Trim(`
  scheduler fork last --at answer
  scheduler fork 0199f0c2 -i city=Hangzhou
  scheduler fork last --set-output 'recall={"relevant_memories": []}'
  scheduler fork last --set answer:/temperature=0
  scheduler fork last --flow edited.yaml --dry-run`, "\n"),
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: completeRuns(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			run, err := f.show.splitArgs(args)
			if err != nil {
				return err
			}
			return a.forkRun(cmd.Context(), run, &f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.at, "at", "", "the first `step` that runs again, or a piece of its work such as clerk/round-3")
	flags.StringArrayVarP(&f.inputs, "input", "i", nil, "an input that changes, `key=value` or key=@file")
	flags.StringArrayVar(&f.outputs, "set-output", nil, "an output in place of a step's own, `STEP=JSON` or STEP=@file")
	flags.StringArrayVar(&f.params, "set", nil, "a value in the parameters that a step had, `STEP:/pointer=value`: JSON, or else a text")
	flags.StringVar(&f.flowFile, "flow", "", "an edited flow `file`: the steps that it changes run again")
	flags.StringVar(&f.provider, "llm", "", "the `name` of the model provider (default: the run's)")
	flags.BoolVarP(&f.yes, "yes", "y", false, "do not ask before a step acts a second time")
	flags.BoolVar(&f.dryRun, "dry-run", false, "only print which steps are kept and which run")
	f.show.addFlags(flags)
	return cmd
}

func (a *app) forkRun(ctx context.Context, name string, f *forkFlags) error {
	id, err := a.service.FindRun(ctx, service.Principal{}, name)
	if err != nil {
		return a.beforeRun(err)
	}
	request := &service.ForkRequest{LLM: f.provider, StartedBy: startedByCLI}
	request.Run, request.At = id, f.at
	forked, err := a.service.RunFlow(ctx, service.Principal{}, id)
	if err != nil {
		return a.beforeRun(err)
	}
	if f.flowFile != "" {
		forked, err = a.reportLoaded(a.service.LoadEdited(ctx, service.Principal{}, id, f.flowFile))
		if err != nil {
			return err
		}
		request.Flow = forked
	}
	if err := f.show.checkStep(forked); err != nil {
		return err
	}
	if err := a.readForkChanges(request, forked, f); err != nil {
		return usageError(err)
	}
	plan, notes, err := a.service.PlanFork(ctx, service.Principal{}, request)
	a.printNotes(notes)
	if err != nil {
		return a.beforeRun(err)
	}
	a.printForkPlan(id, plan)
	if f.dryRun {
		return nil
	}
	if len(plan.Repeated) > 0 && a.CanAsk() && !f.yes && !f.show.json {
		fmt.Fprint(a.Stderr, a.Language.Say("Go on? [y/N] "))
		if err := a.awaitYes(ctx, wording.Errorf("the run was not forked")); err != nil {
			return err
		}
	}
	return a.runFork(ctx, request, f)
}

// runFork makes the new run and carries it out.
func (a *app) runFork(ctx context.Context, request *service.ForkRequest, f *forkFlags) error {
	run, _, err := a.service.Fork(ctx, service.Principal{}, request)
	if err != nil {
		return a.beforeRun(err)
	}
	forked, notes, err := a.service.ReopenSession(ctx, service.Principal{}, service.ResumeRequest{Run: run, Strict: f.show.strict})
	a.printNotes(notes)
	if err != nil {
		return a.beforeRun(err)
	}
	defer a.closeSession(ctx, forked)
	s := a.newSession(forked, f.show)
	return s.finishSession(ctx, s.printEvents(forked.Continue(ctx, scheduler.Resumption{})))
}

// readForkChanges reads the inputs, outputs and parameters that change.
func (a *app) readForkChanges(r *service.ForkRequest, forked *flow.Flow, f *forkFlags) error {
	var wrong []error
	inputs := value.NewMap(len(f.inputs))
	for _, pair := range f.inputs {
		wrong = append(wrong, a.setInput(forked, inputs, pair))
	}
	if inputs.Len() > 0 {
		r.Inputs = value.OfMap(inputs)
	}
	for _, pair := range f.outputs {
		step, output, err := a.readOutput(pair)
		wrong = append(wrong, err)
		if r.Outputs == nil {
			r.Outputs = map[string]value.Value{}
		}
		r.Outputs[step] = output
	}
	for _, text := range f.params {
		edit, err := parseParamEdit(text)
		wrong = append(wrong, err)
		r.Params = append(r.Params, edit)
	}
	return errors.Join(wrong...)
}

// readOutput reads one --set-output.
func (a *app) readOutput(pair string) (step string, output value.Value, err error) {
	step, text, ok := strings.Cut(pair, "=")
	if !ok || step == "" {
		return "", output, wording.Errorf("--set-output %s: want STEP=JSON or STEP=@file", pair)
	}
	if file, isFile := strings.CutPrefix(text, "@"); isFile {
		text, err = a.ReadText(file)
		if err != nil {
			return "", output, wording.Errorf("--set-output %s: %w", pair, err)
		}
	}
	output, err = value.ParseJSON([]byte(text))
	if err != nil {
		return "", output, wording.Errorf("--set-output %s: not JSON: %w", step, err)
	}
	return step, output, nil
}

// parseParamEdit reads one --set. A value that is not JSON is a text, for example Hangzhou.
func parseParamEdit(text string) (scheduler.ParamEdit, error) {
	place, given, ok := strings.Cut(text, "=")
	step, pointer, hasStep := strings.Cut(place, ":")
	if !ok || !hasStep || !strings.HasPrefix(pointer, "/") {
		return scheduler.ParamEdit{}, calls.Errorf(calls.Invalid, "--set %s: want STEP:/pointer=value", text)
	}
	v, err := value.ParseJSON([]byte(given))
	if err != nil {
		v = value.OfString(given)
	}
	return scheduler.ParamEdit{Step: step, Pointer: pointer, Value: v}, nil
}

// printForkPlan prints which steps are kept, which run, and which may act a second time.
func (a *app) printForkPlan(run string, plan *scheduler.ForkPlan) {
	list := func(ids []string) string {
		if len(ids) == 0 {
			return "-"
		}
		return strings.Join(ids, ", ")
	}
	a.Tellf("fork of %s", run)
	a.Tellf("  keeps %d: %s", len(plan.Kept), list(plan.Kept))
	a.Tellf("  runs %d: %s", len(plan.Again), list(plan.Again))
	if len(plan.Repeated) > 0 {
		a.Tellf("  warning: ran before, and may act outside of the run a second time: %s", list(plan.Repeated))
	}
}
