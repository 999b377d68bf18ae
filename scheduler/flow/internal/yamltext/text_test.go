package yamltext

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	goyaml "go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/callnode/scheduler/llm/value/yaml"
)

// checkPlaces asks for the place of each character of a scalar and looks there.
func checkPlaces(t interface {
	Helper()
	Fatalf(string, ...any)
}, src string, scalar *yaml.Node) {
	t.Helper()
	text := New([]byte(src))
	at := text.Trace(scalar)
	if len(at) != len(scalar.Value)+1 {
		t.Fatalf("no trace of %q in\n%s", scalar.Value, src)
	}
	last := -1
	for i, r := range scalar.Value {
		have := string(text.Bytes[at[i]:])
		if at[i] < last {
			t.Fatalf("the places go back at %d of %q in\n%s", i, scalar.Value, src)
		}
		last = at[i]
		switch {
		case strings.HasPrefix(have, string(r)), strings.HasPrefix(have, `\`):
		case r == '\'' && strings.HasPrefix(have, "''"):
		case (r == ' ' || r == '\n') && yaml.LineBreak([]byte(have)) > 0:
		default:
			t.Fatalf("%q at %d of %q is said to be at %q in\n%s", r, i, scalar.Value, have[:min(10, len(have))], src)
		}
	}
}

func TestPlaces(t *testing.T) {
	for name, tc := range map[string]struct{ src, find, want string }{
		"plain":              {"k: some {{ x }}\n", "{{", "1:9"},
		"plain, lines":       {"k: some\n  text\n\n  and {{ x }}\n", "{{", "4:7"},
		"double":             {`k: "a {{ x }}"`, "{{", "1:7"},
		"double, escapes":    {`k: "\u00e9\x41\n\"\U0001F600 {{ x }}"`, "{{", "1:30"},
		"double, lines":      {"k: \"a  \n   b\n\n   {{ x }}\"", "{{", "4:4"},
		"double, joined":     {"k: \"a\\\n   b \\\n   {{ x }}\"", "{{", "3:4"},
		"single":             {`k: 'it''s {{ x }}'`, "{{", "1:11"},
		"literal":            {"k: |\n  one\n\n    two\n  {{ x }}\n", "{{", "5:3"},
		"literal, indicator": {"k: |2-  # note\n    one\n  {{ x }}\n", "{{", "3:3"},
		"literal, first":     {"k: |\n  {{ x }}\n", "{{", "2:3"},
		"folded":             {"k: >\n  one\n  two\n\n\n  three {{ x }}\n", "{{", "6:9"},
		"folded, deeper":     {"k: >-\n  one\n    two\n  {{ x }}\n\n", "{{", "4:3"},
		"folded, kept":       {"k: >+\n\n  one\n  {{ x }}\n\n", "{{", "4:3"},
		"tag":                {"k: !raw   'a {{ x }}'", "{{", "1:14"},
		"tag, next line":     {"k: !raw &a # note\n  a {{ x }}", "{{", "2:5"},
		"wide characters":    {"k: 你好 {{ x }}", "{{", "1:7"},
		"CRLF":               {"k: |\r\n  a\r\n  {{ x }}\r\n", "{{", "3:3"},
		"byte order mark":    {"\uFEFFk: a {{ x }}", "{{", "1:6"},
		"unicode line break": {"k: \"a\u2028 b {{ x }}\"", "{{", "1:10"},
	} {
		t.Run(name, func(t *testing.T) {
			root, err := yaml.Parse([]byte(tc.src))
			if err != nil {
				t.Fatal(err)
			}
			n := root.Content[1]
			text := New([]byte(tc.src))
			line, col := text.Place(text.Trace(n)[strings.Index(n.Value, tc.find)])
			if got := fmt.Sprintf("%d:%d", line, col); got != tc.want {
				t.Errorf("%q is at %s, want %s", tc.find, got, tc.want)
			}
			checkPlaces(t, tc.src, n)
		})
	}
}

// Scalars as an encoder writes them, in every style.
func TestPlacesOfEncodedScalars(t *testing.T) {
	styles := []goyaml.Style{0, goyaml.DoubleQuotedStyle, goyaml.SingleQuotedStyle, goyaml.LiteralStyle, goyaml.FoldedStyle}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("ab \n\t'\"\\:#{}é你😀-\u0085\u2028"))).Draw(t, "text")
		style := rapid.SampledFrom(styles).Draw(t, "style")
		doc := &goyaml.Node{Kind: goyaml.MappingNode, Content: []*goyaml.Node{
			{Kind: goyaml.ScalarNode, Value: "outer"},
			{Kind: goyaml.MappingNode, Content: []*goyaml.Node{
				{Kind: goyaml.ScalarNode, Value: "key"},
				{Kind: goyaml.ScalarNode, Tag: "!!str", Value: text, Style: style},
				{Kind: goyaml.ScalarNode, Value: "next"},
				{Kind: goyaml.ScalarNode, Value: "x"},
			}},
		}}
		src, err := goyaml.Marshal(doc)
		if err != nil {
			t.Skip()
		}
		root, err := yaml.Parse(src)
		if err != nil {
			t.Skip() // the library cannot read all that it writes
		}
		checkPlaces(t, string(src), root.Content[1].Content[1])
	})
}

// Scalars as people write them, over several lines.
func TestPlacesOfWrittenScalars(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringOfN(rapid.RuneFrom([]rune("abxé你😀")), 1, 4, -1)
		lines := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			line := strings.Join(rapid.SliceOfN(word, 0, 3).Draw(t, "words"), rapid.SampledFrom([]string{" ", "  ", "\t"}).Draw(t, "gap"))
			return strings.Repeat(" ", rapid.IntRange(0, 2).Draw(t, "deeper")) + line
		}), 1, 6).Draw(t, "lines")
		br := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "break")
		indented := "    " + strings.Join(lines, br+"    ")
		var src string
		switch rapid.IntRange(0, 4).Draw(t, "style") {
		case 0:
			src = "k:" + br + indented
		case 1:
			src = `k: "` + strings.TrimLeft(indented, " ") + `\` + br + `   \t"`
		case 2:
			src = "k: '" + strings.TrimLeft(indented, " ") + "'"
		default:
			header := rapid.SampledFrom([]string{"|", ">"}).Draw(t, "kind") + rapid.SampledFrom([]string{"", "-", "+", "4", "4-", "+4"}).Draw(t, "indicators")
			src = "k: " + header + br + indented + br + br
		}
		src += br + "z: 1" + br
		root, err := yaml.Parse([]byte(src))
		if err != nil || root.Kind != yaml.Mapping || len(root.Content) != 4 {
			t.Skip()
		}
		checkPlaces(t, src, root.Content[1])
	})
}

func FuzzPlaces(f *testing.F) {
	for _, src := range []string{"a: 'b'", "a: |2\n   x\n", "- >-\n a\n b\n", `- "\x41\` + "\n" + ` b"`, "- !t &a b\n  c"} {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if !utf8.ValidString(src) {
			return
		}
		root, err := yaml.Parse([]byte(src))
		if err != nil || root == nil {
			return
		}
		text := New([]byte(src))
		var walk func(n *yaml.Node)
		walk = func(n *yaml.Node) {
			if n.Kind == yaml.Scalar {
				for i, at := range text.Trace(n) {
					if at < 0 || at > len(text.Bytes) {
						t.Fatalf("offset %d is at %d of %d", i, at, len(text.Bytes))
					}
				}
			}
			for _, c := range n.Content {
				walk(c)
			}
		}
		walk(root)
	})
}
