package prompt

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/llm/value"
)

// chatOptions returns the options with which the outputs were recorded.
func chatOptions() Options {
	return Options{Transformers: true, Now: func() time.Time { return time.Date(2024, 7, 5, 9, 3, 4, 0, time.UTC) }}
}

// TestTransformers renders templates whose results were recorded from Jinja2 3.1.6 in
// the environment of transformers: trim_blocks, lstrip_blocks, undefined names that
// are empty, loop controls, generation, and its tojson. Most of them were drawn at
// random from tags with all signs, white space and line breaks.
func TestTransformers(t *testing.T) {
	data, err := os.ReadFile("testdata/transformers.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		row, err := value.ParseJSON(line)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := row.Get("template")
		source, _ := text.Str()
		values, _ := row.Get("values")
		recorded, _ := row.Get("out")
		want, isText := recorded.Str()
		got := ""
		tmpl, err := ParseWith(Source{Text: source}, chatOptions())
		if err == nil {
			got, err = tmpl.Render(context.Background(), Values{Map: values.Map()})
		}
		if isText != (err == nil) || got != want {
			t.Errorf("%q: want %q, got %q, %v", source, want, got, err)
		}
	}
}

func TestTransformersErrors(t *testing.T) {
	for text, want := range map[string]string{
		"\n{{ raise_exception('Only user and assistant roles!') }}": "2:4: Only user and assistant roles!",
		"{% break %}":               "1:1: {% break %} outside of a loop",
		"{{ 1 | nofilter }}":        "1:8: unknown filter 'nofilter'",
		"{{ messages[0].content }}": "1:4: messages is undefined",
		"{{ x.__class__ }}":         "1:6: access to '__class__' is refused: templates do not reach the insides of values",
		"{% macro m(a) %}{{ varargs }}{% endmacro %}{{ m(1) }}": "1:20: varargs is undefined (name the parameters of the macro)",
		"{% macro m(a) %}{% endmacro %}{{ m.arguments }}":       "1:34: the member 'arguments' of a 'Macro' is not supported",
		"{{ 'a'.swapcase is defined }}":                         "1:4: the member 'swapcase' of a 'str' is not supported",
		"{{ 7['real'] }}":                                       "1:4: the member 'real' of a 'int' is not supported",
		"{% for i in [1] %}{{ loop.changed }}{% endfor %}":      "1:22: the member 'changed' of a 'LoopContext' is not supported (compare with loop.previtem)",
		"{{ lipsum is defined }}":                               "1:4: lipsum is undefined (lipsum writes filler text, and templates make nothing up: write the text, or read it with !file PATH)",
		"{% if self %}a{% endif %}":                             "1:7: self is undefined (a template has no blocks)",
		"{% generation %}a":                                     "1:1: {% generation %} is not closed (add {% endgeneration %})",
	} {
		tmpl, err := ParseWith(Source{Text: text}, chatOptions())
		if err == nil {
			_, err = tmpl.Render(context.Background(), Values{})
		}
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v", text, err)
		}
	}
	for _, tag := range []string{"break", "continue", "generation"} {
		if _, errs := Check(Source{Text: "{% for x in y %}{% " + tag + " %}{% endfor %}"}); len(errs) == 0 {
			t.Errorf("flows have %s", tag)
		}
	}
}

func TestStrftime(t *testing.T) {
	at := time.Date(2024, 2, 3, 4, 5, 6, 7000, time.UTC)
	for format, want := range map[string]string{
		"%Y-%m-%d %H:%M:%S": "2024-02-03 04:05:06", "%d %b %Y": "03 Feb 2024", "%-d %-m %-I%p": "3 2 4AM",
		"%A, %e. %B %y": "Saturday,  3. February 24", "%j %w %f %%": "034 6 000007 %", "%Q %": "%Q %", "%-Q": "%-Q",
	} {
		if got := Strftime(at, format); got != want {
			t.Errorf("%s: got %q", format, got)
		}
	}
	sunday := time.Date(2021, 1, 3, 0, 7, 9, 0, time.UTC)
	for format, want := range map[string]string{ // as Python and glibc print it
		"%u %w %U %V %W %G-%g %C": "7 0 01 53 00 2020-20 20", "%k|%l|%P|%r": " 0|12|am|12:07:09 AM",
		"%_d|%0e|%-j|%_j|%^a|%#p|%#b|%Ey-%Od": " 3|03|3|  3|SUN|am|JAN|21-03", "%n%t%E": "\n\t%E",
	} {
		if got := Strftime(sunday, format); got != want {
			t.Errorf("%s: got %q, want %q", format, got, want)
		}
	}
}

// A chat template is traced as any other.
func TestTraceOfChatTemplate(t *testing.T) {
	text := "{% for m in messages %}\n  {% if m.role == 'user' %}\n{{ '<|' + m.role + '|>' }}{{ m.content | trim }}\n  {% endif %}\n{% endfor %}\n"
	tmpl, err := ParseWith(Source{Text: text}, chatOptions())
	if err != nil {
		t.Fatal(err)
	}
	messages := []*value.Map{value.Pairs("role", "tool"), value.Pairs("role", "user", "content", " Hi ")}
	out, list, err := tmpl.Trace(context.Background(), Values{Map: value.Pairs("messages", messages)})
	want := "l \"<|\"\nr \"user\" messages/1/role[0:4]\nl \"|>\"\nr \"Hi\" messages/1/content[1:3]\nl \"\\n\"\n"
	if got := shown(out, list); err != nil || got != want {
		t.Errorf("got %s, %v", strings.TrimSpace(got), err)
	}
}
