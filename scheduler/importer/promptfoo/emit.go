package promptfoo

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/importer"
)

// plan returns the files and the report of an import from a file.
func (r *reader) plan(kind, source string) *importer.Plan {
	if len(r.prompts) == 0 { // which is theirs too
		r.prompts = []*promptText{{messages: []message{{"user", "{{ inputs.prompt }}"}}}}
	}
	cases := r.cases()
	inputs := r.inputSchema(cases)
	p := &importer.Plan{Report: importer.Report{Kind: kind, Source: source, Leaves: []importer.Leaf{}}}
	for i, text := range r.prompts {
		p.Files = append(p.Files, importer.File{Path: r.variantName(i) + ".yaml", Data: yaml.Append(nil, r.flow(i, text, inputs))})
	}
	if len(cases) > 0 {
		p.Files = append(p.Files, importer.File{Path: r.name + ".test.yaml", Data: yaml.Append(nil, r.testFile(cases))})
	}
	if slices.ContainsFunc(r.providers, func(p *provider) bool { return p.settings != nil }) {
		p.Files = append(p.Files, importer.File{Path: r.settings, Data: yaml.Append(nil, r.settingsFile())})
	}
	p.Files = append(p.Files, r.extra...)
	for _, s := range r.sources {
		p.Report.Add(s.Leaves(r.language))
	}
	return p
}

// cases returns a case for each test and each value of its lists, with the settings of all tests.
func (r *reader) cases() (all []*test) {
	for _, t := range r.tests {
		all = append(all, t.over(r.defaults).expand()...)
	}
	if len(all) == 0 && (r.hasTests || !r.isRedTeam) { // one test with the settings of all
		only := (&test{}).over(r.defaults)
		if r.hasTests {
			only.lose("tests")
		}
		all = append(all, only.expand()...)
	}
	names := map[string]int{}
	for i, t := range all {
		t.expandNames()
		r.skipDependent(t)
		if t.name == "" {
			t.name = fmt.Sprintf("case %d", i+1)
		}
		names[t.name]++
		if n := names[t.name]; n > 1 {
			t.name = fmt.Sprintf("%s (%d)", t.name, n)
			names[t.name]++
		}
	}
	return all
}

// skipDependent skips a case if its values or prompts use a value that another test stores.
func (r *reader) skipDependent(t *test) {
	for _, name := range r.stored {
		mention := regexp.MustCompile(`\{[{%][^}]*\b` + regexp.QuoteMeta(name) + `\b`)
		_, isGiven := t.vars.Get(name)
		isMentioned := mention.MatchString(value.OfMap(t.vars).JSON())
		for _, p := range r.prompts {
			for _, m := range p.messages {
				isMentioned = isMentioned || !isGiven && slices.Contains(inputsOf(m.text), inputName(name))
			}
		}
		if isMentioned {
			t.lose(wording.Say("{{%s}}, which another test stores", name).In(r.language))
		}
	}
}

