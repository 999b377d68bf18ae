package builtins

import (
	"slices"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
	"github.com/callnode/scheduler/llm/value/wording"
)

// unsupported lists names that Jinja2 and Python have and no prompt needs, by kind and name, with their
// replacements. Using it is an error when a template is parsed.
var unsupported = map[string]map[string]string{
	"filter": {
		"attr": "templates reach no member by a name that is computed; write x.name or x['name']",
	},
	"tag": {
		"autoescape": "escape where it is needed: {{ x | e }}", "block": "a template is not inherited: write the text in place, or use {% macro %}",
		"cycle": "write {{ loop.cycle('a', 'b') }}", "ifchanged": "compare with loop.previtem", "ifequal": "write {% if a == b %}",
		"ifnotequal": "write {% if a != b %}", "lorem": "templates make nothing up", "now": "write {{ run.started_at }}", "spaceless": "trim with {%- -%}",
		"widthratio": "write {{ (a / b * 100) | round | int }}",
		"debug":      "", "do": "write {% set x = ... %}", "print": "write {{ x }}", "trans": "",
	},
	"method": {
		"casefold": "write .lower()", "center": "write '%20s' % x", "decode": "", "encode": "texts are characters, not bytes",
		"expandtabs": "write .replace('\\t', '    ')", "format_map": "write .format(name=value)", "fromkeys": "write the dict", "isascii": "",
		"isdecimal": "write .isdigit()", "isidentifier": "", "isnumeric": "write .isdigit()", "isprintable": "", "istitle": "",
		"ljust": "write '%-20s' % x", "maketrans": "write .replace(old, new)", "mro": "", "rindex": "write .rfind(x)", "rjust": "write '%20s' % x",
		"swapcase": "", "translate": "write .replace(old, new)", "zfill": "write '%05d' % x", "changed": "compare with loop.previtem",
	},
	"function": {
		"lipsum":  "lipsum writes filler text, and templates make nothing up: write the text, or read it with !file PATH",
		"varargs": "name the parameters of the macro", "kwargs": "name the parameters of the macro", "self": "a template has no blocks",
	},
	// Names for which a value may be given: unlike names of functions they are only undefined without one.
	"name": {
		"_":                    "templates translate nothing: write the text",
		"all":                  "write x | reject | list | length == 0",
		"any":                  "write x | select | list | length > 0",
		"caller":               "caller is known in a macro that {% call %} uses",
		"choice":               "write {{ [1, 2, 3] | random }}",
		"datetime":             "a run has one time: write {{ run.started_at }}",
		"enumerate":            "write {% for x in list %}{{ loop.index0 }}",
		"env":                  "templates read no environment: write {{ secrets.NAME }} for a secret that the settings allow, or give an input",
		"environ":              "templates read no environment: write {{ secrets.NAME }} for a secret that the settings allow, or give an input",
		"filter":               "write x | select('test')",
		"forloop":              "loop is known inside of {% for %}",
		"get_flashed_messages": "a template sees no web request: what came with it is under inputs",
		"getattr":              "write x.name or x['name']",
		"gettext":              "templates translate nothing: write the text",
		"hasattr":              "write x.name is defined",
		"isinstance":           "write x is string, x is number or x is mapping",
		"json":                 "write x | tojson",
		"len":                  "write x | length",
		"lookup":               "templates read no files: write !file PATH",
		"loop":                 "loop is known inside of {% for %}",
		"ngettext":             "templates translate nothing: write the text",
		"now":                  "a run has one time: write {{ run.started_at }}",
		"open":                 "templates read no files: write !file PATH",
		"os":                   "templates read no environment: write {{ secrets.NAME }} for a secret that the settings allow, or give an input",
		"print":                "write {{ x }}",
		"raise_exception":      "a template does not end a run: check the value in the schema of the inputs",
		"randint":              "write {{ [1, 2, 3] | random }}",
		"random":               "write {{ [1, 2, 3] | random }}",
		"repr":                 "write x | tojson",
		"request":              "a template sees no web request: what came with it is under inputs",
		"reversed":             "write x | reverse",
		"session":              "a template sees no web request: what came with it is under inputs",
		"set":                  "write x | unique | list",
		"sorted":               "write x | sort",
		"static":               "templates know no routes of a web server: write the address",
		"str":                  "write x | string",
		"strftime_now":         "a run has one time: write {{ run.started_at }}",
		"super":                "a template has no blocks",
		"time":                 "a run has one time: write {{ run.started_at }}",
		"today":                "a run has one time: write {{ run.started_at }}",
		"tuple":                "write x | list",
		"type":                 "write x is string, x is number or x is mapping",
		"url":                  "templates know no routes of a web server: write the address",
		"url_for":              "templates know no routes of a web server: write the address",
		"uuid":                 "write {{ run.id }}, or give an input",
		"uuid4":                "write {{ run.id }}, or give an input",
		"zip":                  "write {% for x in a %}{{ x }} {{ b[loop.index0] }}",
	},
}

