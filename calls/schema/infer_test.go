package schema_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// tool is a typical parameter struct of seven fields.
type tool struct {
	City  string   `json:"city" doc:"The city." min:"1"`
	Unit  string   `json:"unit" doc:"The unit." enum:"celsius|fahrenheit" default:"celsius"`
	Days  int      `json:"days" doc:"How many days ahead." min:"1" max:"14" default:"3"`
	Tags  []string `json:"tags,omitempty" doc:"Labels." max:"5"`
	Limit *float64 `json:"limit" doc:"The most that it may cost."`
	When  string   `json:"when,omitempty" doc:"The day." pattern:"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"`
	Place place    `json:"place"`
}

type place struct {
	Lat float64 `json:"lat"`
	Lon float64 `json:"lon"`
}

const toolValue = `{"city":"杭州","unit":"celsius","days":3,"tags":["a","b","c","d","e"],"limit":2.50,"when":"2026-03-05","place":{"lat":30.25,"lon":120.17}}`

func TestMustFor(t *testing.T) {
	want := `{"type":"object","properties":{` +
		`"city":{"type":"string","description":"The city.","minLength":1},` +
		`"unit":{"type":"string","description":"The unit.","enum":["celsius","fahrenheit"],"default":"celsius"},` +
		`"days":{"type":"integer","description":"How many days ahead.","minimum":1,"maximum":14,"default":3},` +
		`"tags":{"type":"array","items":{"type":"string"},"description":"Labels.","maxItems":5},` +
		`"limit":{"type":"number","description":"The most that it may cost."},` +
		`"when":{"type":"string","description":"The day.","pattern":"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"},` +
		`"place":{"type":"object","properties":{"lat":{"type":"number"},"lon":{"type":"number"}},"required":["lat","lon"],"additionalProperties":false}},` +
		`"required":["city","place"],"additionalProperties":false}`
	if got := schema.MustFor[tool]().Doc().JSON(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A former name of a property gets a hint with its new name.
func TestFormerNames(t *testing.T) {
	type base struct {
		Unit string `json:"unit,omitempty" was:"units"`
	}
	s := schema.MustFor[struct {
		base
		City  string `json:"city,omitempty" was:"town|place"`
		Inner base   `json:"inner,omitzero"`
	}]()
	for name, hint := range map[string]string{"town": "use city", "place": "use city", "units": "use unit", "cty": `did you mean "city"?`, "x": ""} {
		problems := s.Check(value.OfMap(value.Pairs(name, "a")))
		if len(problems) != 1 || problems[0].Hint != hint {
			t.Errorf("%s: %v", name, problems)
		}
	}
	inner := s.Check(value.OfMap(value.Pairs("inner", value.Pairs("town", "a"))))
	if len(inner) != 1 || inner[0].Hint != "" {
		t.Errorf("another object: %v", inner)
	}
}

type color struct{}

func (color) JSONSchema() value.Value {
	return value.OfMap(value.Pairs("enum", []string{"red", "green"}))
}

type common struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
}

func TestMustForTypes(t *testing.T) {
	type everything struct {
		common
		Name   string      `json:"name"`
		Any    any         `json:"any"`
		Value  value.Value `json:"value" type:"array|null"`
		Map    *value.Map  `json:"map"`
		Raw    json.RawMessage
		Number json.Number
		Time   time.Time
		Addr   netip.Addr
		Uint   uint8
		Bool   bool
		Pair   [2]int
		ByName map[string]bool
		Color  color
		Kinds  []string    `enum:"a|b" pattern:"^[ab]$" default:"[\"a\"]" min:"1"`
		Open   value.Value `type:"object" default:"{}"`
		Quoted string      `default:"\"5\""`
		Plain  string      `default:"5"`
		Ratio  float64     `default:"1"`
		Hidden string      `json:"-"`
		hidden string      //nolint:unused // it must be left out
	}
	got, _ := schema.MustFor[everything]().Doc().Get("properties")
	for name, want := range map[string]string{
		"id": `{"type":"string"}`, "name": `{"type":"string"}`, "any": `{}`, "value": `{"type":["array","null"]}`, "map": `{"type":"object"}`, "Raw": `{}`,
		"Number": `{"type":"number"}`, "Time": `{"type":"string","format":"date-time"}`, "Addr": `{"type":"string"}`, "Uint": `{"type":"integer","minimum":0}`,
		"Bool": `{"type":"boolean"}`, "Pair": `{"type":"array","items":{"type":"integer"}}`, "ByName": `{"type":"object","additionalProperties":{"type":"boolean"}}`,
		"Color": `{"enum":["red","green"]}`, "Open": `{"type":"object","default":{}}`,
		"Kinds":  `{"type":"array","items":{"type":"string","enum":["a","b"],"pattern":"^[ab]$"},"minItems":1,"default":["a"]}`,
		"Quoted": `{"type":"string","default":"5"}`, "Plain": `{"type":"string","default":"5"}`, "Ratio": `{"type":"number","default":1}`,
	} {
		if s, _ := got.Get(name); s.JSON() != want {
			t.Errorf("%s: %s, want %s", name, s, want)
		}
	}
	if n := got.Map().Len(); n != 19 {
		t.Errorf("%d properties: %s", n, got)
	}
	required, _ := schema.MustFor[everything]().Doc().Get("required")
	if names := required.JSON(); strings.Count(names, `"name"`) != 1 || strings.Contains(names, "map") {
		t.Errorf("required: %s", names)
	}
	if _, err := schema.Parse(schema.MustFor[everything]().Doc()); err != nil {
		t.Errorf("what is inferred is no schema: %v", err)
	}
}

type cycle struct{ Next []cycle }

func TestMustForPanics(t *testing.T) {
	for want, infer := range map[string]func(){
		"field Next: schema_test.cycle contains itself": func() { schema.MustFor[cycle]() },
		"a chan int cannot be written as JSON":          func() { schema.MustFor[chan int]() },
		"the keys of map[int]int are not strings":       func() { schema.MustFor[map[int]int]() },
		`field A: default "x": `: func() {
			schema.MustFor[struct {
				A int `default:"x"`
			}]()
		},
		`field A: default "1.5": want integer, got number`: func() {
			schema.MustFor[struct {
				A int `default:"1.5"`
			}]()
		},
		`field A: max: "many" is not a JSON number`: func() {
			schema.MustFor[struct {
				A int `max:"many"`
			}]()
		},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
					t.Errorf("panic %q, want %q", got, want)
				}
			}()
			infer()
		}()
	}
}

