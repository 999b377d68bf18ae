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
			all = append(all, problem{missingProblem(pointer+"/"+value.Escape(name), name), f.sub})
		}
	}
	return all
}

// maxHints bounds the hints for one object: each compares with all names.
const maxHints = 20

func missingProblem(pointer, name string) Problem {
	return Problem{Pointer: pointer, Keyword: "required", Message: "the required property " + strconv.Quote(name) + " is missing"}
}

// unknownProblems makes a problem for each property that a closed object does not have.
func (f *failure) unknownProblems(pointer string) (all []problem) {
	names := slices.Sorted(maps.Keys(f.sub.Properties))
	for name := range f.have.Map().All() {
		if f.declares(name) {
			continue
		}
		p := Problem{
			Pointer: pointer + "/" + value.Escape(name), Keyword: "additionalProperties",
			Message: fmt.Sprintf("unknown property %q", name),
		}
		if len(all) < maxHints {
			if near := value.Nearest(name, names); near != "" {
				p.Hint = fmt.Sprintf("did you mean %q?", near)
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

// message words a failure; the library's own message serves the rare ones.
func (f *failure) message(keyword string) string {
	if f.sub == nil {
		return f.err.Message
	}
	have, sub := value.Truncate(f.have.JSON(), 40), f.sub
	switch keyword {
	case "false":
		return "no value is allowed here"
	case "type":
		return fmt.Sprintf("want %s, got %s", strings.Join(sub.Types, " or "), f.have.Kind())
	case "enum":
		return fmt.Sprintf("%s is not one of %s", have, listValues(sub.Enum))
	case "const":
		return fmt.Sprintf("%s is not %s", have, listValues(sub.Constant))
	case "anyOf", "oneOf":
		return f.unionMessage(keyword)
	case "not":
		if isEmptyEnum(f.schema.sourceOf(sub)) {
			return "no value is allowed here: the enum is empty"
		}
		return have + " is what the schema excludes (not)"
	case "contains":
		return "no item is what the schema wants one to be (contains)"
	case "pattern":
		return fmt.Sprintf("%s does not match the pattern %s", have, sub.Pattern)
	case "minimum":
		return fmt.Sprintf("%s is less than the minimum %s", have, formatBound(sub.Minimum))
	case "maximum":
		return fmt.Sprintf("%s is more than the maximum %s", have, formatBound(sub.Maximum))
	case "exclusiveMinimum":
		return fmt.Sprintf("%s is not more than %s", have, formatBound(sub.ExclusiveMinimum))
	case "exclusiveMaximum":
		return fmt.Sprintf("%s is not less than %s", have, formatBound(sub.ExclusiveMaximum))
	case "multipleOf":
		return fmt.Sprintf("%s is not a multiple of %s", have, formatBound(sub.MultipleOf))
	case "minLength":
		text, _ := f.have.Str()
		return fmt.Sprintf("want at least %s, got %d", countOf(sub.MinLength, "character"), utf8.RuneCountInString(text))
	case "maxLength":
		text, _ := f.have.Str()
		return fmt.Sprintf("want at most %s, got %d", countOf(sub.MaxLength, "character"), utf8.RuneCountInString(text))
	case "minItems":
		return fmt.Sprintf("want at least %s, got %d", countOf(sub.MinItems, "item"), len(f.have.List()))
	case "maxItems":
		return fmt.Sprintf("want at most %s, got %d", countOf(sub.MaxItems, "item"), len(f.have.List()))
	case "minProperties":
		return fmt.Sprintf("want at least %s, got %d", countOf(sub.MinProperties, "member"), f.have.Map().Len())
	case "maxProperties":
		return fmt.Sprintf("want at most %s, got %d", countOf(sub.MaxProperties, "member"), f.have.Map().Len())
	}
	return f.err.Message
}

func (f *failure) hint(keyword string) string {
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
	if near := value.Nearest(text, names); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}

// unionMessage is why no branch fits: branches for another type of value are passed
// over, unless there are no others.
func (f *failure) unionMessage(keyword string) string {
	if len(f.err.Causes) == 0 {
		return fmt.Sprintf("%s fits more than one branch of %s", value.Truncate(f.have.JSON(), 40), keyword)
	}
	var types, reasons []string
	for i, cause := range f.err.Causes {
		branch, failed := f.schema.failedKeyword(cause)
		if branch != nil && failed == "type" && cause.InstanceLocation == f.err.InstanceLocation {
			types = append(types, branch.Types...)
			continue
		}
		reason := joinMessages(f.schema.flattenError(cause, f.root))
		if len(reason) > 200 {
			reason = strings.ToValidUTF8(reason[:197], "") + "..."
		}
		if len(reasons) < 3 {
			reasons = append(reasons, fmt.Sprintf("branch %d: %s", i+1, reason))
		}
	}
	if len(reasons) == 0 {
		return fmt.Sprintf("want %s, got %s", strings.Join(types, " or "), f.have.Kind())
	}
	return fmt.Sprintf("%s fits no branch of %s: %s", value.Truncate(f.have.JSON(), 40), keyword, strings.Join(reasons, "; "))
}

func joinMessages(all []problem) string {
	plain := make(Problems, len(all))
	for i := range all {
		plain[i] = all[i].Problem
	}
	return plain.Error()
}

func countOf(n int, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}

// formatBound is a bound as people write it.
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
