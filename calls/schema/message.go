package schema

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/secret"
	"github.com/callnode/scheduler/llm/value/wording"
)

// flattenError flattens the library's tree of errors. root is the whole value.
func (s *Schema) flattenError(e *jsonschema.ValidationError, root value.Value) (all []problem) {
	switch k := e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		for _, cause := range e.Causes {
			all = append(all, s.flattenError(cause, root)...)
		}
		return all
	case *kind.PropertyNames: // the causes are about the name: the problem is the object's
		for _, cause := range e.Causes {
			for _, p := range s.flattenError(cause, value.OfString(k.Property)) {
				message, _ := p.Text()
				p.Problem = newProblem(pointerOf(e), "propertyNames", wordingf("the property name %q: %s", k.Property, message))
				all = append(all, p)
			}
		}
		return all
	}
	return s.problemsOf(e, root)
}

// problemsOf words an error of the library that has no others inside that matter.
func (s *Schema) problemsOf(e *jsonschema.ValidationError, root value.Value) (all []problem) {
	pointer := pointerOf(e)
	have, _ := root.At(pointer)
	f := failure{s, e, s.at[e.SchemaURL], root, have}
	add := func(p Problem) { all = append(all, problem{p, f.sub}) }
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			add(missingProblem(pointer+value.FormatPointer(name), name))
		}
	case *kind.AdditionalProperties:
		return f.unknownProblems(pointer, k.Properties)
	case *kind.Dependency:
		for _, name := range k.Missing {
			add(newProblem(pointer, "dependencies", missingBeside(name, k.Prop)))
		}
	case *kind.DependentRequired:
		for _, name := range k.Missing {
			add(newProblem(pointer, "dependentRequired", missingBeside(name, k.Prop)))
		}
	default:
		p := newProblem(pointer, keywordOf(e.ErrorKind), f.message())
		p.Hint = f.hint()
		add(p)
	}
	return all
}

// keywordOf returns the keyword that failed; "false" for a schema that allows no value.
func keywordOf(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.FalseSchema:
		return "false"
	case *kind.Not:
		return "not"
	case *kind.MinContains:
		if k.Want == 1 {
			return "contains"
		}
	}
	return strings.Join(k.KeywordPath(), "/")
}

// pointerOf returns the place that an error is about.
func pointerOf(e *jsonschema.ValidationError) string {
	return value.FormatPointer(e.InstanceLocation...)
}

// failure is an error of the library with its subject.
type failure struct {
	schema *Schema
	err    *jsonschema.ValidationError
	sub    *jsonschema.Schema
	root   value.Value
	have   value.Value // at the place of the error
}

// maxHints bounds the hints for one object: each compares with all names.
const maxHints = 20

// unknownProblems makes a problem for each property that a closed object does not have.
func (f *failure) unknownProblems(pointer string, unknown []string) (all []problem) {
	names := slices.Sorted(maps.Keys(f.sub.Properties))
	slices.Sort(unknown)
	for _, name := range unknown {
		p := newProblem(pointer+value.FormatPointer(name), "additionalProperties", wordingf("unknown property %q", name))
		if now, ok := f.schema.former[name]; ok && pointer == "" {
			p = p.WithHint("use %s", now)
		} else if len(all) < maxHints {
			p.Hint = value.DidYouMean(name, names)
		}
		all = append(all, problem{p, f.sub})
	}
	return all
}

// missingBeside words that the presence of one property requires another.
func missingBeside(name, present string) wording.Text {
	return wordingf("property %s is required, if %s property exists", singleQuoted(name), singleQuoted(present))
}

// quoteValue returns the value at the place of the failure for a message: without its secrets, cut.
func (f *failure) quoteValue() string {
	return value.Truncate(f.have.MaskedDeep(secret.Mask).JSON(), 40)
}

// message words a failure.
func (f *failure) message() wording.Text {
	have := f.quoteValue()
	switch k := f.err.ErrorKind.(type) {
	case *kind.FalseSchema:
		return wordingf("no value is allowed here")
	case *kind.Type:
		return wordingf("want %s, got %s", anyOfTypes(f.schema.typesOf(f.sub)), f.have.Kind())
	case *kind.Enum:
		return wordingf("%s is not one of %s", have, listValues(k.Want))
	case *kind.Const:
		return wordingf("%s is not %s", have, listValues([]any{k.Want}))
	case *kind.AnyOf, *kind.OneOf:
		return f.unionMessage(keywordOf(k))
	case *kind.Not:
		if isEmptyEnum(f.schema.sourceOf(f.sub)) {
			return wordingf("no value is allowed here: the enum is empty")
		}
		return wordingf("%s is what the schema excludes (not)", have)
	case *kind.Pattern:
		return wordingf("%s does not match the pattern %s", have, k.Want)
	case *kind.Format:
		return wordingf("%s is not understood as %s", have, formatWords(k.Want))
	case *kind.Minimum:
		return wordingf("%s is less than the minimum %s", have, formatBound(k.Want))
	case *kind.Maximum:
		return wordingf("%s is more than the maximum %s", have, formatBound(k.Want))
	case *kind.ExclusiveMinimum:
		return wordingf("%s is not more than %s", have, formatBound(k.Want))
	case *kind.ExclusiveMaximum:
		return wordingf("%s is not less than %s", have, formatBound(k.Want))
	case *kind.MultipleOf:
		return wordingf("%s is not a multiple of %s", have, formatBound(k.Want))
	case *kind.MinLength:
		return wordingf("want at least %s, got %d", countOf(k.Want, "character"), k.Got)
	case *kind.MaxLength:
		return wordingf("want at most %s, got %d", countOf(k.Want, "character"), k.Got)
	case *kind.MinProperties:
		return wordingf("want at least %s, got %d", countOf(k.Want, "member"), k.Got)
	case *kind.MaxProperties:
		return wordingf("want at most %s, got %d", countOf(k.Want, "member"), k.Got)
	}
	return f.listMessage()
}

