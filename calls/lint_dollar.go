package calls

import (
	"strings"

	"github.com/callnode/scheduler/calls/schema"
)

// LintDollar finds ${{ name }} in the text of a template, which is an expression in other tools, but in templates
// a dollar sign before one. It is a warning if the text has more: that may be a price.
func LintDollar(pointer, text string) (p schema.Problem, found bool) {
	at := strings.Index(text, "${{")
	if at < 0 {
		return p, false
	}
	inner, opens := strings.CutPrefix(strings.TrimSpace(text), "${{")
	inner, closes := strings.CutSuffix(inner, "}}")
	whole := opens && closes && !strings.ContainsAny(inner, "{}")
	if !whole {
		inner = "name"
	}
	p = schema.Problem{Pointer: pointer, Offset: at, Warning: !whole}
	return p.WithMessage("${{ }} keeps the dollar sign: templates are written {{ }}").
		WithHint("write {{ %[1]s }}, or {{ '$' ~ %[1]s }} where the text has a dollar sign", strings.TrimSpace(inner)), true
}
