package prompt

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/llm/value"
)

func expr(t testing.TB, text string) *Expr {
	t.Helper()
	e, err := ParseExpr(Source{Text: text}, nil)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return e
}

func TestEvalKeepsTypes(t *testing.T) {
	values, err := value.ParseJSON([]byte(`{"a": {"b": [1, 2.50, "x", null, true]}, "big": 12345678901234567890, "n": 1e2}`))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"a": `{"b":[1,2.50,"x",null,true]}`, "a.b[1]": "2.50", "a['b'][0] + 1": "2", "a.b[-1]": "true", "n": "1e2",
		"big": "12345678901234567890", "(1, 'a')": `[1,"a"]`, "[1, [none]]": "[1,[null]]",
		"{'k': a.b[2], 2: 3}": `{"k":"x","2":3}`, "a.b | map('string') | list": `["1","2.5","x","None","True"]`,
		"range(3)": "[0,1,2]", "a.items | default([])": "[]", "{'items': [1]}.items": "[1]", "{'items': [1]}['items']": "[1]", "a['keys'] is defined": "false", "a.keys()": `["b"]`, "a.items()": `[["b",[1,2.50,"x",null,true]]]`, "'<' | e": `"&lt;"`,
		"nope | default(a.b[3])": "null", "1 if false": "null", "'a' 'b'": `"ab"`, " 7 / 2 ": "3.5", "{true: 1, none: 2, 1.5: 3}": `{"true":1,"null":2,"1.5":3}`,
		"[{'a': 1}] | groupby('a')": `[[1,[{"a":1}]]]`, "nope is defined": "false", "a.b|first": "1", "a|length == 1 and not nope is defined": "true",
	} {
		v, err := expr(t, text).Eval(context.Background(), Values{Map: values.Map()})
		if err != nil || v.JSON() != want {
			t.Errorf("%s: want %s, got %s, %v", text, want, v, err)
		}
	}
	for text, class := range map[string]Class{
		"nope": Undefined, "a.c": Undefined, "[nope]": Undefined, "a.keys": Undefined, "namespace(a=1)": Type, "'nan' | float": Other,
		"{(1, 2): 3}": Type, "[a.items]": Undefined,
	} {
		_, err := expr(t, text).Eval(context.Background(), Values{Map: values.Map()})
		if got := classOf(t, err); got != class {
			t.Errorf("%s: want %s, got %v", text, class, err)
		}
	}
}

