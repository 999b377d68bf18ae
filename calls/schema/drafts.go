package schema

import (
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// LatestDraft is the $schema of the newest draft.
const LatestDraft = "https://json-schema.org/draft/2020-12/schema"

// draftURLs are the $schema of the drafts that a schema may be advised to be of.
var draftURLs = map[int]string{2019: "https://json-schema.org/draft/2019-09/schema", 2020: LatestDraft}

const (
	// usualDraft is the draft of a schema that names none.
	usualDraft = 7
	// anyDraft means an unknown draft.
	anyDraft = 0
)

// DraftOf returns the number of the draft that a $schema names: 4, 6, 7, 2019 or 2020; 0 for a
// text that is not the URL of a draft.
func DraftOf(name string) int {
	_, address, _ := strings.Cut(strings.TrimSuffix(name, "#"), "://")
	switch address {
	case "json-schema.org/schema", "json-schema.org/draft/2020-12/schema":
		return 2020
	case "json-schema.org/draft/2019-09/schema":
		return 2019
	case "json-schema.org/draft-07/schema":
		return 7
	case "json-schema.org/draft-06/schema":
		return 6
	case "json-schema.org/draft-04/schema":
		return 4
	}
	return 0
}

// WithoutDraft returns a schema without its $schema: as models get it, for some providers
// refuse the keyword.
func WithoutDraft(doc value.Value) value.Value {
	if _, has := doc.Get("$schema"); !has {
		return doc
	}
	m := doc.Map().Clone()
	m.Delete("$schema")
	return value.OfMap(m)
}

// draftName returns how people name a draft.
func draftName(number int) string {
	switch number {
	case 2020:
		return "2020-12"
	case 2019:
		return "2019-09"
	}
	return strconv.Itoa(number)
}

// draftWithin returns the draft of the subschema at a pointer of doc: the one named by the document's $schema, or
// by the nearest subschema above that has an $id beside a $schema; anyDraft if the document names an unsupported
// one.
func draftWithin(doc value.Value, pointer string) int {
	draft, at := usualDraft, doc
	if _, names := doc.Get("$schema"); names {
		draft = anyDraft
	}
	enter := func(isRoot bool) {
		id := textMember(at, "$id")
		hasAddress := id != "" && id[0] != '#'
		if own := DraftOf(textMember(at, "$schema")); own != 0 && (isRoot || hasAddress) {
			draft = own
		}
	}
	enter(true)
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer != "" {
			at, _ = at.At("/" + token)
			enter(false)
		}
	}
	return draft
}

// draftKeyword is a keyword that some drafts do not have.
type draftKeyword struct {
	since, until int // the first and the last draft that has it
	// instead is the equivalent in other drafts; "" if there is none.
	instead string
	// isRenamed reports whether all drafts before have the same by instead.
	isRenamed bool
}

var draftKeywords = map[string]draftKeyword{
	"const":                 {6, 2020, "enum", false},
	"contains":              {6, 2020, "", false},
	"propertyNames":         {6, 2020, "", false},
	"if":                    {7, 2020, "", false},
	"then":                  {7, 2020, "", false},
	"else":                  {7, 2020, "", false},
	"$anchor":               {2019, 2020, `$id: "#name"`, false},
	"dependentRequired":     {2019, 2020, "dependencies", true},
	"dependentSchemas":      {2019, 2020, "dependencies", true},
	"minContains":           {2019, 2020, "", false},
	"maxContains":           {2019, 2020, "", false},
	"unevaluatedItems":      {2019, 2020, "", false},
	"unevaluatedProperties": {2019, 2020, "", false},
	"$recursiveRef":         {2019, 2019, "$ref", false},
	"prefixItems":           {2020, 2020, "items: [...]", false},
	"$dynamicAnchor":        {2020, 2020, "", false},
	"$dynamicRef":           {2020, 2020, "$ref", false},
	"additionalItems":       {4, 2019, "items", false},
}

// HasKeyword reports whether a draft, of the numbers of [DraftOf], has a keyword. It is true of members
// that are keywords in no draft.
func HasKeyword(draft int, keyword string) bool {
	known, depends := draftKeywords[keyword]
	return !depends || known.since <= draft && draft <= known.until
}

// neededKeywords are the keywords without which one beside them has no effect.
var neededKeywords = map[string]string{
	"then": "if", "else": "if", "minContains": "contains", "maxContains": "contains", "additionalItems": "items",
}

