package naming

import (
	"slices"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/llm/prompt"
)

// The kinds have all names that the texts of built-in calls put into prompts.
func TestKindsOfTexts(t *testing.T) {
	registry, err := builtin.Registry()
	if err != nil {
		t.Fatal(err)
	}
	kinds := pieceKinds()
	for i, kind := range kinds {
		if slices.Contains(kinds[:i], kind) {
			t.Errorf("%s is listed twice", kind)
		}
	}
	found := 0
	for _, name := range registry.CallNames() {
		def, _ := registry.Call(name)
		for i := range def.Texts {
			for _, file := range def.Texts[i].Names() {
				text, _, err := def.Texts[i].Read(nil, "en", file)
				isForPeople := slices.Contains([]string{"bound.txt", "cancelled.txt", "either.txt", "failed.txt", "field.txt", "hint.txt", "item.txt", "question.txt", "stuck.txt", "unanswered.txt", "unfit.txt"}, file)
				if err != nil || !strings.HasSuffix(file, ".txt") || isForPeople {
					continue // texts for people are in no prompt
				}
				parsed, err := prompt.Parse(prompt.Source{File: file, Text: string(text)})
				if err != nil {
					t.Fatal(err)
				}
				for _, ref := range parsed.Refs() {
					found++
					if !slices.Contains(kinds, ref.Path[0]) {
						t.Errorf("%s of %s has %s", file, name, ref.Path[0])
					}
				}
			}
		}
	}
	if found == 0 {
		t.Error("no text has names")
	}
}
