package prompt

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/callnode/scheduler/llm/value"
)

// builtins holds everything that has a name in the language. They are built at
// their first use and never changed; a variable with an initializer could not
// hold them, for their functions look into them again.
var builtins struct {
	once               sync.Once
	filters, tests     map[string]*builtin
	strs, lists, dicts map[string]*builtin
	globals            map[string]val
}

func buildTables() {
	builtins.filters, builtins.tests = newFilterTable(), newTestTable()
	builtins.strs, builtins.lists = newStrTable(), newListTable()
	builtins.dicts = newDictTable()
	builtins.globals = newGlobalTable()
}

func filterTable() map[string]*builtin { builtins.once.Do(buildTables); return builtins.filters }
func testTable() map[string]*builtin   { builtins.once.Do(buildTables); return builtins.tests }
func strTable() map[string]*builtin    { builtins.once.Do(buildTables); return builtins.strs }
func listTable() map[string]*builtin   { builtins.once.Do(buildTables); return builtins.lists }
func dictTable() map[string]*builtin   { builtins.once.Do(buildTables); return builtins.dicts }
func globalTable() map[string]val      { builtins.once.Do(buildTables); return builtins.globals }

// unsupported is what Jinja2 and Python have and no prompt needs, by kind and name,
// with what to write instead. Using it is an error when a template is parsed.
var unsupported = map[string]map[string]string{
	"filter": {
		"attr": "write x.name or x['name']", "center": "write '%20s' | format(x)", "filesizeformat": "write '%.1f MB' | format(x / 1000000)",
		"forceescape": "write x | e", "pprint": "write x | tojson(indent=2)", "random": "choose by a value: list[n]",
		"striptags": "clean the text before the prompt", "urlize": "give the text with its links", "wordwrap": "models need no line breaks; see truncate and indent",
		"xmlattr": "write name=\"{{ x | e }}\"",
	},
	"test": {
		"callable": "", "escaped": "", "filter": "", "sameas": "write ==", "test": "",
	},
	"tag": {
		"autoescape": "escape where it is needed: {{ x | e }}", "block": "a template is not inherited: write the text in place, or use {% macro %}",
		"debug": "", "do": "write {% set x = ... %}", "print": "write {{ x }}", "trans": "",
	},
	"method": {
		"casefold": "write .lower()", "center": "write '%20s' % x", "decode": "", "encode": "texts are characters, not bytes",
		"expandtabs": "write .replace('\\t', '    ')", "format_map": "write .format(name=value)", "fromkeys": "write the dict", "isascii": "",
		"isdecimal": "write .isdigit()", "isidentifier": "", "isnumeric": "write .isdigit()", "isprintable": "", "istitle": "",
		"ljust": "write '%-20s' % x", "maketrans": "write .replace(old, new)", "mro": "", "rindex": "write .rfind(x)", "rjust": "write '%20s' % x",
		"swapcase": "", "translate": "write .replace(old, new)", "zfill": "write '%05d' % x", "changed": "compare with loop.previtem",
	},
	"function": {
		"cycler": "use loop.cycle('a', 'b')", "joiner": "use {% if not loop.first %}, {% endif %} or | join", "lipsum": "templates make nothing up",
		"varargs": "name the parameters of the macro", "kwargs": "name the parameters of the macro", "self": "a template has no blocks",
	},
}

// unknownName returns the error of a filter, test or tag that does not exist.
func unknownName(kind string, t *token, known []string) error {
	if remedy, ok := unsupported[kind][t.text]; ok {
		return notSupported(kind, t, remedy)
	}
	e := syntaxAt(t.off, "unknown %s %s", kind, quoteText(t.text))
	e.Hint = value.DidYouMean(t.text, known)
	return e
}

func notSupported(kind string, t *token, remedy string) *Error {
	e := syntaxAt(t.off, "unsupported %s %s", kind, quoteText(t.text))
	e.Hint = remedy
	if t.text == "attr" || t.text == "format_map" || t.text == "mro" { // they look into values
		e.Class = Security
	}
	return e
}

// checkMember refuses members that no value here has, before anything runs.
func checkMember(t *token, called bool) error {
	if isInternal(t.text) {
		e := syntaxAt(t.off, "access to %s is refused: templates do not reach the insides of values", quoteText(t.text))
		e.Class = Security
		return e
	}
	remedy, ok := unsupported["method"][t.text]
	if !called || !ok {
		return nil
	}
	return notSupported("method", t, remedy)
}

// Builtin is a filter or a test of the language, for people.
type Builtin struct {
	Name string
	// Params are the names of its arguments.
	Params []string
}

// String is name, or name(arguments).
func (b Builtin) String() string {
	if len(b.Params) == 0 {
		return b.Name
	}
	return b.Name + "(" + strings.Join(b.Params, ", ") + ")"
}

// Filters lists the filters, by name.
func Filters() []Builtin { return builtinList(filterTable()) }

// Tests lists the tests, by name.
func Tests() []Builtin { return builtinList(testTable()) }

func builtinList(table map[string]*builtin) (list []Builtin) {
	for _, name := range slices.Sorted(maps.Keys(table)) {
		list = append(list, Builtin{Name: name, Params: table[name].params})
	}
	return list
}
