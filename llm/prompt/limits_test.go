package prompt

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/pongo2tree"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/test/slow"
)

// render parses and renders in one go.
func render(ctx context.Context, text string, values *value.Map) (string, error) {
	t, err := Parse(Source{Text: text})
	if err != nil {
		return "", err
	}
	return t.Render(ctx, Values{Map: values})
}

func classOf(t testing.TB, err error) Class {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%v (%T) is not an *Error", err, err)
	}
	if e.Line < 1 || e.Col < 1 {
		t.Errorf("%v has no place", e)
	}
	return e.Class
}

// TestFatal has everything that kills the process, panics, hangs or reads files
// in plain pongo2. Here each is an error of a class, with a place.
func TestFatal(t *testing.T) {
	deep := func(open, inner, end string, n int) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
	}
	longest := []string{"wide values printed", "wide values compared", "long loops", "long filters", "indexed texts", "captured texts"}
	for name, c := range map[string]struct {
		text string
		want Class
	}{
		"recursive macro":         {"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", Limit},
		"macros calling in turn":  {"{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}", Limit},
		"recursive call block":    {"{% macro m() %}{% call m() %}{{ caller() }}{% endcall %}{{ caller() }}{% endmacro %}{% call m() %}{% endcall %}", Limit},
		"recursive loop":          {"{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}", Limit},
		"recursive include":       {"{% include 'self' %}", Security},
		"include":                 {"{% include '/etc/hostname' %}", Security},
		"import":                  {"{% import '/etc/hostname' as x %}", Security},
		"from":                    {"{% from '/etc/hostname' import x %}", Security},
		"extends":                 {"{% extends '/etc/hostname' %}", Security},
		"ssi":                     {"{% ssi '/etc/hostname' %}", Syntax},
		"nested parentheses":      {"{{ " + deep("(", "1", ")", 60_000) + " }}", Limit},
		"nested lists":            {"{{ " + deep("[", "1", "]", 60_000) + " }}", Limit},
		"nested dicts":            {"{{ " + deep("{'a': ", "1", "}", 20_000) + " }}", Limit},
		"nested signs":            {"{{ " + strings.Repeat("-", 100_000) + "1 }}", Limit},
		"nested nots":             {"{{ " + strings.Repeat("not ", 50_000) + "1 }}", Limit},
		"long sums":               {"{{ 1" + strings.Repeat(" + 1", 50_000) + " }}", Limit},
		"long ands":               {"{{ 1" + strings.Repeat(" and 1", 30_000) + " }}", Limit},
		"long ternaries":          {"{{ 1" + strings.Repeat(" if 1 else 1", 15_000) + " }}", Limit},
		"long ifs":                {"{{ 1" + strings.Repeat(" if 1", 30_000) + " }}", Limit},
		"long chains of members":  {"{{ a" + strings.Repeat(".a", 60_000) + " }}", Limit},
		"long chains of filters":  {"{{ a" + strings.Repeat("|e", 60_000) + " }}", Limit},
		"long chains of calls":    {"{{ a" + strings.Repeat("()", 60_000) + " }}", Limit},
		"nested blocks":           {strings.Repeat("{% if 1 %}", 20_000), Limit},
		"nested targets":          {"{% set " + deep("(", "a", ")", 50_000) + " = 1 %}", Limit},
		"big template":            {strings.Repeat("x", fault.MaxSource+1), Limit},
		"modulo by zero":          {"{{ 5 % 0 }}", ZeroDivision},
		"division by zero":        {"{{ 5 / 0 }}", ZeroDivision},
		"floor division by zero":  {"{{ 5 // 0 }}", ZeroDivision},
		"cycle":                   {"{% cycle %}", Syntax},
		"ifchanged":               {"{% ifchanged %}{% endifchanged %}", Syntax},
		"sorted loop of a string": {"{% for c in 'abc' sorted %}{% endfor %}", Syntax},
		"parse error":             {"{% if %}", Syntax},
		"width of center":         {"{{ 'x' | center(99999999) }}", Limit},
		"width of ljust":          {"{{ 'x' | ljust:99999999 }}", Limit},
		"width of rjust":          {"{{ 'x' | rjust:99999999 }}", Limit},
		"digits of floatformat":   {"{{ 1 | floatformat:99999999 }}", Limit},
		"width of stringformat":   {"{{ 1 | stringformat:'%99999999d' }}", Limit},
		"growing linenumbers":     {"{% set n = namespace(s='\n' * 9999) %}{% for i in range(999) %}{% set n.s = n.s | linenumbers %}{% endfor %}", Limit},
		"growing linebreaks":      {"{% set n = namespace(s='a\n' * 9999) %}{% for i in range(9999) %}{% set n.s = n.s | linebreaks %}{% endfor %}", Limit},
		"repeated list":           {"{{ [1] * 99999999 }}", Limit},
		"long stringformat":       {"{{ 1 | stringformat('x' * 9999999 ~ '%d') }}", Limit},
		"big sum of pongo2":       {"{{ 9223372036854775807 | add:1 }}", Limit},
		"random in a loop":        {"{% for a in range(99999) %}{{ range(99999) | random }}{% endfor %}", Limit},
		"long words wrapped":      {"{% for a in range(99999) %}{{ ('x' * 99999) | wordwrap(10) | length }}{% endfor %}", Limit},
		"links":                   {"{% for a in range(99999) %}{{ ('a.com ' * 9999) | urlize | length }}{{ ('(' * 9999 ~ 'a' ~ ')' * 9999) | urlizetrunc:9 | length }}{% endfor %}", Limit},
		"pretty printed":          {"{% set n = namespace(a=[1]) %}{% for i in range(60) %}{% set n.a = [n.a, n.a] %}{% endfor %}{{ n.a | pprint }}", Limit},
		"pretty printed deep":     {"{% set n = namespace(a=['x' * 99]) %}{% for i in range(5000) %}{% set n.a = [n.a] %}{% endfor %}{{ n.a | pprint }}", Limit},
		"lorem":                   {"{% lorem 100000 w %}", Syntax},
		"long loops":              {"{% for a in range(300) %}{% for b in range(300) %}{% for c in range(300) %}{% endfor %}{% endfor %}{% endfor %}", Limit},
		"long filters":            {"{% for a in range(99999) %}{{ range(99999) | sum }}{% endfor %}", Limit},
		"floatformat":             {"{{ '%.99999999f' % 1 }}", Limit},
		"width of %":              {"{{ '%99999999d' % 1 }}", Limit},
		"width of format":         {"{{ '{:99999999}'.format(1) }}", Limit},
		"precision of format":     {"{{ '{:.99999999f}'.format(1) }}", Limit},
		"round":                   {"{{ 1 | round(99999999) }}", Limit},
		"indent":                  {"{{ 'x' | indent(99999999, true) }}", Limit},
		"indent of JSON":          {"{{ [1] | tojson(indent=99999999) }}", Limit},
		"repeated string":         {"{{ 'x' * 999999999 }}", Limit},
		"repeated replace":        {"{{ ('x' * 100000).replace('x', 'y' * 100000) }}", Limit},
		"repeated join":           {"{{ range(9999) | join('y' * 100000) }}", Limit},
		"growing string":          {"{% set n = namespace(s='x') %}{% for i in range(99) %}{% set n.s = n.s ~ n.s %}{% endfor %}", Limit},
		"growing list":            {"{% set n = namespace(l=[1]) %}{% for i in range(99) %}{% set n.l = n.l + n.l %}{% endfor %}", Limit},
		"growing output":          {"{% set s = 'x' * 1000000 %}{% for i in range(99) %}{{ s }}{% endfor %}", Limit},
		"growing number":          {"{% set n = namespace(i=3) %}{% for i in range(99) %}{% set n.i = n.i * n.i %}{% endfor %}", Limit},
		"power":                   {"{{ 10 ** 999999999 }}", Limit},
		"huge power":              {"{{ 10 ** (10 ** 100) }}", Limit},
		"big range":               {"{{ range(99999999) | list }}", Other},
		"value in itself printed": {"{% set n = namespace(l=[1]) %}{% for i in range(5000) %}{% set n.l = [n.l] %}{% endfor %}{{ n.l }}", Limit},
		"value in itself in JSON": {"{% set n = namespace(l=[1]) %}{% for i in range(5000) %}{% set n.l = [n.l] %}{% endfor %}{{ n.l | tojson }}", Limit},
		"deep values compared":    {"{% set n = namespace(a=[1], b=[1]) %}{% for i in range(5000) %}{% set n.a = [n.a] %}{% set n.b = [n.b] %}{% endfor %}{{ n.a == n.b }}", Limit},
		"deep tuples as keys":     {"{% set n = namespace(a=(1,)) %}{% for i in range(5000) %}{% set n.a = (n.a,) %}{% endfor %}{{ {n.a: 1} }}", Limit},
		"wide values compared":    {"{% set n = namespace(a=[1], b=[1]) %}{% for i in range(60) %}{% set n.a = [n.a, n.a] %}{% set n.b = [n.b, n.b] %}{% endfor %}{{ n.a == n.b }}", Limit},
		"wide values printed":     {"{% set n = namespace(a=[1]) %}{% for i in range(60) %}{% set n.a = [n.a, n.a] %}{% endfor %}{{ n.a }}", Limit},
		"wide tuples as keys":     {"{% set n = namespace(a=(1,)) %}{% for i in range(60) %}{% set n.a = (n.a, n.a) %}{% endfor %}{{ {n.a: 1} }}", Limit},
		"generators inside":       {"{% set n = namespace(g=[1]) %}{% for i in range(50000) %}{% set n.g = n.g | map('abs') %}{% endfor %}{{ n.g | list }}", Limit},
		"slices":                  {"{{ [1] | slice(999999999) | list }}", Limit},
		"batch":                   {"{{ [1] | batch(999999999, 'x') | list }}", Limit},
		"captured texts":          {"{% set s = 'x' * 9999999 %}{% for i in range(9999) %}{% set t %}{{ s }}{% endset %}{% endfor %}", Limit},
		"compared texts":          {"{% set s = 'x' * 9999999 %}{% set t = 'x' * 9999999 %}{% for i in range(9999) %}{% if s == t %}{% endif %}{% endfor %}", Limit},
		"searched texts":          {"{% set s = 'x' * 9999999 %}{% for i in range(9999) %}{{ s.split('y') | length }}{% endfor %}", Limit},
		"indexed texts":           {"{% set s = 'x' * 9999999 %}{% for i in range(9999) %}{{ s[-1] }}{% endfor %}", Limit},
		"variables":               {"{% for i in range(9) %}" + manySets(1500) + "{% endfor %}", Limit},
	} {
		t.Run(name, func(t *testing.T) {
			if slices.Contains(longest, name) {
				slow.Test(t)
			}
			out, err := render(context.Background(), c.text, nil)
			if err == nil {
				t.Fatalf("no error, %d bytes of text", len(out))
			}
			if got := classOf(t, err); got != c.want {
				t.Errorf("want a %s error, got %s: %.300v", c.want, got, err)
			}
		})
	}
}

