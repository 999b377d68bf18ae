package builtins

import (
	"slices"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
	"github.com/callnode/scheduler/llm/value/wording"
)

// unsupported is what Jinja2 and Python have and no prompt needs, by kind and name,
// with what to write instead. Using it is an error when a template is parsed.
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
		"lipsum":  "templates make nothing up",
		"varargs": "name the parameters of the macro", "kwargs": "name the parameters of the macro", "self": "a template has no blocks",
	},
}

// unsupportedMembers are the members that Python's objects have and those of templates do not,
// by the type of the object.
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

// Remedy returns what to write instead of a name that Jinja2 or Python has and templates do not,
// "" where there is nothing; ok is false for any other name. kind is filter, test, tag, method or
// function.
func Remedy(kind, name string) (text string, ok bool) {
	text, ok = unsupported[kind][name]
	return text, ok
}

// KindText returns what a name in a template names.
func KindText(kind string) wording.Text {
	chinese := map[string]string{"filter": "过滤器", "test": "测试", "tag": "标签", "method": "方法"}
	return wording.Text{En: kind, Zh: chinese[kind]}
}
