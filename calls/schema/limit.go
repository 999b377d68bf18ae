package schema

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Limits for schemas and values from untrusted sources. The library compiles and validates without a deadline, and
// some numbers make it panic, so input that could keep it busy for long is refused first: for example a pattern
// such as (a{900}){900}.
const (
	maxBytes = 256 << 10
	maxDepth = 64
	// A check may visit baseBudget + nodeBudget x (values in the instance) members: plain schemas take one per value.
	baseBudget = 1_000_000
	nodeBudget = 50
	// maxInstanceDepth bounds the nesting of a value.
	maxInstanceDepth = 1000
	// Numbers with more digits, or an exponent beyond, are refused: the library
	// writes every digit out.
	maxDigits   = 1000
	maxExponent = 400
	// maxPatterns bounds the weight of the regular expressions of a schema; lightPattern is the weight up to which a
	// pattern needs no budget to match an ordinary text, one of at most longText bytes.
	maxPatterns  = 50_000
	lightPattern = 200
	longText     = 10_000
	// maxMatching is how many steps the regular expressions may take in one check.
	maxMatching = 100_000_000
	// maxCount bounds minLength and its like, which the library keeps as an int.
	maxCount = 1 << 53
	// maxCompiling bounds the square of the number of subschemas, with which the time of
	// compiling grows. For a reference to a place that the draft does not know the library
	// copies a list of all of them, which takes as long as refCost others.
	maxCompiling = 100_000_000
	refCost      = 30
)

// checkLimits refuses a schema that is not an object, is too big, or has extreme
// numbers.
func checkLimits(doc value.Value) error {
	if k := doc.Kind(); k != value.Object && k != value.Bool {
		return wording.Errorf("not a JSON Schema: want an object, got %s", k)
	}
	if d := depthOf(doc); d > maxDepth {
		return wording.Errorf("the schema is nested %d deep, more than %d", d, maxDepth)
	}
	if n := len(doc.AppendJSON(nil)); n > maxBytes {
		return wording.Errorf("the schema has %d bytes, more than %d", n, maxBytes)
	}
	var c converter
	if _, p := c.convert(doc, 0); p != nil {
		return &InvalidError{Problems{*p}}
	}
	if subs, refs := countSubschemas(doc); subs*(subs+refs*refCost) > maxCompiling {
		return wording.Errorf("the schema takes too long to compile: it has %d subschemas, and %d references to places other than definitions", subs, refs)
	}
	if w := patternWeight(doc); w > maxPatterns {
		return wording.Errorf("the schema's regular expressions are too costly to match: with all that they repeat they have %d parts, more than %d", w, maxPatterns)
	}
	return nil
}

// compileCost counts the parts of a document that determine its compile time, rounding up.
type compileCost struct {
	// subs are the subschemas. data are objects in data, which a reference to a place that
	// the draft does not know may make subschemas.
	subs, data int
	// refs are references to such places; defs, to $defs, which old drafts do not know.
	refs, defs int
	isOld      bool
	// again are references that write an index otherwise than the library does, like 01:
	// it compiles all below the place once more.
	again int
}

// countSubschemas returns how many subschemas there are in a document, and how many references to places at which
// its draft expects none.
func countSubschemas(doc value.Value) (subs, refs int) {
	_, hasDraft := doc.Get("$schema")
	c := compileCost{isOld: !hasDraft}
	c.count(doc, false, false)
	if c.isOld {
		c.refs += c.defs
	}
	if c.refs > 0 {
		c.subs += c.data
	}
	return min(c.subs*(1+c.again), maxCompiling), c.refs
}

// count enters a part of the document. names means that the keys of v are names of its
// own; isData, that it is part of data.
func (c *compileCost) count(v value.Value, names, isData bool) {
	if k := v.Kind(); k == value.Object || k == value.Bool {
		if isData {
			c.data++
		} else {
			c.subs++
		}
	}
	for _, item := range v.List() {
		c.count(item, false, isData)
	}
	for key, member := range v.Map().All() {
		if text, isText := member.Str(); isText {
			c.countText(key, text)
		}
		c.count(member, !names && holdsNames(key), isData || !names && holdsData(key))
	}
}

