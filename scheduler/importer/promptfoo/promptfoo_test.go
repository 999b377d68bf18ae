package promptfoo_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/importer"
	"github.com/callnode/scheduler/scheduler/importer/promptfoo"
)

// read imports a configuration beside other files.
func read(t *testing.T, config string, files map[string]string) (*importer.Plan, map[string]value.Value) {
	t.Helper()
	all := fstest.MapFS{"conf/promptfooconfig.yaml": {Data: []byte(config)}}
	for name, text := range files {
		all["conf/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	plan, err := promptfoo.Read(all, "conf/promptfooconfig.yaml", promptfoo.Options{Name: "shop", Settings: "scheduler.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	written := map[string]value.Value{}
	for _, f := range plan.Files {
		if !strings.HasSuffix(f.Path, ".yaml") {
			continue
		}
		v, err := yaml.ParseValue(f.Data)
		if err != nil {
			t.Fatalf("%s: %v\n%s", f.Path, err, f.Data)
		}
		written[f.Path] = v
	}
	return plan, written
}

// at returns the value at a pointer, as JSON.
func at(t *testing.T, v value.Value, pointer string) string {
	t.Helper()
	got, ok := v.At(pointer)
	if !ok {
		return "nothing"
	}
	return got.JSON()
}

const shop = `description: A shop that answers
prompts:
  - "Answer {{ question | dump }} for {{customer}}."
  - file://chat.json
providers:
  - openai:chat:gpt-4o-mini
  - id: anthropic:messages:claude-x
    label: Big one
    config: {temperature: 0.2, max_tokens: 100, apiKey: sk-12345, tools: [x]}
  - exec:./mine.sh
defaultTest:
  assert: [{type: not-icontains, value: as an AI}]
  threshold: 0.5
evaluateOptions: {repeat: 3, maxConcurrency: 2, cache: false}
tests:
  - description: opening
    vars: {question: When, customer: [Ann, Bob]}
    metadata: {area: hours}
    assert:
      - {type: contains-all, value: "11:00, 15:30"}
      - {type: regex, value: '\d+'}
      - {type: regex, value: '(?=x)y'}
  - file://more.csv
  - vars: {question: Which, customer: "{{name}}"}
    assert:
      - type: assert-set
        metric: tone
        assert:
          - {type: llm-rubric, value: "Is kind to {{customer}}", threshold: 0.8, weight: 2}
          - {type: similar, value: hello}
      - {type: latency, threshold: 500}
      - {type: is-json, value: {type: object, required: [a]}}
      - {type: starts-with, value: Dear}
      - {type: levenshtein, value: Dear, threshold: 7}
      - {type: javascript, value: "output.length > 10 && JSON.parse(output).items.length >= 2"}
`

func shopFiles() map[string]string {
	return map[string]string{
		"chat.json": `[{"role": "system", "content": "Be kind."}, {"role": "user", "content": "{{ question }}{% if customer === 'Ann' %}!{% elseif x %}?{% endif %}"}]`,
		"more.csv":  "question,__expected,__expected2,__description\n\"Where, then?\",icontains: here,not-contains: there,where\nWho?,Ann,python: len(output),who\n",
	}
}

func TestShop(t *testing.T) {
	plan, files := read(t, shop, shopFiles())
	for file, want := range map[string]map[string]string{
		"shop-1.yaml": {
			"/name": `"shop-1"`, "/steps/0/call": `"chat"`, "/steps/0/with/messages": `[{"role":"user","content":"Answer {{ inputs.question | tojson }} for {{inputs.customer}}."}]`,
			"/outputs/output": `"{{ answer.text }}"`, "/inputs/required": `["question"]`, "/inputs/properties/customer": `{"type":"string","default":""}`,
		},
		"shop-2.yaml": {"/steps/0/with/messages/1/content": `"{{ inputs.question }}{% if inputs.customer == 'Ann' %}!{% elif inputs.x %}?{% endif %}"`, "/steps/0/with/messages/0/role": `"system"`},
		"scheduler.yaml": {
			"/llm/default": `"gpt-4o-mini"`, "/llm/providers/0/base_url": `"https://api.openai.com/v1"`, "/llm/providers/1/name": `"big-one"`, "/llm/providers/1/type": `"anthropic"`,
			"/llm/providers/1/max_tokens": "100", "/llm/providers/1/extra": `[{"name":"temperature","value":0.2}]`, "/llm/providers/2": "nothing",
		},
		"shop.test.yaml": {
			"/flows": `["shop-1.yaml","shop-2.yaml"]`, "/matrix/llm": `["gpt-4o-mini","big-one"]`, "/defaults/repeat": "3", "/limits/parallel": "2",
			"/cases/0/name": `"opening customer 1"`, "/cases/1/inputs/customer": `"Bob"`, "/cases/0/tags": `["area=hours"]`, "/cases/0/threshold": "0.5",
			"/cases/0/skip":   `"not imported: regex"`,
			"/cases/0/expect": `[{"output":"output","contains_all":["11:00","15:30"]},{"output":"output","matches":"\\d+"},{"output":"output","not":{"contains":"as an AI","fold":true}}]`,
			"/cases/2/name":   `"where"`, "/cases/2/inputs": `{"question":"Where, then?"}`, "/cases/2/skip": "nothing",
			"/cases/2/expect/0": `{"output":"output","contains":"here","fold":true}`, "/cases/2/expect/1": `{"output":"output","not":{"contains":"there"}}`,
			"/cases/3/expect/0": `{"output":"output","equals":"Ann"}`, "/cases/3/skip": `"not imported: python"`,
			"/cases/4/inputs/customer": `"{{ '\\x7b\\x7bname\\x7d\\x7d' }}"`,
			"/cases/4/expect/0":        `{"output":"output","judge":{"criteria":["Is kind to {{inputs.customer}}"],"min":0.8},"metric":"tone","weight":2}`,
			"/cases/4/expect/1":        `{"output":"output","similar":{"to":"hello","min":0.75},"metric":"tone"}`,
			"/cases/4/expect/2":        `{"run":{"ms":{"max":500}}}`,
			"/cases/4/expect/3":        `{"output":"output","schema":{"type":"object","required":["a"]}}`,
			"/cases/4/expect/5":        `{"output":"output","levenshtein":{"to":"Dear","max":7}}`,
			"/cases/4/expect/6":        `{"output":"output","that":"{{ ((value | length) > 10) }}"}`,
			"/cases/4/expect/7":        `{"output":"output","schema":{"type":"object","required":["items"],"properties":{"items":{"type":["array","string"],"minItems":2,"minLength":2}}}}`,
			"/cases/4/skip":            "nothing",
		},
	} {
		for pointer, want := range want {
			if got := at(t, files[file], pointer); got != want {
				t.Errorf("%s%s is %s, not %s", file, pointer, got, want)
			}
		}
	}
	for _, want := range []struct {
		pointer string
		verdict importer.Verdict
		line    int
		note    string
	}{
		{"/description", importer.Kept, 1, ""}, {"/prompts/0", importer.Changed, 3, "dump is tojson"}, {"/prompts/1", importer.Changed, 4, "=== is =="},
		{"/providers/1/config/apiKey", importer.NotKept, 9, "environment"}, {"/providers/1/config/tools/0", importer.NotKept, 9, ""}, {"/providers/2", importer.NotKept, 10, "llm.providers"},
		{"/evaluateOptions/cache", importer.NotKept, 14, "cassettes"}, {"/tests/0/assert/2/value", importer.NotKept, 22, "RE2"}, {"/tests/2/vars/customer", importer.Changed, 24, "not a template"},
		{"/1/__expected2", importer.NotKept, 3, "python has no equal"}, {"/0/__expected", importer.Kept, 2, ""},
	} {
		i := slices.IndexFunc(plan.Report.Leaves, func(l importer.Leaf) bool { return l.Pointer == want.pointer })
		if i < 0 {
			t.Errorf("%s is not in the report", want.pointer)
			continue
		}
		if got := plan.Report.Leaves[i]; got.Verdict != want.verdict || got.Line != want.line || !strings.Contains(got.Note, want.note) {
			t.Errorf("%+v, not %+v", got, want)
		}
	}
	checkSum(t, plan)
}

// checkSum checks that each leaf is accounted for once.
func checkSum(t *testing.T, plan *importer.Plan) {
	t.Helper()
	r := plan.Report
	seen := map[string]bool{}
	for _, l := range r.Leaves {
		key := l.File + l.Pointer
		if seen[key] {
			t.Errorf("%s is accounted for twice", key)
		}
		seen[key] = true
		if l.Verdict != importer.Kept && l.Note == "" {
			t.Errorf("%s has no reason: %+v", key, l)
		}
	}
	if r.Kept+r.Changed+r.NotKept != len(r.Leaves) {
		t.Errorf("%d leaves, but %d + %d + %d", len(r.Leaves), r.Kept, r.Changed, r.NotKept)
	}
}

func TestJavaScript(t *testing.T) {
	for code, want := range map[string]string{
		`output.includes("a")`: `{"contains":"a"}`, `output.toLowerCase().includes('ab')`: `{"contains":"ab","fold":true}`, `return output.startsWith("x");`: `{"starts_with":"x"}`,
		`/^a\d+/i.test(output)`: `{"matches":"(?i)^a\\d+"}`, `output === 'yes'`: `{"equals":"yes"}`, `output.trim() === 'yes'`: `{"that":"{{ ((value | trim) == 'yes') }}"}`,
		`output.trim().startsWith('a')`: `{"that":"{{ (value | trim).startswith('a') }}"}`, `output.trim().includes('a')`: `{"contains":"a"}`,
		`output == 'yes'`: `{"that":"{{ (value == 'yes') }}"}`, `output == 5`: `{"that":"{{ (value == '5') }}"}`, `output != 5`: `{"that":"{{ (value != '5') }}"}`, `output === 5`: `{"that":"{{ (value == 5) }}"}`,
		`output == context.vars.topic`: `{"that":"{{ (value == (inputs.topic | string)) }}"}`, `output === context.vars.topic`: `{"that":"{{ (value == inputs.topic) }}"}`,
		`Number(output) == context.vars.topic`: `{"that":"{{ (((value | trim | float) | string) == (inputs.topic | string)) }}"}`,
		`context.vars.topic.length > 3`:        `{"that":"{{ (((inputs.topic | string) | length) > 3) }}"}`,
		`JSON.parse(output).a == 5`:            `{"schema":{"type":"object","required":["a"],"properties":{"a":{"enum":[5,"5"]}}}}`,
		`JSON.parse(output).a == "5"`:          `{"schema":{"type":"object","required":["a"],"properties":{"a":{"enum":[5,"5"]}}}}`,
		`JSON.parse(output).a == true`:         `{"schema":{"type":"object","required":["a"],"properties":{"a":{"enum":[1,"1",true]}}}}`,
		`JSON.parse(output).a == "x"`:          `{"schema":{"type":"object","required":["a"],"properties":{"a":{"enum":["x"]}}}}`,
		`JSON.parse(output).a == null`:         `{"schema":{"not":{"type":"null"},"properties":{"a":{"enum":[null]}}}}`,
		`JSON.parse(output).a != null`:         `{"schema":{"type":"object","required":["a"],"properties":{"a":{"not":{"enum":[null]}}}}}`,
		`JSON.parse(output).a !== "x"`:         `{"schema":{"not":{"type":"null"},"properties":{"a":{"not":{"const":"x"}}}}}`,
		`JSON.parse(output).a.b !== "x"`:       `{"schema":{"type":"object","required":["a"],"properties":{"a":{"not":{"type":"null"},"properties":{"b":{"not":{"const":"x"}}}}}}}`,
		`output.length <= 280 ? 1 : 0`:         `{"that":"{{ ((value | length) <= 280) }}"}`, `!output.includes('a')`: `{"that":"{{ (not ('a' in value)) }}"}`,
		`output.includes(context.vars.topic)`: `{"that":"{{ ((inputs.topic | string) in value) }}"}`, `output.split("\n").length >= 3 || output.endsWith('.')`: `{"that":"{{ (((value.split('\\n') | length) >= 3) or value.endswith('.')) }}"}`,
		`JSON.parse(output).a.b === 3`:      `{"schema":{"type":"object","required":["a"],"properties":{"a":{"type":"object","required":["b"],"properties":{"b":{"const":3}}}}}}`,
		`JSON.parse(output)["x y"] > 0.5`:   `{"schema":{"type":"object","required":["x y"],"properties":{"x y":{"type":"number","exclusiveMinimum":0.5}}}}`,
		`Array.isArray(JSON.parse(output))`: `{"schema":{"type":"array"}}`, `typeof JSON.parse(output).n === "string"`: `{"schema":{"type":"object","required":["n"],"properties":{"n":{"type":"string"}}}}`,
		`output.includes("a") ? true : false`: `{"contains":"a"}`, `(output === 'a' ? 0 : 1)`: `{"that":"{{ (not (value == 'a')) }}"}`,
		`output.length > 3 ? output.includes('a') : output.includes('b')`: `{"that":"{{ (('a' in value) if ((value | length) > 3) else ('b' in value)) }}"}`,
		`output.mood === "good"`:        `{"schema":{"type":"object","required":["mood"],"properties":{"mood":{"const":"good"}}}}`,
		`output.tags.length > 1`:        `{"schema":{"type":"object","required":["tags"],"properties":{"tags":{"type":["array","string"],"minItems":2,"minLength":2}}}}`,
		`context.vars.items.length > 3`: `{"that":"{{ (((inputs['items'] | string) | length) > 3) }}"}`,
		`Number(output) > 3`:            `{"that":"{{ ((value | trim | float) > 3) }}"}`,
	} {
		if got := translate(t, code); got != want {
			t.Errorf("%s is %s, not %s", code, got, want)
		}
	}
	for _, code := range []string{
		"output.length", "output", "const x = 1; return x", "fetch('x')", "output.includes('a') ? 1 : 0.5", "output?.length > 1", "require('fs').readFileSync('x')", "output.match(/(?=a)/)",
		"output.length + 1 > 2", "`${output}` === 'a'", "", "output.includes('a') && x", strings.Repeat("(", 500) + "output", "output.includes('a'", "JSON.parse(output)[0] === 1", "output > 'a'", "output.split(',') == 'a'", "output == true", "output.includes('a') == 1", "true", "1 < 2",
	} {
		if got := translate(t, code); got != "skip" {
			t.Errorf("%q became %s", code, got)
		}
	}
}

// equals wants the text that JavaScript makes from the value, and all of an object; a comparison by == is reported
// if its result may differ.
func TestEquals(t *testing.T) {
	for written, want := range map[string]string{
		"5": `{"equals":"5"}`, "1.0": `{"equals":"1"}`, "1.50": `{"equals":"1.5"}`, "1e3": `{"equals":"1000"}`, "-0.0": `{"equals":"0"}`, "1e21": `{"equals":"1e+21"}`, "1.5e-7": `{"equals":"1.5e-7"}`,
		"12345678901234567890": `{"equals":"12345678901234567000"}`, "true": `{"equals":"true"}`, "'1.0'": `{"equals":"1.0"}`, "{a: 1}": `{"schema":{"const":{"a":1}}}`, "[1, 2]": `{"schema":{"const":[1,2]}}`,
	} {
		plan, files := read(t, "prompts: [hello]\ntests: [{assert: [{type: equals, value: "+written+"}]}]\n", nil)
		checkSum(t, plan)
		item, _ := files["shop.test.yaml"].At("/cases/0/expect/0")
		m := item.Map().Clone()
		m.Delete("output")
		if got := value.OfMap(m).JSON(); got != want {
			t.Errorf("%s is %s, not %s", written, got, want)
		}
	}
	for code, isLoose := range map[string]bool{
		"output == 5": true, "output == 'a'": false, "output === 5": false, "JSON.parse(output).a == 1": true, "output.includes('a') && output != context.vars.topic": true,
	} {
		plan, _ := read(t, "prompts: [hello]\ntests: [{vars: {topic: x}, assert: [{type: javascript, value: "+value.OfString(code).JSON()+"}]}]\n", nil)
		told := slices.ContainsFunc(plan.Report.Leaves, func(l importer.Leaf) bool { return strings.Contains(l.Note, "== and != take a number") })
		if told != isLoose {
			t.Errorf("%s: told is %t", code, told)
		}
	}
}

// translate returns the matchers of an assertion in JavaScript; skip if it has none.
func translate(t *testing.T, code string) string {
	t.Helper()
	quoted := value.OfString(code).JSON()
	plan, files := read(t, "prompts: [\"{{topic}}\"]\ntests: [{vars: {topic: x}, assert: [{type: javascript, value: "+quoted+"}]}]\n", nil)
	checkSum(t, plan)
	if at(t, files["shop.test.yaml"], "/cases/0/skip") != "nothing" {
		return "skip"
	}
	item, _ := files["shop.test.yaml"].At("/cases/0/expect/0")
	m := item.Map().Clone()
	m.Delete("output")
	return value.OfMap(m).JSON()
}

func TestScenariosFilesAndWhatIsMissing(t *testing.T) {
	config := `prompts: [file://make.py, prompts.txt, file://gone.txt, "{% include 'x' %}"]
targets: [ollama:chat:llama]
scenarios:
  - config: [{vars: {lang: fr}}, {vars: {lang: de}}]
    tests: [{vars: {text: hi}, assert: [{type: icontains, value: "{{lang}}"}]}]
tests: [file://t/*.yaml, "file://lines.jsonl", "https://example.com/x", {options: {transform: "x"}}]
redteam: {purpose: x}
`
	plan, files := read(t, config, map[string]string{
		"make.py": "def f(): pass", "prompts.txt": "One {{text}}\n---\nTwo {{text}}", "t/a.yaml": "- {description: from a, vars: {text: file://v.txt}}\n", "v.txt": "long",
		"lines.jsonl": `{"description": "l1"}` + "\n" + `{"description": "l2"}` + "\n",
	})
	checkSum(t, plan)
	if got := at(t, files["shop-1.yaml"], "/inputs/required"); got != `["made_prompt"]` {
		t.Errorf("a prompt by code: %s", got)
	}
	if got := at(t, files["shop.test.yaml"], "/flows"); got != `["shop-2.yaml","shop-3.yaml"]` {
		t.Errorf("only prompts that are there are tested: %s", got)
	}
	if got := at(t, files["shop-3.yaml"], "/steps/0/with/messages/0/content"); got != `"Two {{inputs.text}}"` {
		t.Errorf("second prompt of a file: %s", got)
	}
	if got := at(t, files["shop-5.yaml"], "/inputs/properties/made_prompt/description"); !strings.Contains(got, "include") {
		t.Errorf("a template without an equal: %v", files["shop-5.yaml"])
	}
	tests := files["shop.test.yaml"]
	cases, _ := tests.At("/cases")
	var names []string
	for _, c := range cases.List() {
		name, _ := c.Get("name")
		names = append(names, name.JSON())
	}
	if got := strings.Join(names, " "); got != `"from a" "l1" "l2" "case 4" "case 5" "case 6"` {
		t.Errorf("cases %s", got)
	}
	if got := at(t, tests, "/cases/5/inputs"); got != `{"lang":"de","text":"hi"}` {
		t.Errorf("scenario: %s", got)
	}
	if got := at(t, tests, "/cases/3/skip"); got != `"not imported: transform"` {
		t.Errorf("a transform: %s", got)
	}
	if !slices.ContainsFunc(plan.Files, func(f importer.File) bool { return f.Path == "code/make.py" && string(f.Data) == "def f(): pass" }) {
		t.Error("the code is not kept")
	}
}

// verdicts returns the verdicts of the leaves, by their pointers.
func verdicts(plan *importer.Plan) map[string]importer.Verdict {
	all := map[string]importer.Verdict{}
	for _, l := range plan.Report.Leaves {
		all[l.Pointer] = l.Verdict
	}
	return all
}

// TestNothingIsKeptThatIsNot: parts of a lost node are lost, and keys that nothing uses are reported.
func TestNothingIsKeptThatIsNot(t *testing.T) {
	plan, files := read(t, `description: All of it
prompts: [{id: "file://p.txt", label: First}]
providers:
  - {id: "openai:gpt-x", label: My Model}
  - {id: "bedrock:x", label: other, config: {region: east}}
assertionTemplates:
  loud: {type: contains, value: "!"}
tests:
  - vars: {a: b}
    assert:
      - {type: python, value: x, metric: lost}
      - {type: contains, value: x, reason: why, threshold: 0.3, weight: 2}
      - {type: factuality, value: It rains., threshold: 0.4}
      - {$ref: "#/assertionTemplates/loud"}
      - {$ref: "#/assertionTemplates/gone"}
`, map[string]string{"p.txt": "{{a}}"})
	checkSum(t, plan)
	got := verdicts(plan)
	for pointer, want := range map[string]importer.Verdict{
		"/tests/0/assert/0/metric": importer.NotKept, "/tests/0/assert/1/reason": importer.NotKept, "/tests/0/assert/1/threshold": importer.NotKept,
		"/tests/0/assert/1/weight": importer.Kept, "/tests/0/assert/2/threshold": importer.Changed, "/tests/0/assert/3/$ref": importer.Kept,
		"/tests/0/assert/4/$ref": importer.NotKept, "/assertionTemplates/loud/value": importer.Kept, "/providers/0/label": importer.Changed,
		"/providers/1/label": importer.NotKept, "/providers/1/config/region": importer.NotKept, "/description": importer.Kept,
	} {
		if got[pointer] != want {
			t.Errorf("%s is %s, not %s", pointer, got[pointer], want)
		}
	}
	for pointer, want := range map[string]string{
		"/cases/0/expect/1/judge/min": "0.4", "/cases/0/expect/2": `{"output":"output","contains":"!"}`, "/cases/0/skip": `"not imported: assert, python"`,
	} {
		if got := at(t, files["shop.test.yaml"], pointer); got != want {
			t.Errorf("%s is %s, not %s", pointer, got, want)
		}
	}
	if got := at(t, files["shop.yaml"], "/description"); got != `"First\nAll of it"` {
		t.Errorf("the description is %s", got)
	}
}

// TestVariables: only lists of texts make cases, files of variables are read, and a value that is not a text is
// reported.
func TestVariables(t *testing.T) {
	plan, files := read(t, `prompts: ["{% for k, v in user %}{{k}}{% endfor %} {{n}} {{list}}"]
defaultTest: {vars: {list: [{a: "{{x}}"}, {b: c}]}}
tests:
  - vars: {user: {name: Ann}, n: ["1", "2"]}
  - vars: {n: ["1", "2"]}
    options: {disableVarExpansion: true}
  - {vars: "vars/*.yaml", assert: [{type: icontains, value: "{{ other }} {{ n }}"}]}
  - {vars: {n: file://a.png}}
`, map[string]string{"vars/one.yaml": "n: 7\n", "a.png": "\x89PNG\x00"})
	checkSum(t, plan)
	for pointer, want := range map[string]string{
		"/cases/0/name": `"n 1"`, "/cases/1/inputs/n": `"2"`, "/cases/2/inputs/n": `["1","2"]`, "/cases/3/inputs/n": "7", "/cases/4/skip": `"not imported: n"`,
		"/cases/0/inputs/list": `[{"a":"{{ '\\x7b\\x7bx\\x7d\\x7d' }}"},{"b":"c"}]`,
	} {
		if got := at(t, files["shop.test.yaml"], pointer); got != want {
			t.Errorf("%s is %s, not %s", pointer, got, want)
		}
	}
	if got := at(t, files["shop.yaml"], "/inputs/properties/other/default"); got != `""` {
		t.Errorf("an input that only a check mentions: %s", got)
	}
	if got := at(t, files["shop.yaml"], "/steps/0/with/messages/0/content"); !strings.HasPrefix(got, `"{% for k, v in inputs.user.items() %}`) {
		t.Errorf("the loop is %s", got)
	}
}

// TestNamesOfTemplates: env is an input with the values of the configuration, variables may have names of methods
// of maps, and a case that uses a value stored by another does not run.
func TestNamesOfTemplates(t *testing.T) {
	plan, files := read(t, `env: {COMPANY: Acme, API_KEY: sk-1, CITY: Lyon}
prompts: ["Sell {{items}}, {{ keys | upper }} and {% for v in values %}{{v}}{% endfor %} of {{env.COMPANY}} or {{env.OTHER}}"]
tests:
  - {vars: {items: milk, keys: a, values: [1, 2]}, options: {storeOutputAs: fruit}, assert: [{type: contains, value: "{{env.CITY}}"}]}
  - {vars: {items: "more of {{ fruit }}", keys: a, values: [1, 2]}}
  - {vars: {items: grapefruit, keys: "{{ items }} of {{city}} and {{ other }}", values: [1, 2], city: "{{items}}"}}
`, nil)
	checkSum(t, plan)
	want := `"Sell {{inputs['items']}}, {{ inputs['keys'] | upper }} and {% for v in inputs['values'] %}{{v}}{% endfor %} of {{inputs.env.COMPANY}} or {{inputs.env.OTHER}}"`
	if got := at(t, files["shop.yaml"], "/steps/0/with/messages/0/content"); got != want {
		t.Errorf("the prompt is %s", got)
	}
	for pointer, want := range map[string]string{
		"/inputs/properties/env/default":  `{"COMPANY":"Acme","OTHER":"","CITY":"Lyon"}`,
		"/inputs/properties/items/type":   `"string"`,
		"/inputs/properties/values/type":  `"array"`,
		"/inputs/properties/env/required": "nothing",
	} {
		if got := at(t, files["shop.yaml"], pointer); got != want {
			t.Errorf("%s is %s, not %s", pointer, got, want)
		}
	}
	for pointer, want := range map[string]string{
		"/cases/0/skip": `"not imported: storeOutputAs"`, "/cases/1/skip": `"not imported: {{fruit}}, which another test stores"`, "/cases/2/skip": "nothing",
		"/cases/2/inputs/city": `"grapefruit"`, "/cases/2/inputs/keys": `"{{ 'grapefruit of \\x7b\\x7bitems\\x7d\\x7d and \\x7b\\x7b other \\x7d\\x7d' }}"`,
	} {
		if got := at(t, files["shop.test.yaml"], pointer); got != want {
			t.Errorf("%s is %s, not %s", pointer, got, want)
		}
	}
	if v := verdicts(plan); v["/env/COMPANY"] != importer.Changed || v["/env/API_KEY"] != importer.NotKept {
		t.Errorf("env is %v", v)
	}
}

// TestTestsThatAreNotRead: the remaining case is skipped, because nothing must pass without its tests; if there
// were none, it runs.
func TestTestsThatAreNotRead(t *testing.T) {
	for config, want := range map[string]string{
		"prompts: [a]\ntests: file://make.py\ndefaultTest: {assert: [{type: contains, value: x}]}\n": `"not imported: tests"`,
		"prompts: [a]\ndefaultTest: {assert: [{type: contains, value: x}]}\n":                        "nothing",
		"prompts: [file://make.js]\ntests: [{vars: {a: b}}]\n":                                       `"not imported: prompt"`,
		"prompts: [a]\ntests: [{vars: {a: b, assert: [{type: is-json}]}}]\n":                         `"not imported: vars.assert"`,
		"prompts: [a]\ntests: [{assert: [{type: regex, value: '.*'}]}]\n":                            `"not imported: regex"`,
	} {
		plan, files := read(t, config, map[string]string{"make.js": "x"})
		checkSum(t, plan)
		if got := at(t, files["shop.test.yaml"], "/cases/0/skip"); got != want {
			t.Errorf("%s: skip is %s, not %s", config, got, want)
		}
	}
	_, files := read(t, "prompts: [a]\ntests: [{vars: {a: b}}]\n", nil)
	if got := at(t, files["shop.test.yaml"], "/cases/0/expect/0/run"); got != `"finished"` {
		t.Errorf("a test without assertions expects %s", got)
	}
	plan, _ := read(t, "targets: [openai:x]\nredteam: {purpose: x}\ndefaultTest: {vars: {a: b}}\n", nil)
	if got := verdicts(plan)["/defaultTest/vars/a"]; got != importer.NotKept {
		t.Errorf("what no case has is %s", got)
	}
}

// TestPromptsOfAProvider: a provider that names prompts runs only these.
func TestPromptsOfAProvider(t *testing.T) {
	plan, files := read(t, `prompts: [{id: "file://one.txt", label: First}, "Second {{a}}"]
providers: [{id: "openai:big", prompts: [First, gone]}, "openai:small"]
tests: [{vars: {a: b}}]
`, map[string]string{"one.txt": "One {{a}}"})
	checkSum(t, plan)
	if got := at(t, files["shop.test.yaml"], "/matrix"); got != `{"llm":["big","small"],"flow":["shop-1.yaml","shop-2.yaml"],"exclude":[{"llm":"big","flow":"shop-2.yaml"}]}` {
		t.Errorf("the matrix is %s", got)
	}
	if got := at(t, files["shop.test.yaml"], "/flows"); got != "nothing" {
		t.Errorf("the flows are %s", got)
	}
	if got := verdicts(plan); got["/providers/0/prompts/0"] != importer.Kept || got["/providers/0/prompts/1"] != importer.NotKept {
		t.Errorf("the prompts of the provider are %v", got)
	}
}

// TestNoProviderIsRead: the cases are skipped, because the default of the settings can be echo, which repeats the
// prompt.
func TestNoProviderIsRead(t *testing.T) {
	const tests = "prompts: [Say x]\ntests: [{assert: [{type: contains, value: x}]}]\n"
	for providers, want := range map[string]string{
		"":                                       "nothing",
		"providers: [vertex:a]\n":                `{"skip":"no provider was imported: put the name of one of the settings under llm here, and remove skip"}`,
		"providers: [vertex:a, openai:b]\n":      `{"llm":"b"}`,
		"providers: [echo, {id: echo}]\n":        `{"llm":"echo"}`,
		"targets: [{id: openai:b, label: echo}]": `{"llm":"echo-2"}`,
	} {
		plan, files := read(t, tests+providers, nil)
		checkSum(t, plan)
		if got := at(t, files["shop.test.yaml"], "/defaults"); got != want {
			t.Errorf("%s: the defaults are %s, not %s", providers, got, want)
		}
	}
	plan, files := read(t, tests+"providers: [{id: echo, label: same, config: {a: b}}, openai:b]\n", nil)
	checkSum(t, plan)
	if got := at(t, files["shop.test.yaml"], "/matrix/llm"); got != `["echo","b"]` {
		t.Errorf("the providers are %s", got)
	}
	if got := at(t, files["scheduler.yaml"], "/llm/providers"); strings.Contains(got, "echo") || !strings.Contains(got, `"b"`) {
		t.Errorf("the settings are %s", got)
	}
}

func TestWhatIsNoConfiguration(t *testing.T) {
	for _, text := range []string{"", "[]", "a: b", "prompts: [", "42"} {
		files := fstest.MapFS{"c.yaml": {Data: []byte(text)}}
		if _, err := promptfoo.Read(files, "c.yaml", promptfoo.Options{Name: "x"}); err == nil {
			t.Errorf("%q is read", text)
		}
	}
	if _, err := promptfoo.Read(fstest.MapFS{}, "c.yaml", promptfoo.Options{}); err == nil {
		t.Error("a file that is not there is read")
	}
}

// Any configuration is read, each leaf is accounted for once, and the files are valid YAML.
func FuzzRead(f *testing.F) {
	f.Add(shop)
	f.Add("prompts: {a: b}\nproviders: {openai:x: {config: {temperature: [1]}}}\ntests: [{vars: [], assert: {type: assert-set, assert: [{}]}}]\n")
	f.Add("x: &a {prompts: *b}\nprompts: &b [c]\ntests: [{<<: {vars: {d: [1, [2], {e: f}]}}}]\n")
	f.Fuzz(func(t *testing.T, config string) {
		files := fstest.MapFS{"c.yaml": {Data: []byte(config)}, "chat.json": {Data: []byte(shopFiles()["chat.json"])}, "more.csv": {Data: []byte(shopFiles()["more.csv"])}}
		plan, err := promptfoo.Read(files, "c.yaml", promptfoo.Options{Name: "shop", Settings: "scheduler.yaml"})
		if err != nil {
			return
		}
		if r := plan.Report; r.Kept+r.Changed+r.NotKept != len(r.Leaves) {
			t.Errorf("leaves are lost: %+v", r)
		}
		for _, file := range plan.Files {
			if _, err := yaml.ParseValue(file.Data); err != nil && strings.HasSuffix(file.Path, ".yaml") && !strings.HasPrefix(file.Path, "code/") {
				t.Errorf("%s: %v\n%s", file.Path, err, file.Data)
			}
		}
	})
}
