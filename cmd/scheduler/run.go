package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/cmd/scheduler/terminal"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/jsonc"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

// startedByCLI is the label origin of runs that the command line begins.
const startedByCLI = "cli"

// runFlags are the flags of the subcommand run.
type runFlags struct {
	inputs    []string
	inputFile string
	question  string
	// conversation is the file of the messages before the question.
	conversation string
	provider     string
	user         string
	labels       []string
	now          string
	seed         uint64
	ephemeral    bool
	record       bool
	replay       bool
	on           string
	detach       bool
	show         showFlags
}

func newRun(a *app) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run FLOW",
		Short: "Run a flow",
		Long: `Run a flow. The text of its to_user steps streams to stdout, progress goes to
stderr. Where no step is to_user, stdout gets the outputs as one JSON document.

Runs are recorded in the state directory, so that one that waits, fails or dies can
be resumed; --ephemeral leaves no record. On a terminal, what a run waits for is
asked right here.

With --on temporal://HOST:PORT the run is recorded here and carried out by the workers
of that server (scheduler worker), while its events are shown as always. Ctrl-C leaves
the run alone, which goes on; --detach does not follow it at all and prints its id.

Exit codes: 0 done, 1 the run failed, or the store or the server that carries it out
cannot be reached, 2 the flow, the settings or the inputs are wrong (nothing ran), 3 the
run waits for input (the message says for what, and how to go on), 130 interrupted.`,
		Example: strings.Trim(`
  scheduler run flow.yaml --question "What is the weather in Hangzhou?"
  scheduler run flow.yaml -i city=Hangzhou -i days=3 -i notes=@notes.txt
  scheduler run flow.yaml --input inputs.json --outputs
  scheduler run flow.yaml --question "And tomorrow?" --conversation before.yaml
  scheduler run flow.yaml --explain=answer
  scheduler run flow.yaml --on temporal://127.0.0.1:7233
  scheduler run flow.yaml --json | jq -c 'select(.type == "step.finished")'`, "\n"),
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 && f.show.explain != lastPrompt && strings.ContainsAny(args[1], " ?？") {
				return usageError(calls.Errorf(calls.Invalid, "want one argument, got %q and %q", args[0], args[1]).
					WithHint("a question goes after its flag: --question %s", terminal.ShellQuote(args[1])))
			}
			path, err := f.show.splitArgs(args)
			if err != nil {
				return err
			}
			a.noteSimplified()
			return a.runFlow(cmd.Context(), path, &f)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.inputs, "set-input", "i", nil, "an input, `key=value` or key=@file; typed by the flow's input schema")
	flags.StringVar(&f.inputFile, "input", "", "read the inputs from a JSON `file`, - for stdin; -i goes over it")
	flags.StringVar(&f.question, "question", "", "the input question, - for stdin")
	flags.StringVar(&f.conversation, "conversation", "", "read the messages before the question from a JSON or YAML `file`, - for stdin: a list of {role, content}")
	flags.StringVar(&f.provider, "llm", "", "the model provider's `name`, or main,backup to ask the next one when one fails (default: llm of step and flow, then the setting llm.default)")
	flags.StringVar(&f.user, "user", "", "whose run it is: run.user in the flow, the label owner in the journal")
	flags.StringArrayVar(&f.labels, "label", nil, "a `name=value` that runs list finds the run by")
	flags.BoolVar(&f.ephemeral, "ephemeral", false, "leave no record of the run behind; its memory is empty at the beginning, and gone at the end")
	flags.StringVar(&f.now, "now", "", "the `time` of the run's clock, RFC 3339 or 2006-01-02T15:04:05 (default: now)")
	flags.Uint64Var(&f.seed, "seed", 0, "seed of the run's random numbers")
	flags.BoolVar(&f.record, "record", false, "keep the run in FLOW.cassette.yaml, as llm.mode record does: all that models, servers, tools and the memory answer")
	flags.BoolVar(&f.replay, "replay", false, "play the run of these inputs from FLOW.cassette.yaml, as llm.mode replay does: at its time, without network, plugins and memory")
	addOnFlag(flags, &f.on)
	flags.BoolVar(&f.detach, "detach", false, "with --on: print the id of the run, and do not follow it")
	cmd.MarkFlagsMutuallyExclusive("record", "replay")
	cmd.MarkFlagsMutuallyExclusive("on", "ephemeral")
	f.show.addFlags(flags)
	return cmd
}

