package processor_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/calls/slot/processor"
	"github.com/callnode/scheduler/llm/value"
)

var thursday = time.Date(2026, 3, 5, 9, 7, 30, 0, time.FixedZone("CST", 8*3600))

const model processor.Source = "model"

func parse(t testing.TB, text string) value.Value {
	t.Helper()
	v, err := value.ParseJSON([]byte(text))
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

func fill(t testing.TB, p *processor.Processor, known value.Value) *processor.Filling {
	t.Helper()
	f, err := p.Fill(known, thursday)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func compile(t testing.TB, schema string) *processor.Processor {
	t.Helper()
	p, err := processor.New(parse(t, schema))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const weather = `{"type":"object","required":["city","date"],"properties":{
	"city":{"type":"string"},"date":{"type":"string","format":"date"},"unit":{"enum":["C","F"]},"days":{"type":"integer"},"wind":{"type":"boolean"}}}`

const formatted = `{"type":"object","required":["time","duration","id","ip"],"properties":{"time":{"type":"string","format":"time"},
	"duration":{"type":"string","format":"duration"},"id":{"type":"string","format":"uuid"},"ip":{"type":"string","format":"ipv4"}}}`

const order = `{"type":"object","required":["items","to"],"additionalProperties":false,"properties":{
	"items":{"type":"array","minItems":1,"items":{"type":"object","required":["sku","n"],"additionalProperties":false,"properties":{"sku":{"type":"string"},"n":{"type":"integer","minimum":1}}}},
	"to":{"anyOf":[
		{"type":"object","required":["phone"],"additionalProperties":false,"properties":{"phone":{"type":"string","pattern":"^[0-9]+$"}}},
		{"type":"object","required":["email"],"additionalProperties":false,"properties":{"email":{"type":"string"}}}]},
	"tags":{"type":"array","uniqueItems":true,"items":{"enum":["a","b","c"]}},
	"note":{"type":["string","null"]},
	"extra":{"type":"object","maxProperties":1,"additionalProperties":{"type":"integer"}}}}`

const pay = `{"type":"object","required":["amount"],"properties":{"amount":{"type":"integer"}},"oneOf":[
	{"required":["kind","card"],"properties":{"kind":{"const":"card"},"card":{"type":"string"}}},
	{"required":["kind"],"properties":{"kind":{"const":"cash"}}}]}`

func TestTake(t *testing.T) {
	tests := []struct {
		name, schema, known, answer string
		source                      processor.Source // model if it is not given
		want                        string
		missing                     string // pointers
		remains                     bool   // the root is wrong
		rejected                    string // pointers
		sources                     string
	}{
		{name: "names and pointers", schema: weather, known: `{"unit":"C"}`, answer: `{"city":"杭州","/date":"2026-03-06"}`,
			want: `{"unit":"C","city":"杭州","date":"2026-03-06"}`, sources: `{"/unit":"known","/city":"model","/date":"model"}`},
		{name: "known stays", schema: weather, known: `{"city":"杭州"}`, answer: `{"city":"上海","date":"2026-03-06"}`,
			want: `{"city":"杭州","date":"2026-03-06"}`, rejected: "/city"},
		{name: "the same again is no rejection", schema: weather, known: `{"city":"杭州","days":3}`, answer: `{"city":"杭州","days":3.0}`,
			want: `{"city":"杭州","days":3}`, missing: "/date"},
		{name: "wrong goes", schema: weather, known: `{"city":5,"date":"2026-03-06"}`, answer: `{"/city":"杭州"}`,
			want: `{"city":"杭州","date":"2026-03-06"}`, sources: `{"/city":"model","/date":"known"}`},
		{name: "wrong again stays wrong", schema: weather, known: `{"city":5,"date":"2026-03-06"}`, answer: `{"/city":6}`,
			want: `{"city":5,"date":"2026-03-06"}`, missing: "/city", rejected: "/city"},
		{name: "invented and unfitting", schema: weather, known: `{}`, answer: `{"city":"杭州","mood":"good","unit":"K","days":"many"}`,
			want: `{"city":"杭州"}`, missing: "/date", rejected: "/days /mood /unit"},
		{name: "null is not known", schema: weather, known: `{}`, answer: `{"city":null,"date":null,"unit":null}`, want: `{}`, missing: "/city /date"},
		{name: "spelling, types and dates", schema: weather, known: `{}`, answer: `{"city":"x","unit":" c","days":"3","wind":"True","date":"下周五"}`,
			want: `{"city":"x","unit":"C","days":3,"wind":true,"date":"2026-03-13"}`},
		{name: "no date", schema: weather, known: `{"city":"x"}`, answer: `{"date":"sometime"}`, want: `{"city":"x"}`, missing: "/date", rejected: "/date"},
		{name: "known dates are understood too", schema: weather, known: `{"city":"x","date":"明天"}`, answer: `{}`, want: `{"city":"x","date":"2026-03-06"}`},

		{name: "known texts that are no dates are wrong", schema: weather, known: `{"city":"x","date":"sometime"}`, answer: `{"date":"明天"}`,
			want: `{"city":"x","date":"2026-03-06"}`, sources: `{"/city":"known","/date":"model"}`},
		{name: "known texts that are no dates remain", schema: weather, known: `{"city":"x","date":"2026-02-30"}`, answer: `{}`,
			want: `{"city":"x","date":"2026-02-30"}`, missing: "/date"},
		{name: "a day that does not exist, by type", schema: `{"properties":{"a":{"type":"date"},"b":{"type":["string","null"],"format":"date-time"}}}`, known: `{"a":"2026-02-30","b":""}`, answer: `{}`,
			want: `{"a":"2026-02-30","b":""}`, missing: "/a /b"},
		{name: "the branch of a union is chosen by the format", schema: `{"properties":{"a":{"anyOf":[{"type":"string","format":"date"},{"const":"never"}]},"b":{"anyOf":[{"type":"string","format":"date"},{"const":"never"}]}}}`,
			known: `{"a":"never","b":"ever"}`, answer: `{}`, want: `{"a":"never","b":"ever"}`, missing: "/b"},
		{name: "formats of other names are hints", schema: `{"properties":{"a":{"format":"colour"}}}`, known: `{"a":"x"}`, answer: `{}`, want: `{"a":"x"}`},
		{name: "texts that are of no format are wrong", schema: `{"properties":{"a":{"format":"email"}}}`, known: `{"a":"x"}`, answer: `{}`, want: `{"a":"x"}`, missing: "/a"},
		{name: "values as people write them", schema: formatted, known: `{}`, answer: `{"time":"half past","duration":"half an hour","id":"why?","ip":"192.0.2.1"}`,
			want: `{"duration":"PT30M","ip":"192.0.2.1"}`, missing: "/id /time", rejected: "/id /time", sources: `{"/duration":"model","/ip":"model"}`},
		{name: "times as people write them", schema: formatted, known: `{}`, answer: `{"time":"下午两点半","duration":"1h","id":"123e4567-e89b-12d3-a456-426614174000","ip":"1.2.3"}`,
			want: `{"time":"14:30","duration":"PT1H","id":"123e4567-e89b-12d3-a456-426614174000"}`, missing: "/ip", rejected: "/ip"},

		{name: "nested and partly", schema: order, known: `{"to":{"email":"e"}}`, answer: `{"items":[{"sku":"s","n":0,"color":"red"}]}`,
			want: `{"to":{"email":"e"},"items":[{"sku":"s"}]}`, missing: "/items/0/n", rejected: "/items/0/color /items/0/n",
			sources: `{"/to":"known","/items":"model"}`},
		{name: "one element's field", schema: order, known: `{"to":{"email":"e"},"items":[{"sku":"a","n":1},{"sku":"b"}]}`, answer: `{"/items/1/n":2}`,
			want: `{"to":{"email":"e"},"items":[{"sku":"a","n":1},{"sku":"b","n":2}]}`, sources: `{"/to":"known","/items/0":"known","/items/1/sku":"known","/items/1/n":"model"}`},
		{name: "the whole list again", schema: order, known: `{"to":{"email":"e"},"items":[{"sku":"a","n":1},{"sku":"b"}]}`,
			answer: `{"items":[{"sku":"zzz","n":9},{"sku":"b","n":2},{"sku":"c","n":3}]}`,
			want:   `{"to":{"email":"e"},"items":[{"sku":"a","n":1},{"sku":"b","n":2}]}`, rejected: "/items/0/n /items/0/sku"},
		{name: "appending", schema: order, known: `{"to":{"email":"e"}}`, answer: `{"/items/-":{"sku":"a","n":1},"/items/1/sku":"b","/items/1/n":2}`,
			want: `{"to":{"email":"e"},"items":[{"sku":"a","n":1},{"sku":"b","n":2}]}`},
		{name: "impossible pointers", schema: order, known: `{"to":{"email":"e"}}`, answer: `{"/items/7/n":1,"/items/00/n":1,"/to/email/x":1,"/~2":1}`,
			want: `{"to":{"email":"e"}}`, missing: "/items", rejected: "/items/00/n /items/7/n /to/email/x /~2"},
		{name: "a list of which one does not fit", schema: order, known: `{"to":{"email":"e"},"items":[{"sku":"a","n":1}]}`, answer: `{"tags":["a","z","b"]}`,
			want: `{"to":{"email":"e"},"items":[{"sku":"a","n":1}],"tags":["a","b"]}`, rejected: "/tags/1"},
		{name: "twice the same", schema: order, known: `{"to":{"email":"e"},"items":[{"sku":"a","n":1}]}`, answer: `{"tags":["a","a"]}`,
			want: `{"to":{"email":"e"},"items":[{"sku":"a","n":1}]}`, rejected: "/tags"},
		{name: "what spoils a valid list goes where the root is wrong", schema: order, known: `{"to":{"email":"e"},"items":[{"sku":"a","n":1}],"tags":["a"],"bad":1}`,
			answer: `{"/tags/1":"a","/note":"n"}`, want: `{"to":{"email":"e"},"items":[{"sku":"a","n":1}],"tags":["a"],"bad":1,"note":"n"}`, rejected: "/tags/1", remains: true},
		{name: "what does not fit a list with a hole stays asked for", schema: `{"properties":{"l":{"maxItems":1,"items":{"required":["n"]}}}}`, known: `{"l":[{}]}`,
			answer: `{"/l/0/n":1,"/l/-":{"n":2}}`, want: `{"l":[{"n":1}]}`, rejected: "/l/1"},
		{name: "nothing of an optional list fits", schema: order, known: `{"to":{"email":"e"},"items":[{"sku":"a","n":1}]}`, answer: `{"tags":["x"]}`,
			want: `{"to":{"email":"e"},"items":[{"sku":"a","n":1}]}`, rejected: "/tags/0"},
		{name: "too much of an open object", schema: order, known: `{"to":{"email":"e"},"items":[{"sku":"a","n":1}],"extra":{"x":1}}`, answer: `{"extra":{"y":2}}`,
			want: `{"to":{"email":"e"},"items":[{"sku":"a","n":1}],"extra":{"x":1}}`, rejected: "/extra/y"},
		{name: "a union", schema: order, known: `{"items":[{"sku":"a","n":1}]}`, answer: `{"to":{"phone":"abc"}}`, want: `{"items":[{"sku":"a","n":1}]}`, missing: "/to", rejected: "/to"},
		{name: "another branch of a union", schema: order, known: `{"items":[{"sku":"a","n":1}],"to":{"phone":"abc"}}`, answer: `{"/to":{"email":"e"}}`,
			want: `{"items":[{"sku":"a","n":1}],"to":{"email":"e"}}`, sources: `{"/items":"known","/to":"model"}`},
		{name: "inside a union", schema: order, known: `{"items":[{"sku":"a","n":1}],"to":{"phone":"abc"}}`, answer: `{"/to/phone":"123"}`,
			want: `{"items":[{"sku":"a","n":1}],"to":{"phone":"123"}}`},
		{name: "what must not be there", schema: order, known: `{"items":[{"sku":"a","n":1}],"to":{"email":"e"},"bad":1}`, answer: `{"":{"note":null}}`,
			want: `{"items":[{"sku":"a","n":1}],"to":{"email":"e"},"note":null}`},
		{name: "a scalar in the way", schema: order, known: `{"to":{"email":"e"},"items":7}`, answer: `{"/items/0/sku":"a","/items/0/n":1}`,
			want: `{"to":{"email":"e"},"items":[{"sku":"a","n":1}]}`},
		{name: "the root", schema: weather, known: `[1]`, answer: `{"":{"city":"x","date":"2026-03-06"}}`, want: `{"city":"x","date":"2026-03-06"}`},
		{name: "a list where an object should be", schema: order, known: `{"items":[{"sku":"a","n":1}],"to":[]}`, answer: `{"/to/email":"e"}`,
			want: `{"items":[{"sku":"a","n":1}],"to":{"email":"e"}}`, sources: `{"/items":"known","/to":"model"}`},
		{name: "an object where a list should be", schema: order, known: `{"to":{"email":"e"},"items":{}}`, answer: `{"/items/0/sku":"a","/items/-1":0,"/items/0/n":1}`,
			want: `{"to":{"email":"e"},"items":[{"sku":"a","n":1}]}`, rejected: "/items/-1"},
		{name: "a list where the root should be", schema: weather, known: `[1]`, answer: `{"city":"x","/date":"2026-03-06"}`, want: `{"city":"x","date":"2026-03-06"}`},
		{name: "it stays where the answer does not fit", schema: order, known: `{"items":[{"sku":"a","n":1}],"to":[]}`, answer: `{"/to/phone":"abc"}`,
			want: `{"items":[{"sku":"a","n":1}],"to":[]}`, missing: "/to", rejected: "/to"},

		{name: "a root that is a union", schema: pay, known: `{"kind":"?","amount":3}`, answer: `{"":{"kind":"cash"}}`, want: `{"kind":"cash","amount":3}`,
			sources: `{"/kind":"model","/amount":"known"}`},
		{name: "a root that is a union, by name", schema: pay, known: `{"kind":"?","amount":3}`, answer: `{"kind":"cash"}`, want: `{"kind":"cash","amount":3}`},
		{name: "a root that is a union, by pointer", schema: pay, known: `{"kind":"?","amount":3}`, answer: `{"/kind":"cash"}`, want: `{"kind":"cash","amount":3}`},
		{name: "a root that is a union, added to", schema: pay, known: `{"kind":"card","amount":3}`, answer: `{"":{"kind":"cash","card":"1"}}`,
			want: `{"kind":"card","amount":3,"card":"1"}`, rejected: "/kind"},
		{name: "a root that is a union, not mended", schema: pay, known: `{"kind":"?","amount":3}`, answer: `{"":{"kind":"!","amount":4}}`,
			want: `{"kind":"?","amount":3}`, missing: "", rejected: "/amount /kind", remains: true},
		{name: "a root that must be another one", schema: `{"const":{"a":1}}`, known: `{"a":2,"b":3}`, answer: `{"":{"a":1}}`, want: `{"a":1}`, sources: `{"/a":"model"}`},
		{name: "a root with too much", schema: `{"type":"object","maxProperties":1}`, known: `{"a":2,"b":3}`, answer: `{"":{"a":2}}`, want: `{"a":2}`},
		{name: "a root of another kind", schema: `{"anyOf":[{"type":"array"},{"type":"object","required":["k"]}]}`, known: `{"x":1}`, answer: `{"":[1]}`, want: `[1]`},
		{name: "a part that must be another one", schema: `{"properties":{"o":{"const":{"a":[1]}}}}`, known: `{"o":{"a":[]}}`, answer: `{"o":{"a":[1]}}`, want: `{"o":{"a":[1]}}`},
		{name: "what another member needs", schema: `{"properties":{"card":{}},"dependencies":{"card":["zip"]}}`, known: `{"card":1}`, answer: `{"/zip":"2"}`, want: `{"card":1,"zip":"2"}`},
		{name: "a root with a nameless member", schema: `{"type":"object","properties":{"":{"type":"integer"},"a":{"type":"integer"}},"minProperties":2}`, known: `{"":1}`, answer: `{"":{"a":2}}`,
			want: `{"":1,"a":2}`},
		{name: "a list beside objects with names", schema: `{"properties":{"x":{"anyOf":[{"enum":[["n"]]},{"properties":{"k":{}},"required":["k"]}]}},"required":["x"]}`, known: `{}`, answer: `{"/x":["n"]}`, want: `{"x":["n"]}`},
		{name: "what must not be there, said again", schema: `{"type":"object","additionalProperties":false,"properties":{"a":{},"b":{},"o":{"additionalProperties":false,"properties":{"c":{},"d":{}}}}}`,
			known: `{"a":1,"z":9,"o":{"c":1,"y":8}}`, answer: `{"":{"z":9,"b":2},"/o":{"y":8,"d":2}}`, want: `{"a":1,"o":{"c":1,"d":2},"b":2}`, rejected: "/o/y /z"},
		{name: "names that are wrong", schema: `{"type":"object","properties":{"o":{"type":"object","propertyNames":{"enum":["a","b"]}}}}`, known: `{"o":{"c":1}}`, answer: `{"/o":{"a":1}}`, want: `{"o":{"a":1}}`},
		{name: "no object", schema: weather, known: `{"city":"x"}`, answer: `["x"]`, want: `{"city":"x"}`, missing: "/date", rejected: " "},

		{name: "a user's answer wins", schema: weather, known: `{"city":"杭州"}`, source: processor.User, answer: `{"/city":"上海","/date":"明天","/unit":"K"}`,
			want: `{"city":"上海","date":"2026-03-06"}`, rejected: "/unit", sources: `{"/city":"user","/date":"user"}`},
		{name: "a user's answer below a scalar", schema: weather, known: `{"city":"杭州","date":"2026-03-06"}`, source: processor.User, answer: `{"/city/x":7}`,
			want: `{"city":"杭州","date":"2026-03-06"}`, rejected: "/city"},
		{name: "an answer below a wrong scalar", schema: weather, known: `{"city":5,"date":"2026-03-06"}`, answer: `{"/city/x":7}`,
			want: `{"city":5,"date":"2026-03-06"}`, missing: "/city", rejected: "/city"},
		{name: "a user's wrong answer", schema: weather, known: `{"city":"杭州","date":"2026-03-06"}`, source: processor.User, answer: `{"/city":7}`,
			want: `{"city":"杭州","date":"2026-03-06"}`, rejected: "/city", sources: `{"/city":"known","/date":"known"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			known := parse(t, tt.known)
			before := known.JSON()
			f := fill(t, compile(t, tt.schema), known)
			if tt.source == "" {
				tt.source = model
			}
			f.Take(parse(t, tt.answer), tt.source)
			if !value.Equal(f.Data(), parse(t, tt.want)) {
				t.Errorf("data: want %s\ngot %s", tt.want, f.Data())
			}
			if got := strings.Join(required(t, "", f.Remaining()), " "); got != tt.missing || f.Done() != (tt.missing == "" && !tt.remains) {
				t.Errorf("missing: want %s, got %s", tt.missing, f.Remaining())
			}
			var rejected []string
			for _, r := range f.Rejected() {
				rejected = append(rejected, r.Pointer)
			}
			slices.Sort(rejected)
			if got := strings.Join(rejected, " "); got != strings.TrimSpace(tt.rejected) || tt.rejected == " " && len(rejected) != 1 {
				t.Errorf("rejected: want %s, got %v", tt.rejected, f.Rejected())
			}
			if tt.sources != "" && !value.Equal(parse(t, tt.sources), value.OfMap(f.Sources())) {
				t.Errorf("sources: want %s, got %s", tt.sources, value.OfMap(f.Sources()))
			}
			if known.JSON() != before {
				t.Errorf("the known data was changed to %s", known)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	p := compile(t, `{"type":"object","required":["n","o","bad"],"definitions":{"o":{"type":"object","required":["x"],"properties":{"x":{"type":"integer","default":1}}}},
		"properties":{"n":{"type":"integer","default":3},"o":{"allOf":[{"$ref":"#/definitions/o"}],"default":{}},"bad":{"type":"string","default":7},"free":{"default":1}}}`)
	f := fill(t, p, parse(t, `{}`))
	f.ApplyDefaults()
	if want := `{"n":3,"o":{"x":1}}`; f.Data().JSON() != want {
		t.Errorf("want %s, got %s", want, f.Data())
	}
	if got := required(t, "", f.Remaining()); !slices.Equal(got, []string{"/bad"}) {
		t.Errorf("%v remain", got)
	}
	if want := `{"/n":"default","/o":"default"}`; value.OfMap(f.Sources()).JSON() != want {
		t.Errorf("want %s, got %s", want, value.OfMap(f.Sources()))
	}
}

func TestRemaining(t *testing.T) {
	tests := []struct{ name, schema, data, want string }{
		{"order of the schema", `{"type":"object","required":["z","a"],"properties":{"z":{"type":"string","default":"d","description":"Z"},"a":{"type":"integer"}}}`, `{}`,
			`{"type":"object","properties":{"/z":{"type":"string","default":"d","description":"Z"},"/a":{"type":"integer"}},"required":["/z","/a"]}`},
		{"several faults", `{"type":"object","properties":{"a":{"allOf":[{"minLength":3},{"pattern":"^x"}]}}}`, `{"a":"y"}`,
			`{"type":"object","properties":{"/a":{"allOf":[{"pattern":"^x"},{"minLength":3}]}},"required":["/a"]}`},
		{"required elsewhere", `{"type":"object","properties":{"a":{"type":"string"}},"allOf":[{"required":["a","b"]}]}`, `{}`,
			`{"type":"object","properties":{"/a":{"type":"string"},"/b":{}},"required":["/a","/b"]}`},
		{"definitions that are used", `{"$defs":{"A":{"type":"array","items":{"$ref":"#/$defs/B"}},"B":{"type":"string"},"C":{}},"type":"object","required":["a"],"properties":{"a":{"$ref":"#/$defs/A"}}}`, `{}`,
			`{"type":"object","properties":{"/a":{"$ref":"#/$defs/A"}},"required":["/a"],"$defs":{"A":{"type":"array","items":{"$ref":"#/$defs/B"}},"B":{"type":"string"}}}`},
		{"references to anywhere", `{"type":"object","required":["a"],"properties":{"a":{"$ref":"#/properties/b~1"},"b/":{"type":"object","properties":{"up":{"$ref":"#"}}}}}`, `{}`,
			`{"type":"object","properties":{"/a":{"$ref":"#/definitions/root.properties.b-1"}},"required":["/a"],"definitions":{` +
				`"root.properties.b-1":{"type":"object","properties":{"up":{"$ref":"#/definitions/root"}}},` +
				`"root":{"type":"object","required":["a"],"properties":{"a":{"$ref":"#/definitions/root.properties.b-1"},"b/":{"type":"object","properties":{"up":{"$ref":"#/definitions/root"}}}}}}}`},
		{"references by name", `{"$id":"http://x/s","definitions":{"A":{"$id":"#a","type":"string"},"B":{}},"type":"object","required":["a","b"],"properties":{"a":{"$ref":"#a"},"b":{"$ref":"http://x/s#/definitions/B"}}}`, `{}`,
			`{"$id":"http://x/s","type":"object","properties":{"/a":{"$ref":"#a"},"/b":{"$ref":"http://x/s#/definitions/B"}},"required":["/a","/b"],"definitions":{"A":{"$id":"#a","type":"string"},"B":{}}}`},
		{"true and false", `{"type":"object","required":["t"],"properties":{"t":true,"f":false}}`, `{"f":1}`,
			`{"type":"object","properties":{"/t":{},"/f":{"not":{}}},"required":["/t","/f"]}`},
		{"types of ours", `{"type":"object","required":["d"],"properties":{"d":{"type":"date","description":"day"}}}`, `{}`,
			`{"type":"object","properties":{"/d":{"description":"day","type":"string","pattern":"^\\d{4}-\\d{2}-\\d{2}$","format":"date"}},"required":["/d"]}`},
		{"names", `{"type":"object","properties":{"o":{"propertyNames":{"enum":["a"]}}}}`, `{"o":{"x":1}}`,
			`{"type":"object","properties":{"/o":{"propertyNames":{"enum":["a"]}}},"required":["/o"]}`},
		{"no names", `{"propertyNames":false}`, `{"x":1}`, `{"type":"object","properties":{"":{"propertyNames":false}},"required":[""]}`},
		{"another dialect", `{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"n":{"minimum":3,"exclusiveMinimum":true}}}`, `{"n":3}`,
			`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"/n":{"minimum":3,"exclusiveMinimum":true}},"required":["/n"]}`},
		{"a closed object", `{"type":"object","properties":{"o":{"type":"object","additionalProperties":false}}}`, `{"o":{"x":1,"y":2}}`,
			`{"type":"object","properties":{"/o":{"type":"object","additionalProperties":false}},"required":["/o"]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := compile(t, tt.schema).Check(parse(t, tt.data))
			if diff := cmp.Diff(tt.want, got.JSON()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if _, err := processor.New(got); err != nil {
				t.Errorf("it is no schema: %v", err)
			}
		})
	}
}

func TestOptional(t *testing.T) {
	f := fill(t, compile(t, order), parse(t, `{"items":[{"sku":"a"}],"to":{"email":"e"},"extra":{"n":1}}`))
	if got := get(f.Optional(), "properties").Map().Keys(); !slices.Equal(got, []string{"/to/phone", "/tags", "/note"}) {
		t.Errorf("%v", got)
	}
}

func TestFormats(t *testing.T) {
	p := compile(t, `{"type":"object","properties":{"d":{"type":"date"},"ts":{"type":"timestamp"},"n":{"type":"integer","format":"timestamp"},"dt":{"type":"string","format":"date-time"},
		"u":{"anyOf":[{"type":"string","format":"date"},{"enum":["never"]}]},"list":{"type":"array","items":{"type":"date"}}}}`)
	f := fill(t, p, parse(t, `{"d":"明天","ts":1772701650,"n":"下周五","dt":"tomorrow 3pm","u":"never","list":["today","x"]}`))
	want := `{"d":"2026-03-06","ts":"2026-03-05 17:07:30","n":1773331200,"dt":"2026-03-06T15:00:00+08:00","u":"never","list":["2026-03-05","x"]}`
	if f.Data().JSON() != want {
		t.Errorf("want %s, got %s", want, f.Data())
	}
	if got := required(t, "", f.Remaining()); !slices.Equal(got, []string{"/list/1"}) {
		t.Errorf("%v remain", got)
	}
	f.Take(parse(t, `{"/list/1":"2024年5月1日"}`), model)
	if !f.Done() {
		t.Errorf("%s remains", f.Remaining())
	}
	even := processor.Format{
		Name: "even", Type: parse(t, `{"type":"integer","multipleOf":2}`),
		Check: func(v value.Value) bool { n, ok := v.Int(); return ok && n%2 == 0 },
		Convert: func(v value.Value, _ []string, _ time.Time) (value.Value, bool) {
			n, ok := v.Int()
			return value.OfInt(n + 1), ok
		},
	}
	p, err := processor.New(parse(t, `{"type":"object","properties":{"x":{"type":"even"}}}`), even)
	if err != nil {
		t.Fatal(err)
	}
	if got := fill(t, p, parse(t, `{"x":3}`)).Data().JSON(); got != `{"x":4}` {
		t.Errorf("an added format gives %s", got)
	}
}

// Data from outside is bounded: many faults with large schemas, and answers of many pieces.
func TestBounds(t *testing.T) {
	wide := value.NewMap(0)
	for i := range 2000 {
		wide.Set(fmt.Sprintf("p%d", i), value.OfMap(value.Pairs("type", "string", "description", strings.Repeat("x", 50))))
	}
	doc := value.OfMap(value.Pairs("type", "object", "properties", value.Pairs("list", value.Pairs("type", "array", "items", value.Pairs("type", "object", "properties", wide)))))
	p, err := processor.New(doc)
	if err != nil {
		t.Fatal(err)
	}
	numbers := make([]int, 3000)
	f := fill(t, p, value.OfMap(value.Pairs("list", numbers)))
	if n := len(f.Remaining().JSON()); n > 4<<20 {
		t.Errorf("the flat schema has %d bytes", n)
	}
	answer := value.NewMap(0)
	for i := range 5000 {
		answer.Set(fmt.Sprintf("/list/%d/p%d", i%3000, i%7), value.OfString("x"))
	}
	if n := f.Take(value.OfMap(answer), model); n == 0 || n > 2000 {
		t.Errorf("%d pieces were taken", n)
	}
	if n := len(f.Rejected()); n > 200 {
		t.Errorf("%d rejections", n)
	}
	deep := value.OfString("x")
	for range 500 {
		deep = value.OfList(deep)
	}
	free := fill(t, compile(t, `{"type":"object","properties":{"x":{},"d":{"type":"date"}},"additionalProperties":true}`), value.OfMap(nil))
	free.Take(value.OfMap(value.Pairs("x", deep, strings.Repeat("/x", 500), 1)), model)
	if len(free.Rejected()) == 0 {
		t.Error("nothing is too deep")
	}
}

// An answer of a model never removes a known valid value, and the remaining schema is empty exactly when the data
// is valid.
func TestLawsOfMerging(t *testing.T) {
	docs := []string{weather, order}
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.SampledFrom(docs).Draw(r, "schema")
		p, err := processor.New(parse(t, text))
		if err != nil {
			r.Fatal(err)
		}
		// A text that is not a date is wrong, as in the processor.
		s, err := schema.Parse(parse(t, strings.ReplaceAll(text, `"format":"date"`, `"pattern":"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"`)))
		if err != nil {
			r.Fatal(err)
		}
		known, _ := p.Convert(drawObject(r, "known"))
		f := fill(t, p, known)
		before, wrong := f.Data(), s.Check(f.Data())
		for range 2 {
			f.Take(drawObject(r, "answer"), model)
		}
		after, problems := f.Data(), s.Check(f.Data())
		if f.Done() != (problems == nil) || (f.Remaining().Map().Len() == 0) != f.Done() {
			r.Fatalf("%s: %v, but %s remains", after, problems, f.Remaining())
		}
		for name, member := range before.Map().All() {
			isWrong := func(problem schema.Problem) bool {
				return problem.Keyword != "required" && strings.HasPrefix(problem.Pointer+"/", "/"+value.Escape(name)+"/")
			}
			if slices.ContainsFunc(wrong, isWrong) {
				continue
			}
			if now, has := after.Get(name); !has || !covers(now, member) || slices.ContainsFunc(problems, isWrong) {
				r.Fatalf("%s was known and valid, and is %s\nknown %s\nafter %s\nproblems %v", member, now, before, after, problems)
			}
		}
		user := fill(t, p, known)
		user.Take(drawObject(r, "of the user"), processor.User)
		for _, problem := range s.Check(user.Data()) {
			if len(wrong) == 0 && problem.Keyword != "required" {
				r.Fatalf("a user spoilt valid data: %v\n%s\n%s", problem, before, user.Data())
			}
		}
		if len(wrong) == 0 && len(problems) > 0 {
			for _, problem := range problems {
				if problem.Keyword != "required" {
					r.Fatalf("an answer spoilt valid data: %v\n%s\n%s", problem, before, after)
				}
			}
		}
		// If nothing is wrong, the same answer again changes nothing.
		answer := drawObject(r, "again")
		f.Take(answer, model)
		once := f.Data()
		if _, appends := answer.Get("/items/-"); appends || !f.Done() {
			return
		}
		f.Take(answer, model)
		if !value.Equal(once, f.Data()) {
			r.Fatalf("%s twice: %s, then %s", answer, once, f.Data())
		}
	})
}

