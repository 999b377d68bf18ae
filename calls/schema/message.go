package schema

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// failure is an error of the library with what it is about.
type failure struct {
	schema *Schema
	err    *jsonschema.ValidationError
	sub    *jsonschema.Schema // nil where it is not known
	root   value.Value
	have   value.Value // at the place of the error
}

// missingProblems makes a problem for each property that is required and not there.
func (f *failure) missingProblems(pointer string) (all []problem) {
	for _, name := range f.sub.Required {
		if _, has := f.have.Get(name); !has {
			all = append(all, problem{missingProblem(pointer+value.FormatPointer(name), name), f.sub})
		}
	}
	return all
}

// maxHints bounds the hints for one object: each compares with all names.
const maxHints = 20

func missingProblem(pointer, name string) Problem {
	return newProblem(pointer, "required", wordingf("the required property %q is missing", name))
}

// unknownProblems makes a problem for each property that a closed object does not have.
func (f *failure) unknownProblems(pointer string) (all []problem) {
	names := slices.Sorted(maps.Keys(f.sub.Properties))
	for name := range f.have.Map().All() {
		if f.declares(name) {
			continue
		}
		p := newProblem(pointer+value.FormatPointer(name), "additionalProperties", wordingf("unknown property %q", name))
		if now, ok := f.schema.former[name]; ok && pointer == "" {
			p = p.WithHint("use %s", now)
		} else if len(all) < maxHints {
			if near := value.DidYouMean(name, names); near != "" {
				p.Hint = near
			}
		}
		all = append(all, problem{p, f.sub})
	}
	return all
}

func (f *failure) declares(name string) bool {
	if _, known := f.sub.Properties[name]; known {
		return true
	}
	for pattern := range f.sub.PatternProperties {
		if pattern.MatchString(name) {
			return true
		}
	}
	return false
}

// messageOf words a failure; the library's own message serves the rare ones.
func (f *failure) messageOf(keyword string) wording.Text {
	if f.sub == nil {
		return f.libraryMessage(keyword)
	}
	have, sub := value.Truncate(f.have.JSON(), 40), f.sub
	switch keyword {
	case "false":
		return wordingf("no value is allowed here")
	case "type":
		return wordingf("want %s, got %s", anyOfTypes(sub.Types), wording.TypeName(f.have.Kind().String()))
	case "enum":
		return wordingf("%s is not one of %s", have, listValues(sub.Enum))
	case "const":
		return wordingf("%s is not %s", have, listValues(sub.Constant))
	case "anyOf", "oneOf":
		return f.unionMessage(keyword)
	case "not":
		if isEmptyEnum(f.schema.sourceOf(sub)) {
			return wordingf("no value is allowed here: the enum is empty")
		}
		return wordingf("%s is what the schema excludes (not)", have)
	case "contains":
		return wordingf("no item is what the schema wants one to be (contains)")
	case "pattern":
		return wordingf("%s does not match the pattern %s", have, sub.Pattern)
	case "minimum":
		return wordingf("%s is less than the minimum %s", have, formatBound(sub.Minimum))
	case "maximum":
		return wordingf("%s is more than the maximum %s", have, formatBound(sub.Maximum))
	case "exclusiveMinimum":
		return wordingf("%s is not more than %s", have, formatBound(sub.ExclusiveMinimum))
	case "exclusiveMaximum":
		return wordingf("%s is not less than %s", have, formatBound(sub.ExclusiveMaximum))
	case "multipleOf":
		return wordingf("%s is not a multiple of %s", have, formatBound(sub.MultipleOf))
	case "minLength":
		text, _ := f.have.Str()
		return wordingf("want at least %s, got %d", countOf(sub.MinLength, "character"), utf8.RuneCountInString(text))
	case "maxLength":
		text, _ := f.have.Str()
		return wordingf("want at most %s, got %d", countOf(sub.MaxLength, "character"), utf8.RuneCountInString(text))
	case "minItems":
		return wordingf("want at least %s, got %d", countOf(sub.MinItems, "item"), len(f.have.List()))
	case "maxItems":
		return wordingf("want at most %s, got %d", countOf(sub.MaxItems, "item"), len(f.have.List()))
	case "minProperties":
		return wordingf("want at least %s, got %d", countOf(sub.MinProperties, "member"), f.have.Map().Len())
	case "maxProperties":
		return wordingf("want at most %s, got %d", countOf(sub.MaxProperties, "member"), f.have.Map().Len())
	}
	return f.libraryMessage(keyword)
}

// libraryMessage returns the library's own message; the Chinese one names the keyword where
// it is one of the rare ones.
func (f *failure) libraryMessage(keyword string) wording.Text {
	text, ok := wording.Recognize(f.err.Message)
	switch {
	case ok:
	case keyword == "":
		text.Zh = "不符合 schema"
	default:
		text.Zh = "不符合关键字 " + keyword + " 的要求"
	}
	return text
}

func (f *failure) hintOf(keyword string) string {
	text, isText := f.have.Str()
	if keyword != "enum" || !isText || f.sub == nil {
		return ""
	}
	var names []string
	for _, item := range f.sub.Enum {
		if name, ok := item.(string); ok {
			names = append(names, name)
		}
	}
	if near := value.DidYouMean(text, names); near != "" {
		return near
	}
	return ""
}

// unionMessage returns why no branch fits: branches for another type of value are passed
// over, unless there are no others.
func (f *failure) unionMessage(keyword string) wording.Text {
	have := value.Truncate(f.have.JSON(), 40)
	if len(f.err.Causes) == 0 {
		return wordingf("%s fits more than one branch of %s", have, keyword)
	}
	var types []string
	var reasons []wording.Text
	for i, cause := range f.err.Causes {
		branch, failed := f.schema.failedKeyword(cause)
		if branch != nil && failed == "type" && isSamePlace(f.schema, cause, f.err, f.root) {
			types = append(types, branch.Types...)
			continue
		}
		if len(reasons) < 3 {
			reasons = append(reasons, wordingf("branch %d: %s", i+1, joinMessages(f.schema.flattenError(cause, f.root))))
		}
	}
	if len(reasons) == 0 {
		return wordingf("want %s, got %s", anyOfTypes(types), wording.TypeName(f.have.Kind().String()))
	}
	return wordingf("%s fits no branch of %s: %s", have, keyword, wording.Join(reasons, "; ", "；"))
}

// isSamePlace reports whether two errors are about the same place of a value.
func isSamePlace(s *Schema, a, b *jsonschema.ValidationError, root value.Value) bool {
	return a.InstanceLocation == b.InstanceLocation && slices.Equal(locateError(s.compiled, a, root), locateError(s.compiled, b, root))
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
