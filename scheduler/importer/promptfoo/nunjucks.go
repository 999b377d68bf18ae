package promptfoo

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// tag matches a tag of a template: its braces and the text between them.
var tag = regexp.MustCompile(`(?s)\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}`)

// quoted matches a string in a tag.
var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`)

// rewrites are the differences between Nunjucks and the expressions here, in the tags of a template.
var rewrites = []struct {
	from *regexp.Regexp
	to   string
	what string
}{
	{regexp.MustCompile(`\|\s*dump\b(\s*\(\s*\))?`), "| tojson", "dump is tojson"},
	{regexp.MustCompile(`\|\s*dump\s*\(`), "| tojson(indent=", "dump is tojson"},
	{regexp.MustCompile(`\|\s*nl2br\b`), `| replace("\n", "<br />")`, "nl2br is replace"},
	{regexp.MustCompile(`\|\s*striptags\b`), "| string", "striptags is not applied"},
	{regexp.MustCompile(`\|\s*sort\(([^)]*),([^)]*),([^)]*)\)`), "| sort(reverse=$1, case_sensitive=$2, attribute=$3)", "sort names its arguments"},
	{regexp.MustCompile(`!==`), "!=", "!== is !="},
	{regexp.MustCompile(`===`), "==", "=== is =="},
	{regexp.MustCompile(`&&`), " and ", "&& is and"},
	{regexp.MustCompile(`\|\|`), " or ", "|| is or"},
	{regexp.MustCompile(`\belseif\b`), "elif", "elseif is elif"},
	{regexp.MustCompile(`\.length\b`), " | length", ".length is length"},
	{regexp.MustCompile(`\bnull\b`), "none", "null is none"},
	{regexp.MustCompile(`\bfor\s+(\w+)\s*,\s*(\w+)\s+in\s+([\w.]+)`), "for $1, $2 in $3.items()", "for k, v in x takes the members of x"},
}

// translateTemplate returns a template of Nunjucks as one of ours, with inputs as its variables, and the changes.
// The error is our parser's, for templates that have no equal.
func translateTemplate(text string) (translated string, changes []wording.Text, err error) {
	translated = tag.ReplaceAllStringFunc(text, func(t string) string {
		if strings.HasPrefix(t, "{#") {
			return t
		}
		return outsideQuotes(t, func(code string) string {
			for _, r := range rewrites {
				if r.from.MatchString(code) {
					code = r.from.ReplaceAllString(code, r.to)
					changes = addText(changes, wording.Say("in the template, %s", wording.Of(r.what)))
				}
			}
			return code
		})
	})
	refs, errs := prompt.Check(prompt.Source{Text: translated})
	if len(errs) > 0 {
		list := make([]error, len(errs))
		for i, e := range errs {
			list[i] = e
		}
		return "", nil, errors.Join(list...)
	}
	return withInputs(translated, refs), changes, nil
}

func addText(list []wording.Text, t wording.Text) []wording.Text {
	if slices.Contains(list, t) {
		return list
	}
	return append(list, t)
}

// outsideQuotes replaces the parts of a tag that are not in quotes.
func outsideQuotes(code string, replace func(string) string) string {
	var out strings.Builder
	last := 0
	for _, at := range quoted.FindAllStringIndex(code, -1) {
		out.WriteString(replace(code[last:at[0]]))
		out.WriteString(code[at[0]:at[1]])
		last = at[1]
	}
	out.WriteString(replace(code[last:]))
	return out.String()
}

// withInputs puts inputs. in front of the names that a template takes from outside.
func withInputs(text string, refs []prompt.Ref) string {
	slices.SortFunc(refs, func(a, b prompt.Ref) int { return b.Offset - a.Offset })
	last := -1
	for _, ref := range refs {
		if ref.Offset == last || ref.Path[0] == "inputs" {
			continue
		}
		last = ref.Offset
		if strings.HasPrefix(text[ref.Offset:], ref.Path[0]) {
			text = text[:ref.Offset] + inputReference(ref.Path[0]) + text[ref.Offset+len(ref.Path[0]):]
		}
	}
	return text
}

// inputsIn returns the inputs that the templates in a value mention.
func inputsIn(v value.Value) (names []string) {
	for _, text := range textsIn(v) {
		names = append(names, inputsOf(text)...)
	}
	return names
}

// textsIn returns the texts in a value.
func textsIn(v value.Value) (texts []string) {
	if text, ok := v.Str(); ok {
		return []string{text}
	}
	for _, item := range v.List() {
		texts = append(texts, textsIn(item)...)
	}
	for _, member := range v.Map().All() {
		texts = append(texts, textsIn(member)...)
	}
	return texts
}

// inputsOf returns the inputs that a template of ours mentions, by their names.
func inputsOf(text string) (names []string) {
	refs, _ := prompt.Check(prompt.Source{Text: text})
	for _, ref := range refs {
		if ref.Path[0] == "inputs" && len(ref.Path) > 1 && !slices.Contains(names, ref.Path[1]) {
			names = append(names, ref.Path[1])
		}
	}
	return names
}
