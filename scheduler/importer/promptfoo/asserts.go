package promptfoo

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/importer"
)

// assertion is one assertion of a test.
type assertion struct {
	kind             string
	isNegated        bool
	node             *yaml.Node
	value, threshold value.Value
	weight           value.Value
	metric           string
}

// translation is the result for an assertion: the subject, if it is not the answer, matchers, and a note on the
// changes.
type translation struct {
	subject  *value.Map
	matchers []*value.Map
	note     wording.Text
	// why says why there are no matchers.
	why wording.Text
}

// translators are by the type of an assertion.
func translators() map[string]func(*reader, *assertion) translation {
	fold := func(matcher string) func(*reader, *assertion) translation {
		return func(_ *reader, a *assertion) translation {
			return one(value.Pairs(matcher, listOrText(a, matcher), "fold", true))
		}
	}
	plain := func(matcher string) func(*reader, *assertion) translation {
		return func(_ *reader, a *assertion) translation { return one(value.Pairs(matcher, listOrText(a, matcher))) }
	}
	return map[string]func(*reader, *assertion) translation{
		"equals": translateEquals, "contains": plain("contains"), "icontains": fold("contains"), "contains-all": plain("contains_all"), "icontains-all": fold("contains_all"),
		"contains-any": plain("contains_any"), "icontains-any": fold("contains_any"), "starts-with": plain("starts_with"), "regex": translateRegex,
		"is-json": translateJSON, "contains-json": translateJSON, "javascript": translateJavaScript, "llm-rubric": translateRubric, "g-eval": translateRubric,
		"model-graded-closedqa": translateRubric, "factuality": translateFacts, "model-graded-factuality": translateFacts, "answer-relevance": translateRelevance,
		"similar": likeness("similar", "min", 0.75, wording.Text{}), "levenshtein": likeness("levenshtein", "max", 5, wording.Text{}),
		"rouge-n": likeness("rouge_l", "min", 0.75, wording.Say("words in their order are compared, not groups of words")),
		"latency": limit("ms"), "cost": limit("cost"), "word-count": translateWords, "finish-reason": translateFinish,
	}
}

// isAssertType reports whether a word is a type of assertions, one that is read here or another.
func isAssertType(kind string) bool {
	return translators()[kind] != nil || kind == "grade" || lostKinds[kind] != ""
}

// lostKinds are the types that have no equal, with the remedy.
var lostKinds = map[string]string{
	"python": codeRemedy, "ruby": codeRemedy, "webhook": "write a check as a plugin",
	"moderation": "ask a judge: judge: {criteria: [...]}", "classifier": "ask a judge: judge: {criteria: [...]}", "perplexity": noEqual, "perplexity-score": noEqual,
	"guardrails": noEqual, "is-refusal": "ask a judge: judge: {criteria: [...]}", "select-best": "compare two runs: --against", "max-score": "compare two runs: --against", "human": noEqual,
	"context-faithfulness": groundedRemedy, "context-recall": groundedRemedy, "context-relevance": groundedRemedy, "is-valid-openai-tools-call": toolsRemedy,
	"is-valid-openai-function-call": toolsRemedy, "is-valid-function-call": toolsRemedy, "tool-call-f1": toolsRemedy, "is-sql": noEqual, "contains-sql": noEqual, "is-xml": noEqual, "contains-xml": noEqual, "is-html": noEqual,
	"contains-html": noEqual, "bleu": noEqual, "gleu": noEqual, "meteor": noEqual, "pi": noEqual, "conversation-relevance": "ask a judge: judge: {criteria: [...]}", "search-rubric": noEqual, "trajectory": noEqual,
}

const (
	codeRemedy     = "code does not run here: write it as an expression, that: \"{{ ... }}\", or as a plugin of kind check"
	noEqual        = "nothing here checks this: write a plugin of kind check"
	groundedRemedy = "check what was in the prompt: grounded, or includes"
	toolsRemedy    = "check the calls of an agent: tools"
)

