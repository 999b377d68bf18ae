package promptfoo

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/value"
)

// promptText is a prompt: the messages of a chat.
type promptText struct {
	label    string
	messages []message
	// names are the names of the prompt for providers that run some prompts only.
	names []string
	// missing says why the prompt could not be imported, for example because it is code; "" if it was.
	missing string
}

// message is a message of a prompt, its text a template of ours.
type message struct{ role, text string }

// provider is a provider of the settings.
type provider struct {
	name string
	// settings is nil for a provider that needs none.
	settings *value.Map
	// only are the names of the prompts that it runs; nil: all.
	only []string
}

// runs reports whether a provider runs a prompt.
func (p *provider) runs(text *promptText) bool {
	isNamed := func(name string) bool { return slices.Contains(text.names, name) }
	return p.only == nil || slices.ContainsFunc(p.only, isNamed)
}

// test is a test of the configuration: one or, with variables that are lists, several cases.
type test struct {
	name      string
	vars      *value.Map
	checks    []value.Value
	threshold value.Value
	tags      []string
	// lost lists its assertions that have no equal here: the case is skipped because of them.
	lost []string
	// isWhole is set if variables that are lists are values of one case.
	isWhole bool
}

func (t *test) lose(what string) { t.lost = append(t.lost, what) }

// over returns the test laid over the settings that others share with it.
func (t *test) over(below *test) *test {
	all := &test{name: t.name, vars: value.NewMap(0), threshold: t.threshold, isWhole: t.isWhole || below.isWhole}
	for _, layer := range []*test{below, t} {
		if layer.vars != nil {
			for key, v := range layer.vars.All() {
				all.vars.Set(key, v)
			}
		}
	}
	if all.threshold.IsNull() {
		all.threshold = below.threshold
	}
	all.checks = joinChecks(t.checks, below.checks)
	all.tags = slices.Concat(t.tags, below.tags)
	all.lost = slices.Concat(t.lost, below.lost)
	return all
}

// nameInValue matches the name of a variable in the value of another, for example {{ city }}.
var nameInValue = regexp.MustCompile(`\{\{\s*(\w+)\s*\}\}`)

// expandNames puts the values of other variables into values that name them, once: a value that
// comes in so is not looked at again.
func (t *test) expandNames() {
	expanded := t.vars.Clone()
	for key, v := range t.vars.All() {
		text, isText := v.Str()
		if !isText || !strings.Contains(text, "{{") {
			continue
		}
		expanded.Set(key, value.OfString(nameInValue.ReplaceAllStringFunc(text, func(tag string) string {
			name := nameInValue.FindStringSubmatch(tag)[1]
			other, _ := t.vars.Get(name)
			if kind := typeOf(other); name == key || kind == "" || kind == "array" || kind == "object" {
				return tag
			}
			return scriptText(other)
		})))
	}
	t.vars = expanded
}

// maxCases is how many cases the lists of one test may come to.
const maxCases = 1000

// expand returns a case for each combination of the variables that are lists of texts; other lists are values.
func (t *test) expand() []*test {
	all := []*test{t}
	for key, v := range t.vars.All() {
		if t.isWhole || len(v.List()) == 0 || v.List()[0].Kind() != value.String {
			continue
		}
		var next []*test
		for _, base := range all {
			for i, item := range v.List() {
				c := *base
				c.vars = base.vars.Clone()
				c.vars.Set(key, item)
				c.name = strings.TrimSpace(fmt.Sprintf("%s %s %d", base.name, key, i+1))
				next = append(next, &c)
			}
		}
		if len(next) > maxCases {
			return []*test{t}
		}
		all = next
	}
	return all
}

// joinChecks returns the checks of two lists, each once: a test file has no check twice.
func joinChecks(lists ...[]value.Value) (all []value.Value) {
	for _, item := range slices.Concat(lists...) {
		if !slices.ContainsFunc(all, func(other value.Value) bool { return value.Equal(other, item) }) {
			all = append(all, item)
		}
	}
	return all
}
