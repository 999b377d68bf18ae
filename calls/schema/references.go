package schema

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// reference is a keyword whose value names another schema, or a draft.
type reference struct {
	pointer string // of the keyword
	// address is its target, without the fragment; fragment has no percent signs.
	address, fragment string
}

// isDraft reports whether it is a $schema.
func (r reference) isDraft() bool { return strings.HasSuffix(r.pointer, "/$schema") }

// referenceFinder collects the references in a document.
type referenceFinder struct {
	draft int // of the document
	found []reference
	// places are the pointers of the subschemas that have an address of their own.
	places map[string]string
}

// findReferences collects the references in doc, and the places that they may lead into.
func findReferences(doc value.Value) *referenceFinder {
	f := &referenceFinder{draft: draftWithin(doc, ""), places: map[string]string{location: ""}}
	f.visit(doc, "", location, false)
	return f
}

// visit enters a part of the document; at is its pointer, base the URL that addresses in it are relative to. names
// means that the keys of v are names of its own.
func (f *referenceFinder) visit(v value.Value, at, base string, names bool) {
	for i, item := range v.List() {
		f.visit(item, at+"/"+strconv.Itoa(i), base, false)
	}
	if v.Kind() == value.Object && !names {
		base = f.enterSchema(v, at, base)
	}
	for key, member := range v.Map().All() {
		if names || !holdsData(key) {
			f.visit(member, at+"/"+value.Escape(key), base, !names && holdsNames(key))
		}
	}
}

// enterSchema collects the references of one schema, and returns the base URL for references below it.
func (f *referenceFinder) enterSchema(s value.Value, at, base string) string {
	keyword := "$id"
	if f.draft == 4 {
		keyword = "id"
	}
	_, refers := s.Get("$ref")
	isHidden := refers && f.draft < 2019
	if id := textMember(s, keyword); id != "" && id[0] != '#' && !isHidden {
		base, _ = resolveAddress(base, id)
		f.places[base] = at
	}
	if draft := textMember(s, "$schema"); draft != "" {
		draft, _, _ = strings.Cut(draft, "#")
		f.found = append(f.found, reference{pointer: at + "/$schema", address: draft}) // relative to nothing
	}
	for _, keyword := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		if text := textMember(s, keyword); text != "" {
			address, fragment := resolveAddress(base, text)
			f.found = append(f.found, reference{at + "/" + keyword, address, fragment})
		}
	}
	return base
}

// resolveAddress returns the address and the fragment of a reference that is relative to base.
func resolveAddress(base, text string) (address, fragment string) {
	text, fragment, _ = strings.Cut(text, "#")
	fragment = decodeLocation(fragment)
	from, err := url.Parse(base)
	if err != nil || text == "" {
		return base, fragment
	}
	to, err := url.Parse(text)
	if err != nil {
		return text, fragment
	}
	return from.ResolveReference(to).String(), fragment
}

// problemsAt returns the problem for each reference that it is about; nil for none.
func (f *referenceFinder) problemsAt(message wording.Text, isAbout func(reference) bool) (problems Problems) {
	for _, r := range f.found {
		if isAbout(r) {
			problems = append(problems, newProblem(r.pointer, "", message))
		}
	}
	return problems
}

// leadTo selects the references to a place in the document, which a URL of the library names.
func (f *referenceFinder) leadTo(place string) func(reference) bool {
	return func(r reference) bool {
		within, isOurs := f.places[r.address]
		return isOurs && !r.isDraft() && within+r.fragment == pointerIn(place)
	}
}