// countText enters a text that is a member of an object.
func (c *compileCost) countText(key, text string) {
	switch key {
	case "$schema":
		c.isOld = c.isOld || !strings.Contains(text, "/draft/20")
	case "$ref", "$dynamicRef", "$recursiveRef":
		_, fragment, _ := strings.Cut(text, "#")
		tokens := strings.Split(decodeLocation(fragment), "/")
		if slices.ContainsFunc(tokens, isOddIndex) {
			c.again++
		}
		isDirect := strings.HasPrefix(text, "#/") && len(tokens) == 3 // below the root
		switch {
		case isDirect && tokens[1] == "definitions":
		case isDirect && tokens[1] == "$defs":
			c.defs++
		default:
			c.refs++
		}
	}
}

// isOddIndex reports whether a token is an index of a list that is not written as usual.
func isOddIndex(token string) bool {
	n, err := strconv.Atoi(token)
	return err == nil && strconv.Itoa(n) != token
}

// counts are the keywords that bound a length or a number of things.
var counts = []string{"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains"}

// checkCounts refuses counts of more than maxCount.
func (s *Schema) checkCounts() error {
	var wrong InvalidError
	for _, sub := range s.at {
		own := s.sourceOf(sub)
		for _, keyword := range counts {
			count, _ := own.Get(keyword)
			if n, _ := count.Float(); n > maxCount {
				pointer := decodeLocation(strings.TrimPrefix(sub.Location, location+"#")) + "/" + keyword
				wrong.Problems = append(wrong.Problems, newProblem(pointer, "",
					wordingf("%s is more than the maximum %s", value.Truncate(count.JSON(), 40), strconv.Itoa(maxCount))))
			}
		}
	}
	if wrong.Problems == nil {
		return nil
	}
	slices.SortFunc(wrong.Problems, func(a, b Problem) int { return strings.Compare(a.Pointer, b.Pointer) })
	return &wrong
}

func depthOf(v value.Value) int {
	deepest := 0
	for _, item := range v.List() {
		deepest = max(deepest, depthOf(item))
	}
	for _, member := range v.Map().All() {
		deepest = max(deepest, depthOf(member))
	}
	if v.Kind() == value.List || v.Kind() == value.Object {
		deepest++
	}
	return deepest
}

// Checkable returns why no schema can check v: it is nested too deep, or has a number out of range; nil if it can
// be checked.
func Checkable(v value.Value) error {
	var c converter
	if _, p := c.convert(v, 0); p != nil {
		return *p
	}
	return nil
}

// converter converts values to the library's types. It refuses values on which the library would take very long or
// panic.
type converter struct {
	nodes int // the values in it
	// long is set when a text or a name is longer than longText.
	long bool
}

func (c *converter) convert(v value.Value, depth int) (any, *Problem) {
	c.nodes++
	if depth > maxInstanceDepth {
		p := newProblem("", "", wordingf("nested deeper than %d", maxInstanceDepth))
		return nil, &p
	}
	switch v.Kind() {
	case value.List:
		items := make([]any, len(v.List()))
		for i, item := range v.List() {
			x, p := c.convert(item, depth+1)
			if p != nil {
				p.Pointer = "/" + strconv.Itoa(i) + p.Pointer
				return nil, p
			}
			items[i] = x
		}
		return items, nil
	case value.Object:
		members := make(map[string]any, v.Map().Len())
		for k, member := range v.Map().All() {
			c.long = c.long || len(k) > longText
			x, p := c.convert(member, depth+1)
			if p != nil {
				p.Pointer = "/" + value.Escape(k) + p.Pointer
				return nil, p
			}
			members[k] = x
		}
		return members, nil
	case value.String:
		text, _ := v.Str()
		c.long = c.long || len(text) > longText
	case value.Int, value.Float:
		if i, ok := v.Int(); ok {
			return i, nil
		}
		if text := v.JSON(); isExtremeNumber(text) {
			p := newProblem("", "type", wordingf("the number %s is out of range", value.Truncate(text, 40)))
			return nil, &p
		}
	}
	return v.Any(), nil
}

func isExtremeNumber(number string) bool {
	if len(number) > maxDigits {
		return true
	}
	i := strings.IndexAny(number, "eE")
	if i < 0 {
		return false
	}
	exponent, err := strconv.Atoi(number[i+1:])
	return err != nil || exponent < -maxExponent || exponent > maxExponent
}