// covers reports whether now contains all of old; a list may have more items at its end.
func covers(now, old value.Value) bool {
	switch old.Kind() {
	case value.List:
		n := len(old.List())
		return len(now.List()) >= n && slices.EqualFunc(now.List()[:n], old.List(), covers)
	case value.Object:
	default:
		return value.Equal(now, old)
	}
	for name, member := range old.Map().All() {
		if mine, ok := now.Get(name); !ok || !covers(mine, member) {
			return false
		}
	}
	return true
}

func drawObject(r *rapid.T, label string) value.Value {
	m := value.NewMap(0)
	keys := []string{
		"city", "date", "unit", "days", "items", "to", "tags", "note", "extra", "bad", "", "/", "/city", "/items/0", "/items/0/n", "/items/0/sku", "/items/-", "/items/1/n",
		"/to", "/to/phone", "/to/email", "/tags/0", "/tags/1", "/extra/x", "/a~", "/date/x/y",
	}
	for range rapid.IntRange(0, 4).Draw(r, label+" size") {
		m.Set(rapid.SampledFrom(keys).Draw(r, "key"), drawValue(r, 3))
	}
	return value.OfMap(m)
}

func drawValue(r *rapid.T, depth int) value.Value {
	switch rapid.IntRange(0, 9).Draw(r, "kind") {
	case 0:
		return value.Value{}
	case 1:
		return value.OfInt(int64(rapid.IntRange(-1, 3).Draw(r, "n")))
	case 2, 3, 4:
		return value.OfString(rapid.SampledFrom([]string{"a", "b", "C", "123", "明天", "2026-03-06", "x"}).Draw(r, "s"))
	case 5, 6:
		items := []value.Value{}
		for range rapid.IntRange(0, 3).Draw(r, "items") {
			if depth > 0 {
				items = append(items, drawValue(r, depth-1))
			}
		}
		return value.OfList(items...)
	}
	m := value.NewMap(0)
	for range rapid.IntRange(0, 3).Draw(r, "members") {
		if depth > 0 {
			m.Set(rapid.SampledFrom([]string{"sku", "n", "phone", "email", "x", "y", "color"}).Draw(r, "name"), drawValue(r, depth-1))
		}
	}
	return value.OfMap(m)
}

