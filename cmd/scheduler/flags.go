package main

import (
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/flow"
)

// lastPrompt is the value of --explain without a step.
const lastPrompt = "*"

// showFlags say what a run shows.
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

// splitArgs sorts out the arguments: pflag gives the step of "--explain STEP" as a
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

func isFile(path string) bool {
	_, err := os.Stat(path)
	return err == nil
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

func stepIDs(flow *flow.Flow) []string {
	ids := make([]string, len(flow.Steps))
	for i, s := range flow.Steps {
		ids[i] = s.ID
	}
	return ids
}