func manySets(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("{% set v" + strings.Repeat("a", i%50) + strings.Repeat("b", i/50) + " = 1 %}")
	}
	return b.String()
}

// TestNotFatal has templates that panic in plain pongo2 and have a result in Jinja2.
func TestNotFatal(t *testing.T) {
	for text, want := range map[string]string{
		"{{ 5 % 0.5 }}": "0.0",
		"{{ [1] == [1] }} {{ {'a': 1} == {'a': 1} }}":                   "True True",
		"{% for c in 'cab' | sort %}{{ c }}{% endfor %}":                "abc",
		"{{ 0 ** 10 ** 9 }}{{ 1 ** 999999999 }}{{ (-1) ** 999999999 }}": "01-1",
	} {
		if got, err := render(context.Background(), text, nil); err != nil || got != want {
			t.Errorf("%s: want %q, got %q, %v", text, want, got, err)
		}
	}
}

func TestValuesAreNeverTemplates(t *testing.T) {
	evil := "{{ 7 * 7 }}{% for x in y %}{# {% endraw %} %}{% __out 0 %}"
	values := value.Pairs("x", evil)
	for _, text := range []string{
		"{{ x }}", "{% set y = x %}{{ y }}", "{% set y %}{{ x }}{% endset %}{{ y }}",
		"{% filter trim %}{{ x }}{% endfilter %}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(x) }}",
		"{{ '%s' | format(x) }}", "{{ x ~ '' }}", "{{ [x] | join }}", "{% raw %}" + "{% endraw %}{{ x }}",
		"{% for y in [x] %}{{ y }}{% endfor %}", "{% if true %}{{ x }}{% endif %}",
	} {
		if got, err := render(context.Background(), text, values); err != nil || got != evil {
			t.Errorf("%s: got %q, %v", text, got, err)
		}
	}
}