// cassetteMode returns whether cassettes are recorded or played; "" is the setting.
func (f *runFlags) cassetteMode() string {
	if f.record {
		return "record"
	}
	if f.replay {
		return "replay"
	}
	return ""
}

func (a *app) runFlow(ctx context.Context, path string, f *runFlags) error {
	load := a.service.Load
	if f.replay {
		load = a.service.LoadToReplay
	}
	flow, err := a.reportLoaded(load(ctx, path))
	if err != nil {
		return err
	}
	inputs, err := a.readInputs(ctx, flow, f)
	if err != nil {
		return err
	}
	conversation, err := a.readConversation(flow, f)
	if err != nil {
		return err
	}
	now, err := parseTime(f.now)
	if err != nil {
		return err
	}
	if err := f.show.checkStep(flow); err != nil {
		return err
	}
	labels, err := parseLabels(f.labels)
	if err != nil {
		return err
	}
	on, err := a.chooseOn(f, flow)
	if err != nil {
		return err
	}
	started, notes, err := a.service.NewSession(ctx, service.Principal{User: f.user}, service.StartRequest{
		Flow: flow, Inputs: inputs, Conversation: conversation, Provider: f.provider, Mode: f.cassetteMode(), Now: now, Seed: f.seed, On: on,
		Strict: f.show.strict, Ephemeral: f.ephemeral, Interactive: !f.show.json && a.CanAsk(), StartedBy: startedByCLI, Labels: labels,
	})
	a.printNotes(notes)
	if err != nil {
		return a.beforeRun(err)
	}
	defer a.closeSession(ctx, started)
	if f.detach {
		return a.detachRun(ctx, started)
	}
	s := a.newSession(started, f.show)
	return s.finishSession(ctx, s.printEvents(started.Events()))
}

// loadFlow reads a flow; its problems are printed, and errors among them end the command.
func (a *app) loadFlow(ctx context.Context, path string) (*flow.Flow, error) {
	return a.reportLoaded(a.service.Load(ctx, path))
}

// reportLoaded prints the problems and notes found while a flow was read.
func (a *app) reportLoaded(f *flow.Flow, problems flow.Problems, notes []service.Note, err error) (*flow.Flow, error) {
	a.printNotes(notes)
	if err != nil {
		return nil, a.beforeRun(err)
	}
	for _, p := range problems {
		fmt.Fprintln(a.Stderr, p)
	}
	if f == nil {
		return nil, exitError{code: exitUsage}
	}
	return f, nil
}

// readInputs puts the inputs together from --input, -i and --question, applies
// defaults and checks them.
func (a *app) readInputs(ctx context.Context, flow *flow.Flow, f *runFlags) (value.Value, error) {
	inputs := value.NewMap(4)
	if f.inputFile != "" {
		text, err := a.ReadFile(f.inputFile)
		if err != nil {
			return value.Value{}, usageError(wording.Errorf("reading --input: %w", err))
		}
		doc, err := jsonc.Parse(text)
		if err != nil {
			return value.Value{}, usageError(wording.Errorf("--input: %s:%w", f.inputFile, err))
		}
		if doc.Value.Kind() != value.Object {
			return value.Value{}, usageError(wording.Errorf("--input: %s: want a JSON object, got %s", f.inputFile, doc.Value.Kind()))
		}
		inputs = doc.Value.Map().Clone()
	}
	var wrong []error
	for _, pair := range f.inputs {
		wrong = append(wrong, a.setInput(flow, inputs, pair))
	}
	if err := errors.Join(wrong...); err != nil {
		return value.Value{}, usageError(err)
	}
	if f.question != "" {
		question, err := a.readQuestion(f.question)
		if err != nil {
			return value.Value{}, usageError(err)
		}
		inputs.Set("question", value.OfString(question))
	}
	if missing := service.MissingInputs(flow, inputs); missing != nil && a.CanAsk() && !f.show.json {
		if err := a.askInputs(ctx, *missing, inputs); err != nil {
			return value.Value{}, err
		}
	}
	checked, notes, err := service.CheckInputs(flow, inputs)
	a.printNotes(notes)
	if err != nil {
		return value.Value{}, usageError(err)
	}
	return checked, nil
}

// readQuestion returns the question of --question, - being stdin.
func (a *app) readQuestion(given string) (string, error) {
	if given == "-" {
		text, err := a.ReadText(given)
		if err != nil {
			return "", wording.Errorf("--question: %w", err)
		}
		return strings.TrimRight(text, "\r\n"), nil
	}
	if _, err := value.DecodeText([]byte(given)); err != nil {
		return "", wording.Errorf("--question: %w", err)
	}
	return given, nil
}

