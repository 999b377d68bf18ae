package scheduler_test

import (
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// A piece of a secret that is too short to be masked in a call's output is not passed to a call; values that can
// be masked, or were only decided by the secret, are.
func TestShortPiecesOfSecrets(t *testing.T) {
	for text, refused := range map[string]bool{
		"{{ secrets.KEY[4] }}":                              true,
		"is {{ secrets.KEY | first }}, ":                    true,
		"{{ secrets.KEY[:3] }} and more":                    true,
		"{{ secrets.KEY.split('-')[0] }}":                   true,
		"{{ secrets.PIN | int + 1 }}":                       true,
		"{{ secrets.KEY[:4] }}":                             false,
		"{{ secrets.KEY }} {{ secrets.PIN }}":               false,
		"of {{ secrets.KEY | length }}":                     false,
		"{{ 'live' if secrets.KEY[0] == 's' else 'test' }}": false,
		"{% for c in secrets.KEY %}{{ c }}{% endfor %}":     false,
	} {
		for _, flow := range []string{`
steps:
  - {id: a, call: chat, with: {messages: [{role: user, content: "TEXT"}]}}
`, `
steps:
  - {id: made, call: template, with: {template: "TEXT", values: {secrets: {KEY: "{{ secrets.KEY }}", PIN: "{{ secrets.PIN }}"}}}}
  - {id: a, call: chat, with: {messages: [{role: user, content: "{{ made.text }}"}]}}
`} {
			flow = strings.ReplaceAll(flow, "TEXT", text)
			r := schedulertest.Run(t, flow, schedulertest.With(builtin.Calls()...), schedulertest.Secret("KEY", "sk-Qw7z9"),
				schedulertest.Secret("PIN", "77"), schedulertest.LLM(scripted.Texts("yes")))
			if refused != (r.Err != nil) {
				t.Fatalf("%s: refused %v, got %v", flow, refused, r.Err)
			}
			if refused && (calls.KindOf(r.Err) != calls.Invalid || !strings.Contains(r.Err.Error(), "is too short here to be masked")) {
				t.Errorf("%s: got %v", flow, r.Err)
			}
		}
	}
}