// The key "" is an empty token of a pointer: a value asked for below it can be answered there, by a schema that
// names it and by one that does not.
func TestTheKeyWithoutAName(t *testing.T) {
	const inner = `{"type":"object","required":["a"],"properties":{"a":{"type":"integer"}}}`
	for _, tt := range []struct{ schema, known, missing, answer, want string }{
		{`{"type":"object","properties":{"":` + inner + `}}`, `{"":{}}`, `//a`, `{"//a":5}`, `{"":{"a":5}}`},
		{`{"type":"object","required":[""],"properties":{"":` + inner + `}}`, `{}`, `/`, `{"/":{"a":5}}`, `{"":{"a":5}}`},
		{`{"type":"object","additionalProperties":` + inner + `}`, `{"//b":1}`, `//a`, `{"//a":5}`, `{"":{"b":1,"a":5}}`},
		{`{"type":"object","additionalProperties":{"type":"string"}}`, `{"//b":1}`, `/`, `{"/":"x"}`, `{"":"x"}`},
		{`{"type":"object","properties":{"x":{"additionalProperties":` + inner + `}}}`, `{"x":{"":{},"a":{"a":1}}}`, `/x//a`, `{"/x//a":5}`, `{"x":{"":{"a":5},"a":{"a":1}}}`},
		{`{"type":"object","properties":{"":{"anyOf":[` + inner + `]}}}`, `{"":{"":1}}`, `/`, `{"/":{"a":5}}`, `{"":{"a":5}}`},
		{`{"type":"object","properties":{"":{"$ref":"#/definitions/"}},"definitions":{"":` + inner + `}}`, `{"":{"a":"x"}}`, `//a`, `{"//a":"5"}`, `{"":{"a":5}}`},
	} {
		f := fill(t, compile(t, tt.schema), parse(t, tt.known))
		properties, _ := f.Remaining().Get("properties")
		if got := strings.Join(properties.Map().Keys(), " "); got != tt.missing {
			t.Errorf("%s by %s misses %q, want %q", tt.known, tt.schema, got, tt.missing)
			continue
		}
		f.Take(parse(t, tt.answer), processor.User)
		if got := f.Data().JSON(); got != tt.want || !f.Done() || len(f.Rejected()) > 0 {
			t.Errorf("%s answered %s gives %s, want %s; done: %v, rejected: %v", tt.known, tt.answer, got, tt.want, f.Done(), f.Rejected())
		}
	}
}

