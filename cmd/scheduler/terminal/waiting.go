package terminal

import (
	"fmt"
	"strings"

	"github.com/callnode/scheduler/scheduler/journal"
)

// WaitingText returns what one step waits for, a line for each place.
func WaitingText(w journal.WaitingFor) string {
	var b strings.Builder
	fmt.Fprintf(&b, "step %s waits for:\n", w.Step)
	properties, _ := w.RemainingSchema.Get("properties")
	for pointer, property := range properties.Map().All() {
		if pointer == "" {
			pointer = `""`
		}
		property = resolved(property, w.RemainingSchema)
		fmt.Fprintf(&b, "  %s  %s", Visible(pointer), Visible(kindOf(property, w.RemainingSchema)))
		if text := strings.TrimPrefix(description(property), ": "); text != "" {
			fmt.Fprintf(&b, "  %s", text)
		}
		more := limits(property)
		if def, ok := property.Get("default"); ok {
			more = append(more, "default "+Display(def))
		}
		if len(more) > 0 {
			fmt.Fprintf(&b, "  (%s)", Visible(strings.Join(more, ", ")))
		}
		b.WriteString("\n")
	}
	return b.String() + reasons(w)
}

// reasons say why a step has to wait, a line for each.
func reasons(w journal.WaitingFor) string {
	var b strings.Builder
	for _, reason := range w.Reasons {
		fmt.Fprintf(&b, "  why: %s\n", Visible(strings.Join(strings.Fields(reason), " ")))
	}
	return b.String()
}