// needsText are the types that say nothing without a value.
var needsText = map[string]bool{
	"contains": true, "icontains": true, "contains-all": true, "icontains-all": true, "contains-any": true, "icontains-any": true, "starts-with": true, "regex": true,
	"similar": true, "levenshtein": true, "rouge-n": true,
}

// readAssert reads an assertion, or a set of them.
func (r *reader) readAssert(s *importer.Source, t *test, n *yaml.Node, metric string) {
	keys := membersOf(n)
	if ref, ok := textOf(keys["$ref"]); ok {
		r.readReferred(s, t, keys["$ref"], ref, metric)
		return
	}
	kind, ok := textOf(keys["type"])
	if !ok {
		s.Drop(n, wording.Say("an assertion without a type"))
		t.lose("assert")
		return
	}
	if own, ok := textOf(keys["metric"]); ok {
		metric = own
		s.Keep(keys["metric"])
	}
	if kind == "assert-set" {
		s.Change(keys["type"], wording.Say("the checks of the set are checks of the case"))
		for _, key := range []string{"threshold", "weight"} {
			if keys[key] != nil {
				s.Drop(keys[key], wording.Say("a set has no score of its own: give its checks a metric and the case a threshold"))
			}
		}
		if threshold, isNumber := valueOf(keys["threshold"]).Float(); isNumber && threshold < 1 {
			t.lose("assert-set")
		}
		for _, item := range itemsOf(keys["assert"]) {
			r.readAssert(s, t, item, metric)
		}
		return
	}
	a := &assertion{node: n, weight: value.OfInt(1), metric: metric, value: valueOf(keys["value"]), threshold: valueOf(keys["threshold"])}
	a.kind, a.isNegated = strings.CutPrefix(kind, "not-")
	if w := valueOf(keys["weight"]); !w.IsNull() {
		a.weight = w
	}
	for _, key := range []string{"transform", "contextTransform"} {
		if keys[key] != nil {
			s.Drop(n, wording.Say("code that changes texts does not run here: write it as a step of the flow"))
			t.lose(kind)
			return
		}
	}
	r.addAssertion(s, t, a)
	for _, key := range []string{"provider", "rubricPrompt", "config"} {
		s.Drop(keys[key], wording.Say("name the judge in the test file: judge: {llm: NAME}"))
	}
}

// readReferred reads the assertion that a reference into the same file names.
func (r *reader) readReferred(s *importer.Source, t *test, n *yaml.Node, ref, metric string) {
	pointer, isHere := strings.CutPrefix(ref, "#")
	isHere = isHere && strings.HasPrefix(pointer, "/")
	var referred *yaml.Node
	if isHere {
		node, _, found := yaml.Walk(s.Root, pointer)
		if found && membersOf(node)["$ref"] == nil { // no circles
			referred = node
		}
	}
	if referred == nil {
		s.Drop(n, wording.Say("%s is not in the file", ref))
		t.lose("assert")
		return
	}
	s.Keep(n)
	r.readAssert(s, t, referred, metric)
}

