package schema

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// compileError turns the error of compiling doc into a sentence without the library's URLs.
func compileError(err error, doc value.Value) error {
	var invalid *jsonschema.SchemaValidationError
	if errors.As(err, &invalid) {
		return invalidError(invalid, doc)
	}
	if p, ok := placedProblem(err, doc); ok {
		return &InvalidError{Problems{p}}
	}
	if message, problems := referenceProblems(err, doc); problems != nil {
		return &InvalidError{problems}
	} else if message.En != "" {
		return wording.Errorf("not a JSON Schema: %s", message)
	}
	return wording.Errorf("not a JSON Schema: %s", strings.ReplaceAll(strings.ReplaceAll(err.Error(), location, ""), base, ""))
}

// referenceProblems words an error that is about references of doc, and returns the problem of each of them; none
// if they are not found, and "" for another error.
func referenceProblems(err error, doc value.Value) (message wording.Text, problems Problems) {
	var (
		unloaded   *jsonschema.LoadURLError
		noPointer  *jsonschema.JSONPointerNotFoundError
		badPointer *jsonschema.InvalidJsonPointerError
		noAnchor   *jsonschema.AnchorNotFoundError
	)
	f := findReferences(doc)
	var isAbout func(reference) bool
	switch {
	case errors.As(err, &unloaded) && unloaded.URL == "":
		message = wordingf("the draft %q is not supported", "")
		return message, Problems{newProblem(placeOfKeyword(doc, "", []string{"$schema"}), "", message)}
	case errors.As(err, &unloaded):
		leads := func(r reference) bool { return r.address == unloaded.URL }
		message = wordingf("the draft %q is not supported", asWritten(unloaded.URL))
		problems = f.problemsAt(message, func(r reference) bool { return leads(r) && r.isDraft() })
		if problems != nil {
			return message, problems
		}
		message, isAbout = wording.OfError(unloaded.Err), leads
	case errors.As(err, &noPointer):
		message, isAbout = wordingf("%s not found", asWritten(noPointer.URL)), f.leadTo(noPointer.URL)
	case errors.As(err, &badPointer):
		message = wordingf("%s is not a JSON pointer (write ~0 for ~, and ~1 for /)", asWritten(badPointer.URL))
		isAbout = f.leadTo(badPointer.URL)
	case errors.As(err, &noAnchor):
		message = wordingf("%s not found", asWritten(noAnchor.Reference))
		isAbout = func(r reference) bool { return r.address+"#"+r.fragment == decodeLocation(noAnchor.Reference) }
	default:
		return wording.Text{}, nil
	}
	return message, f.problemsAt(message, isAbout)
}

// placedProblem words an error that is about one keyword of doc.
func placedProblem(err error, doc value.Value) (p Problem, ok bool) {
	var (
		pattern         *jsonschema.InvalidRegexError
		sameID          *jsonschema.DuplicateIDError
		sameAnchor      *jsonschema.DuplicateAnchorError
		badID           *jsonschema.ParseIDError
		badAnchor       *jsonschema.ParseAnchorError
		badDraft        *jsonschema.InvalidMetaSchemaURLError
		unsupported     *jsonschema.UnsupportedDraftError
		notURIReference = "uri-reference"
	)
	ids := []string{"$id", "id"}
	switch {
	case errors.As(err, &pattern): // of patternProperties in draft 4
		return newProblem(pointerIn(pattern.URL)+value.FormatPointer(pattern.Regex), "", unusablePattern(pattern.Regex)), true
	case errors.As(err, &sameID):
		first, second := inOrder(sameID.Ptr1, sameID.Ptr2)
		return newProblem(placeOfKeyword(doc, second, ids), "", wordingf("duplicate id %q (also at %q)", asWritten(sameID.ID), first)), true
	case errors.As(err, &sameAnchor):
		first, second := inOrder(sameAnchor.Ptr1, sameAnchor.Ptr2)
		place := placeOfKeyword(doc, second, append([]string{"$anchor", "$dynamicAnchor"}, ids...))
		return newProblem(place, "", wordingf("duplicate anchor %q (also at %q)", sameAnchor.Anchor, first)), true
	case errors.As(err, &badID):
		return malformed(doc, placeOfKeyword(doc, pointerIn(badID.URL), ids), notURIReference), true
	case errors.As(err, &badAnchor):
		return malformed(doc, placeOfKeyword(doc, pointerIn(badAnchor.URL), ids), notURIReference), true
	case errors.As(err, &badDraft):
		return malformed(doc, pointerIn(badDraft.URL)+"/$schema", "uri"), true
	case errors.As(err, &unsupported):
		return newProblem("/$schema", "", wordingf("the draft %q is not supported", asWritten(unsupported.URL))), true
	}
	return Problem{}, false
}