// inputSchema returns the schema of the inputs: names that prompts and checks mention, and values that tests give.
func (r *reader) inputSchema(cases []*test) value.Value {
	var mentioned, names []string
	add := func(list *[]string, name string) {
		if name != "" && !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	for _, p := range r.prompts {
		for _, m := range p.messages {
			for _, name := range inputsOf(m.text) {
				add(&mentioned, name)
				add(&names, name)
			}
		}
	}
	for _, t := range cases {
		for _, c := range t.checks {
			for _, name := range inputsIn(c) {
				add(&names, name)
			}
		}
	}
	kinds := map[string]string{}
	given := map[string]int{}
	for _, t := range cases {
		if t.vars == nil {
			continue
		}
		for name, v := range t.vars.All() {
			add(&names, name)
			given[name]++
			kind := typeOf(v)
			if known, ok := kinds[name]; ok && known != kind {
				kind = ""
			}
			kinds[name] = kind
		}
	}
	properties := value.NewMap(len(names))
	var required []value.Value
	env := r.usedEnv()
	for _, name := range names {
		if name == envInput && len(env) > 0 && given[name] == 0 {
			properties.Set(name, r.envProperty(env))
			continue
		}
		property := value.NewMap(1)
		kind, isGiven := kinds[name]
		if !isGiven {
			kind = "string"
		}
		isRequired := slices.Contains(mentioned, name) && len(cases) > 0 && given[name] == len(cases)
		if kind != "" && (isRequired || kind == "string") {
			property.Set("type", value.OfString(kind))
		}
		if isRequired {
			required = append(required, value.OfString(name))
		} else {
			property.Set("default", value.OfString("")) // their templates show a missing value as this
		}
		properties.Set(name, value.OfMap(property))
	}
	schema := value.Pairs("type", "object")
	if len(required) > 0 {
		schema.Set("required", value.OfList(required...))
	}
	schema.Set("properties", value.OfMap(properties))
	return value.OfMap(schema)
}

// typeOf returns the type of JSON Schema that a value has.
func typeOf(v value.Value) string {
	switch v.Kind() {
	case value.String:
		return "string"
	case value.Bool:
		return "boolean"
	case value.Int, value.Float:
		return "number"
	case value.List:
		return "array"
	case value.Object:
		return "object"
	default:
		return ""
	}
}

// flow returns the flow of a prompt.
func (r *reader) flow(i int, p *promptText, inputs value.Value) value.Value {
	f := value.Pairs("name", cmp.Or(slug(r.variantName(i)), "imported"))
	description := strings.TrimSpace(p.label + "\n" + r.description)
	if description != "" {
		f.Set("description", value.OfString(description))
	}
	written := p.messages
	if p.missing != "" {
		inputs = withMadePrompt(inputs, p.missing)
		written = []message{{"user", "{{ inputs." + madePrompt + " }}"}}
	}
	f.Set("inputs", inputs)
	var messages []value.Value
	for _, m := range written {
		messages = append(messages, value.OfMap(value.Pairs("role", m.role, "content", m.text)))
	}
	f.Set("steps", value.OfList(value.OfMap(value.Pairs(
		"id", answerStep, "call", "chat", "with", value.Pairs("messages", value.OfList(messages...)), "to_user", true,
	))))
	f.Set("outputs", value.OfMap(value.Pairs(outputName, "{{ "+answerStep+".text }}")))
	return value.OfMap(f)
}

// madePrompt is the input of a flow whose prompt is made by code, or by a template that has no equal: it gives the
// prompt.
const madePrompt = "made_prompt"

// withMadePrompt returns a schema of inputs with the prompt among them, and why it is an input.
func withMadePrompt(inputs value.Value, why string) value.Value {
	schema := inputs.Map().Clone()
	required, _ := schema.Get("required")
	schema.Set("required", value.OfList(append(slices.Clone(required.List()), value.OfString(madePrompt))...))
	properties, _ := schema.Get("properties")
	all := properties.Map().Clone()
	all.Set(madePrompt, value.OfMap(value.Pairs("type", "string", "description", why)))
	schema.Set("properties", value.OfMap(all))
	return value.OfMap(schema)
}

// testedFlows are the flows that the test file runs: the ones with a prompt of their own. If none has one, all are
// listed, and no case runs.
func (r *reader) testedFlows() (names []value.Value, areMade bool) {
	for i, p := range r.prompts {
		if p.missing == "" {
			names = append(names, value.OfString(r.variantName(i)+".yaml"))
		}
	}
	if len(names) > 0 {
		return names, false
	}
	for i := range r.prompts {
		names = append(names, value.OfString(r.variantName(i)+".yaml"))
	}
	return names, true
}

// excluded are the combinations of providers and tested flows that do not run; none if that would be all.
func (r *reader) excluded() (pairs []value.Value) {
	runs := 0
	for _, p := range r.providers {
		for i, text := range r.prompts {
			switch {
			case text.missing != "":
			case p.runs(text):
				runs++
			default:
				pairs = append(pairs, value.OfMap(value.Pairs("llm", p.name, "flow", r.variantName(i)+".yaml")))
			}
		}
	}
	if runs == 0 {
		return nil
	}
	return pairs
}

// testFile returns the test file.
func (r *reader) testFile(cases []*test) value.Value {
	f := value.NewMap(0)
	flows, areMade := r.testedFlows()
	excluded := r.excluded()
	switch {
	case len(excluded) > 0: // the matrix has them
	case len(flows) == 1:
		f.Set("flow", flows[0])
	default:
		f.Set("flows", value.OfList(flows...))
	}
	defaults := value.NewMap(0)
	if areMade {
		defaults.Set("inputs", value.OfMap(value.Pairs(madePrompt, "")))
		for _, t := range cases {
			t.lose("prompt")
		}
	}
	if len(r.providers) == 1 && len(excluded) == 0 {
		defaults.Set("llm", value.OfString(r.providers[0].name))
	}
	if len(r.providers) == 0 && r.lostProvider { // with echo as the default, checks for words of the prompt would pass
		defaults.Set("skip", value.OfString(wording.Say("no provider was imported: put the name of one of the settings under llm here, and remove skip").In(r.language)))
	}
	if r.repeat > 1 {
		defaults.Set("repeat", value.OfInt(int64(r.repeat)))
	}
	if defaults.Len() > 0 {
		f.Set("defaults", value.OfMap(defaults))
	}
	if len(r.providers) > 1 || len(excluded) > 0 {
		var names []value.Value
		for _, p := range r.providers {
			names = append(names, value.OfString(p.name))
		}
		matrix := value.Pairs("llm", value.OfList(names...))
		if len(excluded) > 0 {
			matrix.Set("flow", value.OfList(flows...))
			matrix.Set("exclude", value.OfList(excluded...))
		}
		f.Set("matrix", value.OfMap(matrix))
	}
	if r.parallel > 0 {
		f.Set("limits", value.OfMap(value.Pairs("parallel", int64(r.parallel))))
	}
	items := make([]value.Value, len(cases))
	for i, t := range cases {
		items[i] = r.caseOf(t)
	}
	f.Set("cases", value.OfList(items...))
	return value.OfMap(f)
}

// caseOf returns a case.
func (r *reader) caseOf(t *test) value.Value {
	c := value.Pairs("name", t.name)
	if len(t.lost) > 0 {
		c.Set("skip", value.OfString(wording.Say("not imported: %s", strings.Join(slices.Compact(slices.Sorted(slices.Values(t.lost))), ", ")).In(r.language)))
	}
	if t.vars != nil && t.vars.Len() > 0 {
		inputs := value.NewMap(t.vars.Len())
		for key, v := range t.vars.All() {
			inputs.Set(key, literal(v))
		}
		c.Set("inputs", value.OfMap(inputs))
	}
	if len(t.tags) > 0 {
		var tags []value.Value
		for _, tag := range t.tags {
			tags = append(tags, value.OfString(tag))
		}
		c.Set("tags", value.OfList(tags...))
	}
	if least, ok := t.threshold.Float(); ok && least != 0 { // for promptfoo, 0 is none
		c.Set("threshold", t.threshold)
	}
	switch {
	case len(t.checks) > 0:
		c.Set("expect", value.OfList(t.checks...))
	case len(t.lost) == 0: // for promptfoo, a test without assertions passes if there is an answer
		c.Set("expect", value.OfList(value.OfMap(value.Pairs("run", "finished"))))
	}
	return value.OfMap(c)
}

// literal returns a value with texts that a test file reads as they are, although they look like templates.
func literal(v value.Value) value.Value {
	switch v.Kind() {
	case value.List:
		items := make([]value.Value, len(v.List()))
		for i, item := range v.List() {
			items[i] = literal(item)
		}
		return value.OfList(items...)
	case value.Object:
		m := value.NewMap(v.Map().Len())
		for key, member := range v.Map().All() {
			m.Set(key, literal(member))
		}
		return value.OfMap(m)
	}
	if text, ok := v.Str(); ok && (strings.Contains(text, "{{") || strings.Contains(text, "{%") || strings.Contains(text, "{#")) {
		return value.OfString("{{ " + quoteText(text) + " }}")
	}
	return v
}

// settingsFile returns the settings of the providers.
func (r *reader) settingsFile() value.Value {
	var list []value.Value
	for _, p := range r.providers {
		if p.settings != nil {
			list = append(list, value.OfMap(p.settings))
		}
	}
	return value.OfMap(value.Pairs("llm", value.Pairs("default", r.providers[0].name, "providers", value.OfList(list...))))
}
