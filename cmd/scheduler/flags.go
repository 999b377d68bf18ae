package main

import (
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/remote"
)

// lastPrompt is the value of --explain without a step.
const lastPrompt = "*"

// showFlags select the parts of a run that are shown.
type showFlags struct {
	json    bool
	outputs bool
	explain string
	strict  bool
}

// addFlags adds the flags to a command.
func (f *showFlags) addFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&f.json, "json", false, "print every event as a JSON line on stdout, and nothing else")
	flags.BoolVar(&f.outputs, "outputs", false, "print only the outputs on stdout, as one JSON document")
	flags.StringVar(&f.explain, "explain", "", "show the final prompt of a `step` (of the last chat where none is named), every piece with its source and tokens")
	flags.Lookup("explain").NoOptDefVal = lastPrompt
	flags.BoolVar(&f.strict, "strict", false, "fail the run at its end where a step gave a warning, or failed with on_error: continue")
}

// splitArgs parts the first argument from the step of "--explain STEP", which pflag passes on as a
// second argument, before or after the first.
func (f *showFlags) splitArgs(args []string) (first string, err error) {
	first = args[0]
	if len(args) == 2 {
		if f.explain != lastPrompt {
			return "", usageError(wording.Errorf("want one argument, got %q and %q", args[0], args[1]))
		}
		f.explain = args[1]
		if !isFile(args[0]) && isFile(args[1]) {
			first, f.explain = args[1], args[0]
		}
	}
	if f.json && f.outputs {
		return "", usageError(wording.Errorf("--json prints events: leave out --outputs"))
	}
	if f.outputs && f.explain != "" {
		return "", usageError(wording.Errorf("--outputs prints the outputs and nothing else: leave out --explain"))
	}
	return first, nil
}

// checkStep holds the step of --explain to the flow.
func (f *showFlags) checkStep(flow *flow.Flow) error {
	if f.explain == "" || f.explain == lastPrompt {
		return nil
	}
	if known, ok := explain.MayRun(flow, f.explain); !ok {
		return usageError(wording.Errorf("--explain: the flow has no step %q%s", f.explain, value.DidYouMeanOrListSuffix(f.explain, known)))
	}
	step, ok := flow.FindStep(f.explain)
	if ok && step.ForEach != nil && !strings.HasSuffix(f.explain, "]") {
		return usageError(wording.Errorf("--explain: the step %q runs for several items: name one, as in %s[0]", f.explain, f.explain))
	}
	return nil
}

// addOnFlag adds the flag --on.
func addOnFlag(flags *pflag.FlagSet, on *string) {
	flags.StringVar(on, "on", "", "`where` runs are carried out: temporal://HOST:PORT, or local (default the setting on)")
}

// setOn puts the flag --on over the setting.
func (a *app) setOn(on string) error {
	if on == "" {
		return nil
	}
	if err := a.settings.SetOn(on); err != nil {
		return usageError(err)
	}
	a.onFlag = on
	return nil
}

// withOn returns the words of a command, with the flag --on if this command was given it.
func (a *app) withOn(words ...string) []string {
	if a.onFlag == "" {
		return words
	}
	return append(words, "--on", a.onFlag)
}

// remoteName returns the remote runner that the settings select for new runs, as the label runs_on has it; "" is
// this process.
func (a *app) remoteName() string {
	if !a.settings.IsRemote() {
		return ""
	}
	return remote.Temporal
}

// warnOfMachines warns of settings that do not work with several machines.
func (a *app) warnOfMachines() {
	for _, warning := range a.runtime.MachineWarnings() {
		a.Tellf("warning: %s", warning)
	}
}

// parseLabels reads the labels of --label, name=value.
func parseLabels(pairs []string) (map[string]string, error) {
	labels := map[string]string{}
	for _, pair := range pairs {
		name, text, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, usageError(wording.Errorf("--label %s: want name=value", pair))
		}
		labels[name] = text
	}
	return labels, nil
}

// parseTime reads --now: with a zone, or in the local one; "" is the zero time.
func parseTime(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err == nil && t.IsZero() {
		return t, usageError(wording.Errorf("the time %q stands for none: write a later one, for example 2026-03-05T09:07:00Z", text))
	}
	if err == nil {
		if t.Location() == time.Local && t.Location() != time.UTC { // the machine's own offset is printed too
			_, offset := t.Zone()
			t = t.In(time.FixedZone("", offset))
		}
		return t, nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, usageError(wording.Errorf("the time %q is not understood: write 2026-03-05T09:07:00Z or 2026-03-05T09:07:00", text))
}

// flowFolders returns the given folders, else the folders in the settings.
func (a *app) flowFolders(given []string) []string {
	if len(given) > 0 {
		return given
	}
	return a.settings.FlowFolders()
}
