package schema_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// Schemas that would compile for long are refused, however that is hidden.
func TestCostlyCompiling(t *testing.T) {
	list := func(n int, format string) string {
		items := make([]string, n)
		for i := range items {
			items[i] = strings.ReplaceAll(format, "N", strconv.Itoa(i))
		}
		return strings.Join(items, ",")
	}
	const wide = 10_500
	for name, text := range map[string]string{
		"a property named default":  `{"properties":{"default":{"properties":{` + list(wide, `"aN":{}`) + `}}}}`,
		"a definition named enum":   `{"$ref":"#/definitions/enum","definitions":{"enum":{"properties":{` + list(wide, `"aN":{}`) + `}}}}`,
		"references into data":      `{"$ref":"#/default","default":{"properties":{` + list(wide, `"aN":{}`) + `}}}`,
		"names taken for a schema":  `{"items":{"$ref":"#/properties"},"properties":{"properties":{"default":{"properties":{` + list(wide, `"aN":{}`) + `}}}}}`,
		"references in definitions": `{"anyOf":[` + list(4500, `{"$ref":"#/definitions/d/x/N"}`) + `],"definitions":{"d":{"x":{` + list(4500, `"N":{}`) + `}}}}`,
		"$defs of an inner draft 7": `{"$schema":"https://json-schema.org/draft/2020-12/schema","items":{"$id":"http://a/","$schema":"http://json-schema.org/draft-07/schema#",
			"anyOf":[` + list(3000, `{"$ref":"#/$defs/N"}`) + `],"$defs":{` + list(3000, `"N":{}`) + `}}}`,
		"$recursiveRef":                `{"$schema":"https://json-schema.org/draft/2019-09/schema","anyOf":[` + list(3000, `{"$recursiveRef":"#/x/N"}`) + `],"x":{` + list(3000, `"N":{}`) + `}}`,
		"indices written in many ways": `{"anyOf":[{"$ref":"#/x/00"},{"$ref":"#/x/+0"},{"$ref":"#/x/-0"}],"x":[{"properties":{` + list(3000, `"aN":{}`) + `}}]}`,
	} {
		if _, err := schema.Parse(parse(t, text)); err == nil || !strings.Contains(err.Error(), "takes too long to compile") {
			t.Errorf("%s: %.200v", name, err)
		}
	}
	for name, text := range map[string]string{
		"objects in an enum": `{"enum":[` + list(wide, `{"a":N}`) + `]}`,
		"definitions":        `{"anyOf":[` + list(2000, `{"$ref":"#/definitions/N"}`) + `],"definitions":{` + list(2000, `"N":{}`) + `}}`,
		"$defs":              `{"$schema":"https://json-schema.org/draft/2020-12/schema","anyOf":[` + list(2000, `{"$ref":"#/$defs/N"}`) + `],"$defs":{` + list(2000, `"N":{}`) + `}}`,
	} {
		if _, err := schema.Parse(parse(t, text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUnionsThatMultiply(t *testing.T) {
	// Each definition is two references to the next: 2^30 ways for one value.
	var chain strings.Builder
	chain.WriteString(`{"$ref":"#/definitions/d0","definitions":{`)
	for i := range 30 {
		fmt.Fprintf(&chain, `"d%d":{"anyOf":[{"$ref":"#/definitions/d%d"},{"$ref":"#/definitions/d%d"}]},`, i, i+1, i+1)
	}
	chain.WriteString(`"d30":{"type":"string"}}}`)
	_, err := schema.Parse(parse(t, chain.String()))
	if err == nil || !strings.Contains(err.Error(), "unions multiply") {
		t.Errorf("a chain of unions: %v", err)
	}

	// The same chain reached only through a member.
	member := strings.Replace(chain.String(), `"$ref":"#/definitions/d0"`, `"properties":{"a":{"$ref":"#/definitions/d0"}}`, 1)
	if _, err := schema.Parse(parse(t, member)); err == nil || !strings.Contains(err.Error(), "unions multiply") {
		t.Errorf("a chain of unions below a member: %v", err)
	}

	// Here every level of the value doubles the ways.
	tree := mustParse(t, `{"anyOf":[{"properties":{"next":{"$ref":"#"}},"required":["x"]},{"properties":{"next":{"$ref":"#"}},"required":["y"]}]}`)
	nested := func(depth int) value.Value {
		return parse(t, strings.Repeat(`{"x":1,"next":`, depth)+`{"x":1}`+strings.Repeat(`}`, depth))
	}
	if p := tree.Check(nested(8)); p != nil {
		t.Errorf("8 levels: %v", p)
	}
	if p := tree.Check(nested(60)); p == nil || !strings.Contains(p.Error(), "unions multiply") {
		t.Errorf("60 levels: %.200v", p)
	}

	// Recursion alone is not an error.
	list := mustParse(t, `{"properties":{"next":{"$ref":"#"},"n":{"type":"integer"}}}`)
	deep := parse(t, strings.Repeat(`{"n":1,"next":`, 250)+`{"n":"x"}`+strings.Repeat(`}`, 250))
	if p := list.Check(deep); len(p) != 1 || p[0].Keyword != "type" {
		t.Errorf("a list of 250: %.200v", p)
	}

	// A long chain of references at every level would use up the stack.
	chain.Reset()
	chain.WriteString(`{"$ref":"#/definitions/d0","definitions":{`)
	for i := range 200 {
		fmt.Fprintf(&chain, `"d%d":{"$ref":"#/definitions/d%d"},`, i, i+1)
	}
	chain.WriteString(`"d200":{"properties":{"next":{"$ref":"#/definitions/d0"}}}}}`)
	long := mustParse(t, chain.String())
	if p := long.Check(nested(3)); p != nil {
		t.Errorf("a long chain: %v", p)
	}
	if p := long.Check(nested(900)); p == nil {
		t.Error("a long chain at 900 levels was gone through")
	}

	built := value.OfInt(1)
	for range 2000 {
		built = value.OfList(built)
	}
	if p := list.Check(built); p == nil || p[0].Message != "nested deeper than 1000" {
		t.Errorf("a list in a list 2000 times: %.100v", p)
	}
}

func TestCostlyPatterns(t *testing.T) {
	many := make([]string, 200)
	for i := range many {
		many[i] = fmt.Sprintf(`"a%d":{"pattern":"%s"}`, i, strings.Repeat(`[a-z\\pL]{1000}`, 20))
	}
	for name, text := range map[string]string{
		"properties":        `{"properties":{` + strings.Join(many, ",") + `}}`,
		"patternProperties": `{"definitions":{"pattern":{"patternProperties":{"` + strings.Repeat("[a-z]{1000}", 60) + `":{}}}}}`,
	} {
		if _, err := schema.Parse(parse(t, text)); err == nil || !strings.Contains(err.Error(), "regular expressions are too costly") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Names and data are not patterns.
	mustParse(t, `{"properties":{"pattern":{"const":{"pattern":"(a{900}){900}"}}}}`)

	s := mustParse(t, `{"properties":{"heavy":{"pattern":"(a|aa){400}(a*){300}b"},"light":{"pattern":"^\\d+$"}},"patternProperties":{"^(x*){900}Y$":false}}`)
	long := strings.Repeat("1", 1_000_000)
	for name, tt := range map[string]struct {
		v    value.Value
		want string
	}{
		"light":         {value.OfMap(value.Pairs("light", long)), ""},
		"light, wrong":  {value.OfMap(value.Pairs("light", long+"x")), "does not match the pattern"},
		"heavy":         {value.OfMap(value.Pairs("heavy", strings.Repeat("a", 1000)+"b")), ""},
		"heavy, wrong":  {value.OfMap(value.Pairs("heavy", "c")), "does not match the pattern"},
		"heavy on long": {value.OfMap(value.Pairs("heavy", strings.Repeat("a", 1_000_000))), "takes too long to check"},
		"a long name":   {value.OfMap(value.Pairs(strings.Repeat("x", 1_000_000), 1)), "takes too long to check"},
	} {
		p := s.Check(tt.v)
		if got := p.Error(); (tt.want == "") != (p == nil) || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %.200s", name, got)
		}
	}
	if place := s.Describe("/" + strings.Repeat("x", 1_000_000)); place.Known {
		t.Error("a long name was looked up by patterns")
	}
}

func TestBigPlainValuesAreChecked(t *testing.T) {
	s := mustParse(t, `{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"object","patternProperties":{"^[a-z]+$":{"type":"integer"}}}]},"uniqueItems":true}`)
	items := make([]value.Value, 20_000)
	for i := range items {
		items[i] = value.OfMap(value.Pairs("id", i, "n", i))
	}
	if p := s.Check(value.OfList(items...)); p != nil {
		t.Errorf("%.200v", p)
	}
}

// Values are not compared with each value of an enum.
func TestBigEnums(t *testing.T) {
	texts := func(n int, format string) []string {
		all := make([]string, n)
		for i := range all {
			all[i] = strings.ReplaceAll(format, "N", strconv.Itoa(i))
		}
		return all
	}
	numbers := strings.Repeat("1,", 600)
	names := texts(15_000, `"name-N"`)
	for name, tt := range map[string]struct{ enum, items, last, missing []string }{
		"lists":   {texts(99, "["+numbers+"N]"), texts(400, "["+numbers+"9.80e1]"), []string{"[" + numbers + "98.0]"}, []string{"[" + numbers + "99]"}},
		"objects": {texts(99, `{"a":N,"b":0}`), texts(20_000, `{"b":0e5,"a":9.8e1}`), []string{`{"b":-0,"a":0.98E+2}`}, []string{`{"a":98}`, `{"a":98,"c":0}`}},
		"texts":   {names, slices.Repeat(names[14_000:], 50), names[:1], []string{`"name-15000"`, `"name-1 "`, "1", "null"}},
		"mixed":   {[]string{"[1,[2]]", `["1"]`, "[]", "{}", "0", `""`, "true"}, []string{"[]"}, []string{"0.0", `""`}, []string{"[1,2]", "[[1],[2]]", "[1]", "false", "null", `["1:"]`, `"true"`, `"0"`}},
	} {
		s := mustParse(t, `{"items":{"enum":[`+strings.Join(tt.enum, ",")+`]}}`)
		good := parse(t, `[`+strings.Join(append(tt.items, tt.last...), ",")+`]`)
		began := time.Now()
		if p := s.Check(good); p != nil {
			t.Errorf("%s: %.300v", name, p)
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%s took %s", name, took)
		}
		for _, text := range tt.missing {
			if p := s.Check(parse(t, `[`+text+`]`)); len(p) != 1 || p[0].Keyword != "enum" {
				t.Errorf("%s: %.50s: %.200v", name, text, p)
			}
		}
	}
}

// The sizes of values count if many enums compare one.
func TestEnumsOfLongTexts(t *testing.T) {
	s := mustParse(t, `{"items":{"allOf":[`+strings.Repeat(`{"$ref":"#/definitions/e"},`, 1000)+`{}]},"definitions":{"e":{"not":{"enum":["`+strings.Repeat("x", 100_000)+`"]}}}}`)
	long := `"` + strings.Repeat("y", 99_999) + `"`
	if p := s.Check(parse(t, "["+strings.Repeat(long+",", 50)+"1]")); p == nil || !strings.Contains(p.Error(), "takes too long to check") {
		t.Errorf("%.200v", p)
	}
	if p := s.Check(parse(t, "["+long+"]")); p != nil {
		t.Errorf("%.200v", p)
	}
}

func TestManyProblemsAreNotAllListed(t *testing.T) {
	s := mustParse(t, `{"items":{"type":"string"}}`)
	p := s.Check(parse(t, "["+strings.Repeat("1,", 4_999)+"1]"))
	if len(p) != 5_000 {
		t.Errorf("%d problems", len(p))
	}
	en, zh := p.Error(), p.In("zh-CN")
	if !strings.HasSuffix(en, "; and 4900 more") || !strings.HasSuffix(zh, "；另有 4900 个") || len(en) > 5000 {
		t.Errorf("%d bytes: %.200s", len(en), en)
	}
	if p := s.Check(parse(t, "["+strings.Repeat("1,", 99)+"1]")); strings.Contains(p.Error(), "more") {
		t.Errorf("100 are listed: %s", p)
	}
	_, err := schema.Parse(parse(t, `{"properties":{"a":{"type":[`+strings.Repeat(`"x",`, 200)+`"x"]}}}`))
	if err == nil || !strings.HasSuffix(err.Error(), " more") {
		t.Errorf("%.200v", err)
	}
}
