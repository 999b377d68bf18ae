package slot_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/callstest"
	"github.com/callnode/scheduler/calls/slot"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/test/slow"
)

// unions is a schema in which one value is checked in 2^30 ways, tree one in which
// every level of the value doubles them.
var unions = func() string {
	var b strings.Builder
	b.WriteString(`{"type":"object","required":["a"],"properties":{"a":{"$ref":"#/definitions/d0"}},"definitions":{`)
	for i := range 30 {
		fmt.Fprintf(&b, `"d%d":{"anyOf":[{"$ref":"#/definitions/d%d"},{"$ref":"#/definitions/d%d"}]},`, i, i+1, i+1)
	}
	return b.String() + `"d30":{"type":"string"}}}`
}()

const tree = `{"type":"object","anyOf":[{"properties":{"next":{"$ref":"#"}},"required":["x"]},{"properties":{"next":{"$ref":"#"}},"required":["y"]}]}`

// Whatever a model says or somebody answers, wherever, the output fits its own
// schema, and can be written down and read again.
func TestHostileValues(t *testing.T) {
	values := map[string]string{
		"huge":      `1e999999999`,
		"tiny":      `-1e-999999999`,
		"digits":    strings.Repeat("9", 5000),
		"in a list": `[{"x":1e999999999}]`,
		"as text":   `"1e999999999"`,
		"deep":      strings.Repeat("[", 850) + strings.Repeat("]", 850),
		"long":      `"` + strings.Repeat("字", 20_000) + `"`,
		"wide":      `[` + strings.Repeat("0,", 5000) + `0]`,
		"surrogate": `"\ud800"`,
		"bytes":     "\"\xff\xfe\"",
		"control":   `"\u0000</schema>"`,
		"twice":     `{"a":1,"a":{}}`,
		"nameless":  `{"":{"":1e400}}`,
	}
	schemas := map[string]string{
		"plain":  `{"type":"object","required":["a"],"properties":{"a":{"type":"integer"}}}`,
		"open":   `{"type":"object","required":["a"]}`,
		"union":  `{"type":"object","required":["a"],"properties":{"a":{"anyOf":[{"type":"string","maxLength":3},{"type":"integer","multipleOf":3},{"type":"array","uniqueItems":true}]}}}`,
		"format": `{"type":"object","required":["a"],"properties":{"a":{"type":"date"},"b":{"type":"timestamp"}}}`,
		"tree":   tree,
		"list":   `{"type":"array","minItems":1,"items":{"type":"number"}}`,
		"scalar": `{"type":"number"}`,
		"all":    `{}`,
	}
	keys := []string{`{"/a":%s}`, `{"a":%s}`, `{"":%s}`, `{"/":%s}`, `{"/nope/b":%s}`, `{"/a/x/-/0":%s}`, `%s`}
	if !slow.Enabled() {
		keys = keys[:1]
	}
	for schemaName, doc := range schemas {
		t.Run(schemaName, func(t *testing.T) {
			for name, v := range values {
				for _, key := range keys {
					answer := fmt.Sprintf(key, v)
					hostile(t, name+" from a model", `{"current_schema":`+doc+`}`, answer)
					hostile(t, name+" known", `{"data":`+answer+`,"current_schema":`+doc+`}`, "{}")
					if strings.HasPrefix(answer, "{") {
						hostile(t, name+" answered", `{"stages":["default"],"answers":`+answer+`,"current_schema":`+doc+`}`, "{}")
					}
				}
			}
		})
	}
}

func hostile(t *testing.T, name, params, answer string) {
	t.Helper()
	out, err := exec(t, scripted.Texts(answer, answer, answer, answer, answer, answer), &calls.Vars{}, parse(t, params).Map())
	if err != nil {
		if kind := calls.KindOf(err); kind != calls.Invalid || !strings.Contains(name, "known") {
			t.Errorf("%s: %v (%s)\n%.200s", name, err, kind, params)
		}
		return
	}
	event := value.OfMap(value.Pairs("data", value.Pairs("output", out)))
	if again, err := value.ParseJSON([]byte(event.JSON())); err != nil || !value.Equal(event, again) {
		t.Errorf("%s: the output is not read as it was written: %v\n%.200s", name, err, params)
	}
	for _, r := range get(out, "rejected").List() {
		if text := r.JSON(); len(text) > 2000 {
			t.Errorf("%s: a rejection has %d bytes: %.300s", name, len(text), text)
		}
	}
}