// addAssertion adds the checks of an assertion to a test, and marks its node.
func (r *reader) addAssertion(s *importer.Source, t *test, a *assertion) {
	translate := translators()[a.kind]
	if translate == nil {
		remedy := lostKinds[a.kind]
		if remedy == "" {
			remedy = noEqual
		}
		s.Drop(a.node, wording.Say("%s has no equal here: %s", a.kind, wording.Of(remedy)))
		if code, ok := a.value.Str(); ok && (a.kind == "python" || a.kind == "ruby") {
			r.keepCode(a.kind, code)
		}
		t.lose(a.kind)
		return
	}
	if how := r.translateValue(a); how.En != "" {
		s.Drop(a.node, how)
		t.lose(a.kind)
		return
	}
	got := translate(r, a)
	text, isText := a.value.Str()
	isEmpty := a.value.IsNull() || isText && strings.TrimSpace(text) == ""
	if isEmpty && needsText[a.kind] {
		got = translation{why: wording.Say("the assertion has no value")}
	}
	if got.matchers == nil {
		s.Drop(a.node, got.why)
		t.lose(a.kind)
		return
	}
	if a.isNegated && (len(got.matchers) > 1 || got.matchers[0].Len() == 0) {
		s.Drop(a.node, wording.Say("the opposite of several conditions has no equal here"))
		t.lose("not-" + a.kind)
		return
	}
	items := make([]value.Value, len(got.matchers))
	for i, m := range got.matchers {
		items[i] = a.item(got.subject, m)
		if wrong := r.checkOf(items[i]); wrong.En != "" {
			s.Drop(a.node, wrong)
			t.lose(a.kind)
			return
		}
	}
	markAssertion(s, a, got.note)
	t.checks = joinChecks(t.checks, items)
}

// checkOf returns the fault of an item of expect; zero for none.
func (r *reader) checkOf(item value.Value) wording.Text {
	if r.checkItem == nil {
		return wording.Text{}
	}
	return r.checkItem(item)
}

// takesThreshold are the types that use the threshold.
var takesThreshold = map[string]bool{
	"llm-rubric": true, "g-eval": true, "model-graded-closedqa": true, "factuality": true, "model-graded-factuality": true, "answer-relevance": true,
	"similar": true, "levenshtein": true, "rouge-n": true, "latency": true, "cost": true,
}

// markAssertion marks the parts of an assertion that has become a check, as changed if there is a note. A part
// that no check uses is left as it is: not kept.
func markAssertion(s *importer.Source, a *assertion, note wording.Text) {
	nodes := []*yaml.Node{a.node}
	if keys := membersOf(a.node); len(keys) > 0 {
		nodes = []*yaml.Node{keys["type"], keys["value"], keys["weight"]}
		if takesThreshold[a.kind] {
			nodes = append(nodes, keys["threshold"])
		}
	}
	for _, n := range nodes {
		if note.En != "" {
			s.Change(n, note)
		} else {
			s.Keep(n)
		}
	}
}

// item returns the item of expect.
func (a *assertion) item(subject, matchers *value.Map) value.Value {
	item := value.Pairs("output", outputName)
	if subject != nil {
		item = subject.Clone()
	}
	if a.isNegated {
		item.Set("not", value.OfMap(matchers))
	} else {
		for key, v := range matchers.All() {
			item.Set(key, v)
		}
	}
	if a.metric != "" {
		item.Set("metric", value.OfString(a.metric))
	}
	if weight, ok := a.weight.Float(); ok && weight != 1 && weight >= 0 {
		item.Set("weight", a.weight)
	}
	return value.OfMap(item)
}

// translateValue turns the templates in a value into ours. how says why it cannot; code is not a template.
func (r *reader) translateValue(a *assertion) (how wording.Text) {
	if a.kind == "javascript" {
		return how
	}
	translated, err := translateTexts(a.value)
	if err != nil {
		return wording.Say("the template has no equal here: %w", err)
	}
	a.value = translated
	return how
}

// translateTexts translates the templates in a value.
func translateTexts(v value.Value) (value.Value, error) {
	if text, ok := v.Str(); ok {
		if !strings.Contains(text, "{{") && !strings.Contains(text, "{%") {
			return v, nil
		}
		translated, _, err := translateTemplate(text)
		return value.OfString(translated), err
	}
	if v.Kind() != value.List {
		return v, nil
	}
	items := make([]value.Value, len(v.List()))
	for i, item := range v.List() {
		translated, err := translateTexts(item)
		if err != nil {
			return v, err
		}
		items[i] = translated
	}
	return value.OfList(items...), nil
}

func one(matchers *value.Map) translation { return translation{matchers: []*value.Map{matchers}} }

