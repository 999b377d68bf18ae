package yaml_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

func TestParseValue(t *testing.T) {
	for text, want := range map[string]string{
		"": `null`, "# only a comment\n": `null`, "~": `null`, "null": `null`, "--- \na: 1\n...\n": `{"a":1}`, "\ufeffa: 1": `{"a":1}`,
		"b: 1\na: [x, 'y', \"z\\n\"]\n1: 2\ntrue: 3": `{"b":1,"a":["x","y","z\n"],"1":2,"true":3}`,
		"- |\n  one\n  two\n- >\n  three\n  four\n":  `["one\ntwo\n","three four\n"]`,
		"a: &x {k: 1}\nb: *x\n&k c: *k":              `{"a":{"k":1},"b":{"k":1},"c":"c"}`,
		// Numbers keep their spelling if JSON allows it.
		"[1, -0, 1.50, 1e3, 99999999999999999999]":     `[1,-0,1.50,1e3,99999999999999999999]`,
		"[0x1F, 0o17, 0b101, 1_000, +5]":               `[31,15,5,1000,5]`,
		"[!!int 0xFFFFFFFFFFFFFFFFFFFF, .5, 5., +1.5]": `[1208925819614629174706175,0.5,5.0,1.5]`,
		"[!!int '12', !!float 3, !!float '1e999']":     `[12,3,1e999]`,
		// Text that other programs take for something else.
		"[017, 010020, 08, -01, 00, 01.5]":                      `["017","010020","08","-01","00","01.5"]`,
		"[yes, no, on, off, y, N]":                              `["yes","no","on","off","y","N"]`,
		"[1:30, 2026-01-01, 1.2.3, =, <<]":                      `["1:30","2026-01-01","1.2.3","=","<<"]`,
		"[true, False, NULL, !!str 1, !!bool 'true', !!null ~]": `[true,false,null,"1",true,null]`,
		"!!binary aGk=":                                         `"aGk="`,
	} {
		v, err := yaml.ParseValue([]byte(text))
		if err != nil || v.JSON() != want {
			t.Errorf("%q is %s, %v, want %s", text, v, err, want)
		}
	}
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1\nb: 2\na: 3":       `3:1: duplicate key "a" (first at 1:1)`,
		"1: x\n'1': y":           `2:1: duplicate key "1" (first at 1:1)`,
		"a: 1\n---\nb: 2":        `2:1: a second YAML document starts here; only one is read`,
		"a: 1\n---\nb: [":        `3:4: the [ that opens here is not closed (close it with ])`,
		"é:\n  {{ x }}: 1":       `2:3: a key must be plain text`,
		"a: {<<: [{b: 1}, 2]}":   `1:18: a merge key (<<) takes a map, or a list of maps`,
		"a: !mine {b: 1}":        `1:4: unknown tag !mine`,
		"a: !mine [b]":           `1:4: unknown tag !mine`,
		"a: !mine b":             `1:4: unknown tag !mine`,
		"!!set {a}":              `1:1: unknown tag !!set`,
		"a: .inf":                `1:4: ".inf" cannot be written as JSON (!!float)`,
		"a: !!int x":             `1:4: "x" cannot be written as JSON (!!int)`,
		"a: !!bool x":            `1:4: "x" cannot be written as JSON (!!bool)`,
		"a: !!null x":            `1:4: "x" cannot be written as JSON (!!null)`,
		"a: b: c":                `1:5: a text with ": " in it must be quoted (put the whole value in quotes)`,
		"a:\n\t- x":              `2:1: a tab in the indentation (indent with spaces)`,
		"a: &a [*a]":             `1:4: nested deeper than 200`,
		strings.Repeat("[", 300): `1:300: the [ that opens here is not closed (close it with ])`,
		strings.Repeat("[", 300) + strings.Repeat("]", 300): `1:202: nested deeper than 200`,
		strings.Repeat("x", yaml.MaxBytes+1):                `1:1: the text has 8388609 bytes, more than 8388608`,
	} {
		_, err := yaml.ParseValue([]byte(text))
		var fault *yaml.Error
		if !errors.As(err, &fault) || err.Error() != want {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}

func TestMergeKeys(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"alias":               {"x: &c {a: 1}\ny: {<<: *c, b: 2}", `{"x":{"a":1},"y":{"a":1,"b":2}}`},
		"own key wins":        {"x: &c {a: 1, b: 1}\ny: {<<: *c, b: 2}", `{"x":{"a":1,"b":1},"y":{"a":1,"b":2}}`},
		"first of a list":     {"x: &c {a: 1}\nz: &d {a: 2, b: 3}\ny: {<<: [*c, *d]}", `{"x":{"a":1},"z":{"a":2,"b":3},"y":{"a":1,"b":3}}`},
		"a merge in a merge":  {"x: &c {a: 1}\nz: &d {<<: *c, b: 2}\ny: {<<: *d}", `{"x":{"a":1},"z":{"a":1,"b":2},"y":{"a":1,"b":2}}`},
		"quoted is a key":     {`{"<<": {a: 1}}`, `{"<<":{"a":1}}`},
		"a text is no key":    {"a: <<", `{"a":"<<"}`},
		"directive of 1.2":    {"# a\n%YAML 1.2\n---\na: 1", `{"a":1}`},
		"directive of 1.1":    {"%YAML 1.1\n---\na: 1", `{"a":1}`},
		"pairs of escapes":    {`a: {"b": "\ud83c\udf0a \u00e9", c: 1}`, `{"a":{"b":"🌊 é","c":1}}`},
		"no directive inside": {"a: |\n  %YAML 1.2\n", `{"a":"%YAML 1.2\n"}`},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := yaml.ParseValue([]byte(test.text))
			if err != nil || v.JSON() != test.want {
				t.Errorf("got %s, %v", v.JSON(), err)
			}
		})
	}
}

