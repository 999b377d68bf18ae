package schema

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/callnode/scheduler/llm/value"
)

// Problem is one place where a value does not fit its schema.
type Problem struct {
	// Pointer is the RFC 6901 pointer of the place in the value. For a missing or
	// an unknown property it is the pointer that the property has or would have.
	Pointer string
	// Keyword is the schema keyword that failed: required, type, enum ...
	Keyword string
	// Message says what is wrong, without the place.
	Message string
	// Hint says what was probably meant; often "".
	Hint string
}

// Error is the place and the message.
func (p Problem) Error() string {
	s := p.Message
	if p.Pointer != "" {
		s = p.Pointer + ": " + s
	}
	if p.Hint != "" {
		s += " (" + p.Hint + ")"
	}
	return s
}

// Problems are the places where a value does not fit, as one error.
type Problems []Problem

// Error lists them all, separated by semicolons.
func (p Problems) Error() string {
	texts := make([]string, len(p))
	for i := range p {
		texts[i] = p[i].Error()
	}
	return strings.Join(texts, "; ")
}

// Check tells all the places where v does not fit, sorted by pointer; nil where
// it fits.
func (s *Schema) Check(v value.Value) (problems Problems) {
	s.compile()
	if s.err != nil {
		return Problems{{Message: s.err.Error()}}
	}
	if p := wildNumber(v, ""); p != nil {
		return Problems{*p}
	}
	defer func() {
		if r := recover(); r != nil { // the library panics on values it did not expect
			problems = Problems{{Message: fmt.Sprintf("the value cannot be checked: %v", r)}}
		}
	}()
	err := s.compiled.Validate(v.Any())
	if err == nil {
		return nil
	}
	invalid, ok := err.(*jsonschema.ValidationError) //nolint:errorlint // the library returns it unwrapped
	if !ok {
		return Problems{{Message: err.Error()}}
	}
	s.flatten(invalid, v, &problems)
	slices.SortStableFunc(problems, func(a, b Problem) int {
		if c := strings.Compare(a.Pointer, b.Pointer); c != 0 {
			return c
		}
		return strings.Compare(a.Message, b.Message)
	})
	return slices.Compact(problems)
}

// wildNumber finds a number that the library would take very long, or panic, to
// look at.
func wildNumber(v value.Value, at string) *Problem {
	switch v.Kind() {
	case value.Float:
		if f, _ := v.Float(); math.IsInf(f, 0) || f == 0 && strings.ContainsAny(strings.ToLower(v.JSON()), "123456789") && tooSmall(v.JSON()) {
			return &Problem{Pointer: at, Keyword: "type", Message: "the number " + clip(v.JSON()) + " is out of range"}
		}
	case value.List:
		for i, item := range v.List() {
			if p := wildNumber(item, at+"/"+strconv.Itoa(i)); p != nil {
				return p
			}
		}
	case value.Object:
		for k, member := range v.Map().All() {
			if p := wildNumber(member, at+"/"+value.Escape(k)); p != nil {
				return p
			}
		}
	}
	return nil
}

func tooSmall(number string) bool {
	i := strings.IndexAny(number, "eE")
	if i < 0 {
		return false
	}
	exponent, err := strconv.Atoi(number[i+1:])
	return err != nil || exponent < -400 || exponent > 400
}

func clip(s string) string {
	if len(s) > 40 {
		return s[:37] + "..."
	}
	return s
}

// flatten makes problems of the library's tree of errors. A union is reported
// where it stands; its branches are not entered, for the user meant at most one
// of them. An exception is the branch that is the only one of the right type.
func (s *Schema) flatten(e *jsonschema.ValidationError, root value.Value, out *Problems) {
	keyword := e.KeywordLocation[strings.LastIndex(e.KeywordLocation, "/")+1:]
	at := pointer(e.InstanceLocation)
	switch keyword {
	case "anyOf", "oneOf", "not", "contains", "propertyNames":
		*out = append(*out, Problem{Pointer: at, Keyword: keyword, Message: s.describe(keyword, e, root, at)})
		return
	case "required", "additionalProperties", "dependencies":
		if len(e.Causes) == 0 {
			*out = append(*out, s.members(keyword, e, root, at)...)
			return
		}
	}
	if len(e.Causes) > 0 {
		for _, c := range e.Causes {
			s.flatten(c, root, out)
		}
		return
	}
	*out = append(*out, Problem{Pointer: at, Keyword: keyword, Message: s.describe(keyword, e, root, at)})
}

