package slot_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls/slot"
)

// A user's prompt may mention the same names as the English one.
func TestPromptsOfUsers(t *testing.T) {
	texts := slot.Definition().Texts[0]
	for _, name := range texts.Names() {
		text, _, err := texts.Read(nil, "en", name)
		if err != nil {
			t.Fatal(err)
		}
		if problems := texts.Check(name, text); len(problems) != 0 {
			t.Errorf("the English %s: %v", name, problems)
		}
	}
	for text, want := range map[string]string{
		"{{ question }} {{ now | default('') }}": "",
		"Frage:\n  {{ qestion }}":                "2:6 there is no qestion here (did you mean \"question\"?)",
		"{{ wetter_in_der_stadt }}":              "1:4 there is no wetter_in_der_stadt here (there are ",
		"\n{% if %}":                             "2:7 unexpected %}",
	} {
		var got []string
		for _, p := range texts.Check("prompt.txt", []byte(text)) {
			got = append(got, fmt.Sprintf("%d:%d %s (%s)", p.Line, p.Col, p.Message, p.Hint))
		}
		if (want == "") != (len(got) == 0) || len(got) > 1 || !strings.HasPrefix(strings.Join(got, ""), want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
