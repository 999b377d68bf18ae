package terminal

import (
	"bytes"
	"fmt"
	"testing"
)

func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"plain\ttext\n":           "plain\ttext\n",
		"中文 é":                    "中文 é",
		"\x1b[31mred\x07\r":       `\u001b[31mred\u0007\u000d`,
		"\u009b31m\u007f":         `\u009b31m\u007f`,
		"file\u202egpj.exe\u2066": `file\u202egpj.exe\u2066`,
		"ad\u200bmin\ufeff\u200d": `ad\u200bmin\ufeff\u200d`,
		"a\u200dmin":              `a\u200dmin`,
		"👨\u200d👩\u200d👧 می\u200cخواهم": "👨\u200d👩\u200d👧 می\u200cخواهم",
		"cut \xe4\xb8": "cut \xe4\xb8",
	} {
		if got := Visible(text); got != want {
			t.Errorf("%q: got %q", text, got)
		}
		if again := Visible(Visible(text)); again != want {
			t.Errorf("%q: twice is %q", text, again)
		}
	}
}

// What a person reads is quoted; what a program reads passes as it is.
func TestDoor(t *testing.T) {
	var stdout, stderr bytes.Buffer
	term := New(nil, &stdout, &stderr, nil)
	fmt.Fprint(term.Stdout, "\x1b[2J")
	fmt.Fprint(term.Stderr, "\x1b[2J")
	if stdout.String() != "\x1b[2J" || stderr.String() != `\u001b[2J` {
		t.Errorf("stdout %q, stderr %q", &stdout, &stderr)
	}
}