// unionsMultiply reports whether one value at one place would be checked more often than
// the budget of all allows: by unions of references to unions.
func (s *Schema) unionsMultiply() bool {
	checks := make(map[*jsonschema.Schema]int, len(s.at))
	var count func(sub *jsonschema.Schema, frames int) int
	count = func(sub *jsonschema.Schema, frames int) int {
		if n, known := checks[sub]; known {
			return n
		}
		checks[sub] = baseBudget + 1 // for one that comes back to itself
		n := 1 + frames
		for _, in := range inPlaceSubschemas(sub) {
			n = min(n+count(in, frames+1), baseBudget+1)
		}
		checks[sub] = n
		return n
	}
	for _, sub := range s.at {
		if count(sub, 0) > baseBudget {
			return true
		}
	}
	return false
}

// findLoop returns the pointer of a subschema, and the keywords that lead from it to one that leads back to itself
// at the same value; "" if none does.
func (s *Schema) findLoop() (at, loop string) {
	isOnWay := map[*jsonschema.Schema]bool{}
	var visit func(sub *jsonschema.Schema, way string) string
	visit = func(sub *jsonschema.Schema, way string) string {
		if comesBack, seen := isOnWay[sub]; comesBack {
			return way
		} else if seen {
			return ""
		}
		isOnWay[sub] = true
		for _, in := range inPlaceSubschemas(sub) {
			keywords := "/$ref"
			if in != sub.Ref {
				keywords = strings.TrimPrefix(in.Location, sub.Location)
			}
			if loop := visit(in, way+keywords); loop != "" {
				return loop
			}
		}
		isOnWay[sub] = false
		return ""
	}
	for _, at := range slices.Sorted(maps.Keys(s.at)) {
		if loop := visit(s.at[at], at); loop != "" {
			return pointerIn(at), strings.TrimPrefix(loop, location)
		}
	}
	return "", ""
}

// isAffordable reports whether checking v, a value of that many nodes, stays within
// the budget. It goes the ways that the library would go at the most, without
// comparing anything: unions that multiply, by themselves or with every level of
// a recursive value, run out of budget instead of time.
func (s *Schema) isAffordable(v value.Value, nodes int) bool {
	m := checkMeter{left: baseBudget + nodeBudget*nodes, matching: maxMatching, weights: s.weights}
	return m.visit(s.compiled, v, 0)
}

type checkMeter struct {
	left, matching int
	weights        map[jsonschema.Regexp]int
}

// matchMetered pays for matching a text.
func (m *checkMeter) matchMetered(pattern jsonschema.Regexp, text string) bool {
	m.matching -= m.weights[pattern] * (1 + len(text))
	return m.matching >= 0
}

func (m *checkMeter) visit(s *jsonschema.Schema, v value.Value, frames int) bool {
	// The library spells out the way from the top for every error, a frame at a time: the cost grows with the square
	// of the depth.
	own := ownChecksOf(s)
	m.left -= 1 + len(v.List()) + v.Map().Len() + own.isConstant.cost(v) + own.isListed.cost(v) + frames*frames/256
	if m.left < 0 {
		return false
	}
	if text, ok := v.Str(); ok && s.Pattern != nil && !m.matchMetered(s.Pattern, text) {
		return false
	}
	for _, sub := range inPlaceSubschemas(s) {
		if !m.visit(sub, v, frames+1) {
			return false
		}
	}
	below := func(sub any, v value.Value) bool {
		one, ok := sub.(*jsonschema.Schema)
		return !ok || one == nil || m.visit(one, v, frames+1)
	}
	for k, member := range v.Map().All() {
		if !m.visitMember(s, k, member, below) {
			return false
		}
	}
	tuple := s.PrefixItems
	if items, ok := s.Items.([]*jsonschema.Schema); ok {
		tuple = items
	}
	for i, item := range v.List() {
		if i < len(tuple) && !below(tuple[i], item) {
			return false
		}
		for _, sub := range []any{s.Items, s.Items2020, s.AdditionalItems, s.Contains, s.UnevaluatedItems} {
			if !below(sub, item) {
				return false
			}
		}
	}
	return true
}

func (m *checkMeter) visitMember(s *jsonschema.Schema, name string, v value.Value, below func(any, value.Value) bool) bool {
	property, known := s.Properties[name]
	if known && !below(property, v) {
		return false
	}
	for pattern, sub := range s.PatternProperties {
		m.left--
		if m.left < 0 || !m.matchMetered(pattern, name) {
			return false
		}
		if pattern.MatchString(name) && !below(sub, v) {
			return false
		}
	}
	if !below(ownChecksOf(s).names, value.OfString(name)) {
		return false
	}
	if known {
		return true
	}
	return below(s.AdditionalProperties, v) && below(s.UnevaluatedProperties, v)
}