// The data need not be an object.
func TestOtherRoots(t *testing.T) {
	const list = `{"type":"array","minItems":2,"items":{"type":"integer"}}`
	for _, tt := range []struct{ name, params, answer, want string }{
		{"a text", `"current_schema":{"type":"string"}`, `"x"`, `{"slot_data":"x","remaining_schema":{},"sources":{"":"model"}}`},
		{"by its pointer", `"current_schema":{"type":"string"}`, `{"":"x"}`, `{"slot_data":"x","remaining_schema":{},"sources":{"":"model"}}`},
		{"one of a list", `"current_schema":{"enum":["North","South"]}`, "```\n\"north\"\n```", `{"slot_data":"North","remaining_schema":{},"sources":{"":"model"}}`},
		{"a list", `"current_schema":` + list, `So: [1, 2]`, `{"slot_data":[1,2],"remaining_schema":{},"sources":{"":"model"}}`},
		{"item by item", `"current_schema":` + list, `{"/0":1,"/-":2}`, `{"slot_data":[1,2],"remaining_schema":{},"sources":{"":"model"}}`},
		{"known", `"data":[1,2],"current_schema":` + list, `[3,4]`, `{"slot_data":[1,2],"remaining_schema":{},"sources":{"":"known"}}`},
		{"answered", `"stages":[],"answers":{"":[5,6]},"current_schema":` + list, ``, `{"slot_data":[5,6],"remaining_schema":{},"sources":{"":"user"}}`},
		{"nothing", `"stages":["llm"],"current_schema":` + list, `I do not know.`, `{"slot_data":null,"remaining_schema":{"type":"object","properties":{"":` + list + `},"required":[""]},"sources":{"":"known"}}`},
		{"a date", `"current_schema":{"type":"date"}`, `"明天"`, `{"slot_data":"2026-03-06","remaining_schema":{},"sources":{"":"model"}}`},
		{"either", `"current_schema":{"anyOf":[{"type":"string"},{"type":"object","required":["k"]}]}`, `{"/k":1}`, `{"slot_data":{"k":1},"remaining_schema":{},"sources":{"/k":"model"}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := run(t, scripted.Texts(tt.answer), &calls.Vars{}, parse(t, "{"+tt.params+"}").Map())
			plain := out.Map().Clone()
			plain.Delete("warnings")
			if got := value.OfMap(plain).JSON(); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{`{"/a":1e999999999}`, `{"/b":"明天","":{"a":{"":null}}}`, "```json\n{'a': [1,]}\n```", `{"/c/-":{},"/c/0/x":1}`, `[]`} {
		f.Add(seed, "{}", uint8(0))
		f.Add("{}", seed, uint8(1))
	}
	docs := []string{
		`{"type":"object","required":["a","b"],"properties":{"a":{"type":"integer"},"b":{"type":"date"},"c":{"type":"array","items":{"type":"object","required":["x"]}},"":{"enum":[1,"x"]}}}`,
		tree, `{"type":"array","items":{"anyOf":[{"type":"integer"},{"type":"object"}]}}`, `{}`,
	}
	def := slot.Definition()
	f.Fuzz(func(t *testing.T, first, second string, pick uint8) {
		call, err := def.New(parse(t, `{"current_schema":`+docs[int(pick)%len(docs)]+`}`))
		if err != nil {
			t.Fatal(err)
		}
		env := calls.NewEnv()
		env.LLM = scripted.Texts(first, second, first, second, first, second)
		env.Vars = &calls.Vars{Now: thursday}
		input, err := call.Init(t.Context(), env.Vars)
		if err != nil {
			t.Fatal(err)
		}
		out, err := callstest.CollectOutput(call.Exec(t.Context(), env, input))
		if err != nil {
			t.Fatal(err)
		}
		if problems := def.Info.Output.Check(out); problems != nil {
			t.Errorf("%v: %s", problems, out)
		}
	})
}
