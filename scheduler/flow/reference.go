package flow

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// KeyDoc describes a key of flow files. It is made of the structs that the decoder and the
// editor's schema are made of.
type KeyDoc struct {
	// Path is the key with those around it: steps.retry.max_attempts.
	Path string
	// Type is the type of its value in words.
	Type     string
	Required bool
	Doc      string
	// Example is the key with a value, in YAML.
	Example string
}

// Keys describes every key of a flow file, those of a step below steps.
func Keys() []KeyDoc { return keysOf(reflect.TypeFor[flowKeys](), "") }

func keysOf(t reflect.Type, within string) (all []KeyDoc) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			continue
		}
		inner := f.Type
		for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
			inner = inner.Elem()
		}
		key := KeyDoc{
			Path: within + name, Type: keyType(f), Required: options != "omitempty", Doc: f.Tag.Get("doc"),
			Example: name + ": " + f.Tag.Get("example"),
		}
		all = append(all, key)
		if strings.HasSuffix(inner.Name(), "Keys") {
			all = append(all, keysOf(inner, key.Path+".")...)
		}
	}
	return all
}

// keyType returns the type of a key in words.
func keyType(f reflect.StructField) string {
	if enum := f.Tag.Get("enum"); enum != "" {
		return strings.ReplaceAll(enum, "|", " or ")
	}
	if types := f.Tag.Get("type"); types != "" {
		return wantedTypes(types).En
	}
	switch f.Type {
	case reflect.TypeFor[boolKey]():
		return "true or false"
	case reflect.TypeFor[countKey]():
		return "a whole number from 1"
	case reflect.TypeFor[numberKey]():
		return "a number from 1"
	case reflect.TypeFor[durationKey]():
		return "a duration"
	case reflect.TypeFor[namesKey](), reflect.TypeFor[[]textKey]():
		return "a list of names"
	}
	switch f.Type.Kind() {
	case reflect.Slice:
		return "a list of maps"
	case reflect.Pointer:
		return "a map"
	}
	return "a text"
}

// FindKeys returns the docs of a key and of those below it. A key of a step may leave out
// steps; of an unknown one the error has a suggestion.
func FindKeys(path string) ([]KeyDoc, error) {
	all := Keys()
	for _, prefix := range []string{"", "steps."} {
		want := prefix + path
		found := slices.DeleteFunc(slices.Clone(all), func(k KeyDoc) bool {
			return k.Path != want && !strings.HasPrefix(k.Path, want+".")
		})
		if len(found) > 0 {
			return found, nil
		}
	}
	names := make([]string, 0, 2*len(all))
	for _, k := range all {
		names = append(names, k.Path)
		if inStep, ok := strings.CutPrefix(k.Path, "steps."); ok {
			names = append(names, inStep)
		}
	}
	if near := value.DidYouMean(path, names); near != "" {
		return nil, wording.Errorf("flows have no key %q (%s)", path, near)
	}
	return nil, wording.Errorf("flows have no key %q (`scheduler help flow` lists them)", path)
}

// Reference returns the page about flow files: every key, tag, name, filter and test.
func Reference() string {
	var b strings.Builder
	b.WriteString("# Flow files\n\nMade by `go generate` of what the program reads; `scheduler help flow [KEY]` prints the same.\n\n## Keys\n\n")
	b.WriteString("| key | value | |\n|---|---|---|\n")
	for _, k := range Keys() {
		doc := k.Doc
		if k.Required {
			doc = "Required. " + doc
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s<br>`%s` |\n", k.Path, k.Type, tableCell(doc), tableCell(k.Example))
	}
	b.WriteString(`
## Values

A text under ` + "`with`" + `, ` + "`outputs`" + ` and ` + "`memory`" + ` is a template; one that is a whole ` + "`{{ expression }}`" + ` keeps its type. Parameters that
a call takes as they are written have no templates in them.

| tag | value |
|---|---|
| ` + "`!expr \"step.text\"`" + ` | the value of an expression, wherever a value may stand |
| ` + "`!file PATH`" + ` | the content of a JSON, JSONC, YAML or text file beside the flow, as data |
| ` + "`!raw VALUE`" + ` | the value as it is written, without templates |

In VS Code, the setting of the YAML extension is
` + "`\"yaml.customTags\": [\"!expr scalar\", \"!file scalar\", \"!raw scalar\", \"!raw sequence\", \"!raw mapping\"]`" + `.

## Names in templates

The output of a finished step by its id, and ` + "`" + strings.Join(reservedNames, "`, `") + "`" + `. Inputs of
triggers know ` + "`schedule` or `webhook`" + ` alone.
`)
	for _, group := range []struct {
		title string
		list  []prompt.Builtin
	}{{"Filters", prompt.Filters()}, {"Tests", prompt.Tests()}} {
		fmt.Fprintf(&b, "\n## %s\n\n| %s | | example |\n|---|---|---|\n", group.title, strings.ToLower(strings.TrimSuffix(group.title, "s")))
		for _, f := range group.list {
			result := strings.ReplaceAll(f.Result, "\n", `\n`)
			fmt.Fprintf(&b, "| `%s` | %s | `%s`<br>`%s` |\n", f, f.Doc, tableCell(f.Example), tableCell(result))
		}
	}
	return b.String()
}

// tableCell returns a text as it is written in a cell of a table.
func tableCell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