// unsupportedMembers are the members that Python's objects have and templates' objects lack, by the type of the
// object.
var unsupportedMembers = map[string][]string{
	"str": {
		"casefold", "center", "encode", "expandtabs", "format_map", "isascii", "isdecimal", "isidentifier", "isnumeric",
		"isprintable", "istitle", "ljust", "maketrans", "rindex", "rjust", "swapcase", "translate", "zfill",
	},
	"int":         {"as_integer_ratio", "bit_count", "bit_length", "conjugate", "denominator", "from_bytes", "imag", "numerator", "real", "to_bytes"},
	"bool":        {"as_integer_ratio", "bit_count", "bit_length", "conjugate", "denominator", "from_bytes", "imag", "numerator", "real", "to_bytes"},
	"float":       {"as_integer_ratio", "conjugate", "fromhex", "hex", "imag", "is_integer", "real"},
	"dict":        {"copy", "fromkeys"},
	"list":        {"copy"},
	"tuple":       {"count", "index"},
	"range":       {"count", "index", "start", "step", "stop"},
	"Macro":       {"arguments", "caller", "catch_kwargs", "catch_varargs", "explicit_caller"},
	"LoopContext": {"changed"},
}

// CheckSupported returns the error of a member that o has in Python and does not have here, or
// nil: it is not merely undefined, which a template may ask for. A name after a dict or a list is
// a key, and undefined without it.
func CheckSupported(o pyvalue.Val, name string, offset int) error {
	isData := o.IsDict() || o.IsList()
	if isData || !slices.Contains(unsupportedMembers[o.PyType()], name) {
		return nil
	}
	return fault.WithPosition(unsupportedMember(o, name), offset)
}

func unsupportedMember(o pyvalue.Val, name string) *fault.Error {
	e := fault.Errorf(fault.Undefined, "the member %s of a %s is not supported", pyvalue.QuoteText(name), pyvalue.QuoteText(o.PyType()))
	e.Hint, _ = Remedy("method", name)
	return e
}

// Remedy returns the replacement for a name that Jinja2 or Python has and templates lack, "" if there is none; ok
// is false for any other name. kind is filter, test, tag, method or function.
func Remedy(kind, name string) (text string, ok bool) {
	text, ok = unsupported[kind][name]
	return text, ok
}

// NameRemedy returns the words to write instead of a name that nothing gives a value, for example x | length for len; "" if it is not known
// from elsewhere.
func NameRemedy(name string) wording.Text {
	for _, kind := range []string{"function", "name"} {
		if text := unsupported[kind][name]; text != "" {
			return wording.Of(text)
		}
	}
	if _, isFilter := filterTable()[name]; isFilter {
		return wording.Say("%s is a filter: write {{ x | %s }}", name, name)
	}
	return wording.Text{}
}

// KindText returns the word for the kind of a name in a template.
func KindText(kind string) wording.Text {
	chinese := map[string]string{"filter": "过滤器", "test": "测试", "tag": "标签", "method": "方法"}
	return wording.Text{En: kind, Zh: chinese[kind]}
}
