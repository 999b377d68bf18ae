package linediff_test

import (
	"strings"
	"testing"

	"github.com/callnode/scheduler/llm/value/linediff"
)

func TestShow(t *testing.T) {
	before := strings.Split("a b c d e f g h", " ")
	after := strings.Split("a b x d e f g h i", " ")
	want := "    a\n    b\n  - c\n  + x\n    d\n    e\n  ...\n    g\n    h\n  + i\n"
	if got := linediff.Show(before, after); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := linediff.Show(before, before); got != "" {
		t.Errorf("equal texts differ: %s", got)
	}
}
