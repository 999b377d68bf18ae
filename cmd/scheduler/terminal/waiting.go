package terminal

import (
	"fmt"
	"strings"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/scheduler/journal"
)

// WaitingText returns the questions of one waiting step, a line for each place.
func WaitingText(w journal.WaitingFor, language Language) string {
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

// reasonLines list the reasons why a step waits, a line for each.
func reasonLines(w journal.WaitingFor, language Language) string {
	var b strings.Builder
	for _, reason := range w.Reasons {
		b.WriteString("  " + language.Say("why: %s", Visible(strings.Join(strings.Fields(reason), " "))) + "\n")
	}
	return b.String()
}