// listOrText returns the value in the form for the matcher: a list for matchers of several texts.
func listOrText(a *assertion, matcher string) value.Value {
	if matcher != "contains_all" && matcher != "contains_any" {
		return value.OfString(a.value.PlainText())
	}
	if a.value.Kind() == value.List {
		items := make([]value.Value, len(a.value.List()))
		for i, item := range a.value.List() {
			items[i] = value.OfString(item.PlainText())
		}
		return value.OfList(items...)
	}
	var items []value.Value
	for part := range strings.SplitSeq(a.value.PlainText(), ",") {
		items = append(items, value.OfString(strings.Trim(strings.TrimSpace(part), `"'`)))
	}
	return value.OfList(items...)
}

func translateEquals(_ *reader, a *assertion) translation {
	if a.value.Kind() == value.Object || a.value.Kind() == value.List {
		got := one(value.Pairs("schema", value.Pairs("const", a.value)))
		if a.isNegated {
			got.note = wording.Say("an answer that is not JSON passes there, and fails here")
		}
		return got
	}
	return one(value.Pairs("equals", scriptText(a.value)))
}

func translateRegex(_ *reader, a *assertion) translation {
	text := a.value.PlainText()
	re, err := regexp.Compile(text)
	if err != nil {
		return translation{why: wording.Say("the regular expression is not one of RE2: %w", err)}
	}
	misses := func(sample string) bool { return !re.MatchString(sample) }
	if !slices.ContainsFunc([]string{"", "a", "Z", "7", "-", "。", "é", "two words", "budget 400: needs 31, 12 left"}, misses) {
		return translation{why: wording.Say("the regular expression matches every text")}
	}
	return one(value.Pairs("matches", text))
}

func translateJSON(r *reader, a *assertion) translation {
	schema := value.OfMap(value.Pairs("type", value.OfList(value.OfString("object"), value.OfString("array"))))
	text, isText := a.value.Str()
	switch {
	case isText && strings.HasPrefix(text, "file://"):
		data, _, err := r.readFile(text)
		if err != nil {
			return translation{why: wording.Say("%s was not read: %w", text, err)}
		}
		parsed, err := yaml.ParseValue(data)
		if err != nil || parsed.Kind() != value.Object {
			return translation{why: wording.Say("%s is not a JSON Schema", text)}
		}
		schema = parsed
	case isText && strings.TrimSpace(text) != "":
		parsed, err := yaml.ParseValue([]byte(text))
		if err != nil || parsed.Kind() != value.Object {
			return translation{why: wording.Say("%s is not a JSON Schema", value.Truncate(text, 40))}
		}
		schema = parsed
	case a.value.Kind() == value.Object && a.value.Map().Len() > 0:
		schema = a.value
	}
	got := one(value.Pairs("schema", schema))
	if a.kind == "contains-json" {
		got.note = wording.Say("the whole answer must be JSON")
	}
	return got
}

func translateRubric(_ *reader, a *assertion) translation {
	criteria := []value.Value{value.OfString(a.value.PlainText())}
	if a.value.Kind() == value.List {
		criteria = a.value.List()
	}
	if a.value.IsNull() || a.value.PlainText() == "" || a.value.Kind() == value.Object {
		return translation{why: wording.Say("a rubric is a text or a list of texts")}
	}
	judge := value.Pairs("criteria", value.OfList(criteria...))
	if _, ok := a.threshold.Float(); ok {
		judge.Set("min", a.threshold)
	}
	return one(value.Pairs("judge", judge))
}

func translateFacts(_ *reader, a *assertion) translation {
	return criterion(a, "Agrees with these facts, and contradicts none of them: "+a.value.PlainText())
}

func translateRelevance(_ *reader, a *assertion) translation {
	return criterion(a, "Answers what was asked, and nothing else")
}