func BenchmarkCheck(b *testing.B) {
	inferred := schema.MustFor[tool]()
	union := mustParse(b, `{"anyOf":[{"type":"string"},`+inferred.Doc().JSON()+`]}`)
	v := parse(b, toolValue)
	for name, s := range map[string]*schema.Schema{"tool": inferred, "union": union} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if p := s.Check(v); p != nil {
					b.Fatal(p)
				}
			}
		})
	}
	none := schema.MustFor[struct{}]()
	empty := value.OfMap(nil)
	b.Run("empty", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if p := none.Check(empty); p != nil {
				b.Fatal(p)
			}
		}
	})
}

func ExampleMustFor() {
	type Weather struct {
		City string   `json:"city" doc:"The city." min:"1"`
		Unit string   `json:"unit" enum:"celsius|fahrenheit" default:"celsius"`
		Days int      `json:"days" min:"1" max:"14" default:"3"`
		Tags []string `json:"tags,omitempty"`
	}
	fmt.Println(string(schema.MustFor[Weather]().Doc().AppendIndented(nil, "  ")))
	// Output:
	// {
	//   "type": "object",
	//   "properties": {
	//     "city": {
	//       "type": "string",
	//       "description": "The city.",
	//       "minLength": 1
	//     },
	//     "unit": {
	//       "type": "string",
	//       "enum": [
	//         "celsius",
	//         "fahrenheit"
	//       ],
	//       "default": "celsius"
	//     },
	//     "days": {
	//       "type": "integer",
	//       "minimum": 1,
	//       "maximum": 14,
	//       "default": 3
	//     },
	//     "tags": {
	//       "type": "array",
	//       "items": {
	//         "type": "string"
	//       }
	//     }
	//   },
	//   "required": [
	//     "city"
	//   ],
	//   "additionalProperties": false
	// }
}

func ExampleSchema_Check() {
	type Weather struct {
		City string `json:"city"`
		Unit string `json:"unit" enum:"celsius|fahrenheit" default:"celsius"`
		Days int    `json:"days" max:"14" default:"3"`
	}
	s := schema.MustFor[Weather]()
	params, err := value.ParseJSON([]byte(`{"unit": "celcius", "dayz": 3, "days": 30}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, problem := range s.Check(params) {
		fmt.Println(problem)
	}
	// Output:
	// /city: the required property "city" is missing
	// /days: 30 is more than the maximum 14
	// /dayz: unknown property "dayz" (did you mean "days"?)
	// /unit: "celcius" is not one of celsius, fahrenheit (did you mean "celsius"?)
}
