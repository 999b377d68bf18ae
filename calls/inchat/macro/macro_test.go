package macro

import (
	"bufio"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

var now = time.Date(2026, 3, 5, 9, 7, 2, 0, time.FixedZone("CST", 8*3600))

func machine() *Machine {
	return &Machine{Now: now, Rand: rand.New(rand.NewPCG(1, 2))}
}

func parseMap(t testing.TB, text string) *value.Map {
	t.Helper()
	v, err := value.ParseJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v.Map()
}

// different lists the recorded expansions that this package does not give, on
// purpose.
var different = map[string]string{
	"macro-016": "a trailing comma is ignored, with a warning",
	"macro-043": "a keyword may contain blanks",
	"macro-085": "dice",
	"macro-107": "what a macro gives is not expanded again",
}

func TestVectors(t *testing.T) {
	f, err := os.Open("../../../test/vectors/macros.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	count := 0
	for rows := bufio.NewScanner(f); rows.Scan(); count++ {
		row, err := value.ParseJSON(rows.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		str := func(key string) string { v, _ := row.Get(key); s, _ := v.Str(); return s }
		before, _ := row.Get("variables")
		final, _ := row.Get("final")
		vars := NewVars(before.Map())
		got, err := machine().Expand(t.Context(), Parse(str("text")), vars)
		if err != nil {
			t.Fatal(err)
		}
		diff := cmp.Diff(str("out"), got.Text)
		if after := value.OfMap(vars.All()); !value.Equal(after, final) {
			diff += cmp.Diff(final.JSON(), after.JSON())
		}
		if reason := different[str("id")]; (diff != "") != (reason != "") {
			t.Errorf("%s %s: %s errors %q; listed: %q", str("id"), str("text"), diff, got.Errors, reason)
		}
	}
	if count != 88 || len(different) != 4 {
		t.Errorf("%d rows, %d exceptions", count, len(different))
	}
}

const sample = `{"chat_history_text": "你好艾拉，她是机械工程师", "user_name": "小明", "n": 3, "f": 2.5, "lst": [1, "b", null],
	"stat": {"心": {"a.b": "x"}}, "evil": "{{setvar:n::9}}{{user}}", "quote": "' or True or '", "yes": true, "none": null}`

func TestExpand(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", ""},
		{"plain } text > with { single < marks", "plain } text > with { single < marks"},
		{"{{user}}/<<user>>/{{ USER }}", "小明/小明/小明"},
		{"{{getvar:evil}}", "{{setvar:n::9}}{{user}}"},
		{"{{upper:{{getvar:evil}}}}", "{{SETVAR:N::9}}{{USER}}"},
		{"{{nope:{{user}}}}", "{{nope:小明}}"},
		{"{{ {{user}}", "{{ 小明"},
		{"}} {{user}} >>", "}} 小明 >>"},
		{"{{user<<user>>}}", "{{user小明}}"},
		{"{{upper:a<<b}}c>>", "A<<Bc>>"},
		{"<<upper:a{{b>>", "A{{B"},
		{"{{{user}}}", "{{{user}}}"},
		{"{{newline}}{{noop}}{{trim}}{{enable}}", "\nTrue"},
		{"{{// a {{user}} comment}}x", "x"},
		{"{{//}}", ""},
		{"{{random::a::a}}{{pick: b , b }}{{random:}}", "ab"},
		{"{{add:1e400,1}} {{div:-1e400,1}} {{sub:1e400,1e400}} {{max:3}} {{min: 2 , 0x3 }}", "inf -inf nan 3.0 0.0"},
		{"{{reverse:艾拉}}{{length: ab}}", "拉艾3"},
		{"{{time}} {{isotime}} {{date}} {{isodate}} {{weekday}}", "09:07:02 09:07:02 2026-03-05 2026-03-05 星期四"},
		{"{{time_utc+8}} {{time_utc-1}} {{time_UTCx}}", "17:07:02 08:07:02 09:07:02"},
		{"{{datetimeformat}}", "2026-03-05 09:07:02"},
		{"{{datetimeformat:%d.%m.%y %I%p %A %j %% %f %w %s %Q %}}", "05.03.26 09AM Thursday 064 % 000000 4 1772672822 %Q %"},
		{"{{datetimeformat:%H:%M}}", "09:07"},
		{"{{getvar:lst}} {{getvar:lst[-1]}} {{getvar:lst[9]}} {{getvar:yes}} [{{getvar:none}}]", "[1, 'b', None] [UndefinedVar:lst[-1]] [UndefinedVar:lst[9]] True []"},
		{"{{getvar:stat.心['a.b']}} {{getvar:stat.心[\"a.b\"]}}", "x x"},
		{"{{getvar:}}", "[UndefinedVar:]"},
		{"{{setvar:q[1][0]::v}}{{getvar:q}}", "[None, ['v']]"},
		{"{{setvar:p.q[1].r::v}}{{getvar:p}}", "{'q': [None, {'r': 'v'}]}"},
		{"{{setvar:stat.心::v}}{{getvar:stat}}", "{'心': 'v'}"},
		{"{{addvar:n,2}}{{addvar:n::0.5}}{{getvar:n}}", "5.5"},
		{"{{addglobalvar:user_name::!}}{{user}}", "小明!"},
		{"{{incglobalvar:k}}{{incvar:k}}{{decglobalvar:k}}{{getvar:k}}", "1.0"},
		{"{{incvar:user_name}}{{user}}", "1.0"},
		{"{{keywords}} {{keywords:艾拉}} <<keywords:露|{{getvar:missing}}>>", "false true false"},
		{"{{setvar:chat_history_text::New York}}<<keywords:New York>>", "true"},
		{"{{python:'{{getvar:quote}}' == 'x'}}", "False"},
		{"{{python:{{getvar:n}} + 1}} {{python:{{getvar:f}}*2}} {{python:{{getvar:yes}}}} {{python:{{getvar:none}} == ''}}", "4 5.0 True True"},
		{"{{python:{{user}} == '小明'}} {{python:{{getvar:quote}}}}", "True ' or True or '"},
		{"{{python:'\\{{user}}' # {{user}}\n}}", "\\小明"},
	}
	for _, tt := range tests {
		vars := NewVars(parseMap(t, sample))
		got, err := machine().Expand(t.Context(), Parse(tt.text), vars)
		if err != nil || got.Text != tt.want || len(got.Errors) > 0 {
			t.Errorf("%s\n got %q\nwant %q (errors %q)", tt.text, got.Text, tt.want, got.Errors)
		}
	}
}

func TestPython(t *testing.T) {
	tests := []struct{ code, want string }{
		{"1 + 2 * 3 - 4 / 2", "5.0"},
		{"-2 ** 2", "-4"},
		{"2 ** 3 ** 2", "512"},
		{"2 ** -1", "0.5"},
		{"(1 + 2) * 3", "9"},
		{"7 // 2, 1", ""},
		{"(7 // 2, -7 % 3)", "(3, 2)"},
		{"(1,)", "(1,)"},
		{"(1, 2) == (1, 2)", "True"},
		{"()", "()"},
		{"[1, 'a', None, True, 1.5]", "[1, 'a', None, True, 1.5]"},
		{"[]", "[]"},
		{"{'a': 1, 'b': [2]}", "{'a': 1, 'b': [2]}"},
		{"1 < 2 < 3 and not 3 < 2", "True"},
		{"'a' in 'cat' and 1 not in [2]", "True"},
		{"not not 1", "True"},
		{"1 ^ 3 ^ 2", "0"},
		{"True ^ False", "True"},
		{"5 ^ 1 > 3", "True"},
		{"None is None, 1", ""},
		{"getvar('none') is None", "True"},
		{"1 is not None and True is True", "True"},
		{"'yes' if getvar('n') > 2 else 'no'", "yes"},
		{"'a' \"b\" 'c\\n\\'\\\\\\q'", "abc\n'\\\\q"},
		{"'''it's'''", "it's"},
		{"len('艾拉') + len([1]) + len({'a': 1})", "4"},
		{"abs(-3) + abs(-1.5) + abs(True)", "5.5"},
		{"max(1, 3, 2) - min([4, 2])", "1"},
		{"max('a', 'b')", "b"},
		{"sum([1, 2.5, True]) + sum([1, 2])", "7.5"},
		{"str(None) + str(1.0) + str(True)", "None1.0True"},
		{"int('1_0') + int(2.9) + int(-2.9) + int(True)", "11"},
		{"float(' 1e3 ') + float(True)", "1001.0"},
		{"bool([]) or bool('x')", "True"},
		{"round(2.5) + round(3.5) + round(7)", "13"},
		{"round(2.675, 2)", "2.67"},
		{"(round(12345, -2), round(1250, -2), round(-25, -5), round(15.5, -1), round(-1.5, None))", "(12300, 1200, 0, 20.0, -2)"},
		{"sum([1, -2, 0.2, 0.3, 0.3])", "-0.2"},
		{"sum([True, 9007199254740992, 1])", "9007199254740994"},
		{"(legacy_num('１２'), legacy_num('1_000.5', 7), legacy_num('1__0', 7), float('٣.5'))", "(12.0, 1000.5, 7, 3.5)"},
		{"legacy_upper('straße') + legacy_lower('ΟΔΟΣ')", "STRASSEοδος"},
		{"sorted([3, 1, 2])", "[1, 2, 3]"},
		{"math.floor(2.7) + math.ceil(2.1) + math.trunc(-1.5) + math.floor(3)", "7"},
		{"math.sqrt(16) + math.fabs(-1)", "5.0"},
		{"round(math.pi, 3)", "3.142"},
		{"1 <= random.randint(1, 6) <= 6 and 0 <= random.random() < 1", "True"},
		{"random.choice(['x', 'x'])", "x"},
		{"vars['stat.心[\"a.b\"]'] + vars[\"user_name\"]", "x小明"},
		{"legacy_num('3.5') + legacy_num('x', 2) + legacy_num(None) + legacy_num(getvar('nope'), 1)", "6.5"},
		{"legacy_upper('a') + legacy_lower('B') + legacy_reverse('cd') + legacy_timediff('a', 'b')", "Abdc"},
		{"legacy_time() + legacy_time_utc('+1') + legacy_time_utc(2) + legacy_weekday_cn()", "09:07:0210:07:0211:07:02星期四"},
		{"int(legacy_roll('1d6')) < 7", "True"},
		{"legacy_inc('n') + legacy_dec('f') + getvar('n') + getvar('f')", "4.01.5"},
		{"x = 2; y = x * 3; result = x + y", "8"},
		{"x = 2", ""},
		{"if 1 > 2: result = 'a'\nelif 2 > 1: result = 'b'\nelse: result = 'c'", "b"},
		{"x = 5\nif x > 3:\n    y = 'big'\n    if x > 4:\n        y = 'bigger'\nelse:\n    y = 'small'\nresult = y", "bigger"},
		{"if 0: result = 1\n\n# done\nresult = 3", "3"},
		{"0.5 + .5 + 1_000", "1001.0"},
		{"9007199254740993 + 1", "9007199254740994"},
	}
	for _, tt := range tests {
		got, err := machine().Expand(t.Context(), Parse("<<python:"+tt.code+">>"), NewVars(parseMap(t, sample)))
		failed := tt.want == "" && tt.code != "x = 2"
		if err != nil || got.Text != tt.want || (len(got.Errors) > 0) != failed {
			t.Errorf("%s\n got %q\nwant %q (errors %q)", tt.code, got.Text, tt.want, got.Errors)
		}
	}
}

// Python code that is not allowed gives nothing, and says why.
func TestPythonRefuses(t *testing.T) {
	tests := map[string]string{
		"":                                    "no code",
		"1+":                                  "too early",
		"1/0":                                 "zero",
		"import os":                           "import",
		"open('/etc/passwd')":                 "no function open",
		"__import__('os').system()":           "no function",
		"'x'.upper()":                         "unexpected .",
		"getvar('lst')[0]":                    "unexpected [",
		"[i for i in [1]]":                    "no variable i",
		"lambda: 1":                           "no variable lambda",
		"1 | 2":                               "unexpected |",
		"f'x'":                                "no variable f",
		"x += 1":                              "no variable x",
		"n":                                   "getvar",
		"'open":                               "not closed",
		"'''open":                             "not closed",
		"'a\nb'":                              "not closed",
		"1.2.3":                               "not a number",
		"math.nope(1)":                        "no function math_nope",
		"len()":                               "1 argument",
		"len(1)":                              "no length",
		"abs('x')":                            "number",
		"max()":                               "nothing",
		"max(1, 'a')":                         "no order",
		"sorted(3)":                           "list",
		"sorted([1, 'a'])":                    "no order",
		"sum(['a'])":                          "cannot be added",
		"int('x')":                            "not an integer",
		"int([])":                             "not an integer",
		"float('x')":                          "not a number",
		"round('x')":                          "number",
		"round(1, 2, 3)":                      "digits",
		"round(1.5, -301)":                    "digits",
		"1__0.5":                              "not a number",
		"legacy_num()":                        "legacy_num",
		"random.randint(2, 1)":                "smaller",
		"random.choice([])":                   "not empty",
		"math.sqrt(-1)":                       "outside",
		"math.floor('x')":                     "number",
		"1.5 ^ 1":                             "integers",
		"'a' < 1":                             "",
		"9 ** 9 ** 9":                         "",
		"'a' * 10 ** 12":                      "",
		"1 is 2 is 3":                         "",
		"if 1: x = 2\nresult = y":             "no variable y",
		"if 0: x = 2\nresult = x":             "",
		"if 1 result = 2":                     "",
		"(1":                                  "too early",
		"{1}":                                 "",
		"'a' 1":                               "",
		"1\n2 3":                              "",
		strings.Repeat("(", 100):              "nested deeper",
		strings.Repeat("-", 100):              "nested deeper",
		strings.Repeat("if 1: x = 1\n", 2000): "bytes",
		"\x00":                                "NUL",
	}
	for code, want := range tests {
		got, err := machine().Expand(t.Context(), Parse("<<python:"+code+">>"), NewVars(parseMap(t, sample)))
		if err != nil || got.Text != "" || len(got.Errors) != 1 || !strings.Contains(got.Errors[0].En, want) {
			t.Errorf("%.60q gave %q, errors %q, want one with %q", code, got.Text, got.Errors, want)
		}
	}
}

func TestBounds(t *testing.T) {
	expand := func(text string) Result {
		t.Helper()
		got, err := machine().Expand(t.Context(), Parse(text), NewVars(parseMap(t, sample)))
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := expand(strings.Repeat("x", maxText+1)); got.Text != "" || len(got.Errors) != 1 {
		t.Errorf("a text that is too long: %d bytes, %q", len(got.Text), got.Errors)
	}
	deep := strings.Repeat("{{upper:", maxNested+5) + "a" + strings.Repeat("}}", maxNested+5)
	if p := Parse(deep); len(p.Warnings()) == 0 {
		t.Error("deep nesting is not told")
	}
	for _, unit := range []string{"{{", "}}", "<<", ">>", "{{user}}", "{{<<", "{{a}}", "{{x:{{user}}"} {
		expand(strings.Repeat(unit, maxText/len(unit)))
	}
	for _, pair := range []string{"{{>>", "<<}}", "{{}}", "{{user}}"} {
		n := maxText / len(pair)
		expand(strings.Repeat(pair[:2], n) + strings.Repeat(pair[2:], n))
	}
	double := strings.Repeat("{{addvar:x::{{getvar:x}}y}}", 100) + "{{getvar:x}}"
	if got := expand(double); len(got.Text) > maxOutput || len(got.Errors) == 0 {
		t.Errorf("doubling gives %d bytes and no error", len(got.Text))
	}
	big := "{{setvar:x::" + strings.Repeat("y", 50_000) + "}}" + strings.Repeat("{{getvar:x}}", 100)
	if got := expand(big); len(got.Text) > maxOutput || len(got.Errors) != 1 {
		t.Errorf("a large text: %d bytes, errors %q", len(got.Text), got.Errors)
	}
	if got := expand("{{setvar:a[99999]::x}}{{setvar:::x}}"); len(got.Errors) != 2 {
		t.Errorf("bad paths: %q", got.Errors)
	}
}

func TestWarnings(t *testing.T) {
	tests := map[string]string{
		"{{keyword:a}}":       `did you mean "keywords"`,
		"{{zzzzzz}}":          "unknown macro",
		"<<keywords:a,>>":     "comma",
		"{{ }}":               "",
		"{{user}}":            "",
		"{{a{{user}}b}}":      "",
		"<<keywords:a|!b>>":   "",
		"a << b, {{\n}} >> c": "",
	}
	for text, want := range tests {
		p := Parse(text)
		got := wording.Join(p.Warnings(), "; ", "；").En
		if (want == "") != (got == "") || !strings.Contains(got, want) || len(p.Errors()) > 0 {
			t.Errorf("%s: warnings %q, want %q; errors %q", text, got, want, p.Errors())
		}
	}
	for _, text := range []string{"<<keywords:!>>", "{{python:1+}}"} {
		if p := Parse(text); len(p.Errors()) != 1 {
			t.Errorf("%s: errors %q", text, p.Errors())
		}
	}
	if p := Parse("<<keywords:a,b>>{{keywords:all::c}}"); strings.Join(p.Words(), " ") != "a b c" {
		t.Errorf("words %q", p.Words())
	}
	for text, want := range map[string]bool{
		"{{roll:1d6}}": true, "{{python:random.random()}}": true, "{{python:'{{user}}'}}": true,
		"{{python:1}}": false, "<<keywords:a>>": false,
	} {
		if got := Parse(text).Volatile(); got != want {
			t.Errorf("%s: volatile %v", text, got)
		}
	}
}

func TestHits(t *testing.T) {
	m := machine()
	m.History, m.Found = "你好艾拉，她是机械工程师", map[string]bool{"艾拉": true, "露": false}
	got, err := m.Expand(t.Context(), Parse("<<keywords:露,艾拉>> <<keywords:all::艾拉,机械>>"), NewVars(parseMap(t, sample)))
	if err != nil || got.Text != "true true" || strings.Join(got.Hits, " ") != "艾拉 机械" || !m.Found["机械"] {
		t.Errorf("%+v %v", got, err)
	}
}

// Setting variables does not change the values they were made from.
func TestVarsCopy(t *testing.T) {
	base := parseMap(t, sample)
	before := value.OfMap(base).JSON()
	v := NewVars(base)
	for _, path := range []string{"lst[0]", "stat.心['a.b']", "stat.new[2].x", "n.a", "lst.a"} {
		if !v.Set(path, value.OfInt(7)) {
			t.Errorf("%s cannot be set", path)
		}
		if got, ok := v.Get(path); !ok || got.JSON() != "7" {
			t.Errorf("%s is %v", path, got)
		}
	}
	if after := value.OfMap(base).JSON(); after != before {
		t.Errorf("the base changed:\n%s\n%s", before, after)
	}
}

func TestInt(t *testing.T) {
	tests := []struct {
		json string
		want int64
		ok   bool
	}{
		{`3`, 3, true}, {`-3`, -3, true}, {`2.7`, 2, true}, {`-0.5`, 0, true}, {`true`, 1, true}, {`false`, 0, true},
		{`" 3 "`, 3, true}, {`"+1"`, 1, true}, {`"1_0"`, 10, true}, {`"２"`, 2, true}, {`"𝟗"`, 9, true},
		{`"1__0"`, 0, false}, {`"_1"`, 0, false}, {`"1_"`, 0, false}, {`""`, 0, false}, {`"-"`, 0, false}, {`"2.5"`, 0, false}, {`"abc"`, 0, false},
		{`null`, 0, false}, {`[1]`, 0, false}, {`{}`, 0, false},
		{`1e300`, 9223372036854775807, true}, {`-1e300`, -9223372036854775808, true},
		{`99999999999999999999`, 9223372036854775807, true}, {`"-99999999999999999999"`, -9223372036854775808, true},
	}
	for _, tt := range tests {
		v, err := value.ParseJSON([]byte(tt.json))
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := Int(v); got != tt.want || ok != tt.ok {
			t.Errorf("%s = %d %v, want %d %v", tt.json, got, ok, tt.want, tt.ok)
		}
	}
}

func FuzzMacro(f *testing.F) {
	for _, s := range []string{
		"{{python:legacy_num(getvar('stat.a[0]'),0) >= 30}}", "<<keywords:{{user}},b>>", "{{setvar:a.b[2]['c']::v}}{{getvar:a}}",
		"{{upper:{{lower:<<x>>}}}}", "{{{{}}}}>><<", "{{python:if 1: result = 'a'\nelse:\n  result = 'b'}}", "{{roll:9d9}}{{random:a,b}}",
		"{{python:\"{{user}}\" + {{getvar:n}}}}", "{{datetimeformat:%Y%}}", "{{addvar:a::{{getvar:a}}}}", "{{python:2**0.5^'\\\x00'}}",
	} {
		f.Add(s)
	}
	base := parseMap(f, sample)
	before := value.OfMap(base).JSON()
	f.Fuzz(func(t *testing.T, text string) {
		p := Parse(text)
		vars := NewVars(base)
		got, err := machine().Expand(t.Context(), p, vars)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Text) > maxOutput+maxText {
			t.Fatalf("%d bytes", len(got.Text))
		}
		vars.All()
		if value.OfMap(base).JSON() != before {
			t.Fatal("the base changed")
		}
		again, _ := machine().Expand(t.Context(), p, NewVars(base))
		if again.Text != got.Text {
			t.Fatalf("%q, then %q", got.Text, again.Text)
		}
	})
}
