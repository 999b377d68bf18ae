package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/cmd/scheduler/terminal"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins/manifest"
)

// function is an importance function or a variable, as the lists show it.
type function struct {
	name    string // as flows write it: recency.is_fresh, vars.weather
	kind    manifest.Kind
	summary calls.Text
	plugin  string      // "" for a built-in one
	output  value.Value // the JSON Schema of a variable; null if not known
}

// knownFunctions lists the importance functions, then the variables: built-in ones first, then those that trusted
// plugins offer.
func (a *app) knownFunctions() ([]function, error) {
	h, err := a.runtime.PluginHost("")
	if err != nil {
		return nil, err
	}
	var all []function
	for _, f := range builtin.Functions() {
		all = append(all, function{name: f.Name, kind: manifest.Importance, summary: f.Summary})
	}
	for _, v := range builtin.Variables() {
		all = append(all, function{name: "vars." + v.Name, kind: manifest.Variable, summary: v.Summary})
	}
	list, _ := h.List()
	for _, s := range list {
		if s.Entry == nil {
			continue
		}
		for i := range s.Entry.Functions {
			if f := &s.Entry.Functions[i]; f.Kind != manifest.Call {
				all = append(all, function{f.Title(s.Name), f.Kind, f.Doc(), s.Name, f.Output})
			}
		}
	}
	slices.SortStableFunc(all, func(x, y function) int { return strings.Compare(string(x.kind), string(y.kind)) })
	return all, nil
}

// findFunction finds an importance function or a variable by its name in flows; nil if there is none.
func findFunction(all []function, name string) *function {
	if i := slices.IndexFunc(all, func(f function) bool { return f.name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

func (f *function) asJSON(language string) value.Value {
	doc := value.Pairs("name", f.name, "kind", string(f.kind), "summary", f.summary.In(language))
	if f.plugin != "" {
		doc.Set("plugin", value.OfString(f.plugin))
	}
	if !f.output.IsNull() {
		doc.Set("output", f.output)
	}
	return value.OfMap(doc)
}

// listFunctions prints them after the calls.
func (a *app) listFunctions(all []function, asJSON bool) error {
	if asJSON {
		list := []value.Value{}
		for i := range all {
			list = append(list, all[i].asJSON(a.settings.DefaultLanguage()))
		}
		return a.PrintJSON(value.OfList(list...))
	}
	var b strings.Builder
	w := terminal.NewTable(&b)
	var kind manifest.Kind
	for i := range all {
		f := &all[i]
		if f.kind != kind {
			kind = f.kind
			fmt.Fprintf(w, "\n%s\n", functionsHead(kind, a.Language))
		}
		fmt.Fprintf(w, "  %s\t%s\n", f.name, f.summary.In(a.settings.DefaultLanguage()))
	}
	_ = w.Flush() // a strings.Builder takes everything
	_, err := fmt.Fprint(a.Stdout, terminal.Visible(b.String()))
	return err
}

func functionsHead(kind manifest.Kind, language terminal.Language) string {
	if kind == manifest.Importance {
		return language.Say("Importance functions: importance_func of input, <<importance:NAME>> in conditions of in-chat")
	}
	if kind == manifest.Check {
		return language.Say("Checks: plugin in test files")
	}
	return language.Say("Variables: {{ vars.NAME }} in templates, variable segments of input")
}

// showFunction prints one function.
func (a *app) showFunction(f *function, asJSON bool) error {
	if asJSON {
		return a.PrintJSON(f.asJSON(a.settings.DefaultLanguage()))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", f.name, f.summary.In(a.settings.DefaultLanguage()))
	if f.plugin != "" {
		b.WriteString("\n" + a.Language.Say("From the plugin %s.", f.plugin) + "\n")
	}
	switch f.kind {
	case manifest.Importance:
		b.WriteString(a.Language.Say("\nAn importance function. In a module of the call input:\n\n    importance_func: %s\n\nIn a condition of the call in-chat:\n\n    condition: \"<<importance:%s>>\"\n", f.name, f.name))
	case manifest.Check:
		b.WriteString(a.Language.Say("\nA check. Under expect of a test file:\n\n    {output: reply, plugin: %s}\n", f.name))
	default:
		b.WriteString(a.Language.Say("\nA variable. In templates of a flow:\n\n    {{ %s }}\n\nIn a module of the call input:\n\n    segments: [{type: variable, value: %s}]\n", f.name, strings.TrimPrefix(f.name, "vars.")))
	}
	if !f.output.IsNull() {
		b.WriteString("\n" + a.Language.Say("The JSON Schema of its value:") + "\n\n")
		terminal.Indent(&b, string(f.output.AppendIndented(nil, "  ")))
	}
	_, err := fmt.Fprint(a.Stdout, terminal.Visible(b.String()))
	return err
}

// findCall finds a call that can be used.
func findCall(registry *calls.Registry, name string) (calls.Definition, error) {
	err := registry.CheckCall(name)
	if calls.KindOf(err) == calls.NotFound {
		err = wording.Errorf("%s (%s)", wording.OfError(err), wording.Text{En: calls.HintOf(err), Zh: calls.HintIn(err, "zh")}) // in one line
	}
	if err != nil {
		return calls.Definition{}, usageError(err)
	}
	def, _ := registry.Call(name)
	return def, nil
}
