package calls

import (
	"strings"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// ProviderNames are the names of model providers as people write them in parameters and test files:
// one name, main, or a list, [main, backup], which is asked in that order.
type ProviderNames []string

// DecodeValue reads both forms.
func (n *ProviderNames) DecodeValue(v value.Value) error {
	if text, ok := v.Str(); ok {
		*n = llm.ParseNames(text)
		return nil
	}
	if v.Kind() != value.List {
		return wording.Errorf("want %s, got %s", wording.Say("the name of a provider, or a list of names"), wording.TypeName(v.Kind().String()))
	}
	return value.Decode(v, (*[]string)(n))
}

// JSONSchema describes both forms.
func (ProviderNames) JSONSchema() value.Value {
	name := value.Pairs("type", "string", "minLength", 1)
	return value.OfMap(value.Pairs("anyOf", []any{
		name, value.Pairs("type", "array", "minItems", 1, "uniqueItems", true, "items", name),
	}))
}

// Text returns the names as [llm.ParseNames] reads them.
func (n ProviderNames) Text() string { return strings.Join(n, llm.NameSeparator) }