func TestErrors(t *testing.T) {
	values := value.Pairs("recall", value.Pairs("memories", []string{"a"}, "count", 1), "nil", nil)
	for text, want := range map[string]string{
		"{{ recall.memmories }}":                    `f.yaml:1:4: recall.memmories is undefined: the object has no key 'memmories' (did you mean "memories"?)`,
		"a\n{% if recall.cuont %}{% endif %}":       `f.yaml:2:7: recall.cuont is undefined: the object has no key 'cuont' (did you mean "count"?)`,
		"{{ recall.memories[3].x }}":                `f.yaml:1:4: recall.memories[3] is undefined: the list has no member '3'`,
		"{{ recal }}":                               `f.yaml:1:4: recal is undefined`,
		"{{ nil.x }}":                               `f.yaml:1:4: nil.x is undefined: what comes before 'x' is None`,
		"{{ 'n=' + recall.count }}":                 `f.yaml:1:9: unsupported operand types for +: 'str' and 'int' (~ joins any two values as text)`,
		"{{ recall | uper }}":                       `f.yaml:1:13: unknown filter 'uper' (did you mean "upper"?)`,
		"{{ recall is mappin }}":                    `f.yaml:1:14: unknown test 'mappin' (did you mean "mapping"?)`,
		"{% fro x in y %}":                          `f.yaml:1:4: unknown tag 'fro' (did you mean "for"?)`,
		"{% if 1 %}\n{% for x in y %}\n{% endif %}": `f.yaml:3:4: unexpected {% endif %}: {% for %} of line 2 is still open`,
		"{% if 1 %}":                                `f.yaml:1:1: {% if %} is not closed (add {% endif %})`,
		"{{ 1":                                      `f.yaml:1:3: }} is missing: the template ends inside the tag`,
		"中文{{ 'a }}":                                `f.yaml:1:6: the string is not closed`,
		"{{ [1, 2] | map('upper') | length }}":      `f.yaml:1:28: 'generator' has no length (make a list of it first: | list | length)`,
		"{{ recall.items[0].id }}":                  `f.yaml:1:4: recall.items is undefined: the object has no key 'items' (to call the method write .items())`,
		"{{ recall.items }}":                        `f.yaml:1:4: recall.items is undefined: the object has no key 'items' (to call the method write .items())`,
		"{{ recall.items | length }}":               `f.yaml:1:4: recall.items is undefined: the object has no key 'items' (to call the method write .items())`,
		"{{ recall['items']() }}":                   `f.yaml:1:4: the method 'items' can only be called right after its name (to call the method write .items())`,
		"{{ [1].append(2) }}":                       `f.yaml:1:4: access to attribute 'append' of a 'list' is refused`,
		"{% for x in recall.items %}{% endfor %}":   `f.yaml:1:13: recall.items is undefined: the object has no key 'items' (to call the method write .items())`,
		"{{ 'a' | replace('a') }}":                  `f.yaml:1:10: replace needs the argument 'new'`,
		"{{ 'a' | round(metod='ceil') }}":           `f.yaml:1:10: round has no argument 'metod' (did you mean "method"?)`,
	} {
		tmpl, err := Parse(Source{File: "f.yaml", Text: text})
		if err == nil {
			_, err = tmpl.Render(context.Background(), Values{Map: values})
		}
		if err == nil || err.Error() != want {
			t.Errorf("%s:\nwant %s\ngot  %v", text, want, err)
		}
	}
	_, err := Parse(Source{File: "f", Text: "{{ $ }}", At: func(offset int) (int, int) { return 40, 7 + offset }})
	if err == nil || !strings.HasPrefix(err.Error(), "f:40:10: ") {
		t.Errorf("At is not used: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Lookup(string) (value.Value, bool, error) { return value.Value{}, false, f.err }

func TestScope(t *testing.T) {
	broken := errors.New("the store is gone")
	_, err := render(context.Background(), "{{ 1 }}", nil)
	if err != nil {
		t.Error(err)
	}
	_, err = expr(t, " a.b").Eval(context.Background(), failing{broken})
	if !errors.Is(err, broken) || classOf(t, err) != Other || err.Error() != "1:2: the store is gone" {
		t.Errorf("got %v", err)
	}
	count := counting{}
	tmpl, err := Parse(Source{Text: "{% if false %}{{ b }}{% endif %}{% for i in a %}{{ a }}{{ i }}{% endfor %}{% set c = 1 %}{{ c }}"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tmpl.Render(context.Background(), count); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(counting{"a": 1}, count); diff != "" {
		t.Errorf("each name is looked up once, and only when it is needed: %s", diff)
	}
}

type counting map[string]int

func (c counting) Lookup(name string) (value.Value, bool, error) {
	c[name]++
	return value.Must([]int{1, 2}), true, nil
}

func TestFuncs(t *testing.T) {
	funcs := map[string]Func{
		"double": func(_ context.Context, args []value.Value) (value.Value, error) {
			if len(args) != 1 {
				return value.Value{}, errors.New("double wants one argument")
			}
			i, _ := args[0].Int()
			return value.OfInt(2 * i), nil
		},
		"explode": func(context.Context, []value.Value) (value.Value, error) { panic("bang") },
	}
	for text, want := range map[string]string{
		"double(4) + 1": "9", "[1, 2] | map('abs') | list": "[1,2]", "double(double(a))": "12",
		"double()": "1:1: double wants one argument", "explode()": "1:1: explode panicked: bang",
		"double(x=1)": "1:1: double takes no arguments by name", "double(nope)": "1:8: nope is undefined",
		"double": "1:1: a 'function' cannot leave a template",
		"{}.get": "1:1: get is undefined: the object has no key 'get' (to call the method write .get())",
	} {
		e, err := ParseExpr(Source{Text: text}, funcs)
		if err != nil {
			t.Fatal(err)
		}
		v, err := e.Eval(context.Background(), Values{Map: value.Pairs("a", 3)})
		if got := v.JSON(); err == nil && got != want || err != nil && err.Error() != want {
			t.Errorf("%s: want %s, got %s, %v", text, want, got, err)
		}
		for _, r := range e.Refs() {
			if funcs[r.Path[0]] != nil {
				t.Errorf("%s: a function is no reference: %v", text, r)
			}
		}
	}
}

func TestPath(t *testing.T) {
	for text, want := range map[string][]string{
		"a": {"a"}, "a.b": {"a", "b"}, "a['b c'][0].d": {"a", "b c", "0", "d"}, "a.0": {"a", "0"},
		"a[b]": nil, "a.b | d": nil, "'a'": nil, "a.b()": nil, "(a.b)": {"a", "b"}, "a[1.5]": nil,
	} {
		if got, ok := expr(t, text).Path(); ok != (want != nil) || !cmp.Equal(got, want) {
			t.Errorf("%s: want %v, got %v", text, want, got)
		}
	}
}

func TestRefs(t *testing.T) {
	for text, want := range map[string]string{
		"{{ a.b[0].c }} {{ x ~ y.z }}":           "a.b.0.c@3 x@18 y.z@22",
		"{{ a.items() }}{{ a.b.split(c)[d].e }}": "a@3 a.b@18 c@28 d@31",
		"{{ a.b.items.keys }}{{ a['items'].b[c].get }}{{ a.pop | d(b.items()) }}{{ a.copy[b] }}{{ a.b['x'].values[0]() }}": "a.b.items.keys@3 a.items.b@23 c@36 a.pop@48? b@58 a.copy@74 b@81 a.b.x.values.0@89",
		"{{ a[b.c].d }}": "a@3 b.c@5",
		"{{ a.b | default('x') }}{{ a.b | d(c) }}{{ a | upper }}":                                          "a.b@3? a.b@27? c@35 a@43",
		"{{ a.b if a.b is defined else c }}":                                                               "a.b@3? a.b@10? c@30",
		"{{ a is defined and a.b.c }}{{ a.b }}":                                                            "a@3? a.b.c@20? a.b@31",
		"{% if a.b is defined %}{{ a.b.c }}{{ a.d }}{% endif %}{{ a.b }}":                                  "a.b@6? a.b.c@26? a.d@37 a.b@57",
		"{% if a is undefined %}{% elif b %}{{ a }}{% else %}{{ a }}{% endif %}":                           "a@6? b@31 a@38? a@55?",
		"{% for x in a.l if x.ok and y %}{{ x.z }}{{ loop.index }}{% else %}{{ x }}{% endfor %}{{ loop }}": "a.l@12 y@28 x@70 loop@89",
		"{% set s = a %}{{ s }}{% set t %}{{ b }}{% endset %}{{ t }}":                                      "a@11 b@36",
		"{% macro m(p, q=a) %}{{ p }}{{ q }}{{ caller }}{{ b }}{% endmacro %}{{ m(c) }}{{ p }}":            "a@16 b@50 c@73 p@81",
		"{% macro m() %}{% endmacro %}{% call(i) m(a) %}{{ i }}{{ j }}{% endcall %}":                       "a@42 j@57",
		"{% with v = a, w = b %}{{ v }}{{ w }}{% endwith %}{{ v }}":                                        "a@12 b@19 v@53",
		"{% filter replace(a, 'b') %}{{ c }}{% endfilter %}":                                               "a@18 c@31",
		"{{ range(n) }}{{ dict(k=v) }}{% set ns = namespace() %}{% set ns.a = b %}{{ ns.a }}":              "n@9 v@24 b@69",
		"{{ [a, {'k': b, c: 1}, (d, -e), f[g:h], not i, j < k, l is divisibleby(m)] }}":                    "a@4 b@13 c@16 d@24 e@28 f@32 g@34 h@36 i@44 j@47 k@51 l@54 m@71",
		"{% if a %}{% set z = 1 %}{% endif %}{{ z }}{% set caller = q %}":                                  "a@6 q@59",
	} {
		tmpl, err := Parse(Source{Text: text})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var got []string
		for _, r := range tmpl.Refs() {
			s := strings.Join(r.Path, ".") + "@" + Text(value.OfInt(int64(r.Offset)))
			if r.Guarded {
				s += "?"
			}
			got = append(got, s)
		}
		if diff := cmp.Diff(strings.Fields(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestWhole(t *testing.T) {
	for text, want := range map[string]string{
		"{{ a }}": " a ", " \n{{a.b}} ": "a.b", "{{- a -}}": " a ", "{{ {'a': {}} }}": " {'a': {}} ", "{{ '}}' }}": " '}}' ",
		"{{ a }} b": "-", "x{{ a }}": "-", "{{ a }}{{ b }}": "-", "{{ a": "-", "": "-", "text": "-", "{% if a %}{% endif %}": "-", "{{ 'a }}": "-",
		"{{ a }}{# c #}": "-",
	} {
		got, offset, ok := SingleExpr(text)
		if !ok {
			got = "-"
		}
		if got != want || ok && text[offset:offset+len(got)] != got {
			t.Errorf("%q: want %q, got %q at %d", text, want, got, offset)
		}
	}
}

func TestDynamic(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "plain { text }": false, "{": false, "{ {": false, "a{{ b }}": true, "{{": true, "{%": true, "x {# y": true, "{ {{": true, "}}": false,
	} {
		if HasTags(text) != want {
			t.Errorf("%q: want %v", text, want)
		}
	}
}

func TestText(t *testing.T) {
	v, err := value.ParseJSON([]byte(`["it's", "a\"b", "\n\u0000中", 1, 2.50, 1e400, 3.0, null, true, {"k": []}, 12345678901234567890]`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := Text(v), `["it's", 'a"b', '\n\x00中', 1, 2.5, inf, 3.0, None, True, {'k': []}, 12345678901234567890]`; got != want {
		t.Errorf("want %s\ngot  %s", want, got)
	}
}

func TestConcurrent(t *testing.T) {
	tmpl, err := Parse(Source{Text: chatTemplate})
	if err != nil {
		t.Fatal(err)
	}
	scope := Values{Map: chatValues()}
	want, err := tmpl.Render(context.Background(), scope)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				if got, err := tmpl.Render(context.Background(), scope); err != nil || got != want {
					t.Errorf("got %q, %v", got, err)
				}
				other, err := Parse(Source{Text: chatTemplate + "{% if 1 %}{% endif %}"})
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := other.Render(context.Background(), scope); err != nil || got != want {
					t.Errorf("got %q, %v", got, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestMapOrder(t *testing.T) {
	m := value.NewMap(20)
	var want strings.Builder
	for _, c := range "qwertyuiopasdfghjkl" {
		m.Set(string(c), value.OfInt(int64(c)))
		want.WriteRune(c)
	}
	tmpl, err := Parse(Source{Text: "{% for k in m %}{{ k }}{% endfor %}|{% for k, v in m.items() %}{{ k }}{% endfor %}|{{ m | join }}|{{ m | list | join }}"})
	if err != nil {
		t.Fatal(err)
	}
	w := want.String()
	for range 20 {
		if got, err := tmpl.Render(context.Background(), Values{Map: value.Pairs("m", m)}); err != nil || got != w+"|"+w+"|"+w+"|"+w {
			t.Fatalf("got %q, %v", got, err)
		}
	}
}

func TestDjangoArguments(t *testing.T) {
	for text, want := range map[string]string{
		`{{ x | default:"a" }}`: "a", `{{ [1, 2] | join:", " }}`: "1, 2", `{% if x | default:"" %}y{% endif %}`: "", `{{ {'a'|upper: 1}.A }}`: "1",
		`{{ 'abc'[1|int:] }}`: "bc", `{{ ('a' | default:'b') ~ 1 }}`: "a1",
	} {
		if got, err := render(context.Background(), text, nil); err != nil || got != want {
			t.Errorf("%s: want %q, got %q, %v", text, want, got, err)
		}
	}
}