// TestInnerTags shows that a template cannot name the tags of the structure, nor
// reach pongo2's own.
func TestInnerTags(t *testing.T) {
	for _, word := range []string{
		pongo2tree.TagRoot, pongo2tree.TagOut, pongo2tree.TagSet, pongo2tree.TagEnd, "cycle", "ifequal", "ifnotequal", "now", "spaceless",
		"templatetag", "widthratio", "export", "forloop",
	} {
		if _, err := Parse(Source{Text: "{% " + word + " 0 %}{% end" + word + " %}"}); err == nil {
			t.Errorf("%s can be used", word)
		}
	}
	for _, text := range []string{"{{ pongo2.version }}", "{{ machine }}", "{{ forloop }}", "{{ block }}", "{{ self }}"} {
		if _, err := render(context.Background(), text, nil); err == nil {
			t.Errorf("%s has a value", text)
		}
	}
}

// TestGoIsUnreachable asks for methods of the Go values behind.
func TestGoIsUnreachable(t *testing.T) {
	values := value.Pairs("m", value.Pairs("a", 1), "l", []int{1}, "s", "x")
	for _, text := range []string{
		"{{ m.Get('a') }}", "{{ m.Set('b', 2) }}", "{{ m.Len() }}", "{{ l.Len() }}", "{{ s.Str() }}", "{{ m.keys.call() }}",
		"{% for x in l %}{{ loop.frame }}{% endfor %}", "{% macro a() %}{% endmacro %}{{ a.body }}", "{{ range.name }}",
	} {
		if out, err := render(context.Background(), text, values); err == nil {
			t.Errorf("%s gives %q", text, out)
		}
	}
}

func TestDeadline(t *testing.T) {
	ctx, cancel := context.WithDeadline(context.Background(), time.Unix(0, 0))
	defer cancel()
	_, err := render(ctx, "{% for i in range(99999) %}{{ i }}{% endfor %}", nil)
	if classOf(t, err) != Limit || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	stopped, stop := context.WithCancel(context.Background())
	e, err := ParseExpr(Source{Text: "range(99999) | map('string') | join"}, map[string]Func{})
	if err != nil {
		t.Fatal(err)
	}
	stop()
	_, err = e.Eval(stopped, Values{})
	if classOf(t, err) != Limit || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
