// Package skill reads skills: directories with a SKILL.md, as the Agent Skills standard, nanobot and OpenClaw know
// them. It is a lenient loader: it uses all that it understands, and every repair becomes a warning. For example, it
// reads a value with a colon that should have been quoted.
package skill

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// File is the text of a SKILL.md, taken apart.
type File struct {
	// Fenced reports whether the text begins with front matter.
	Fenced bool
	// Meta is the front matter. Scalars keep their spelling (0755, yes, 1.0), empty ones are null. It is empty if
	// there is no front matter.
	Meta *value.Map
	// Body is the text after the front matter, without white space around it; the whole text, untouched, if there is
	// none.
	Body string
	// BodyStart is the byte of the text at which Body begins.
	BodyStart int
	// Repaired lists faults of the front matter that were repaired.
	Repaired []wording.Text
}

// Bounds of a front matter: its bytes, and the values that its aliases unfold to.
const (
	maxFront = 64 << 10
	maxNodes = 10_000
)

// Parse takes the text of a SKILL.md apart. A byte-order mark is ignored. The front matter lies between two lines
// of three hyphens, the first of which is the first of the text; white space after the hyphens does not matter.
// The error is why the front matter is not a YAML mapping; File then has the body alone.
func Parse(text string) (File, error) {
	size := len(text)
	text = strings.TrimPrefix(text, "\uFEFF")
	front, body, fenced := splitFrontmatter(text)
	if !fenced {
		return File{Meta: value.NewMap(0), Body: text, BodyStart: size - len(text)}, nil
	}
	f := File{Fenced: true, Meta: value.NewMap(0), Body: strings.TrimSpace(body)}
	f.BodyStart = size - len(strings.TrimLeftFunc(body, unicode.IsSpace))
	if len(front) > maxFront {
		return f, wording.Errorf("reading the front matter: it has %d bytes, more than %d", len(front), maxFront)
	}
	root, err := yaml.Parse([]byte(front))
	if err != nil {
		untabbed := tabbed().ReplaceAllStringFunc(front, func(tabs string) string { return strings.ReplaceAll(tabs, "\t", "  ") })
		quoted := quoteValues(untabbed)
		var again error
		root, again = yaml.Parse([]byte(quoted))
		if again != nil || quoted == front {
			return f, wording.Errorf("reading the front matter: %w", err)
		}
		if untabbed != front {
			f.Repaired = append(f.Repaired, wording.Say("it is indented with tabs"))
		}
		if quoted != untabbed {
			f.Repaired = append(f.Repaired, wording.Say("a value with a special character is not quoted"))
		}
	}
	if root == nil {
		return f, nil
	}
	r := reader{left: maxNodes}
	meta, err := r.read(root)
	if err != nil {
		return f, wording.Errorf("reading the front matter: %w", err)
	}
	if meta.Kind() == value.Object {
		f.Meta = meta.Map()
	} else if !meta.IsNull() {
		return f, wording.Errorf("reading the front matter: it is not a mapping of names to values")
	}
	f.Repaired = append(f.Repaired, r.notes...)
	return f, nil
}

// splitFrontmatter finds the two fences.
func splitFrontmatter(text string) (front, body string, fenced bool) {
	first, rest, more := strings.Cut(text, "\n")
	if !more || !isFence(first) {
		return "", text, false
	}
	for at := 0; at <= len(rest); {
		line, _, found := strings.Cut(rest[at:], "\n")
		end := at + len(line)
		if isFence(line) {
			return rest[:at], rest[min(end+1, len(rest)):], true
		}
		if !found {
			break
		}
		at = end + 1
	}
	return "", text, false
}

func isFence(line string) bool { return strings.TrimRight(line, " \t\r") == "---" }

var memberLine = regexp.MustCompile(`^(\s*(?:- +)?[A-Za-z][\w-]*: +)(\S.*?)\s*$`)

// tabbed matches the indentation of a line that has tabs.
var tabbed = value.CompileLater(`(?m)^[ \t]*\t[ \t]*`)

// quoteValues puts quotes around values that only look like YAML, the most common
// fault of handwritten front matter.
func quoteValues(front string) string {
	lines := strings.Split(front, "\n")
	for i, line := range lines {
		if m := memberLine.FindStringSubmatch(line); len(m) == 3 && needsQuotes(m[2]) {
			lines[i] = m[1] + "'" + strings.ReplaceAll(m[2], "'", "''") + "'"
		}
	}
	return strings.Join(lines, "\n")
}

// needsQuotes reports whether a value on one line is text with a colon in it, or
// begins like something that it is not.
func needsQuotes(v string) bool {
	last := v[len(v)-1]
	switch v[0] {
	case '|', '>':
		return false
	case '{':
		return last != '}'
	case '[':
		return last != ']'
	case '"', '\'':
		return len(v) == 1 || last != v[0]
	case '@', '`', '%':
		return true
	case '*':
		return strings.Contains(v, " ")
	}
	return last == ':' || strings.Contains(v, ": ")
}

// reader turns nodes into values of text.
type reader struct {
	left  int
	notes []wording.Text
}

func (r *reader) read(n *yaml.Node) (value.Value, error) {
	n = yaml.Resolve(n)
	r.left--
	if r.left < 0 {
		return value.Value{}, wording.Errorf("%d:%d: more than %d values", n.Line, n.Column, maxNodes)
	}
	switch n.Kind {
	case yaml.Sequence:
		items := make([]value.Value, len(n.Content))
		for i, c := range n.Content {
			item, err := r.read(c)
			if err != nil {
				return value.Value{}, err
			}
			items[i] = item
		}
		return value.OfList(items...), nil
	case yaml.Mapping:
		m := value.NewMap(len(n.Content) / 2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := yaml.Resolve(n.Content[i])
			if key.Kind != yaml.Scalar {
				return value.Value{}, wording.Errorf("%d:%d: a key must be plain text", key.Line, key.Column)
			}
			member, err := r.read(n.Content[i+1])
			if err != nil {
				return value.Value{}, err
			}
			if _, twice := m.Get(key.Value); twice {
				r.notes = append(r.notes, wording.Say("duplicate key %q (the last one counts)", key.Value))
			}
			m.Set(key.Value, member)
		}
		return value.OfMap(m), nil
	}
	if n.ShortTag() == "!!null" {
		return value.Value{}, nil
	}
	return value.OfString(n.Value), nil
}

// scalarText returns the text of a scalar, "" for anything else.
func scalarText(v value.Value) string {
	s, _ := v.Str()
	return s
}

func memberOf(m *value.Map, key string) value.Value {
	v, _ := m.Get(key)
	return v
}