// lacksNeeded words that a keyword of a subschema has no effect because the keyword that it depends on is missing;
// ok is false if that is present.
func lacksNeeded(s value.Value, key string) (p Problem, ok bool) {
	needed := neededKeywords[key]
	v, has := s.Get(needed)
	switch {
	case needed == "":
		return Problem{}, false
	case key == "additionalItems" && v.Kind() != value.List && (!has || !v.IsNull()):
		return p.WithMessage("%q has no effect where items is not a list", key).WithHint("leave it out"), true
	case !has:
		return p.WithMessage("%q has no effect without %q", key, needed).WithHint("write %s beside it, or leave it out", needed), true
	}
	return Problem{}, false
}

// isDynamic reports whether a keyword is supported in no draft.
func isDynamic(keyword string) bool { return keyword == "$dynamicRef" || keyword == "$recursiveRef" }

// besideRef are the keywords beside a $ref that drafts before 2019-09 ignore, and that people
// expect to have an effect.
var besideRef = []string{
	"type", "enum", "const", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "pattern",
	"items", "additionalItems", "minItems", "maxItems", "uniqueItems", "contains",
	"properties", "patternProperties", "additionalProperties", "propertyNames", "required", "minProperties", "maxProperties",
	"dependencies", "allOf", "anyOf", "oneOf", "not", "if", "then", "else",
}

// checkedDocument is the document whose keywords are checked.
type checkedDocument struct {
	isPart     bool // of another, which alone names the draft
	namesDraft bool
	newest     int // the newest draft that it may be of
}

func newCheckedDocument(doc value.Value, isPart bool) checkedDocument {
	d := checkedDocument{isPart: isPart, newest: 2020}
	_, d.namesDraft = doc.Get("$schema")
	walkSchemas(doc, "", func(s value.Value, _ string) {
		if items, _ := s.Get("items"); items.Kind() == value.List { // draft 2020-12 refuses them
			d.newest = 2019
		}
	})
	return d
}

// ineffectiveKeyword words that a keyword of a subschema has no effect in its draft; ok is false if it has one.
func (d checkedDocument) ineffectiveKeyword(s value.Value, key string, draft int) (p Problem, ok bool) {
	_, refers := s.Get("$ref")
	switch {
	case key == "$schema":
		return misplacedDraft(s, draft, d.isPart)
	case !HasKeyword(draft, key):
		p = p.WithMessage("draft %s of JSON Schema has no keyword %q, it has no effect", draftName(draft), key)
		return p.WithHint("%s", d.draftHint(key, draft)), true
	case refers && draft < 2019 && slices.Contains(besideRef, key):
		p = p.WithMessage("draft %s of JSON Schema ignores what is beside $ref: %q has no effect", draftName(draft), key)
		return p.WithHint("write allOf: [{$ref: ...}] in place of $ref"), true
	}
	return lacksNeeded(s, key)
}

// draftHint returns the way out for a keyword that the draft does not have.
func (d checkedDocument) draftHint(key string, draft int) wording.Text {
	known := draftKeywords[key]
	isLater := draft < known.since && known.since <= d.newest && !d.isPart
	hasSame := known.isRenamed || isDynamic(key)
	switch {
	case isLater && !hasSame && d.namesDraft:
		return wordingf("change $schema to %s", draftURLs[d.newest])
	case isLater && !hasSame:
		return wordingf("write $schema: %s at the top of the schema", draftURLs[d.newest])
	case known.instead != "":
		return wordingf("use %s", known.instead)
	}
	return wordingf("leave it out")
}

// misplacedDraft words that a $schema has no effect, because it is below the top of the schema; ok is false if it
// has one, or would change nothing. draft is the draft of the subschema s.
func misplacedDraft(s value.Value, draft int, isPart bool) (p Problem, ok bool) {
	if named := DraftOf(textMember(s, "$schema")); named == 0 || named == draft {
		return Problem{}, false
	}
	p = p.WithMessage("$schema has no effect here: the schema is of draft %s", draftName(draft))
	if isPart {
		return p.WithHint("leave it out"), true
	}
	return p.WithHint("write it at the top of the schema"), true
}

// textMember returns a member that is a text; "" for none.
func textMember(v value.Value, key string) string {
	member, _ := v.Get(key)
	text, _ := member.Str()
	return text
}