// readConversation reads the messages of --conversation.
func (a *app) readConversation(flow *flow.Flow, f *runFlags) (value.Value, error) {
	if f.conversation == "" {
		return value.Value{}, nil
	}
	text, err := a.ReadFile(f.conversation)
	if err != nil {
		return value.Value{}, usageError(wording.Errorf("reading --conversation: %w", err))
	}
	messages, err := yaml.ParseValue(text)
	if err != nil {
		return value.Value{}, usageError(wording.Errorf("--conversation: %s:%w", f.conversation, err))
	}
	if err := calls.CheckConversation(messages); err != nil {
		return value.Value{}, usageError(wording.Errorf("--conversation: %s: %w", f.conversation, err))
	}
	a.printNotes(service.ConversationIgnored(flow, messages))
	return messages, nil
}

// askInputs asks a person for inputs that are missing, and adds them.
func (a *app) askInputs(ctx context.Context, missing journal.WaitingFor, inputs *value.Map) error {
	waiting := []journal.WaitingFor{missing}
	q := &terminal.Asker{Lines: a.Lines(), Out: a.Stderr, Language: a.Language, Waiting: waiting, Words: a.service.Words(string(a.Language))}
	q.Record = func(_ context.Context, answer scheduler.Answer) (scheduler.Answer, error) {
		if answer.Message != "" {
			read, err := scheduler.ReadAnswer(answer, waiting)
			if err != nil {
				return answer, err
			}
			answer = read
		}
		return answer, scheduler.CheckAnswers(append(slices.Clip(q.Answers), answer), waiting)
	}
	err := q.Ask(ctx)
	if ctx.Err() != nil {
		return exitError{exitInterrupted, wording.Errorf("interrupted")}
	}
	if errors.Is(err, terminal.ErrCancelled) {
		return exitError{exitInterrupted, err}
	}
	if err != nil && !errors.Is(err, terminal.ErrNoAnswer) {
		return err
	}
	for _, answer := range q.Answers {
		service.SetInput(inputs, answer.Pointer, answer.Value)
	}
	return nil
}

// setInput reads one -i key=value.
func (a *app) setInput(flow *flow.Flow, inputs *value.Map, pair string) error {
	key, text, ok := strings.Cut(pair, "=")
	if !ok || key == "" {
		return wording.Errorf("-i %s: want key=value or key=@file", pair)
	}
	if err := service.CheckInputName(flow, key); err != nil {
		return wording.Errorf("-i %s: %w", pair, err)
	}
	if file, isFile := strings.CutPrefix(text, "@"); isFile {
		content, err := a.ReadText(file)
		if err != nil {
			return wording.Errorf("-i %s: %w", pair, err)
		}
		text = content
	} else if _, err := value.DecodeText([]byte(text)); err != nil {
		return wording.Errorf("-i %s: %w", key, err)
	}
	v, err := service.ParseInput(flow, key, text)
	if err != nil {
		return wording.Errorf("-i %s: %w", key, err)
	}
	inputs.Set(key, v)
	return nil
}

// chooseOn returns the remote runner for a new run, after warnings about things that other machines may lack.
func (a *app) chooseOn(f *runFlags, flow *flow.Flow) (string, error) {
	if err := a.setOn(f.on); err != nil {
		return "", err
	}
	on := a.remoteName()
	if on == "" && f.detach {
		return "", usageError(wording.Errorf("--detach: this process carries the run out (name a server with --on)"))
	}
	if f.ephemeral || on == "" {
		return "", nil
	}
	if f.show.explain != "" && f.detach {
		return "", usageError(wording.Errorf("--detach: a run that is not followed cannot be explained (use runs show --prompt)"))
	}
	a.warnOfMachines()
	a.printNotes(a.service.FilesElsewhere(flow))
	return on, nil
}

// detachRun begins a run that is not followed, and prints its id.
func (a *app) detachRun(ctx context.Context, run *service.Session) error {
	err := run.Detached(ctx)
	var notStarted *service.NotStartedError
	if errors.As(err, &notStarted) {
		s := a.newSession(run, showFlags{})
		return s.exitErrorOf(ctx, err)
	}
	if err != nil {
		return a.beforeRun(err)
	}
	_, err = fmt.Fprintln(a.Stdout, run.ID)
	return err
}