func TestAliasesDoNotUnfoldForever(t *testing.T) {
	var text strings.Builder
	text.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 10; i++ {
		fmt.Fprintf(&text, "a%d: &a%d [%s]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10))
	}
	if _, err := yaml.ParseValue([]byte(text.String())); err == nil {
		t.Error("ten to the tenth nodes were read")
	}
}

func TestPlacesOfNodes(t *testing.T) {
	root, err := yaml.Parse([]byte("名字: x\nlist:\n  - &one 1\n  - *one\n"))
	if err != nil {
		t.Fatal(err)
	}
	list := root.Content[3]
	if n := list.Content[0]; n.Line != 3 || n.Column != 5 {
		t.Errorf("the first item stands at %d:%d", n.Line, n.Column)
	}
	if n := list.Content[1]; n.Kind != yaml.Alias || yaml.Resolve(n) != list.Content[0] {
		t.Errorf("the second item is no alias of the first: %v", n)
	}
	if root, err := yaml.Parse(nil); root != nil || err != nil {
		t.Errorf("nothing parses as %v, %v", root, err)
	}
}

// JSON is YAML, so ParseValue reads all that ParseJSON reads, in the same way.
func TestReadsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members := rapid.MapOf(rapid.StringMatching(`[ -~äß中]{1,12}`), rapid.OneOf(
			rapid.Int64().AsAny(), rapid.Bool().AsAny(), rapid.StringMatching(`[ -~äß中\n]{0,20}`).AsAny(),
			rapid.SliceOf(rapid.Float64Range(-1e9, 1e9)).AsAny(),
		)).Draw(t, "members")
		want := value.Must(members)
		got, err := yaml.ParseValue(want.AppendIndented(nil, "  "))
		if err != nil || got.JSON() != want.JSON() {
			t.Fatalf("%s was read as %s, %v", want, got, err)
		}
	})
}

func FuzzYAML(f *testing.F) {
	for _, seed := range []string{
		"a: &x [1, *y]\nb: *x", "<<: {a: 1}", "- |2-\n  x\n- >+\n\n", "? [a]\n: b", "%YAML 1.1\n---\n!!set {a}", "{{ x }}: 1", "0x: 08\n.5: -.inf", "\"\\ud800\"", "a: !raw {b: \"c\n\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		root, err := yaml.Parse(src)
		if err != nil || root == nil {
			return
		}
		if root.Line < 1 || root.Column < 1 {
			t.Errorf("the root stands at %d:%d", root.Line, root.Column)
		}
		v, err := yaml.Value(root)
		if err != nil {
			var fault *yaml.Error
			if !errors.As(err, &fault) || fault.Line < 1 {
				t.Errorf("no place in %v", err)
			}
			return
		}
		back, err := yaml.ParseValue(yaml.Append(nil, v))
		if err != nil || back.JSON() != v.JSON() {
			t.Errorf("%s was written as YAML and read back as %s, %v", v, back, err)
		}
	})
}
