package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Who decides about an [Approval].
const (
	// ByOperator: whoever may act for all users.
	ByOperator = "operator"
	// ByUser: the user of the run as well.
	ByUser = "user"
	// ByClock is in [Decision] By where the time for a decision was over.
	ByClock = "clock"
)

// The places of an answer to an approval, as [WaitingFor] has them: yes or no, why, and the changes, a map of values by the pointers
// of the parameters.
const (
	ApprovedPlace = "/approved"
	ReasonPlace   = "/reason"
	EditsPlace    = "/edits"
)

// Approval is a use of a call that waits for the leave of a person. The engine makes it; it is only data.
type Approval struct {
	// Message is the question to the person.
	Message string `json:"message"`
	// Call is the call, and Tool what a model calls it where it is a tool.
	Call string `json:"call"`
	Tool string `json:"tool,omitempty"`
	// Params are the parameters with which the call runs once it is approved; secrets are masked.
	Params value.Value `json:"params"`
	// Digest is that of Params: what runs has the same.
	Digest string `json:"digest"`
	// Edit are the JSON pointers of Params that the person may change.
	Edit []string `json:"edit,omitempty"`
	// By is who decides: [ByOperator] or [ByUser].
	By string `json:"by"`
	// Until is when it is denied by itself; zero is never.
	Until time.Time `json:"until,omitzero"`
}

// Decision is what a person, or the clock, decided about an [Approval]. The engine makes it; it is only data.
type Decision struct {
	Approved bool   `json:"approved"`
	Reason   string `json:"reason,omitempty"`
	// Edits are the changes to the parameters, by their pointers; null for none.
	Edits value.Value `json:"edits,omitzero"`
	// By is the person: a user, the name of a token, or a word such as operator; [ByClock] for nobody.
	By string    `json:"by"`
	At time.Time `json:"at"`
	// Digest is that of the Approval.
	Digest string `json:"digest"`
}

// DigestParams returns the digest of parameters, as events show them.
func DigestParams(shown value.Value) string {
	sum := sha256.Sum256(shown.AppendJSON(nil))
	return hex.EncodeToString(sum[:])
}

// Text tells of the decision in the built-in languages.
func (d *Decision) Text() wording.Text {
	text := wording.Say("denied by %s", d.By)
	switch {
	case d.Approved && d.Edits.Map().Len() > 0:
		text = wording.Say("approved with changes by %s", d.By)
	case d.Approved:
		text = wording.Say("approved by %s", d.By)
	case d.By == ByClock:
		text = wording.Say("denied: nobody decided in time")
	}
	if d.Reason == "" {
		return text
	}
	return wording.Say("%s: %s", text, d.Reason)
}

// IsOver reports whether the time for a decision is over.
func (a *Approval) IsOver(now time.Time) bool { return !a.Until.IsZero() && !now.Before(a.Until) }

// WaitingFor returns the step that waits for the approval: its one required value is yes or no.
func (a *Approval) WaitingFor(step string) WaitingFor {
	yesOrNo := value.OfMap(value.Pairs("type", "boolean", "title", a.Message))
	edits := value.NewMap(len(a.Edit))
	for _, pointer := range a.Edit {
		edits.Set(pointer, value.OfMap(nil))
	}
	return WaitingFor{
		Step: step, Approval: a,
		RemainingSchema: value.OfMap(value.Pairs("type", "object", "properties", value.Pairs(ApprovedPlace, yesOrNo), "required", []string{ApprovedPlace})),
		Whole: value.OfMap(value.Pairs("type", "object", "properties", value.Pairs(
			"approved", yesOrNo, "reason", value.Pairs("type", "string"),
			"edits", value.Pairs("type", "object", "properties", edits, "additionalProperties", false)))),
	}
}

// Edit returns parameters with the changes of the decision. The error, of kind Invalid, is of a place that is not there.
func (d *Decision) Edit(params value.Value) (value.Value, error) {
	for pointer, v := range d.Edits.Map().All() {
		tokens, ok := value.SplitPointer(pointer)
		if !ok || len(tokens) == 0 {
			return value.Value{}, calls.Errorf(calls.Invalid, "edits: %q is not a JSON pointer", pointer)
		}
		changed, ok := params.ReplaceAt(pointer, v)
		if !ok {
			return value.Value{}, calls.Errorf(calls.Invalid, "edits: there is no %s in the parameters", pointer)
		}
		params = changed
	}
	return params, nil
}

// noteBegun notes whether the step was begun with other parameters than those that a person approved last.
func (st *StepState) noteBegun() {
	if st.Approval == nil || st.Decision == nil {
		st.begunAfter = true
		return
	}
	approved, err := st.Decision.Edit(st.Approval.Params)
	st.begunAfter = err != nil || !value.Equal(approved, st.Params)
}