// listMessage words the fault of an array.
func (f *failure) listMessage() wording.Text {
	switch k := f.err.ErrorKind.(type) {
	case *kind.MinItems:
		return wordingf("want at least %s, got %d", countOf(k.Want, "item"), k.Got)
	case *kind.MaxItems:
		return wordingf("want at most %s, got %d", countOf(k.Want, "item"), k.Got)
	case *kind.AdditionalItems:
		n := len(f.have.List())
		return wordingf("only %d items are allowed, but found %d items", n-k.Count, n)
	case *kind.UniqueItems:
		return sameItems(k)
	case *kind.MinContains:
		if k.Want > 1 {
			return wordingf("valid must be >= %d, but got %d", k.Want, len(k.Got))
		}
	case *kind.MaxContains:
		return wordingf("valid must be <= %d, but got %d", k.Want, len(k.Got))
	case *kind.Contains:
	default:
		return wordingf("the value cannot be checked: %v", keywordOf(k))
	}
	return wordingf("no item is what the schema wants one to be (contains)")
}

func sameItems(k *kind.UniqueItems) wording.Text {
	return wordingf("items at index %d and %d are equal", k.Duplicates[0], k.Duplicates[1])
}

// typesOf returns the types that a schema names, in its order.
func (s *Schema) typesOf(sub *jsonschema.Schema) []string {
	types, _ := s.sourceOf(sub).Get("type")
	names := typeNames(types)
	for _, name := range slices.Backward(sub.Types.ToStrings()) {
		if !slices.Contains(names, name) { // null, beside OpenAPI's nullable
			names = append(names, name)
		}
	}
	return names
}

// singleQuoted quotes a text between apostrophes.
func singleQuoted(text string) string {
	quoted := fmt.Sprintf("%q", text)
	quoted = strings.NewReplacer(`\"`, `"`, `'`, `\'`).Replace(quoted[1 : len(quoted)-1])
	return "'" + quoted + "'"
}

// hint returns which value of an enum was probably meant.
func (f *failure) hint() string {
	text, isText := f.have.Str()
	enum, ok := f.err.ErrorKind.(*kind.Enum)
	if !ok || !isText {
		return ""
	}
	return value.DidYouMean(text, namesIn(enum.Want))
}

// namesIn returns the texts in an enum.
func namesIn(enum []any) (names []string) {
	for _, item := range enum {
		if name, ok := item.(string); ok {
			names = append(names, name)
		}
	}
	return names
}

// unionMessage returns why no branch fits: branches for another type of value are passed
// over, unless there are no others.
func (f *failure) unionMessage(keyword string) wording.Text {
	have := f.quoteValue()
	if len(f.err.Causes) == 0 {
		return wordingf("%s fits more than one branch of %s", have, keyword)
	}
	var types []string
	var reasons []wording.Text
	for i, cause := range f.err.Causes {
		_, isType := cause.ErrorKind.(*kind.Type)
		if isType && len(cause.InstanceLocation) == len(f.err.InstanceLocation) {
			types = append(types, f.schema.typesOf(f.schema.at[cause.SchemaURL])...)
			continue
		}
		if len(reasons) < 3 {
			reasons = append(reasons, wordingf("branch %d: %s", i+1, joinMessages(sortByPointer(f.schema.flattenError(cause, f.root)))))
		}
	}
	if len(reasons) == 0 {
		return wordingf("want %s, got %s", anyOfTypes(types), f.have.Kind())
	}
	return wordingf("%s fits no branch of %s: %s", have, keyword, wording.Join(reasons, "; ", "；"))
}

// maxReason bounds the reasons of one branch, in characters.
const maxReason = 200

// joinMessages joins the problems of a branch.
func joinMessages(all []problem) wording.Text {
	texts := make([]wording.Text, len(all))
	for i, p := range all {
		texts[i] = wording.Text{En: p.Error(), Zh: p.In("zh")}
	}
	joined := wording.Join(texts, "; ", "；")
	return wording.Text{En: value.Truncate(joined.En, maxReason), Zh: value.Truncate(joined.Zh, maxReason)}
}

// countOf returns a number of things.
func countOf(n int, unit string) wording.Text {
	zh := strconv.Itoa(n) + " " + map[string]string{"character": "个字符", "item": "项", "member": "个成员"}[unit]
	if n == 1 {
		return wording.Text{En: "1 " + unit, Zh: zh}
	}
	return wording.Text{En: fmt.Sprintf("%d %ss", n, unit), Zh: zh}
}

// formatBound returns a bound as people write it.
func formatBound(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return fmt.Sprint(f)
}

// listValues names the values of an enum: text without quotes, at most 20.
func listValues(values []any) string {
	var texts []string
	for _, x := range values {
		if len(texts) == 20 {
			texts = append(texts, fmt.Sprintf("%d more", len(values)-20))
			break
		}
		if text, ok := x.(string); ok && text != "" {
			texts = append(texts, value.Truncate(text, 40))
			continue
		}
		v, err := value.Of(x)
		if err != nil {
			v = value.OfString(fmt.Sprint(x))
		}
		texts = append(texts, value.Truncate(v.JSON(), 40))
	}
	return strings.Join(texts, ", ")
}
