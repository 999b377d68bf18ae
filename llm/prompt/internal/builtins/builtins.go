// Package builtins has the named parts of the language: filters, tests, methods and functions over values, and
// their registry with the descriptions from which the reference is made. It also lists names that Python or Jinja2
// has and templates lack, with a replacement, for example sorted(x) with x | sort. The parser (package syntax)
// looks names up in it, the evaluator (package eval) calls the functions found.
package builtins

import (
	"maps"
	"slices"
	"strings"
)

// FindFilter returns the filter of that name; ok is false if there is none.
func FindFilter(name string) (def *Def, ok bool) {
	def, ok = filterTable()[name]
	return def, ok
}

// FindTest returns the test of that name; ok is false if there is none.
func FindTest(name string) (def *Def, ok bool) {
	def, ok = testTable()[name]
	return def, ok
}

// FilterNames returns the names of the filters, sorted.
func FilterNames() []string { return slices.Sorted(maps.Keys(filterTable())) }

// TestNames returns the names of the tests, sorted.
func TestNames() []string { return slices.Sorted(maps.Keys(testTable())) }

// Builtin is a filter or a test of the language, for people.
type Builtin struct {
	Name string
	// Params are the names of its arguments.
	Params []string
	// Doc is a sentence on what it returns, Example a template that uses it, and Result the text that it renders to.
	Doc, Example, Result string
}

// String is name, or name(arguments).
func (b Builtin) String() string {
	if len(b.Params) == 0 {
		return b.Name
	}
	return b.Name + "(" + strings.Join(b.Params, ", ") + ")"
}

// Filters lists the filters, by name.
func Filters() []Builtin { return builtinList(filterTable(), filterDocs()) }

// Tests lists the tests, by name.
func Tests() []Builtin { return builtinList(testTable(), testDocs()) }

func builtinList(table map[string]*Def, docs map[string]builtinDoc) (list []Builtin) {
	for _, name := range slices.Sorted(maps.Keys(table)) {
		doc := docs[name]
		list = append(list, Builtin{Name: name, Params: table[name].params, Doc: doc.doc, Example: doc.example, Result: doc.result})
	}
	return list
}

// builtinDoc describes a filter or a test to people: its result, and a template with the text that it renders to.
type builtinDoc struct{ doc, example, result string }

