package ask

import (
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// ownMember is what is wrong with a member of extra that would replace what a call sends, unseen by the record of the run.
const ownMember = "the call makes this member of the request itself: extra cannot replace it"

// LintExtra finds members of the parameter extra that the call makes of its other parameters.
func LintExtra(params value.Value) (problems []schema.Problem) {
	extra, _ := params.Get("extra")
	for _, name := range []string{"messages", "system", "model", "tools", "stream"} {
		if _, given := extra.Get(name); !given {
			continue
		}
		problem := schema.Problem{Pointer: "/extra/" + name, Message: ownMember}
		if name == "stream" {
			problem = problem.WithHint("leave it out")
		} else {
			problem = problem.WithHint("use the parameter %s", name)
		}
		problems = append(problems, problem)
	}
	return problems
}

// CheckExtra returns an error where [LintExtra] finds a problem.
func CheckExtra(extra *value.Map) error {
	if extra == nil {
		return nil
	}
	for _, p := range LintExtra(value.OfMap(value.Pairs("extra", value.OfMap(extra)))) {
		message, hint := p.Text()
		return calls.Errorf(calls.Invalid, "%s: %s", strings.TrimPrefix(p.Pointer, "/"), message).WithHint("%s", hint)
	}
	return nil
}