// If the schema does not say which container holds a value, the pointer decides.
func TestConvertMakesWhatThePointerNeeds(t *testing.T) {
	for _, tt := range []struct{ schema, answer, want string }{
		{`{}`, `{"/a/-":1,"/a/1":2}`, `{"a":[1,2]}`},
		{`{}`, `{"/a/0":1}`, `{"a":{"0":1}}`},
		{`{"properties":{"a":{"type":["array","object"]}}}`, `{"/a/0":1}`, `{"a":[1]}`},
		{`{"properties":{"a":{"type":["array","object"]}}}`, `{"/a/x":1}`, `{"a":{"x":1}}`},
		{`{"properties":{"a":{"type":["array","object"],"properties":{"0":{}}}}}`, `{"/a/0":1}`, `{"a":{"0":1}}`},
		{`{"properties":{"a":{"type":"object"}}}`, `{"/a/-":1}`, `{"a":{"-":1}}`},
		{`{"required":[""]}`, `{"/":1,"b":2}`, `{"":1,"b":2}`},
		{`{"required":[""]}`, `{"":1}`, `{"":1}`},
	} {
		got, rejected := compile(t, tt.schema).Convert(parse(t, tt.answer))
		if got.JSON() != tt.want || len(rejected) > 0 {
			t.Errorf("%s by %s: want %s, got %s %v", tt.answer, tt.schema, tt.want, got, rejected)
		}
	}
}