// malformed is the problem of a text at a pointer of doc that has not the wanted format.
func malformed(doc value.Value, pointer, format string) Problem {
	v, _ := doc.At(pointer)
	text, _ := v.Str()
	return newProblem(pointer, "", ruleMessage(&kind.Format{Got: text, Want: format}))
}

// placeOfKeyword returns the pointer of the first of the keywords that a subschema has; the subschema's own if it
// has none.
func placeOfKeyword(doc value.Value, pointer string, keywords []string) string {
	sub, _ := doc.At(pointer)
	for _, keyword := range keywords {
		if _, has := sub.Get(keyword); has {
			return pointer + "/" + keyword
		}
	}
	return pointer
}

// inOrder returns two pointers in their order: the library has them in any.
func inOrder(a, b string) (first, second string) { return min(a, b), max(a, b) }

// invalidError lists the places at which doc breaks the rules of its draft.
func invalidError(err *jsonschema.SchemaValidationError, doc value.Value) error {
	var e *jsonschema.ValidationError
	if !errors.As(err.Err, &e) {
		return wording.Errorf("not a JSON Schema: %w", err.Err)
	}
	wrong := &InvalidError{}
	add := func(pointer string, k jsonschema.ErrorKind) {
		p := newProblem(pointer, "", ruleMessage(k))
		if enum, ok := k.(*kind.Enum); ok { // of the names of types
			text, _ := enum.Got.(string)
			p.Hint = value.DidYouMean(text, namesIn(enum.Want))
		}
		wrong.Problems = append(wrong.Problems, p)
	}
	at := pointerIn(err.URL)
	checked, _ := doc.At(at)
	for _, leaf := range leafErrors(e) {
		places := []string{pointerOf(leaf)}
		if names, ok := leaf.ErrorKind.(*kind.PropertyNames); ok {
			places = placesOfName(checked, leaf, names.Property)
			leaf = leafErrors(leaf.Causes[0])[0]
		}
		for _, pointer := range places {
			add(at+pointer, leaf.ErrorKind)
		}
	}
	if isDraft4(e) {
		wrong.Problems = append(wrong.Problems, unusableNames(checked, at)...)
	}
	slices.SortFunc(wrong.Problems, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.Pointer, b.Pointer), strings.Compare(a.Message, b.Message))
	})
	wrong.Problems = slices.CompactFunc(wrong.Problems, func(a, b Problem) bool { return a.Pointer == b.Pointer && a.Message == b.Message })
	return wrong
}

// placesOfName returns the pointers of a name that is wrong in doc, at least one. The
// library's error has the right depth and keyword, but may have the place of another name.
func placesOfName(doc value.Value, e *jsonschema.ValidationError, name string) (pointers []string) {
	holder, _ := cutLast(e.SchemaURL)
	_, keyword := cutLast(decodeLocation(holder))
	walkSchemas(doc, "", func(s value.Value, at string) {
		members, _ := s.Get(keyword)
		_, has := members.Get(name)
		if has && strings.Count(at, "/")+1 == len(e.InstanceLocation) {
			pointers = append(pointers, at+value.FormatPointer(keyword, name))
		}
	})
	if pointers == nil {
		return []string{pointerOf(e)}
	}
	return pointers
}

