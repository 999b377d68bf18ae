package ask

import (
	"context"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// Wording writes the questions and messages of a run for people, with the texts of this package: question.txt,
// hint.txt, bound.txt, either.txt, stuck.txt, unfit.txt, field.txt, item.txt, cancelled.txt, unanswered.txt and
// failed.txt. It is made on use; it is only data.
type Wording struct {
	// Languages has the texts of users: see [calls.Env.Languages].
	Languages fs.FS
	Language  string
}

// Field is a value that people are asked for.
type Field struct {
	// Name is the key of the value in its object, order_number, for one without a title; "" is none.
	Name string
	// Schema is the schema of the value, references resolved.
	Schema value.Value
	// Either are alternative fields, of which one is enough. They are asked for together: "What is the email or
	// phone?".
	Either []Field
}

// Question returns the question for a field: "What is the order number (such as A-1042)?". unread is set if the
// user has just answered with a message that does not contain it: "I could not find an order number ... in that."
func (w Wording) Question(f Field, unread bool) string { return w.question(f, unread, "") }

// QuestionAfter returns the question for a field after a message that did not answer it. It begins with the reason, if
// there is a value that did not fit: "It can be at most 8. How many guests (from 1 to 8)?". misfit is the value that was found in
// the message; null looks for one.
func (w Wording) QuestionAfter(f Field, message string, misfit value.Value) string {
	if misfit.IsNull() {
		misfit = f.valueIn(message)
	}
	reason := ""
	if fault, _ := f.faultOf(misfit); fault != "missing" && fault != "other" {
		reason = w.Unfit(f, misfit)
	}
	return w.question(f, true, reason)
}

// WaysOut returns a hint for a user whose messages have not answered a question twice in a row: the form in which
// any words fill a field of free text, and the word that cancels the run; "" for none.
func (w Wording) WaysOut(f Field, isFreeText bool, cancel string) string {
	named := ""
	if isFreeText && len(f.Either) == 0 {
		named, _ = f.naming()
	}
	return w.render("stuck", value.Pairs("named", named, "cancel", cancel))
}

func (w Wording) question(f Field, unread bool, reason string) string {
	values := w.valuesOf(f)
	values.Set("unread", value.OfBool(unread))
	w.putHint(f, values)
	values.Set("reason", value.OfString(reason))
	return w.render("question", values)
}

// Unfit returns why a value is not one for the field, in words: "It must be at least 1.".
func (w Wording) Unfit(f Field, v value.Value) string {
	values := w.valuesOf(f)
	fault, limit := f.faultOf(v)
	values.Set("fault", value.OfString(fault))
	values.Set("limit", value.OfString(limit))
	w.putHint(f, values)
	return w.render("unfit", values)
}

// UnfitField returns why a field of a form has no value that fits, with its label: "Guests: It can be at most 8.". Of a text it is the value
// that the text plainly has that is judged.
func (w Wording) UnfitField(f Field, v value.Value) string {
	if text, isText := v.Str(); isText {
		if found := f.valueIn(text); !found.IsNull() {
			v = found
		}
	}
	return w.render("field", value.Pairs("label", w.Label(f), "reason", w.Unfit(f, v)))
}

// ForItem returns a text about one of several items: "For A-1042: What is the size?". item is its name; "" for one without.
func (w Wording) ForItem(item string, number, count int, text string) string {
	return w.render("item", value.Pairs("item", item, "number", number, "count", count, "text", text))
}

// Hint describes the form of a value of the field: "such as A-1042".
func (w Wording) Hint(f Field) string {
	values := w.valuesOf(f)
	w.putHint(f, values)
	hint, _ := values.Get("hint")
	return hint.PlainText()
}

// putHint adds the hint for a field to the values, and its parts: the bounds of a value, and the forms that it may have.
func (w Wording) putHint(f Field, values *value.Map) {
	var forms []string
	for _, branch := range f.branches() {
		hints := labelsOf(schema.Choices(branch.Schema))
		if len(hints) == 0 {
			hints = []string{w.Hint(branch)}
		}
		for _, hint := range hints {
			if hint != "" && !slices.Contains(forms, hint) {
				forms = append(forms, hint)
			}
		}
	}
	form := ""
	if len(forms) > 0 {
		form = w.render("either", value.Pairs("names", forms))
	}
	values.Set("form", value.OfString(form))
	values.Set("bound", value.OfString(w.render("bound", values)))
	values.Set("hint", value.OfString(w.render("hint", values)))
}

// Label returns the name of the field for people.
func (w Wording) Label(f Field) string {
	if len(f.Either) > 0 {
		label, _ := w.valuesOf(f).Get("label")
		return label.PlainText()
	}
	if title := singleLine(f.text("title")); title != "" {
		return title
	}
	name, _ := f.naming()
	return capitalize(name)
}

// valuesOf returns the values for the texts. The name of alternative fields has them all.
func (w Wording) valuesOf(f Field) *value.Map {
	names := []string{}
	for _, one := range f.Either {
		name, _ := one.naming()
		names = append(names, name)
	}
	if len(names) == 0 {
		values := f.values()
		values.Set("names", value.OfList())
		return values
	}
	name := w.render("either", value.Pairs("names", names))
	values := Field{Name: name}.values()
	for key, text := range map[string]string{"name": name, "label": capitalize(name), "article": articleOf(names[0])} {
		values.Set(key, value.OfString(text))
	}
	values.Set("names", value.Must(names))
	values.Set("plural", value.OfBool(false))
	return values
}

// Cancelled returns the message for a user who has cancelled the run.
func (w Wording) Cancelled() string { return w.render("cancelled", value.NewMap(0)) }

// Unanswered returns the words in place of an answer that a model did not write, for example as an agent has used all its rounds.
func (w Wording) Unanswered() string { return w.render("unanswered", value.NewMap(0)) }

// Failed returns the message for the user whose run has failed, with the id of the run for people who can look it
// up. The error itself may contain addresses and files, and is not shown to the user.
func (w Wording) Failed(kind calls.Kind, run string) string {
	return w.render("failed", value.Pairs("kind", string(kind), "run", run))
}

// render renders a text; the built-in one if the user's is broken, which lint reports.
func (w Wording) render(name string, values *value.Map) string {
	env := calls.NewEnv()
	env.Vars = &calls.Vars{Language: w.Language}
	env.Languages = w.Languages
	text, err := Prompt(context.Background(), env, "ask", texts, name, values)
	if err != nil {
		env.Languages = nil
		text, err = Prompt(context.Background(), env, "ask", texts, name, values)
	}
	if err != nil {
		return ""
	}
	return strings.TrimSpace(text)
}

// maxWords bounds the number of words in a description that can be the name of a field.
const maxWords = 6

// maxExample bounds an example in a question, in characters.
const maxExample = 60

// values returns the values for the texts.
func (f Field) values() *value.Map {
	name, description := f.naming()
	plural := isPlural(name)
	kind := f.kind()
	counted := plural && kind == "number" && !isDetermined(name)
	if counted { // "How many cups?" of a number of cups
		name = strings.TrimPrefix(name, "number of ")
	}
	choices := labelsOf(schema.Choices(f.Schema))
	values := value.Pairs("name", name, "label", capitalize(name), "article", articleOf(name), "plural", plural, "counted", counted,
		"question", "", "description", description, "example", f.example(), "unit", f.unit(), "kind", kind, "choices", choices)
	switch {
	case isQuestion(description):
		values.Set("question", value.OfString(description))
		values.Set("description", value.OfString(""))
	case isQuestion(name): // for example the message of an approval
		values.Set("question", value.OfString(capitalize(name)))
	}
	f.putBounds(values)
	return values
}

// putBounds adds the bounds of a value: those that the schema has. Of a whole number, more than 0 is 1 or more.
func (f Field) putBounds(values *value.Map) {
	for key, word := range map[string]string{
		"least": "minimum", "most": "maximum", "above": "exclusiveMinimum", "below": "exclusiveMaximum", "step": "multipleOf",
		"few": "minItems", "many": "maxItems",
	} {
		if v, ok := f.Schema.Get(word); ok && (v.Kind() == value.Int || v.Kind() == value.Float) {
			values.Set(key, value.OfString(v.PlainText()))
		}
	}
	for key, word := range map[string]string{"few": "minProperties", "many": "maxProperties"} {
		if v, ok := f.Schema.Get(word); ok {
			values.Set(key, value.OfString(v.PlainText()))
		}
	}
	for _, bound := range []struct {
		open, closed string
		next         int64
	}{{"above", "least", 1}, {"below", "most", -1}} {
		v, _ := values.Get(bound.open)
		text, _ := v.Str()
		n, err := strconv.ParseInt(text, 10, 64)
		if _, isClosed := values.Get(bound.closed); err == nil && !isClosed && schema.TypeName(f.Schema) == "integer" {
			values.Set(bound.closed, value.OfString(strconv.FormatInt(n+bound.next, 10)))
			values.Delete(bound.open)
		}
	}
	items, _ := f.Schema.Get("items")
	values.Set("options", value.Must(labelsOf(schema.Choices(items))))
	not, _ := f.Schema.Get("not")
	values.Set("excluded", value.Must(labelsOf(schema.Choices(withConstAsEnum(not)))))
}

// withConstAsEnum returns a schema with its const as an enum of one.
func withConstAsEnum(of value.Value) value.Value {
	if only, ok := of.Get("const"); ok {
		return value.OfMap(value.Pairs("enum", []value.Value{only}))
	}
	return of
}

// labelsOf returns the labels of choices, without null, which means no value.
func labelsOf(choices []schema.Choice) []string {
	labels := []string{}
	for _, c := range choices {
		if !c.Value.IsNull() {
			labels = append(labels, c.Label)
		}
	}
	return labels
}

// branches returns the fields of a union of plain values: a number or an e-mail address.
func (f Field) branches() (fields []Field) {
	if schema.Choices(f.Schema) != nil {
		return nil
	}
	for _, keyword := range []string{"oneOf", "anyOf"} {
		list, _ := f.Schema.Get(keyword)
		for _, branch := range list.List() {
			kind := schema.TypeName(branch)
			isPlain := kind != "" && kind != "object" && kind != "array"
			if !isPlain && schema.Choices(branch) == nil {
				return nil
			}
			fields = append(fields, Field{Name: f.Name, Schema: branch})
		}
	}
	return fields
}

// naming returns the name of the field in the middle of a sentence, and the rest of its description. A short
// description, "The order number", is its name if it has no title.
func (f Field) naming() (name, description string) {
	description = singleLine(f.text("description"))
	if title := singleLine(f.text("title")); title != "" {
		if !saysMore(description, title) {
			description = ""
		}
		return lowerFirst(withoutArticle(title)), description
	}
	if phrase, ok := nounPhrase(description); ok {
		return lowerFirst(phrase), ""
	}
	name = spacedName(f.Name)
	if !saysMore(description, name) {
		description = ""
	}
	return name, description
}

// saysMore reports whether a description has a word beside those of the title and of any question. "Which piece it is." of the title "piece"
// has none: the question would say the same twice. A description that is a question itself is asked as it is.
func saysMore(description, title string) bool {
	if isQuestion(description) {
		return true
	}
	rest := strings.ToLower(description)
	if isChinese(description) {
		for _, word := range append([]string{strings.ToLower(title)}, emptyChinese...) {
			rest = strings.ReplaceAll(rest, word, "")
		}
		return strings.ContainsFunc(rest, isWordRune)
	}
	known := append(strings.FieldsFunc(strings.ToLower(title), isNoWordRune), emptyWords...)
	return slices.ContainsFunc(strings.FieldsFunc(rest, isNoWordRune), func(word string) bool {
		return !slices.Contains(known, word) && !slices.Contains(known, strings.TrimSuffix(word, "s"))
	})
}

// emptyWords and emptyChinese are words that ask for any value.
var (
	emptyWords   = strings.Fields("a an the your our my this that of for is are it its which what who how many much to be")
	emptyChinese = strings.Fields("请问 您的 你的 哪一个 哪个 哪些 什么 多少 几个 是 的 该 这个 一个 要")
)

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

func isNoWordRune(r rune) bool { return !isWordRune(r) && r != '\'' }

// nounPhrase returns the name that a description is: "The order number", "订单号"; ok is false for sentences and questions.
func nounPhrase(description string) (phrase string, ok bool) {
	phrase = strings.TrimRight(description, ".。")
	if phrase == "" || strings.ContainsAny(phrase, ".,;:!?。，；：！？()（）") {
		return "", false
	}
	if isChinese(phrase) {
		return phrase, utf8.RuneCountInString(phrase) <= 2*maxWords
	}
	words := strings.Fields(phrase)
	isArticle := slices.Contains([]string{"the", "a", "an", "your"}, strings.ToLower(words[0]))
	if !isArticle || len(words) < 2 || len(words) > maxWords {
		return "", false
	}
	return strings.Join(words[1:], " "), true
}

func isChinese(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Han, r) })
}