// members makes one problem per missing or unknown property, by looking at the
// schema and the value: the library's message is prose.
func (s *Schema) members(keyword string, e *jsonschema.ValidationError, root value.Value, at string) Problems {
	fragment := e.AbsoluteKeywordLocation[strings.IndexByte(e.AbsoluteKeywordLocation, '#')+1:]
	constraint, ok := s.doc.At(pointer(fragment))
	have, _ := root.At(at)
	if !ok || have.Kind() != value.Object {
		return Problems{{Pointer: at, Keyword: keyword, Message: e.Message}}
	}
	var out Problems
	switch keyword {
	case "required":
		for _, item := range constraint.List() {
			name, _ := item.Str()
			if _, has := have.Get(name); !has {
				out = append(out, Problem{
					Pointer: at + "/" + value.Escape(name), Keyword: keyword,
					Message: fmt.Sprintf("the required property %q is missing", name),
				})
			}
		}
	case "additionalProperties":
		owner, _ := s.doc.At(strings.TrimSuffix(pointer(fragment), "/additionalProperties"))
		properties, _ := owner.Get("properties")
		for name := range have.Map().All() {
			if _, known := properties.Get(name); known {
				continue
			}
			p := Problem{
				Pointer: at + "/" + value.Escape(name), Keyword: keyword,
				Message: fmt.Sprintf("unknown property %q", name),
			}
			if near := value.Nearest(name, properties.Map().Keys()); near != "" {
				p.Hint = fmt.Sprintf("did you mean %q?", near)
			}
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		out = Problems{{Pointer: at, Keyword: keyword, Message: e.Message}}
	}
	return out
}

// describe words the failures that people meet most; the library's own message
// serves the rest.
func (s *Schema) describe(keyword string, e *jsonschema.ValidationError, root value.Value, at string) string {
	have, _ := root.At(at)
	fragment := e.AbsoluteKeywordLocation[strings.IndexByte(e.AbsoluteKeywordLocation, '#')+1:]
	constraint, _ := s.doc.At(pointer(fragment))
	switch keyword {
	case "type":
		return fmt.Sprintf("want %s, got %s", listing(constraint), have.Kind())
	case "enum":
		return fmt.Sprintf("%s is not one of %s", clip(have.JSON()), listing(constraint))
	case "const":
		return fmt.Sprintf("%s is not %s", clip(have.JSON()), clip(constraint.JSON()))
	case "anyOf", "oneOf":
		if wants := branches(constraint); wants != "" {
			return fmt.Sprintf("%s %s fits none of: %s", have.Kind(), clip(have.JSON()), wants)
		}
		return fmt.Sprintf("fits no branch of %s, or more than it may", keyword)
	case "pattern":
		return fmt.Sprintf("%s does not match the pattern %s", clip(have.JSON()), clip(constraint.JSON()))
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		return fmt.Sprintf("%s does not hold %s %s", clip(have.JSON()), keyword, constraint.JSON())
	}
	return e.Message
}

func listing(v value.Value) string {
	if v.Kind() != value.List {
		v = value.OfList(v)
	}
	texts := []string{}
	for _, item := range v.List() {
		if text, ok := item.Str(); ok {
			texts = append(texts, text)
			continue
		}
		texts = append(texts, item.JSON())
	}
	return strings.Join(texts, ", ")
}

// branches lists the types of a union's branches; "" where they say none.
func branches(union value.Value) string {
	texts := []string{}
	for _, b := range union.List() {
		if t, ok := b.Get("type"); ok {
			texts = append(texts, listing(t))
		}
	}
	return strings.Join(texts, ", ")
}

// pointer undoes the percent-encoding that the library lays over JSON pointers.
func pointer(location string) string {
	if plain, err := url.PathUnescape(location); err == nil {
		return plain
	}
	return location
}
