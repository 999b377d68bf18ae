package terminal

import (
	"fmt"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/scheduler/journal"
)

// WaitingText returns the questions of one waiting step, a line for each place.
func WaitingText(w journal.WaitingFor, language Language) string {
	if w.Approval != nil {
		return approvalText(w, language)
	}
	var b strings.Builder
	b.WriteString(language.Say("step %s waits for:", w.Step) + "\n")
	properties, _ := w.RemainingSchema.Get("properties")
	for pointer, property := range properties.Map().All() {
		if pointer == "" {
			pointer = `""`
		}
		property = schema.Resolve(property, w.RemainingSchema)
		fmt.Fprintf(&b, "  %s  %s", Visible(pointer), Visible(kindOf(property, w.RemainingSchema, language)))
		if text := strings.TrimPrefix(descriptionText(property), ": "); text != "" {
			fmt.Fprintf(&b, "  %s", text)
		}
		more := limitTexts(property, language)
		if def, ok := property.Get("default"); ok {
			more = append(more, language.Say("default %s", def.PlainText()))
		}
		if len(more) > 0 {
			fmt.Fprintf(&b, "  (%s)", Visible(strings.Join(more, ", ")))
		}
		b.WriteString("\n")
	}
	return b.String() + reasonLines(w, language)
}

// approvalText returns a use of a call that waits for the leave of a person: the question, and the parameters.
func approvalText(w journal.WaitingFor, language Language) string {
	var b strings.Builder
	b.WriteString(language.Say("step %s waits for the leave of a person:", w.Step) + "\n  " + Visible(w.Approval.Message) + "\n")
	b.WriteString("  " + language.Say("%s runs with:", w.Approval.Call) + "\n")
	for name, v := range w.Approval.Params.Map().All() {
		fmt.Fprintf(&b, "    %s: %s\n", Visible(name), Visible(v.JSON()))
	}
	if len(w.Approval.Edit) > 0 {
		b.WriteString("  " + language.Say("may be changed: %s", strings.Join(w.Approval.Edit, ", ")) + "\n")
	}
	if !w.Approval.Until.IsZero() {
		b.WriteString("  " + language.Say("denied without a decision by %s", w.Approval.Until.Format(time.RFC3339)) + "\n")
	}
	return b.String()
}

// reasonLines list the reasons why a step waits, a line for each.
func reasonLines(w journal.WaitingFor, language Language) string {
	var b strings.Builder
	for _, reason := range w.Reasons {
		b.WriteString("  " + language.Say("why: %s", Visible(strings.Join(strings.Fields(reason), " "))) + "\n")
	}
	return b.String()
}
