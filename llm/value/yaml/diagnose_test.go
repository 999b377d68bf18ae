package yaml

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestDiagnose holds the messages about the usual mistakes: their place and remedy.
func TestDiagnose(t *testing.T) {
	const head = "name: x\nsteps:\n"
	for name, c := range map[string]struct{ text, want string }{
		"indent less": {"  - id: a\n    call: chat\n   with: {user: x}\n",
			`5:4: the indentation of 3 fits none of the lines above (indent it by 4 spaces)`},
		"indent more": {"  - id: a\n    call: chat\n      with: {user: x}\n",
			`5:7: this line is indented deeper than the one above, which has a value already (indent it by 4 spaces, like the line above)`},
		"key twice indent": {"- id: a\n  call: chat\n   needs: []\n- id: b\n  call: chat\n",
			`5:4: this line is indented deeper than the one above, which has a value already (indent it by 2 spaces, like the line above)`},
		"list under": {"  - id: a\n    call: chat\n - id: b\n   call: chat\n",
			`5:2: the indentation of 1 fits none of the lines above (indent it by 2 spaces)`},
		"list under at the margin": {"- id: a\n  call: chat\n - id: b\n   call: chat\n",
			`5:2: the indentation of 1 fits none of the lines above (indent it by 0 spaces)`},
		"at in braces": {"  - id: a\n    call: chat\n    with: {user: @bob}\n",
			`5:18: a text that begins with @ must be quoted (put it in quotes)`},
		"alias in braces": {"  - id: a\n    call: chat\n    with: {user: *bob}\n",
			`5:18: *bob names no anchor that stands before it (put a text that begins with * in quotes, or define it with &bob)`},
		"alias of a value": {"  - id: a\n    call: chat\n    with:\n      user: *bob\n",
			`6:13: *bob names no anchor that stands before it (put a text that begins with * in quotes, or define it with &bob)`},
		"control character": {"  - id: a\n    call: chat\n    with: {user: \"a\x07b\"}\n",
			`5:20: the control character U+0007 (take it out, or write it in double quotes as \u0007)`},
		"escape in braces": {"  - id: a\n    call: chat\n    with: {user: \"a\\qb\"}\n",
			`5:20: \q is not an escape that YAML knows (write \\q, or put the text in single quotes)`},
		"missing colon": {"  - id: a\n    call chat\n    with: {user: x}\n",
			`4:9: a colon is missing after the key (write call: and the value)`},
		"missing colon space": {"  - id:a\n    call: chat\n",
			`3:8: a space is missing after the colon (write id: and a space, then the value)`},
		"dash nospace": {"  -id: a\n   call: chat\n",
			`3:3: a space is missing after the dash (write - id:)`},
		"nested quotes": {"  - id: a\n    call: chat\n    with: {user: \"say \"hi\" now\"}\n  - id: b\n    call: chat\n",
			`5:23: the text in quotes ends here, and more follows (write \" for a " inside, or put the whole text in single quotes)`},
		"nested quotes block": {"  - id: a\n    call: chat\n    with:\n      user: \"{{ inputs.x | default(\"y\") }}\"\n  - id: b\n    call: chat\n",
			`6:36: the text in quotes ends here, and more follows (write \" for a " inside, or put the whole text in single quotes)`},
		"single quote": {"  - id: a\n    call: chat\n    with:\n      user: 'it's fine'\n      system: y\n",
			`6:16: the text in quotes ends here, and more follows (write '' for a ' inside, or put the whole text in double quotes)`},
		"quote then text": {"  - id: a\n    call: chat\n    with:\n      user: \"hello\" world\n",
			`6:19: the text in quotes ends here, and more follows (write \" for a " inside, or put the whole text in single quotes)`},
		"question in braces": {"  - id: a\n    call: chat\n    with: {user: Is it here? Yes, system: x}\n",
			`5:28: a ? inside a text without quotes (put the text in quotes: inside { } and [ ] a ? does not belong to it)`},
		"question in brackets": {"  - id: a\n    needs: [b, what?]\n",
			`4:20: a ? inside a text without quotes (put the text in quotes: inside { } and [ ] a ? does not belong to it)`},
		"question after characters": {"  - id: a\n    call: chat\n    with: {user: 你好吗?}\n",
			`5:21: a ? inside a text without quotes (put the text in quotes: inside { } and [ ] a ? does not belong to it)`},
		"question before a text": {"  - id: a\n    call: chat\n    with: {user: ?what}\n",
			`5:18: a ? inside a text without quotes (put the text in quotes: inside { } and [ ] a ? does not belong to it)`},
		"colon in braces": {"  - id: a\n    call: chat\n    with: {user: see note: buy milk, system: x}\n",
			`5:26: a colon inside a text without quotes (put the text in quotes, or a comma before note if that is a key)`},
		"colon in brackets": {"  - id: a\n    needs: [{x: y}, a: b: c]\n",
			`4:25: a colon inside a text without quotes (put the text in quotes, or a comma before b if that is a key)`},
		"colon before a text": {"  - id: a\n    call: chat\n    with: {user: :x}\n",
			`5:18: a text that begins with : must be quoted (put it in quotes)`},
		"missing comma": {"  - id: a\n    call: chat\n    with: {user: x\n      system: y}\n  - id: b\n    call: chat\n",
			`6:7: a comma is missing before this (inside { } and [ ] a comma separates the entries, and a value with ": " in it needs quotes)`},
		"missing comma line": {"  - {id: a, call: chat with: {user: x}}\n  - {id: b, call: chat}\n",
			`3:24: a comma is missing before this (inside { } and [ ] a comma separates the entries, and a value with ": " in it needs quotes)`},
		"unclosed brace": {"  - id: a\n    call: chat\n    with: {user: x, system: y\n  - id: b\n    call: chat\n",
			`5:11: the { that opens here is not closed (close it with })`},
		"unclosed bracket": {"  - id: a\n    needs: [b, c\n    call: chat\n  - id: b\n    call: chat\n",
			`4:12: the [ that opens here is not closed (close it with ])`},
		"unclosed quote": {"  - id: a\n    call: chat\n    with:\n      user: \"hello\n  - id: b\n    call: chat\n",
			`6:13: the quote that opens here is not closed (close it at the end of the text)`},
		"unclosed single": {"  - id: a\n    call: chat\n    with:\n      user: 'hello\n  - id: b\n    call: chat\n",
			`6:13: the quote that opens here is not closed (close it at the end of the text)`},
		"extra brace": {"  - id: a\n    call: chat\n    with: {user: x}}\n  - id: b\n    call: chat\n",
			`5:20: the value ends before this, and more follows (take it out, or put the whole value in quotes)`},
		"wrong close": {"  - id: a\n    call: chat\n    with: {user: [x}, system: y}\n",
			`5:20: this } closes a [ (the [ at line 5, column 18 is closed with ])`},
		"colon in value": {"  - id: a\n    call: chat\n    with:\n      user: Remember: be nice: always\n",
			`6:21: a text with ": " in it must be quoted (put the whole value in quotes)`},
		"percent": {"  - id: a\n    call: chat\n    with:\n      user: %d items\n",
			`6:13: a text that begins with % must be quoted (put it in quotes)`},
		"at": {"  - id: a\n    call: chat\n    with:\n      user: @bob hello\n",
			`6:13: a text that begins with @ must be quoted (put it in quotes)`},
		"backtick": {"  - id: a\n    call: chat\n    with:\n      user: `x`\n",
			"6:13: a text that begins with ` must be quoted (put it in quotes)"},
		"star": {"  - id: a\n    call: chat\n    with:\n      user: *bold* text\n",
			`6:13: a text that begins with * must be quoted (put it in quotes)`},
		"escape on a later line": {"  - id: a\n    call: chat\n    with:\n      user: \"first \\\n        line\n\n        C:\\\\dir \\q\n        third\"\n",
			`9:17: \q is not an escape that YAML knows (write \\q, or put the text in single quotes)`},
		"open quote after an escaped backslash": {"  - id: a\n    call: chat\n    with:\n      user: \"C:\\\\dir\n  - id: b\n",
			`6:13: the quote that opens here is not closed (close it at the end of the text)`},
		"escape": {"  - id: a\n    call: chat\n    with:\n      user: \"C:\\dir\\q\"\n",
			`6:16: \d is not an escape that YAML knows (write \\d, or put the text in single quotes)`},
		"block indent": {"  - id: a\n    call: chat\n    with:\n      user: |\n        line one\n      line two\n      system: y\n",
			`8:7: a line of a block of text is indented less than its first line (indent all its lines by 8 spaces at least)`},
		"block first": {"  - id: a\n    call: chat\n    with:\n      user: |\n          line one\n        line two\n      system: y\n",
			`8:9: a line of a block of text is indented less than its first line (indent all its lines by 10 spaces at least)`},
		"pipe text": {"  - id: a\n    call: chat\n    with:\n      user: | some text\n      system: y\n",
			`6:13: the text after | begins on the next line (put the text in quotes, or on lines of its own that are indented deeper)`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(head + c.text))
			var fault *Error
			if !errors.As(err, &fault) {
				t.Fatalf("got %v", err)
			}
			got := fmt.Sprintf("%d:%d: %s (%s)", fault.Line, fault.Col, fault.Msg, fault.Hint)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if message, hint := fault.Text(); message.Zh == message.En || hint.Zh == hint.En {
				t.Errorf("not in Chinese: %q, %q", message.En, hint.En)
			}
		})
	}
}

// The place of a fault is in the text, for any text.
func TestDiagnoseAnything(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a: ", "- ", "\n", "  ", "{", "}", "[", "]", ",", "\"", "'", "x", "é", ": ", "|", "\\", "#", "@", "*", "\t", "\r\n", "b:"})
	rapid.Check(t, func(t *rapid.T) {
		text := ""
		for _, p := range rapid.SliceOfN(piece, 0, 40).Draw(t, "pieces") {
			text += p
		}
		_, err := Parse([]byte(text))
		var fault *Error
		if errors.As(err, &fault) && fault.Line > 0 {
			Snippet([]byte(text), fault.Line, fault.Col)
		} else if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	})
}

func TestSnippet(t *testing.T) {
	if diff := cmp.Diff("bé: [1\n    ^", Snippet([]byte("a: 1\nbé: [1\r\n"), 2, 5)); diff != "" {
		t.Error(diff)
	}
}
