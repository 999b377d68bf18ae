package ask

import (
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// ownMember is the problem of a member of extra that would replace one that the call sends, unseen by the record
// of the run.
const ownMember = "the call makes this member of the request itself: extra cannot replace it"

// unseenTruncation is the problem of truncation: auto in the Responses API.
const unseenTruncation = "the vendor drops messages that the record of the run shows as sent"

// ownMembers are the members of a request that a call makes itself, with the parameter to use instead; "" if there
// is none. The last five are members of the Responses API: they would change the model's prompt.
var ownMembers = []struct{ name, parameter string }{
	{"messages", "messages"}, {"system", "system"}, {"model", "model"}, {"tools", "tools"}, {"stream", ""},
	{"input", "messages"}, {"instructions", "system"}, {"previous_response_id", ""}, {"conversation", ""}, {"prompt", ""},
}

// LintExtra finds members of the parameter extra that the call makes from its other parameters.
func LintExtra(params value.Value) (problems []schema.Problem) {
	extra, _ := params.Get("extra")
	for _, member := range ownMembers {
		if _, given := extra.Get(member.name); !given {
			continue
		}
		problem := schema.Problem{Pointer: "/extra/" + member.name, Message: ownMember}
		if member.parameter == "" {
			problem = problem.WithHint("leave it out")
		} else {
			problem = problem.WithHint("use the parameter %s", member.parameter)
		}
		problems = append(problems, problem)
	}
	if truncation, _ := extra.Get("truncation"); value.Equal(truncation, value.OfString("auto")) {
		problems = append(problems, schema.Problem{Pointer: "/extra/truncation", Message: unseenTruncation, Warning: true}.
			WithHint("cut the history in the flow, for example with max_tokens of context"))
	}
	return problems
}

// CheckExtra returns an error if [LintExtra] finds a problem.
func CheckExtra(extra *value.Map) error {
	if extra == nil {
		return nil
	}
	for _, p := range LintExtra(value.OfMap(value.Pairs("extra", value.OfMap(extra)))) {
		if p.Warning {
			continue
		}
		message, hint := p.Text()
		return calls.Errorf(calls.Invalid, "%s: %s", strings.TrimPrefix(p.Pointer, "/"), message).WithHint("%s", hint)
	}
	return nil
}
