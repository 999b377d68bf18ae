package calls

import (
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// ApprovalRule tells when a person has to approve the use of a tool: true, or a map. A call that has rules among its parameters
// lists their places in [Info.Approvals].
type ApprovalRule struct {
	// Asked is set if there is a rule other than approve: false, for example approve: true.
	Asked   bool     `json:"-"`
	When    string   `json:"when,omitempty" doc:"One {{ expression }}; a person decides where it is true. It sees what the step sees, and params: the arguments laid over with." example:"'{{ params.amount > 100 }}'"`
	Message string   `json:"message,omitempty" doc:"The question to the person, a template over the same names." example:"'Refund {{ params.amount }} €?'"`
	Edit    []string `json:"edit,omitempty" doc:"JSON pointers of the parameters that the person may change." example:"[/amount]"`
	By      string   `json:"by,omitempty" enum:"operator|user" doc:"Who decides. operator: who may act for all users. user: the user of the run as well. Default operator." example:"operator"`
	Timeout string   `json:"timeout,omitempty" doc:"How long the run waits, as 30m or 24h; without a decision by then it is denied. Left out: for ever." example:"24h"`
}

// approvalMembers has the members of the map alone.
type approvalMembers ApprovalRule

// DecodeValue reads both forms.
func (r *ApprovalRule) DecodeValue(v value.Value) error {
	if isAsked, ok := v.Bool(); ok {
		*r = ApprovalRule{Asked: isAsked}
		return nil
	}
	if v.Kind() != value.Object {
		return wording.Errorf("want %s, got %s", wording.Say("true or a map of keys"), wording.TypeName(v.Kind().String()))
	}
	r.Asked = true
	return value.Decode(v, (*approvalMembers)(r))
}

// JSONSchema describes both forms.
func (ApprovalRule) JSONSchema() value.Value {
	return value.OfMap(value.Pairs("anyOf", []value.Value{
		value.OfMap(value.Pairs("type", "boolean")), schema.MustFor[approvalMembers]().Annotated(),
	}))
}

// ApprovalUse is a use of a tool that a person may have to approve. The call that has the tool makes it; it is only data.
type ApprovalUse struct {
	// Call is the name of the call that the tool runs; flow for a flow.
	Call string
	// Name is what the model calls the tool.
	Name string
	// Rule is that of the tool; one that is not there leaves it to the settings. At is its JSON pointer in the parameters of the step.
	Rule ApprovalRule
	At   string
	// Params are those with which the tool is to run.
	Params value.Value
}

// HasEffects reports whether a use of the call does something that a person could decide about: it reaches beyond the run, asks a
// model, changes a memory, or runs other calls.
func (d Definition) HasEffects() bool {
	changesMemory := d.Info.UsesMemory && !d.Info.OnlyRecalls
	return !d.Info.IsContained || d.Info.UsesLLM || changesMemory || d.Runs != nil
}
