package pongo2tree_test

import (
	"testing"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/prompt/internal/pongo2tree"
)

// TestBlockTags: a template cannot name the tags of the structure.
func TestBlockTags(t *testing.T) {
	for _, name := range pongo2tree.BlockTagNames() {
		if _, err := prompt.Parse(prompt.Source{Text: "{% " + name + " 0 %}{% __end %}"}); err == nil {
			t.Errorf("%s can be used", name)
		}
	}
}