// isDraft4 reports whether an error is of the rules of draft 4, which has none for the
// names of patternProperties.
func isDraft4(e *jsonschema.ValidationError) bool {
	return strings.HasPrefix(e.SchemaURL, "http://json-schema.org/draft-04/")
}

// unusableNames returns the patterns for names in doc that are not regular expressions.
func unusableNames(doc value.Value, at string) (problems Problems) {
	walkSchemas(doc, at, func(s value.Value, at string) {
		patterns, _ := s.Get("patternProperties")
		for pattern := range patterns.Map().All() {
			if _, err := regexp.Compile(pattern); err != nil {
				problems = append(problems, newProblem(at+value.FormatPointer("patternProperties", pattern), "", unusablePattern(pattern)))
			}
		}
	})
	return problems
}

// leafErrors returns the leaves of a tree of errors, which name the actual faults. For a union it leaves out the
// branches for another type of value, unless there are no others.
func leafErrors(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	_, ofName := e.ErrorKind.(*kind.PropertyNames)
	if len(e.Causes) == 0 || ofName {
		return []*jsonschema.ValidationError{e}
	}
	_, isUnion := e.ErrorKind.(*kind.AnyOf)
	var all, otherType, otherEnum []*jsonschema.ValidationError
	for _, c := range e.Causes {
		leaves := leafErrors(c)
		isHere := isUnion && len(leaves[0].InstanceLocation) == len(e.InstanceLocation)
		k, isEnum := leaves[0].ErrorKind.(*kind.Enum)
		_, isType := leaves[0].ErrorKind.(*kind.Type)
		switch {
		case isHere && isType:
			otherType = append(otherType, leaves...)
		case isHere && isEnum && !isText(k.Got): // the enums of the drafts are of texts
			otherEnum = append(otherEnum, leaves...)
		default:
			all = append(all, leaves...)
		}
	}
	for _, leaves := range [][]*jsonschema.ValidationError{all, otherEnum, otherType} {
		if len(leaves) > 0 {
			return leaves
		}
	}
	return []*jsonschema.ValidationError{e}
}

// isText reports whether a value of the library is a text.
func isText(x any) bool {
	_, ok := x.(string)
	return ok
}

// ruleMessage words which rule of its draft a schema breaks.
func ruleMessage(k jsonschema.ErrorKind) wording.Text {
	switch k := k.(type) {
	case *kind.Type:
		slices.Reverse(k.Want) // object or boolean, as all drafts have it
		return wordingf("expected %s, but got %s", anyOfTypes(k.Want), wording.TypeName(k.Got))
	case *kind.Enum:
		names := make([]string, len(k.Want))
		for i, name := range k.Want {
			names[i] = fmt.Sprintf("%q", name)
		}
		return wordingf("value must be one of %s", strings.Join(names, ", "))
	case *kind.Minimum:
		return wordingf("must be %s but found %s", ">= "+formatBound(k.Want), formatBound(k.Got))
	case *kind.ExclusiveMinimum:
		return wordingf("must be %s but found %s", "> "+formatBound(k.Want), formatBound(k.Got))
	case *kind.MinItems:
		return wordingf("minimum %d items required, but found %d items", k.Want, k.Got)
	case *kind.UniqueItems:
		return sameItems(k)
	case *kind.Dependency: // exclusiveMinimum beside minimum, in draft 4
		return missingBeside(k.Missing[0], k.Prop)
	case *kind.Pattern:
		return wordingf("does not match pattern %s", singleQuoted(k.Want))
	case *kind.Format:
		text := singleQuoted(fmt.Sprint(k.Got))
		if k.Want == "regex" {
			return unusablePattern(fmt.Sprint(k.Got))
		}
		return wordingf("%s is not valid %s", text, singleQuoted(k.Want))
	}
	return wordingf("not a JSON Schema")
}

// unusablePattern words that a pattern is not a regular expression of Go.
func unusablePattern(pattern string) wording.Text {
	return wordingf("%s is not a regular expression that can be used here (no lookaround, no back references, no repetition of more than 1000)", singleQuoted(pattern))
}
