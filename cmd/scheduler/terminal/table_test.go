package terminal

import (
	"fmt"
	"strings"
	"testing"
)

// A column starts at the same place in every row, also behind Chinese cells.
func TestTable(t *testing.T) {
	var b strings.Builder
	w := NewTable(&b)
	fmt.Fprint(w, "步骤\t状态\n")
	fmt.Fprint(w, "a\t已完成\n第一步\uffff\tok\n")
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if want := "步骤    状态\na       已完成\n第一步  ok\n"; b.String() != want {
		t.Errorf("got\n%s", b.String())
	}
}

func TestCutColumns(t *testing.T) {
	for text, want := range map[string]string{"": "", "abcde": "abcde", "abcdef": "abcde", "步骤一": "步骤", "a步骤": "a步骤", "a步骤b": "a步骤"} {
		if got := cutColumns(text, 5); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