func isQuestion(text string) bool {
	return strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？")
}

// spacedName returns a key as words: order number for order_number and orderNumber.
func spacedName(key string) string {
	var b strings.Builder
	var before rune
	for _, r := range key {
		switch {
		case r == '_', r == '-', r == '.', r == '/', r == '~', unicode.IsSpace(r):
			b.WriteByte(' ')
		case unicode.IsUpper(r) && unicode.IsLower(before):
			b.WriteByte(' ')
			b.WriteRune(unicode.ToLower(r))
		default:
			b.WriteRune(r)
		}
		before = r
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// lowerFirst returns a name in the middle of a sentence; acronyms stay as they are.
func lowerFirst(name string) string {
	first, size := utf8.DecodeRuneInString(name)
	second, _ := utf8.DecodeRuneInString(name[size:])
	if unicode.IsUpper(first) && !unicode.IsUpper(second) {
		return string(unicode.ToLower(first)) + name[size:]
	}
	return name
}

func capitalize(name string) string {
	first, size := utf8.DecodeRuneInString(name)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + name[size:]
}

// isPlural reports whether an English name means several things.
func isPlural(name string) bool {
	words := strings.Fields(strings.ToLower(name))
	if len(words) == 0 {
		return false
	}
	last := words[len(words)-1]
	return len(last) > 3 && strings.HasSuffix(last, "s") && !strings.HasSuffix(last, "ss") && !strings.HasSuffix(last, "us") && !strings.HasSuffix(last, "is")
}

// isDetermined reports whether a name needs no article, for example "your name".
func isDetermined(name string) bool {
	first, _, ok := strings.Cut(strings.ToLower(name), " ")
	return ok && slices.Contains([]string{"your", "my", "our", "their", "his", "her", "its", "this", "that", "these", "those"}, first)
}

// withoutArticle returns a name without the article before it: order number for "the order number".
func withoutArticle(name string) string {
	first, rest, ok := strings.Cut(name, " ")
	if ok && slices.Contains([]string{"the", "a", "an"}, strings.ToLower(first)) {
		return strings.TrimSpace(rest)
	}
	return name
}

// articleOf returns a, an or, of several things, any; "" for a name that needs none. Of acronyms the letters are spoken: an SKU.
func articleOf(name string) string {
	if isDetermined(name) {
		return ""
	}
	if isPlural(name) {
		return "any"
	}
	first, size := utf8.DecodeRuneInString(name)
	second, _ := utf8.DecodeRuneInString(name[size:])
	vowels := "aeiouAEIOU"
	if unicode.IsUpper(first) && unicode.IsUpper(second) {
		vowels = "AEFHILMNORSX"
	}
	lower := strings.ToLower(name)
	for _, spoken := range []string{"user", "uni", "one", "euro", "use", "url"} {
		if strings.HasPrefix(lower, spoken) {
			return "a"
		}
	}
	if strings.ContainsRune(vowels, first) || strings.HasPrefix(lower, "hour") {
		return "an"
	}
	return "a"
}

// text returns a text of the schema.
func (f Field) text(key string) string {
	v, _ := f.Schema.Get(key)
	text, _ := v.Str()
	return text
}

func singleLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// unit returns the thing that the number counts: the word of unit or x-unit.
func (f Field) unit() string {
	if unit := f.text("unit"); unit != "" {
		return unit
	}
	return f.text("x-unit")
}

// example returns the first example that fits the field; a list of choices has none.
func (f Field) example() string {
	if schema.Choices(f.Schema) != nil || schema.TypeName(f.Schema) == "boolean" {
		return ""
	}
	examples, _ := f.Schema.Get("examples")
	list := examples.List()
	if one, ok := f.Schema.Get("example"); ok {
		list = append(slices.Clone(list), one)
	}
	for _, one := range list {
		if one.Kind() == value.Object || one.Kind() == value.List {
			continue
		}
		if text := singleLine(one.PlainText()); text != "" {
			return value.Truncate(text, maxExample)
		}
	}
	return ""
}

// kind returns the kind of the field's values, in a word of the texts; "" for words of any kind.
func (f Field) kind() string {
	if schema.Choices(f.Schema) != nil {
		return ""
	}
	switch f.text("format") {
	case "date":
		return "date"
	case "time":
		return "time"
	case "date-time", "timestamp":
		return "moment"
	case "duration":
		return "length"
	case "email", "idn-email":
		return "email"
	case "uri", "url", "iri":
		return "address"
	case "uuid", "ipv4", "ipv6", "hostname":
		return f.text("format")
	}
	switch schema.TypeName(f.Schema) {
	case "integer", "number":
		return "number"
	case "boolean":
		return "yes_no"
	case "array":
		return "list"
	case "object":
		if properties, _ := f.Schema.Get("properties"); properties.Map().Len() == 0 {
			return "pairs"
		}
	case "date":
		return "date"
	case "timestamp", "date-time": // types of slot's own
		return "moment"
	}
	return ""
}
