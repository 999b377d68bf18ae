package prompt

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/callnode/scheduler/llm/value"
)

// shown is the spans of a text, one a line: kind, text, source.
func shown(text string, list []Span) string {
	var b strings.Builder
	for _, s := range list {
		fmt.Fprintf(&b, "%.1s %q", s.Kind, text[s.Start:s.End])
		for _, ref := range s.Sources {
			fmt.Fprintf(&b, " %s%s", ref.Name, ref.Pointer)
			if s.Kind == Reference {
				fmt.Fprintf(&b, "[%d:%d]", ref.Start, ref.End)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestTrace(t *testing.T) {
	values := value.Pairs("a", value.Pairs("b", " B "), "l", []string{"x", "", "yz"}, "n", 7, "t", "{{ no }}",
		"m", []*value.Map{value.Pairs("role", "user", "content", "Hi you"), value.Pairs("role", "tool", "content", "42")})
	for template, want := range map[string]string{
		"one {{ a.b }}\r\n":                                  `l "one "|r " B " a/b[0:3]|l "\n"`,
		"{{ a.b | trim }}{{ a['b'].strip() }}":               `r "B" a/b[1:2]|r "B" a/b[1:2]`,
		"{{ n }}{{ n + 1 }}{{ 1 + 1 }}{{ 'c' }}":             `r "7" n[0:1]|c "8" n|c "2"|l "c"`,
		"{{ l }}":                                            `c "['x', '', 'yz']" l`,
		"{% for i in l %}[{{ i ~ loop.index }}]{% endfor %}": `l "["|r "x" l/0[0:1]|c "1"|l "]"|l "["|c "2"|l "]"|l "["|r "yz" l/2[0:2]|c "3"|l "]"`,
		"{% for x in m[1:] %}{{ '<' + x['role'] + '>' + x.content }}{% endfor %}":       `l "<"|r "tool" m/1/role[0:4]|l ">"|r "42" m/1/content[0:2]`,
		"{{ m | selectattr('role', 'eq', 'tool') | map(attribute='content') | first }}": `r "42" m/1/content[0:2]`,
		"{{ l | join(', ') }}":                                                                                `r "x" l/0[0:1]|l ", "|l ", "|r "yz" l/2[0:2]`,
		"{{ a.b | upper }}{{ (l | last)[1] }}":                                                                `c " B " a/b|r "z" l/2[1:2]`,
		"{{ m[0].content.split(' ')[1] }}":                                                                    `r "you" m/0/content[3:6]`,
		"{% filter upper %}{{ t }}z{% endfilter %}":                                                           `c "{{ NO }}Z" t`,
		"{% macro p(x, y='-') %}{{ x }}{{ y }}!{% endmacro %}{{ p(a.b) }}":                                    `r " B " a/b[0:3]|l "-"|l "!"`,
		"{% macro c() %}({{ caller() }}){% endmacro %}{% call c() %}{{ n }}{% endcall %}":                     `l "("|r "7" n[0:1]|l ")"`,
		"{% set x %}{{ a.b }}{{ t }}{% endset %}{{ x | trim }}":                                               `r "B " a/b[1:3]|r "{{ no }}" t[0:8]`,
		"{% set x = a.b | upper %}{% with y = x %}{{ y }}{% endwith %}":                                       `c " B " a/b`,
		"{{ no | default(n) }}{{ 'k' if n else t }}":                                                          `r "7" n[0:1]|l "k"`,
		"{% for k, v in a.items() %}{{ k }}={{ v }}{% endfor %}":                                              `c "b" a|l "="|r " B " a/b[0:3]`,
		"{% set ns = namespace(s='') %}{% for x in l %}{% set ns.s = ns.s ~ x ~ ';' %}{% endfor %}{{ ns.s }}": `r "x" l/0[0:1]|l ";"|l ";"|r "yz" l/2[0:2]|l ";"`,
		"{{ {'q': [a.b]}.q[0] }}":                                                                             `r " B " a/b[0:3]`,
		"{{ a.b | indent }}{{ m[0].content | truncate(5, true, '…', 0) }}":                                    `r " B " a/b[0:3]|r "Hi y" m/0/content[0:4]|l "…"`,
	} {
		tmpl, err := Parse(Source{Text: template})
		if err != nil {
			t.Fatal(err)
		}
		out, list, err := tmpl.Trace(context.Background(), Values{Map: values})
		if err != nil {
			t.Fatalf("%s: %v", template, err)
		}
		got := strings.ReplaceAll(strings.TrimSpace(shown(out, list)), "\n", "|")
		if diff := cmp.Diff(strings.Split(want, "|"), strings.Split(got, "|")); diff != "" {
			t.Errorf("%s (-want +got)\n%s", template, diff)
		}
	}
}

// Values that an expression mentions but does not use are not named.
func TestTraceNamesWhatWasUsed(t *testing.T) {
	values := value.Pairs("a", "x", "b", "y", "c", true, "no", "", "n", 2, "k", "j", "l", []string{"p", "q", "r"},
		"m", []*value.Map{value.Pairs("role", "user", "content", "hi"), value.Pairs("role", "tool", "content", "42")})
	for expr, want := range map[string]string{
		"{'k': a, 'j': b}['k'] | upper":            "a",
		"{'k': a, 'j': b}[k] | upper":              "b",
		"{'k': a, 'j': b}.j | upper":               "b",
		"{'k': a | upper, 'j': b}.k | lower":       "a",
		"{'k': a, 'j': b}.items() | list | tojson": "a b",
		"{'k': a, 'j': b}.values() | last | upper": "b",
		"(a, b) | last | upper":                    "b",
		"[a | upper, b | upper] | first | lower":   "a",
		"[[a, b], [b]][1] | tojson":                "b",
		"(c and a) | upper":                        "a",
		"(no and a) | upper ~ b | upper":           "b",
		"(no or b) | upper":                        "b",
		"(a or b) | upper":                         "a",
		"(a if c else b) | upper":                  "a",
		"((c and a) ~ '!') | upper":                "a",
		"no | default(b, true) | upper":            "b",
		"nope | default(a) | upper":                "a",
		"a | replace('x', c and b)":                "a b",
		"m | selectattr('role', 'eq', 'tool') | map(attribute='content') | first | upper": "m/1/content",
		"m | map(attribute='content') | map('upper') | first":                             "m/0/content",
		"m | map(attribute='content') | list | tojson":                                    "m/0/content m/1/content",
		"l | map('replace', 'p', a) | first | lower":                                      "l/0 a",
		"l | select('ne', b) | list | last | upper":                                       "l/2",
		"l | batch(2) | first | join('-') | upper":                                        "l/0 l/1",
		"l[1:] | tojson":                        "l/1 l/2",
		"l | reverse | first | upper":           "l/2",
		"l | sort | join | upper":               "l/0 l/1 l/2",
		"(l | max) | upper":                     "l/2",
		"l | length":                            "l",
		"[a, b] | length":                       "a b",
		"(a, b)[0].upper()":                     "a",
		"a.replace('x', (b, c)[0]).upper()":     "a b",
		"(c and n) + 1":                         "n",
		"[n, a][0] * 2":                         "n",
		"-((a, n)[1])":                          "n",
		"(a, b)[0] == b":                        "a b",
		"'%s' | format((a, b) | first) | upper": "a",
	} {
		tmpl, err := Parse(Source{Text: "{{ " + expr + " }}"})
		if err != nil {
			t.Fatal(err)
		}
		_, list, err := tmpl.Trace(t.Context(), Values{Map: values})
		if err != nil {
			t.Fatalf("%s: %v", expr, err)
		}
		var got []string
		for _, s := range list {
			for _, ref := range s.Sources {
				if name := ref.Name + ref.Pointer; !slices.Contains(got, name) {
					got = append(got, name)
				}
			}
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got)\n%s", expr, diff)
		}
	}
}

func TestTraceOfExpressions(t *testing.T) {
	values := value.Pairs("a", value.Pairs("b", "B", "c", []int{1}), "l", []string{"x"})
	for text, want := range map[string]string{
		"a":                          `"" r a`,
		"a.b":                        `"" r a/b`,
		"[a.b ~ '!', a, 1, l + l]":   `/0 r a/b|/0 l|/1 r a|/2 l|/3/0 r l/0|/3/1 r l/0`,
		"{'x': l, 'y': a.b | upper}": `/x r l|/y c a/b`,
		"[('<' + (a.b | safe)), (a.b | safe) ~ a.b, (a.b | e) + a.b]": `/0 c|/0 r a/b|/1 r a/b|/1 r a/b|/2 c a/b|/2 r a/b`,
		"''": ``,
	} {
		e, err := ParseExpr(Source{Text: text}, nil)
		if err != nil {
			t.Fatal(err)
		}
		v, members, err := e.Trace(context.Background(), Values{Map: values})
		if err != nil {
			t.Fatal(err)
		}
		if same, err := e.Eval(context.Background(), Values{Map: values}); err != nil || !value.Equal(same, v) {
			t.Errorf("%s: Eval returns %s, Trace %s", text, same, v)
		}
		var got []string
		for _, m := range members {
			for _, s := range m.Spans {
				line := fmt.Sprintf("%s %.1s", m.Pointer, s.Kind)
				if m.Pointer == "" {
					line = fmt.Sprintf(`"" %.1s`, s.Kind)
				}
				for _, ref := range s.Sources {
					line += " " + ref.Name + ref.Pointer
				}
				got = append(got, line)
			}
		}
		if diff := cmp.Diff(want, strings.Join(got, "|")); diff != "" {
			t.Errorf("%s (-want +got)\n%s", text, diff)
		}
	}
}

// traceGenerator draws templates that move values about in every way that a trace
// follows.
type traceGenerator struct {
	t     *rapid.T
	names []string // texts in scope
}

func (g *traceGenerator) pick(of ...string) string { return rapid.SampledFrom(of).Draw(g.t, "pick") }

// expr draws an expression that is a text.
func (g *traceGenerator) expr(depth int) string {
	if depth == 0 {
		return g.pick(append(g.names, "a", "d.x", "d['y'].z", "l[1]", "m[0].content", "'lit'")...)
	}
	x := g.expr(depth - 1)
	switch g.pick("ref", "concat", "plus", "trim", "slice", "upper", "join", "default", "if", "first", "split", "macro", "loopless") {
	case "concat":
		return "(" + x + " ~ " + g.expr(depth-1) + " ~ 3)"
	case "plus":
		return "(" + x + " + '-' + " + g.expr(depth-1) + ")"
	case "trim":
		return "(" + x + " | trim)"
	case "slice":
		return "(" + x + ")[" + g.pick("1:", ":4", "2:5", "::-1") + "]"
	case "upper":
		return "(" + x + " | replace('q', 'w'))"
	case "join":
		return "([" + x + ", " + g.expr(depth-1) + "] | join('/'))"
	case "default":
		return "(nope | default(" + x + "))"
	case "if":
		return "(" + x + " if n else 'no')"
	case "first":
		return "(m | map(attribute='content') | list)[" + g.pick("0", "1", "-1") + "]"
	case "split":
		return "(" + x + ").split()[0]"
	case "macro":
		return "wrap(" + x + ")"
	}
	return x
}

// body draws a piece of a template.
func (g *traceGenerator) body(depth int) string {
	var b strings.Builder
	for range rapid.IntRange(1, 4).Draw(g.t, "pieces") {
		x := g.expr(rapid.IntRange(0, 3).Draw(g.t, "depth"))
		switch kind := g.pick("text", "print", "print", "for", "set", "block", "filter", "call", "items"); {
		case kind == "text" || depth == 0:
			b.WriteString("text ")
		case kind == "for":
			b.WriteString("{% for e in m %}{{ e.content }}" + g.inner("e.role", depth) + "{% endfor %}")
		case kind == "items":
			b.WriteString("{% for k, v in d.items() if v is string %}{{ k }}:{{ v }}{% endfor %}")
		case kind == "set":
			b.WriteString("{% set s = " + x + " %}" + g.inner("s", depth))
		case kind == "block":
			b.WriteString("{% set s %}{{ " + x + " }}" + g.body(depth-1) + "{% endset %}" + g.inner("s", depth))
		case kind == "filter":
			b.WriteString("{% filter trim %}{{ " + x + " }}{% endfilter %}")
		case kind == "call":
			b.WriteString("{% call around('w') %}{{ " + x + " }}{% endcall %}")
		default:
			b.WriteString("{{ " + x + " }}")
		}
	}
	return b.String()
}

func (g *traceGenerator) inner(name string, depth int) string {
	g.names = append(g.names, name)
	text := g.body(depth - 1)
	g.names = g.names[:len(g.names)-1]
	return text
}

const traceMacros = "{% macro wrap(x) %}<{{ x }}>{% endmacro %}{% macro around(y) %}{{ y }}({{ caller() }}){% endmacro %}"

// traceScope makes the scope of the property test: every text comes from next.
func traceScope(next func() string) *value.Map {
	message := func(role string) *value.Map { return value.Pairs("role", role, "content", next()) }
	return value.Pairs("a", next(), "d", value.Pairs("x", next(), "y", value.Pairs("z", next())),
		"l", []string{next(), next()}, "m", []*value.Map{message(next()), message(next()), message(next())}, "n", 1)
}

// sourceText is the text that a reference names.
func sourceText(t *rapid.T, scope *value.Map, ref ValueRef) string {
	root, _ := scope.Get(ref.Name)
	v, ok := root.At(ref.Pointer)
	if !ok {
		t.Fatalf("%+v names no value", ref)
	}
	return Text(v)
}

// TestTraceIsExact: with texts in which every character occurs once, each byte of a
// rendered text is attributed to the value that it came from; with equal texts the
// attribution stays the same.
func TestTraceIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := &traceGenerator{t: t}
		template := traceMacros + g.body(2)
		tmpl, err := Parse(Source{Text: template})
		if err != nil {
			t.Fatalf("%s: %v", template, err)
		}
		char := rune(0x4e00)
		unique := traceScope(func() string {
			var b strings.Builder
			b.WriteString("  ")
			for i := range 8 {
				if i == 4 {
					b.WriteString(" ")
				}
				b.WriteRune(char)
				char++
			}
			return b.String() + " "
		})
		owners := map[rune]ValueRef{}
		ownersOf(unique, owners)
		out, list, err := tmpl.Trace(context.Background(), Values{Map: unique})
		if err != nil {
			t.Fatalf("%s: %v", template, err)
		}
		if plain, err := tmpl.Render(context.Background(), Values{Map: unique}); err != nil || plain != out {
			t.Fatalf("%s: Render returns %q, Trace %q, %v", template, plain, out, err)
		}
		end := 0
		for _, s := range list {
			if s.Start != end || s.End <= s.Start {
				t.Fatalf("%s: span %+v after %d", template, s, end)
			}
			end = s.End
			text := out[s.Start:s.End]
			if s.Kind == Reference {
				source := sourceText(t, unique, s.Sources[0])
				if ref := s.Sources[0]; source[ref.Start:ref.End] != text {
					t.Fatalf("%s: %q is not %+v of %q", template, text, ref, source)
				}
			}
			for _, c := range text {
				owner, owned := owners[c]
				if !owned {
					continue
				}
				named := false
				for _, ref := range s.Sources {
					named = named || ref.Name == owner.Name && strings.HasPrefix(owner.Pointer, ref.Pointer)
				}
				if !named {
					t.Fatalf("%s: %q of %+v is in a span of %+v", template, c, owner, s)
				}
			}
		}
		if end != len(out) {
			t.Fatalf("%s: the spans end at %d of %d", template, end, len(out))
		}
		equal := traceScope(func() string { return "  一二三四 五六七八 " })
		outEqual, listEqual, err := tmpl.Trace(context.Background(), Values{Map: equal})
		if err != nil || len(outEqual) != len(out) {
			t.Fatalf("%s: %q, %q, %v", template, out, outEqual, err)
		}
		if diff := cmp.Diff(list, listEqual); diff != "" {
			t.Fatalf("%s: equal texts change the trace:\n%s", template, diff)
		}
	})
}

// ownersOf finds for every character of a scope the value that has it.
func ownersOf(scope *value.Map, owners map[rune]ValueRef) {
	var walk func(name, pointer string, v value.Value)
	walk = func(name, pointer string, v value.Value) {
		text, _ := v.Str()
		for _, c := range text {
			if c >= 0x4e00 {
				owners[c] = ValueRef{Name: name, Pointer: pointer}
			}
		}
		for i, x := range v.List() {
			walk(name, fmt.Sprintf("%s/%d", pointer, i), x)
		}
		for k, x := range v.Map().All() {
			walk(name, pointer+"/"+value.Escape(k), x)
		}
	}
	for k, v := range scope.All() {
		walk(k, "", v)
	}
}
