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

// Text for a person is quoted; text for a program passes unchanged.
func TestDoor(t *testing.T) {
	var stdout, stderr bytes.Buffer
	term := New(nil, &stdout, &stderr, nil)
	fmt.Fprint(term.Stdout, "\x1b[2J")
	fmt.Fprint(term.Stderr, "\x1b[2J")
	if stdout.String() != "\x1b[2J" || stderr.String() != `\u001b[2J` {
		t.Errorf("stdout %q, stderr %q", &stdout, &stderr)
	}
}

// A character that comes in two pieces is checked as a whole.
func TestDoorPieces(t *testing.T) {
	for text, want := range map[string]string{
		"safe\u202eevil": `safe\u202eevil`, "中文\U0001F600.": "中文\U0001F600.", "\u009b31m": `\u009b31m`, "bad \xe4 end": "bad \xe4 end",
	} {
		for size := 1; size < 4; size++ {
			var out bytes.Buffer
			d := newDoor(&out, true)
			for rest := []byte(text); len(rest) > 0; {
				n := min(size, len(rest))
				if written, err := d.Write(rest[:n]); written != n || err != nil {
					t.Fatalf("%d bytes written of %d: %v", written, n, err)
				}
				rest = rest[n:]
			}
			if out.String() != want {
				t.Errorf("%q in pieces of %d: got %q", text, size, out.String())
			}
		}
	}
}
