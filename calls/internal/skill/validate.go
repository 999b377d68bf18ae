package skill

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Rule names a rule of the Agent Skills standard.
type Rule string

// The rules that [Validate] checks.
const (
	NeedsFrontMatter  Rule = "front_matter"
	NeedsName         Rule = "name_missing"
	NeedsDescription  Rule = "description_missing"
	EmptyName         Rule = "name_empty"
	EmptyDescription  Rule = "description_empty"
	NameLength        Rule = "name_length"
	NameCase          Rule = "name_case"
	NameHyphen        Rule = "name_hyphen"
	NameCharacters    Rule = "name_characters"
	NameDirectory     Rule = "name_directory"
	DescriptionLength Rule = "description_length"
	Compatibility     Rule = "compatibility_length"
	UnknownField      Rule = "unknown_field"
)

// Limits of the Agent Skills standard, in characters.
const (
	maxName          = 64
	maxDescription   = 1024
	maxCompatibility = 500
)

// Problem is a way in which a SKILL.md departs from the standard.
type Problem struct {
	Rule    Rule
	Message wording.Text
}

// knownFields returns the names that the standard knows, sorted.
func knownFields() []string {
	return []string{"allowed-tools", "compatibility", "description", "license", "metadata", "name"}
}

// Validate compares a file with the Agent Skills standard; dir is the name of
// its directory. Names are compared in Unicode's NFKC form; letters of all
// scripts are allowed. A loader loads most of such files nevertheless.
func Validate(dir string, f File) []Problem {
	var problems []Problem
	add := func(rule Rule, format string, args ...any) {
		problems = append(problems, Problem{rule, wording.Say(format, args...)})
	}
	if !f.Fenced {
		add(NeedsFrontMatter, "there is no front matter between lines of ---")
		return problems
	}
	var unknown []string
	for _, key := range f.Meta.Keys() {
		if !slices.Contains(knownFields(), key) {
			unknown = append(unknown, key)
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		add(UnknownField, "the standard does not know %s", strings.Join(unknown, ", "))
	}
	switch name, ok := f.Meta.Get("name"); {
	case !ok:
		add(NeedsName, "there is no name")
	case strings.TrimSpace(scalarText(name)) == "":
		add(EmptyName, "the name is empty")
	default:
		checkName(dir, scalarText(name), add)
	}
	switch description, ok := f.Meta.Get("description"); {
	case !ok:
		add(NeedsDescription, "there is no description")
	case strings.TrimSpace(scalarText(description)) == "":
		add(EmptyDescription, "the description is empty")
	case textLength(description) > maxDescription:
		add(DescriptionLength, "the description has %d characters, more than %d", textLength(description), maxDescription)
	}
	if c := memberOf(f.Meta, "compatibility"); textLength(c) > maxCompatibility {
		add(Compatibility, "compatibility has %d characters, more than %d", textLength(c), maxCompatibility)
	}
	return problems
}

func textLength(v value.Value) int { return utf8.RuneCountInString(scalarText(v)) }

func checkName(dir, name string, add func(Rule, string, ...any)) {
	name = norm.NFKC.String(strings.TrimSpace(name))
	if n := utf8.RuneCountInString(name); n > maxName {
		add(NameLength, "the name has %d characters, more than %d", n, maxName)
	}
	if name != strings.ToLower(name) {
		add(NameCase, "the name %q is not in lower case", name)
	}
	if strings.HasPrefix(name, "-") || strings.HasSuffix(name, "-") {
		add(NameHyphen, "the name %q has a hyphen at an end", name)
	}
	if strings.Contains(name, "--") {
		add(NameHyphen, "the name %q has two hyphens in a row", name)
	}
	foreign := func(r rune) bool { return r != '-' && !unicode.IsLetter(r) && !unicode.IsNumber(r) }
	if strings.ContainsFunc(name, foreign) {
		add(NameCharacters, "the name %q has characters other than letters, digits and hyphens", name)
	}
	dir = norm.NFKC.String(dir)
	if name != dir {
		add(NameDirectory, "the name %q is not that of the directory, %q, which counts", name, dir)
	}
}
