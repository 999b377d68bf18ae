package check

import (
	"context"
	"errors"
	"slices"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// valueMatchers lists the matchers that look at the subject as data.
func valueMatchers() []matcher {
	that := define("that", wording.Text{En: "The expression over value, outputs, steps, prompt, row, inputs and run is true.", Zh: "以 value、outputs、steps、prompt、row、inputs 和 run 为名的表达式为真。"}, anySubject, func(string, *argument) test { return nil })
	that.isExpression = true
	return []matcher{
		define("equals", wording.Text{En: "The subject is this value, of its type: \"3\" is a text, not a number. A text that a template gives is compared with the text of the subject.", Zh: "对象等于此值，类型也须相同：\"3\" 是文本，不是数字。模板得到的文本与对象的文本比较。"}, textSubjects, buildEquals),
		define("json", wording.Text{En: "The subject has this data in it: of objects the members that are named, of lists the same length.", Zh: "对象包含此数据：对象只比较列出的成员，列表长度须相同。"}, textSubjects, buildJSON),
		define("schema", wording.Text{En: "The subject, or the JSON in its text, fits this JSON Schema.", Zh: "对象（或其文本中的 JSON）符合此 JSON Schema。"}, textSubjects, buildSchema),
		define("min", wording.Text{En: "The subject is a number of at least this.", Zh: "对象是不小于此值的数字。"}, dataSubjects, buildMin),
		define("max", wording.Text{En: "The subject is a number of at most this.", Zh: "对象是不大于此值的数字。"}, dataSubjects, buildMax),
		that,
	}
}

// expressionTest evaluates an expression, which text is.
func expressionTest(e *expression, text string) test {
	return func(ctx context.Context, of *subject) *verdict {
		v, err := e.eval(ctx, newScope(ctx, of.of, of))
		if err != nil {
			return errorOf(err)
		}
		holds, isBool := v.Bool()
		if !isBool {
			return errorf("that must be true or false, and %s is %s", value.Truncate(text, maxShown), value.Truncate(v.JSON(), maxShown)).
				withHint("compare it with something: that: \"{{ value | length > 0 }}\"")
		}
		if holds {
			return pass()
		}
		return failf("%s is false", value.Truncate(text, maxShown))
	}
}

func buildEquals(want value.Value, a *argument) test {
	return func(_ context.Context, of *subject) *verdict {
		got := of.asValue()
		isText := want.Kind() == value.String && got.Kind() != value.String
		if isText && (a.isRendered || of.hasText()) {
			got = value.OfString(of.asText())
		}
		if value.Equal(got, want) {
			return pass()
		}
		if isText && value.Equal(want, value.OfString(of.asText())) {
			return unfitf("it is %s, and not the text %s", got.JSON(), want.JSON()).withHint("write equals: %s", got.JSON())
		}
		failed := failf("it is %s, not %s", value.Truncate(got.JSON(), maxShown), value.Truncate(want.JSON(), maxShown))
		if isOfOtherKind(got, want) {
			failed.note = wording.Say("it is %s, and is never %s", got.Kind().Name(), want.Kind().Name())
		}
		failed.diff = diffValues(want, got)
		return failed
	}
}

// isOfOtherKind reports whether two values can never be equal as they are of different kinds. Null is an answer that anything may give.
func isOfOtherKind(a, b value.Value) bool {
	_, isNumber := a.Float()
	_, isOtherNumber := b.Float()
	return !a.IsNull() && !b.IsNull() && a.Kind() != b.Kind() && !(isNumber && isOtherNumber)
}

// hasText reports whether the subject is more than its text but is compared with a text by it: a prompt, or
// the output of a step that asks a model.
func (s *subject) hasText() bool {
	text, _ := s.value.Get("text")
	return s.kind == promptSubject || text.Kind() == value.String
}

func buildJSON(want value.Value, a *argument) test {
	if want.Kind() == value.Object && want.Map().Len() == 0 {
		a.reportIdle("", "every object has nothing and more")
		return nil
	}
	return func(_ context.Context, of *subject) *verdict {
		whole := subsetVerdict(of.asValue(), want)
		got, failed := of.asData()
		switch {
		case whole.outcome == result.Pass: // an object {text: ...} too, whose text is not JSON
			return whole
		case failed != nil:
			return failed
		}
		return subsetVerdict(got, want)
	}
}

// subsetVerdict reports the first place at which a value lacks a wanted member.
func subsetVerdict(got, want value.Value) *verdict {
	pointer, have, need, ok := findDifference(got, want, "")
	if ok {
		return pass()
	}
	if pointer == "" {
		pointer = "/"
	}
	failed := failf("%s is %s, not %s", pointer, have, need)
	failed.diff = diffValues(want, comparedPart(got, want))
	return failed
}

// comparedPart returns the part of a value that is compared with the wanted one. If a member is missing, all
// others stay: the value may have it under another name.
func comparedPart(got, want value.Value) value.Value {
	if want.Kind() == value.Object && got.Kind() == value.Object {
		part := value.NewMap(want.Map().Len())
		for key, member := range want.Map().All() {
			have, ok := got.Get(key)
			if !ok {
				return got
			}
			part.Set(key, comparedPart(have, member))
		}
		return value.OfMap(part)
	}
	if want.Kind() == value.List && got.Kind() == value.List && len(want.List()) == len(got.List()) {
		items := make([]value.Value, len(want.List()))
		for i := range items {
			items[i] = comparedPart(got.List()[i], want.List()[i])
		}
		return value.OfList(items...)
	}
	return got
}

// findDifference finds the first place at which a value lacks a wanted member; ok is true if there is none.
func findDifference(got, want value.Value, at string) (pointer string, have, need wording.Text, ok bool) {
	shown := func(v value.Value) wording.Text { return wording.Same(value.Truncate(v.JSON(), maxShown)) }
	if want.Kind() == value.Object && got.Kind() == value.Object {
		for key, member := range want.Map().All() {
			below := at + "/" + value.Escape(key)
			have, ok := got.Get(key)
			if !ok {
				return below, wording.Text{En: "missing", Zh: "（不存在）"}, shown(member), false
			}
			if pointer, have, need, ok := findDifference(have, member, below); !ok {
				return pointer, have, need, false
			}
		}
		return "", wording.Text{}, wording.Text{}, true
	}
	if want.Kind() == value.List && got.Kind() == value.List {
		if len(want.List()) != len(got.List()) {
			return at, wording.Say("a list of %d", len(got.List())), wording.Say("one of %d", len(want.List())), false
		}
		for i := range want.List() {
			if pointer, have, need, ok := findDifference(got.List()[i], want.List()[i], at+"/"+value.OfInt(int64(i)).JSON()); !ok {
				return pointer, have, need, false
			}
		}
		return "", wording.Text{}, wording.Text{}, true
	}
	return at, shown(got), shown(want), value.Equal(got, want)
}

// asData returns the subject as data: a text is read as JSON.
func (s *subject) asData() (value.Value, *verdict) {
	v := s.asValue()
	if text, ok := v.Get("text"); ok && v.Map().Len() == 1 {
		v = text
	}
	text, isText := v.Str()
	if !isText {
		return v, nil
	}
	parsed, err := value.ParseJSON([]byte(text))
	if err != nil {
		return v, unfitf("it is not JSON: %w", err).withHint("it begins with %q", value.Truncate(text, 60))
	}
	return parsed, nil
}

func buildSchema(want value.Value, a *argument) test {
	s, err := schema.Parse(want)
	var invalid *schema.InvalidError
	if errors.As(err, &invalid) && len(invalid.Problems) > 0 {
		for _, p := range invalid.Problems {
			message, hint := p.Text()
			a.report(p.Pointer, wording.Say("not a JSON Schema: %s", message), hint)
		}
		return nil
	}
	if err != nil {
		a.report("", wording.OfError(err), wording.Text{})
		return nil
	}
	if typos := schema.UnknownKeywords(want); len(typos) > 0 {
		for _, p := range typos {
			message, hint := p.Text()
			a.report(p.Pointer, message, hint)
		}
		return nil
	}
	if isOpenSchema(s) {
		a.reportIdle("", "every value fits a schema that asks for nothing")
		return nil
	}
	if isClosedSchema(want) {
		a.reportf("", "no value fits the schema")
		return nil
	}
	kind, _ := want.Get("type")
	wantsData := slices.Contains([]string{"object", "array"}, textOf(kind))
	speaksOf := schemaKinds(want)
	return func(_ context.Context, of *subject) *verdict {
		if speaksOf != nil {
			return kindVerdict(s, of, speaksOf)
		}
		v := schemaVerdict(s, of)
		if _, noData := of.asData(); noData != nil && wantsData { // a text that is not JSON is neither a good nor a bad object
			v.isUnfit = v.outcome == result.Fail
		}
		return v
	}
}

// isOpenSchema reports whether values of every kind fit a schema: {}, {title: ...}, anyOf with {} in it, a list of all types.
func isOpenSchema(s *schema.Schema) bool {
	isRefused := func(v value.Value) bool { return s.Check(v) != nil }
	return !slices.ContainsFunc(sampleValues(), isRefused)
}

// isClosedSchema reports whether no value fits a schema: false, or one that excludes everything, itself or in its parts.
func isClosedSchema(doc value.Value) bool {
	if all, isBool := doc.Bool(); isBool {
		return !all
	}
	if excluded, ok := doc.Get("not"); ok {
		if s, err := schema.Parse(excluded); err == nil && isOpenSchema(s) {
			return true
		}
	}
	all, _ := doc.Get("allOf")
	if slices.ContainsFunc(all.List(), isClosedSchema) {
		return true
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		some, ok := doc.Get(key)
		if ok && !slices.ContainsFunc(some.List(), func(s value.Value) bool { return !isClosedSchema(s) }) {
			return true
		}
	}
	return false
}

// schemaAnnotations lists the keywords that ask for nothing.
func schemaAnnotations() []string {
	return []string{"$schema", "$id", "$comment", "title", "description", "default", "examples", "definitions"}
}

// schemaKinds returns the kinds of values that the keywords of a schema are about, for example object for {required: [a]}; nil if one of
// them is about every value, as type is.
func schemaKinds(doc value.Value) (kinds []string) {
	about := map[string]string{
		"properties": "object", "required": "object", "additionalProperties": "object", "patternProperties": "object", "propertyNames": "object",
		"minProperties": "object", "maxProperties": "object", "dependencies": "object",
		"items": "array", "additionalItems": "array", "contains": "array", "minItems": "array", "maxItems": "array", "uniqueItems": "array",
		"minimum": "number", "maximum": "number", "exclusiveMinimum": "number", "exclusiveMaximum": "number", "multipleOf": "number",
		"minLength": "string", "maxLength": "string", "pattern": "string", "format": "string",
	}
	for _, keyword := range doc.Map().Keys() {
		kind, isKnown := about[keyword]
		switch {
		case isKnown && !slices.Contains(kinds, kind):
			kinds = append(kinds, kind)
		case !isKnown && !slices.Contains(schemaAnnotations(), keyword):
			return nil
		}
	}
	return kinds
}

// kindVerdict checks the subject, or the JSON in its text, whichever is of one of the kinds that the schema speaks of: it takes every value
// of another kind.
func kindVerdict(s *schema.Schema, of *subject, kinds []string) *verdict {
	candidates := []value.Value{of.asValue()}
	if data, failed := of.asData(); failed == nil {
		candidates = append(candidates, data)
	}
	for _, v := range candidates {
		kind := v.Kind().String()
		if kind == "integer" {
			kind = "number"
		}
		if !slices.Contains(kinds, kind) {
			continue
		}
		if problems := s.Check(v); problems != nil {
			return failf("it does not fit the schema: %w", problems)
		}
		return pass()
	}
	var names []wording.Text
	for _, kind := range kinds {
		names = append(names, wording.TypeName(kind))
	}
	return unfitf("the schema speaks of %s, and it is %s", wording.Join(names, " or ", "或"), of.asValue().Kind().Name()).
		withHint("add type to the schema, or look at another value")
}

// schemaVerdict checks the subject, or the JSON in its text if the schema does not want a text.
func schemaVerdict(s *schema.Schema, of *subject) *verdict {
	got := of.asValue()
	problems := s.Check(got)
	if problems == nil {
		return pass()
	}
	if data, failed := of.asData(); failed == nil && !value.Equal(data, got) {
		problems = s.Check(data)
		if problems == nil {
			return pass()
		}
	}
	return failf("it does not fit the schema: %w", problems)
}

func buildMin(want float64, a *argument) test {
	if !a.isReached("", want, maxNumber) {
		return nil
	}
	return numberTest(func(n float64) bool { return n >= want }, wording.Say("at least %v", want))
}

func buildMax(want float64, a *argument) test {
	if !a.isReached("", want, maxNumber) {
		return nil
	}
	return numberTest(func(n float64) bool { return n <= want }, wording.Say("at most %v", want))
}

// numberTest looks at the subject as a number, which a text may write.
func numberTest(holds func(float64) bool, want wording.Text) test {
	return func(_ context.Context, of *subject) *verdict {
		v := of.asValue()
		if text, ok := v.Str(); ok {
			if parsed, err := value.OfNumber(text); err == nil {
				v = parsed
			}
		}
		n, ok := v.Float()
		if !ok {
			return unfitf("it is not a number: %s", value.Truncate(v.JSON(), maxShown))
		}
		if holds(n) {
			return pass()
		}
		return failf("it is %v, not %s", n, want)
	}
}
