package ask_test

import (
	"regexp"
	"testing"

	"github.com/callnode/scheduler/calls/ask"
)

// forbidden are shapes that no customer is to read: pointers, patterns, keys, words of schemas and of Go.
var forbidden = regexp.MustCompile(`(^|[\s("'])/[a-z_]|\^|\$|\\|_|\[A-Z|pattern|schema|minimum|maximum|Length|Items|string|integer|boolean|enum|pointer|JSON|<nil>|%!|invalid|\{|\}|null|required|  `)

// TestWords: with any schema and any answer, people read words.
func TestWords(t *testing.T) {
	schemas := []string{
		`{type: string, pattern: "^[A-Z]-[0-9]+$"}`, `{type: string, title: Order number, pattern: "^x$", examples: [A-1]}`, `{type: string, minLength: 2, maxLength: 3}`,
		`{type: integer, minimum: 1, maximum: 5}`, `{type: number, exclusiveMinimum: 0, unit: kg}`, `{type: integer, multipleOf: 5}`, `{type: boolean}`, `{enum: [a, b]}`,
		`{enum: [1, null]}`, `{const: x}`, `{oneOf: [{const: a_1, title: One}, {const: b_1, title: Two}]}`, `{oneOf: [{type: string, maxLength: 2}, {type: integer}]}`, `{type: [integer, "null"]}`,
		`{type: string, format: date}`, `{type: string, format: date-time}`, `{type: string, format: email}`, `{type: string, format: uri}`, `{type: date}`, `{type: timestamp}`,
		`{type: array, items: {type: integer}, minItems: 1, maxItems: 2, uniqueItems: true}`, `{type: object, required: [a_b], properties: {a_b: {type: string}}}`, `{}`, `{not: {}}`,
		`{type: array, items: {enum: [a, b, c]}, minItems: 2}`, `{type: array, items: {enum: [a, b]}, maxItems: 1}`, `{type: number, exclusiveMinimum: 0, exclusiveMaximum: 10}`, `{type: integer, exclusiveMinimum: 0, multipleOf: 5}`,
		`{type: object, minProperties: 1, maxProperties: 2}`, `{type: object, minProperties: 1, properties: {a_b: {type: string}}}`, `{type: string, not: {enum: [admin, root]}}`, `{not: {type: string}}`, `{anyOf: [{type: string, format: email}, {type: integer, minimum: 100}]}`,
	}
	answers := []string{`"x"`, `""`, "null", "0", "99", "1.5", "true", "[]", "[1, 1]", "[1, 2, 3]", "{}", `{a_b: 1}`}
	for _, text := range schemas {
		for _, name := range []string{"order_no", "orderDays", ""} {
			f := ask.Field{Name: name, Schema: parse(t, text)}
			for _, language := range []string{"en", "zh"} {
				w := ask.Wording{Language: language}
				texts := []string{w.Question(f, false), w.Question(f, true)}
				for _, said := range []string{"9", "a, x", "admin", "0.5", "why?", "a: b", "x y z", "3, 3"} {
					texts = append(texts, w.QuestionAfter(f, said, parse(t, "null")))
				}
				for _, answer := range answers {
					texts = append(texts, w.Unfit(f, parse(t, answer)))
				}
				for _, said := range texts {
					if said == "" || forbidden.MatchString(said) {
						t.Errorf("%q %s in %s: %q", name, text, language, said)
					}
				}
			}
		}
	}
}