// filterDocs returns the descriptions of the filters, by name.
func filterDocs() map[string]builtinDoc {
	return map[string]builtinDoc{
		"abs":             {`The number without its sign.`, `{{ -3 | abs }}`, `3`},
		"add":             {`The sum of two numbers, or two texts joined (pongo2).`, `{{ 2 | add:3 }}`, `5`},
		"addslashes":      {`The text with a backslash before each quote and backslash (pongo2).`, `{{ "it's" | addslashes }}`, `it\'s`},
		"batch":           {"Lists of `linecount` items each; `fill_with` fills the last one up.", `{{ ['a', 'b', 'c'] | batch(2) | list }}`, `[['a', 'b'], ['c']]`},
		"capfirst":        {`The text with its first letter in upper case (pongo2).`, `{{ 'new York' | capfirst }}`, `New York`},
		"capitalize":      {`The first letter in upper case, all others in lower case.`, `{{ 'hELLO you' | capitalize }}`, `Hello you`},
		"center":          {"The text in the middle of `width` (80) columns.", `{{ 'tea' | center(7) ~ '|' }}`, `  tea  |`},
		"count":           {"How many items, members or characters there are; the same as `length`.", `{{ [1, 2, 3] | count }}`, `3`},
		"cut":             {"The text without any `arg` (pongo2).", `{{ 'a-b-c' | cut:'-' }}`, `abc`},
		"d":               {"The same as `default`.", `{{ nickname | d('friend') }}`, `friend`},
		"date":            {`The time, a text such as 2026-11-28T10:00:00Z, in a layout of Go: 2006-01-02 15:04:05 written as you want it (pongo2).`, `{{ '2026-11-28T10:00:00Z' | date:'02.01.2006 15:04' }}`, `28.11.2026 10:00`},
		"default":         {"`default_value` where the value is undefined; with `boolean` true, also where it counts as false.", `{{ nickname | default('friend') }}`, `friend`},
		"default_if_none": {"`arg` where the value is null (pongo2).", `{{ none | default_if_none:'-' }}`, `-`},
		"dictsort":        {"The pairs of a map, sorted by `key` or `value`.", `{{ {'b': 1, 'a': 2} | dictsort }}`, `[('a', 2), ('b', 1)]`},
		"divisibleby":     {"True where `arg` divides the whole number (pongo2).", `{{ 9 | divisibleby:3 }}`, `True`},
		"e":               {"The same as `escape`.", `{{ '<b>' | e }}`, `&lt;b&gt;`},
		"escape":          {`The text with &, <, >, ' and " as HTML writes them.`, `{{ '<b>' | escape }}`, `&lt;b&gt;`},
		"filesizeformat":  {"The number of bytes for people: kB and MB, or KiB and MiB with `binary`.", `{{ 1536000 | filesizeformat }}`, `1.5 MB`},
		"first":           {`The first item.`, `{{ ['a', 'b'] | first }}`, `a`},
		"float":           {"The value as a number with a fraction; `default` where it is not one.", `{{ '3.5' | float + 1 }}`, `4.5`},
		"floatformat":     {"The number with `arg` decimals, by default one and none for a whole number (pongo2).", `{{ 3.14159 | floatformat:2 }}`, `3.14`},
		"forceescape":     {"The same as `escape`, also of what is escaped already.", `{{ '<b>' | e | forceescape }}`, `&amp;lt;b&amp;gt;`},
		"format":          {`The text with each %s, %d and the like replaced by an argument.`, `{{ '%s is %d' | format('Ann', 30) }}`, `Ann is 30`},
		"fromjson":        {"The value that a text writes as JSON; what is no text as it is.", `{{ ('{"a": [1, 2]}' | fromjson).a[1] }}`, `2`},
		"groupby":         {"Pairs of a value of `attribute` and the items that have it, sorted by it.", `{% for town, who in [{'n': 'Ann', 't': 'Lyon'}, {'n': 'Bo', 't': 'Lyon'}] | groupby('t') %}{{ town }}: {{ who | map(attribute='n') | join(', ') }}{% endfor %}`, `Lyon: Ann, Bo`},
		"indent":          {"The text with its lines indented by `width` (4) spaces; the first line and blank lines only where `first` and `blank` say so.", `{{ 'a\nb' | indent(2) }}`, "a\n  b"},
		"int":             {"The value as a whole number; `default` where it is not one.", `{{ '42' | int + 1 }}`, `43`},
		"items":           {`The pairs of a map, in its order.`, `{% for k, v in {'a': 1, 'b': 2} | items %}{{ k }}={{ v }} {% endfor %}`, `a=1 b=2 `},
		"join":            {"The items as one text with `d` between them; of maps, their member `attribute`.", `{{ ['a', 'b'] | join(', ') }}`, `a, b`},
		"last":            {`The last item.`, `{{ ['a', 'b'] | last }}`, `b`},
		"length":          {`How many items, members or characters there are.`, `{{ 'tea' | length }}`, `3`},
		"length_is":       {"True where there are `arg` items, members or characters (pongo2).", `{{ [1, 2] | length_is:2 }}`, `True`},
		"linebreaks":      {`The text as paragraphs of HTML (pongo2).`, `{{ 'a\nb' | linebreaks }}`, `<p>a<br />b</p>`},
		"linebreaksbr":    {"The text with `<br />` for each line break (pongo2).", `{{ 'a\nb' | linebreaksbr }}`, `a<br />b`},
		"linenumbers":     {`The text with the number of each line before it (pongo2).`, `{{ 'a\nb' | linenumbers }}`, "1. a\n2. b"},
		"list":            {`The items as a list; of a text, its characters.`, `{{ 'tea' | list }}`, `['t', 'e', 'a']`},
		"ljust":           {"The text with spaces after it, up to `arg` columns (pongo2).", `{{ 'tea' | ljust:5 ~ '|' }}`, `tea  |`},
		"lower":           {`The text in lower case.`, `{{ 'Tea' | lower }}`, `tea`},
		"map":             {"A member of each item (`attribute`, with a `default`), or what a filter makes of each.", `{{ ['a', 'b'] | map('upper') | join }}`, `AB`},
		"max":             {`The largest item.`, `{{ [3, 7, 5] | max }}`, `7`},
		"min":             {`The smallest item.`, `{{ [3, 7, 5] | min }}`, `3`},
		"pluralize":       {"The ending of a noun for the number: s, or those in `arg` (pongo2).", `{{ 2 }} vote{{ 2 | pluralize }}, {{ 2 }} cherr{{ 2 | pluralize:'y,ies' }}`, `2 votes, 2 cherries`},
		"pprint":          {`The value as Python's pprint writes it: sorted keys, one item per line where a line is too short.`, `{{ {'b': 1, 'a': 2} | pprint }}`, `{'a': 2, 'b': 1}`},
		"random":          {`An item, chosen by the seed of the run.`, `{{ ['tea'] | random }}`, `tea`},
		"reject":          {`The items of which a test is false.`, `{{ [1, 2, 3] | reject('odd') | list }}`, `[2]`},
		"rejectattr":      {`The items of whose member a test is false.`, `{{ [{'n': 'a', 'old': true}, {'n': 'b', 'old': false}] | rejectattr('old') | map(attribute='n') | list }}`, `['b']`},
		"replace":         {"The text with `new` for each `old`, at most `count` times.", `{{ 'a-b-c' | replace('-', '+') }}`, `a+b+c`},
		"reverse":         {`The items, or the characters of a text, from the last to the first.`, `{{ [1, 2, 3] | reverse | list }}`, `[3, 2, 1]`},
		"rjust":           {"The text with spaces before it, up to `arg` columns (pongo2).", `{{ 'tea' | rjust:5 }}`, `  tea`},
		"round":           {"The number rounded to `precision` digits; `method` is common, ceil or floor.", `{{ 2.345 | round(1) }}`, `2.3`},
		"safe":            {"The text, which `escape` then leaves as it is.", `{{ '<b>' | safe | e }}`, `<b>`},
		"select":          {`The items of which a test is true.`, `{{ [1, 2, 3] | select('odd') | list }}`, `[1, 3]`},
		"selectattr":      {`The items of whose member a test is true.`, `{{ [{'n': 'a', 'age': 30}, {'n': 'b', 'age': 9}] | selectattr('age', '>', 18) | map(attribute='n') | list }}`, `['a']`},
		"slice":           {"The items in `slices` lists of about the same length.", `{{ [1, 2, 3] | slice(2) | list }}`, `[[1, 2], [3]]`},
		"slugify":         {`The text as a part of an address: letters, digits and hyphens (pongo2).`, `{{ 'Hello, World!' | slugify }}`, `hello-world`},
		"sort":            {"The items sorted, by their member `attribute` where it is given.", `{{ [3, 1, 2] | sort(reverse=true) }}`, `[3, 2, 1]`},
		"split":           {"The parts of the text between each `arg` (pongo2).", `{{ 'a,b' | split:',' }}`, `['a', 'b']`},
		"string":          {`The value as a text.`, `{{ 42 | string | length }}`, `2`},
		"stringformat":    {`The value in a format of Go (pongo2).`, `{{ 42 | stringformat:'%05d' }}`, `00042`},
		"striptags":       {`The text without tags of HTML, with one space for white space.`, `{{ '<p>Hot  <b>tea</b></p>' | striptags }}`, `Hot tea`},
		"sum":             {"The sum of the numbers, or of the items' member `attribute`, beginning at `start`.", `{{ [1, 2, 3] | sum }}`, `6`},
		"time":            {"The same as `date`.", `{{ '2026-11-28T10:00:00Z' | time:'15:04' }}`, `10:00`},
		"title":           {`The text with each word's first letter in upper case.`, `{{ 'the keeper' | title }}`, `The Keeper`},
		"tojson":          {`The value as JSON.`, `{{ {'a': [1, 2]} | tojson }}`, `{"a": [1, 2]}`},
		"trim":            {"The text without white space, or the characters of `chars`, at its ends.", `{{ '  tea ' | trim }}`, `tea`},
		"truncate":        {"The beginning of a text with more than `length` characters, followed by `end`; `leeway` (5) more are allowed.", `{{ 'The lighthouse keeper' | truncate(12, leeway=0) }}`, `The...`},
		"truncatechars":   {"The text cut to `arg` characters, the last three of them points (pongo2).", `{{ 'The lighthouse keeper' | truncatechars:11 }}`, `The ligh...`},
		"truncatewords":   {"The first `arg` words of the text (pongo2).", `{{ 'The lighthouse keeper' | truncatewords:2 }}`, `The lighthouse ...`},
		"unique":          {`The items without repetitions.`, `{{ ['a', 'b', 'a'] | unique | list }}`, `['a', 'b']`},
		"upper":           {`The text in upper case.`, `{{ 'tea' | upper }}`, `TEA`},
		"urlencode":       {`The text, or the pairs of a map, as a URL writes them.`, `{{ 'a b&c' | urlencode }}`, `a%20b%26c`},
		"urlize":          {`The text as HTML with its addresses as links.`, `{{ 'see https://example.org' | urlize }}`, `see <a href="https://example.org" rel="noopener">https://example.org</a>`},
		"urlizetrunc":     {"The text with its addresses as links that show `arg` characters (pongo2).", `{{ 'see www.example.org' | urlizetrunc:10 }}`, `see <a href="http://www.example.org" rel="nofollow">www.exa...</a>`},
		"wordcount":       {`How many words there are.`, `{{ 'a cup of tea' | wordcount }}`, `4`},
		"wordwrap":        {"The text in lines of `width` (79) characters.", `{{ 'The lighthouse keeper' | wordwrap(14) }}`, "The lighthouse\nkeeper"},
		"xmlattr":         {"The members of a map as attributes of HTML, with a space before them unless `autospace` is false.", `<a{{ {'href': '/x'} | xmlattr }}>`, `<a href="/x">`},
		"yesno":           {"yes, no or maybe for true, false and null, or the words in `arg` (pongo2).", `{{ true | yesno:'on,off' }}`, `on`},
	}
}