// criterion returns the translation of a measure as a criterion of a judge.
func criterion(a *assertion, text string) translation {
	judge := value.Pairs("criteria", value.OfList(value.OfString(text)))
	if _, ok := a.threshold.Float(); ok {
		judge.Set("min", a.threshold)
	}
	got := one(value.Pairs("judge", judge))
	got.note = wording.Say("it is a criterion of a judge")
	return got
}

// likeness returns the translator of a measure of likeness with a bound.
func likeness(matcher, bound string, standard float64, note wording.Text) func(*reader, *assertion) translation {
	return func(_ *reader, a *assertion) translation {
		limit := value.OfFloat(standard)
		if _, ok := a.threshold.Float(); ok {
			limit = a.threshold
		}
		if bound == "max" && a.threshold.IsNull() {
			limit = value.OfInt(int64(standard))
		}
		if a.value.Kind() == value.List {
			return translation{why: wording.Say("the likeness with one of several texts has no equal here")}
		}
		got := one(value.Pairs(matcher, value.Pairs("to", a.value.PlainText(), bound, limit)))
		got.note = note
		return got
	}
}

// limit returns the translator of a limit of the run.
func limit(matcher string) func(*reader, *assertion) translation {
	return func(_ *reader, a *assertion) translation {
		if _, ok := a.threshold.Float(); !ok {
			return translation{why: wording.Say("a limit without a threshold")}
		}
		return translation{subject: value.Pairs("run", value.Pairs(matcher, value.Pairs("max", a.threshold))), matchers: []*value.Map{value.NewMap(0)}}
	}
}

func translateWords(_ *reader, a *assertion) translation {
	if n, ok := a.value.Int(); ok {
		return one(value.Pairs("words", value.Pairs("min", n, "max", n)))
	}
	bounds := value.NewMap(0)
	for _, key := range []string{"min", "max"} {
		if v, ok := a.value.Get(key); ok {
			bounds.Set(key, v)
		}
	}
	if bounds.Len() == 0 {
		return translation{why: wording.Say("a number of words without a bound")}
	}
	return one(value.Pairs("words", bounds))
}

func translateFinish(_ *reader, a *assertion) translation {
	return translation{subject: value.Pairs("step", answerStep+".finish_reason"), matchers: []*value.Map{value.Pairs("equals", a.value.PlainText())}}
}

// translateJavaScript translates an expression; the body of a function is kept as a file.
func translateJavaScript(r *reader, a *assertion) translation {
	code, _ := a.value.Str()
	if strings.HasPrefix(code, "file://") {
		if data, at, err := r.readFile(code); err == nil {
			r.keepFile(at, data)
		}
		return translation{why: wording.Of(codeRemedy)}
	}
	if !a.threshold.IsNull() {
		return translation{why: wording.Say("a score that code computes has no equal here")}
	}
	matchers, err := translateCode(code)
	if err != nil {
		kept := r.keepCode("javascript", code)
		return translation{why: wording.Say("this JavaScript has no equal here: %w; it is kept as %s", err, kept)}
	}
	note := wording.Say("the expression is a check of its own")
	if comparesLoosely(code) {
		note = wording.Say("the expression is a check of its own; == and != take a number for its text there, here only where that is written alike")
	}
	return translation{matchers: matchers, note: note}
}

// keepCode keeps the code of an assertion as a file.
func (r *reader) keepCode(kind, code string) string {
	ending := map[string]string{"javascript": ".js", "python": ".py", "ruby": ".rb"}[kind]
	name := "code/" + r.name + "-" + value.OfInt(int64(len(r.extra)+1)).JSON() + ending
	if file := strings.TrimPrefix(code, "file://"); file != code {
		file, _, _ = strings.Cut(file, ":")
		if data, at, err := r.readFile(file); err == nil {
			return r.keepFile(at, data)
		}
		return path.Base(file)
	}
	r.addFile(name, []byte(code))
	return name
}
