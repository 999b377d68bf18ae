package yaml

import (
	"errors"
	"strings"
	"testing"

	"github.com/callnode/scheduler/llm/value/wording"
)

// The library's messages are put in plain words of both languages; unknown ones are quoted.
func TestLibraryFaults(t *testing.T) {
	for _, f := range libraryFaults() {
		for _, text := range []string{f.message, f.hint} {
			if of := wording.Of(text); text == "" || of.En == of.Zh {
				t.Errorf("%q has no Chinese", text)
			}
		}
		for _, name := range f.names {
			message, hint := plainFault(name + " x")
			if message.En != "not YAML: "+f.message || hint.En != f.hint {
				t.Errorf("%s: got %q (%s)", name, message.En, hint.En)
			}
		}
	}
	message, hint := plainFault("a new fault")
	if message.En != "not YAML; its reader says: a new fault" || !strings.HasPrefix(message.Zh, "不是 YAML") || hint.En != "" {
		t.Errorf("got %q, %q (%s)", message.En, message.Zh, hint.En)
	}
}

// No words of the library are left, for any fault.
func TestFaultsInPlainWords(t *testing.T) {
	for text, want := range map[string]string{
		"a:\n\t- x":           "2:1: 缩进中有制表符 (请用空格缩进)",
		"%FOO bar\n---\na: 1": "1:1: 以 % 开头的文本必须加引号 (请加引号)",
		"a: !<x b":            "1:1: 不是 YAML：无法读懂的标签 (以 ! 开头的文本请加引号)",
		"a: &":                "1:4: 以 & 开头的文本必须加引号 (请加引号)",
		"a: |0\n  x":          "1:1: 不是 YAML：| 或 > 之后的数字不能是 0 (请写文本缩进的空格数，或省略数字)",
		"- a\nb: 1":           "2:1: 不是 YAML：此处应为上面列表的一项 (请以短横线和空格开头，或检查缩进)",
	} {
		_, err := Parse([]byte(text))
		var e *Error
		ok := errors.As(err, &e)
		if !ok {
			t.Errorf("%q: %v", text, err)
		} else if got := e.In("zh"); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}