// testDocs returns the descriptions of the tests, by name.
func testDocs() map[string]builtinDoc {
	return map[string]builtinDoc{
		"!=":          {`True where the two are not equal.`, `{{ [1, 5] | select('!=', 1) | list }}`, `[5]`},
		"<":           {`True where the value is less than the other.`, `{{ [1, 5] | select('<', 3) | list }}`, `[1]`},
		"<=":          {`True where the value is less than the other, or equal.`, `{{ [1, 5] | select('<=', 1) | list }}`, `[1]`},
		"==":          {`True where the two are equal.`, `{{ [1, 5] | select('==', 5) | list }}`, `[5]`},
		">":           {`True where the value is greater than the other.`, `{{ [1, 5] | select('>', 3) | list }}`, `[5]`},
		">=":          {`True where the value is greater than the other, or equal.`, `{{ [1, 5] | select('>=', 5) | list }}`, `[5]`},
		"boolean":     {`True of true and false.`, `{{ false is boolean }}`, `True`},
		"callable":    {`True of what can be called.`, `{{ range is callable }}`, `True`},
		"defined":     {`True of a name that has a value.`, `{{ nickname is defined }}`, `False`},
		"divisibleby": {"True where `num` divides the number.", `{{ 9 is divisibleby 3 }}`, `True`},
		"eq":          {"The same as `==`.", `{{ 1 is eq 1 }}`, `True`},
		"equalto":     {"The same as `==`.", `{{ 1 is equalto 2 }}`, `False`},
		"escaped":     {"True of the text that `escape` or `safe` made.", `{{ 'a' | e is escaped }}`, `True`},
		"even":        {`True of 0, 2, 4 and so on.`, `{{ 4 is even }}`, `True`},
		"false":       {`True of false alone.`, `{{ 0 is false }}`, `False`},
		"filter":      {`True of the name of a filter.`, `{{ 'upper' is filter }}`, `True`},
		"float":       {`True of a number with a fraction.`, `{{ 1.5 is float }}`, `True`},
		"ge":          {"The same as `>=`.", `{{ 2 is ge 2 }}`, `True`},
		"greaterthan": {"The same as `>`.", `{{ 2 is greaterthan 1 }}`, `True`},
		"gt":          {"The same as `>`.", `{{ 2 is gt 2 }}`, `False`},
		"in":          {"True where `seq` has the value.", `{{ 'a' is in ['a', 'b'] }}`, `True`},
		"integer":     {`True of a whole number.`, `{{ 1 is integer }}`, `True`},
		"iterable":    {`True of what {% for %} goes through.`, `{{ 'tea' is iterable }}`, `True`},
		"le":          {"The same as `<=`.", `{{ 2 is le 1 }}`, `False`},
		"lessthan":    {"The same as `<`.", `{{ 1 is lessthan 2 }}`, `True`},
		"lower":       {`True of a text in lower case.`, `{{ 'tea' is lower }}`, `True`},
		"lt":          {"The same as `<`.", `{{ 1 is lt 1 }}`, `False`},
		"mapping":     {`True of a map.`, `{{ {'a': 1} is mapping }}`, `True`},
		"ne":          {"The same as `!=`.", `{{ 1 is ne 1 }}`, `False`},
		"none":        {`True of null.`, `{{ none is none }}`, `True`},
		"number":      {`True of a number.`, `{{ '1' is number }}`, `False`},
		"odd":         {`True of 1, 3, 5 and so on.`, `{{ 4 is odd }}`, `False`},
		"sameas":      {`True where the two are the same constant or the same list or map.`, `{{ 1 is sameas true }}`, `False`},
		"sequence":    {`True of a list, a map or a text.`, `{{ [1] is sequence }}`, `True`},
		"string":      {`True of a text.`, `{{ 'tea' is string }}`, `True`},
		"test":        {`True of the name of a test.`, `{{ 'odd' is test }}`, `True`},
		"true":        {`True of true alone.`, `{{ 1 is true }}`, `False`},
		"undefined":   {`True of a name that has no value.`, `{{ nickname is undefined }}`, `True`},
		"upper":       {`True of a text in upper case.`, `{{ 'TEA' is upper }}`, `True`},
	}
}
