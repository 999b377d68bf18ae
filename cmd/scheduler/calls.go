package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/cmd/scheduler/terminal"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/service"
)

func newCalls(a *app) *cobra.Command {
	var asJSON, onlyFunctions, all bool
	cmd := &cobra.Command{
		Use:   "calls [NAME]",
		Short: "List what flows can name, or show one call with its schemas and an example",
		Long: `List the calls, importance functions and variables that flows can name: those that
are built in and those of trusted plugins. With a name, show that one; for a call its
parameters, its output and a flow that runs. The JSON list has the calls; with
--functions, the importance functions and variables.`,
		Example:           "  scheduler calls\n  scheduler calls chat\n  scheduler calls input --all\n  scheduler calls chat --json | jq .params\n  scheduler calls --functions --json",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeCalls(a),
		RunE: func(_ *cobra.Command, args []string) error {
			registry, err := a.runtime.Registry("")
			if err != nil {
				return err
			}
			functions, err := a.knownFunctions()
			switch {
			case err != nil:
				return err
			case len(args) == 0 && onlyFunctions:
				return a.listFunctions(functions, asJSON)
			case len(args) == 0 && asJSON:
				return a.listCalls(registry, asJSON)
			case len(args) == 0:
				return errors.Join(a.listCalls(registry, false), a.listFunctions(functions, false))
			}
			if f := findFunction(functions, args[0]); f != nil {
				return a.showFunction(f, asJSON)
			}
			def, err := findCall(registry, args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return a.PrintJSON(service.CallDocument(def, a.settings.DefaultLanguage()))
			}
			_, err = fmt.Fprint(a.Stdout, describeCall(def, a.settings.DefaultLanguage(), all))
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&all, "all", false, "of one call, show the parameters in parameters too, with an example of each")
	cmd.Flags().BoolVar(&onlyFunctions, "functions", false, "list the importance functions and variables")
	return cmd
}

func (a *app) listCalls(registry *calls.Registry, asJSON bool) error {
	if asJSON {
		list := []value.Value{}
		for _, name := range registry.CallNames() {
			def, _ := registry.Call(name)
			list = append(list, service.CallDocument(def, a.settings.DefaultLanguage()))
		}
		return a.PrintJSON(value.OfList(list...))
	}
	w := terminal.NewTable(a.Stdout)
	for _, name := range registry.CallNames() {
		def, _ := registry.Call(name)
		fmt.Fprintf(w, "%s\t%s\n", name, def.Info.Summary.In(a.settings.DefaultLanguage()))
	}
	return w.Flush()
}

// describeCall returns the text that people read about a call: its parameters (with all, nested ones too, and an
// example of each), its output, and a flow that runs.
func describeCall(def calls.Definition, language string, all bool) string {
	info := def.Info
	var b strings.Builder
	say := terminal.Language(language).Say
	fmt.Fprintf(&b, "%s: %s\n\n%s\n", info.Name, info.Summary.In(language), say("Parameters"))
	writeParamTable(&b, withNested(flow.ParamsDoc(info), all), info.Literal, all, language)
	b.WriteString("\n" + say("Output") + "\n")
	if properties, _ := info.Output.Doc().Get("properties"); properties.Map().Len() == 0 {
		b.WriteString("  " + say("an object; its members depend on the parameters") + "\n")
	}
	writeParamTable(&b, withNested(info.Output.Doc(), all), nil, false, language)
	if len(info.Examples) > 0 {
		b.WriteString("\n" + say("Example: %s", builtin.Reference(info.Examples[0].Title).In(language)) + "\n\n")
		terminal.Indent(&b, service.ExampleFlow(def))
		for _, path := range exampleFiles(def) {
			b.WriteString("\n" + say("with the file %s:", path) + "\n\n")
			terminal.Indent(&b, info.Examples[0].Files[path])
		}
	}
	b.WriteString("\n" + say("The JSON Schemas: scheduler calls %s --json", info.Name) + "\n")
	return b.String()
}

// withNested returns a schema with the properties of its properties beside them, by their
// paths: context_template[].module_name.
func withNested(schema value.Value, all bool) value.Value {
	if !all {
		return schema
	}
	properties, required := value.NewMap(0), []value.Value{}
	collectNested(schema, "", properties, &required)
	return value.OfMap(value.Pairs("properties", properties, "required", value.OfList(required...)))
}

func collectNested(schema value.Value, within string, properties *value.Map, required *[]value.Value) {
	needed, _ := schema.Get("required")
	for _, name := range needed.List() {
		text, _ := name.Str()
		*required = append(*required, value.OfString(within+text))
	}
	members, _ := schema.Get("properties")
	for name, p := range members.Map().All() {
		properties.Set(within+name, p)
		path := within + name + "."
		for items, isList := p.Get("items"); isList; items, isList = p.Get("items") {
			p, path = items, strings.TrimSuffix(path, ".")+"[]."
		}
		collectNested(p, path, properties, required)
	}
}

// exampleText returns the example of a parameter as a sentence; "" without one.
func exampleText(p value.Value, say func(string, ...any) string) string {
	example, ok := p.At("/examples/0")
	if !ok {
		return ""
	}
	return say(" Example: %s", value.Truncate(example.JSON(), maxExample))
}

// maxExample bounds the example of a parameter in a table, in bytes.
const maxExample = 120

// writeParamTable prints the properties of a schema, with all also an example of each.
func writeParamTable(b *strings.Builder, schema value.Value, literal []string, all bool, language string) {
	say := terminal.Language(language).Say
	required := map[string]bool{}
	list, _ := schema.Get("required")
	for _, r := range list.List() {
		name, _ := r.Str()
		required[name] = true
	}
	w := terminal.NewTable(b)
	properties, _ := schema.Get("properties")
	for name, p := range properties.Map().All() {
		docValue, _ := p.Get("description")
		english, _ := docValue.Str()
		doc := builtin.Reference(english).In(language)
		if def, ok := p.Get("default"); ok {
			if doc != "" && !strings.HasSuffix(doc, ".") && !strings.HasSuffix(doc, "。") {
				doc += "."
			}
			doc += say(" Default: %s.", def.JSON())
		}
		if slices.Contains(literal, name) {
			doc = strings.TrimSuffix(strings.TrimSuffix(doc, " Taken as written."), "按原样使用。") + say(" Taken as written, without templates.")
		}
		if all {
			doc += exampleText(p, say)
		}
		mark := ""
		if required[name] {
			mark = say("required")
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", name, terminal.TypeOf(p, terminal.Language(language)), mark, doc)
	}
	_ = w.Flush() // a strings.Builder takes everything
}

// exampleFiles lists the files of a call's first example by their paths, sorted.
func exampleFiles(def calls.Definition) []string {
	if len(def.Info.Examples) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(def.Info.Examples[0].Files))
}

// completeCalls offers the names of calls and functions.
func completeCalls(a *app) completion {
	return completeWords(func() []string {
		if a.open() != nil {
			return nil
		}
		registry, err := a.runtime.Registry("")
		if err != nil {
			return nil
		}
		names := registry.CallNames()
		functions, err := a.knownFunctions()
		if err != nil {
			return names
		}
		for i := range functions {
			names = append(names, functions[i].name)
		}
		return names
	})
}