// A pointer sets the value that it names and nothing else.
func TestConvertSetsWhatItNames(t *testing.T) {
	p := compile(t, `{}`)
	rapid.Check(t, func(r *rapid.T) {
		tokens := append([]string{rapid.StringMatching(`[a-z~/ é]{1,3}`).Draw(r, "first")}, rapid.SliceOfN(rapid.StringMatching(`[a-z~/ é]{0,3}`), 0, 3).Draw(r, "tokens")...)
		pointer := value.FormatPointer(tokens...)
		x := drawValue(r, 2)
		other := value.OfString("kept")
		m := value.NewMap(0)
		m.Set("other", other)
		m.Set(pointer, x)
		data, rejected := p.Convert(value.OfMap(m))
		got, ok := data.At(pointer)
		if len(rejected) > 0 || !ok || !value.Equal(got, x) {
			r.Fatalf("%s gives %s %v", value.OfMap(m), data, rejected)
		}
		if kept, _ := data.Get("other"); tokens[0] != "other" && !value.Equal(kept, other) {
			r.Fatalf("%s gives %s", value.OfMap(m), data)
		}
	})
}

func FuzzFilling(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"items":[{"sku":"a"}]}`, `{"/items/0/n":1}`}, {`{"to":{"phone":"x"}}`, `{"/to":{"email":"e"}}`}, {`[]`, `{"":{}}`}, {`{"items":[]}`, `{"/items/-/-/-":[1],"/items/-1":0}`},
		{`{"items":5}`, `{"/items/99999999999999999999":{}}`}, {`{"tags":["a","a"]}`, `{"tags":["a","b"],"/tags/1":"c"}`}, {`{"bad":1}`, `{"/":{},"/~":1,"//":2}`},
	} {
		f.Add(seed[0], seed[1])
	}
	p := compile(f, order)
	f.Fuzz(func(t *testing.T, known, answer string) {
		k, err := value.ParseJSON([]byte(known))
		if err != nil {
			return
		}
		a, err := value.ParseJSON([]byte(answer))
		if err != nil {
			return
		}
		filling, err := p.Fill(k, thursday)
		if err != nil {
			return
		}
		filling.Take(a, model)
		filling.ApplyDefaults()
		if valid := p.Check(filling.Data()).Map().Len() == 0; valid != filling.Done() {
			t.Errorf("%s over %s gives %s: valid %t, done %t", answer, known, filling.Data(), valid, filling.Done())
		}
		_ = filling.Sources()
		_ = filling.Optional()
	})
}

// Data that is only checked follows draft 7, in which a format is a hint; a schema that uses a format as a type is
// not a schema of draft 7.
func TestFormatsOfCheckedData(t *testing.T) {
	for schema, missing := range map[string]string{
		`{"properties":{"a":{"type":"string","format":"date"}}}`: "",
		`{"properties":{"a":{"type":"date"}}}`:                   "/a",
	} {
		f, err := compile(t, schema).FillAsIs(parse(t, `{"a":"2026-02-30"}`), thursday)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(required(t, "", f.Remaining()), " "); got != missing {
			t.Errorf("%s: %q is missing, want %q", schema, got, missing)
		}
	}
}

// A default is read as an answer is.
func TestDefaultOfAFormat(t *testing.T) {
	f := fill(t, compile(t, `{"type":"object","required":["a","b"],"properties":{"a":{"type":"date","default":"明天"},"b":{"type":"date","default":"sometime"}}}`), parse(t, `{}`))
	f.ApplyDefaults()
	if got := f.Data().JSON(); got != `{"a":"2026-03-06"}` {
		t.Errorf("got %s", got)
	}
	if got := required(t, "", f.Remaining()); !slices.Equal(got, []string{"/b"}) {
		t.Errorf("%v remain", got)
	}
}

// Why a piece was not taken is said in the processor's language, with the reason inside it.
func TestReasonsInChinese(t *testing.T) {
	_, rejected := compile(t, `{"properties":{"a":{"type":"array"}}}`).In("zh").Convert(parse(t, `{"/a/0":1,"/a/7":2}`))
	if len(rejected) != 1 || rejected[0].Reason != `下标 7 超出末尾："/a" 处的数组有 1 项` {
		t.Error(rejected)
	}
}
