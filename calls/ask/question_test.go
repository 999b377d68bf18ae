package ask_test

import (
	"testing"
	"testing/fstest"

	"github.com/callnode/scheduler/calls/ask"
)

// TestQuestion: people are asked in words made from the schema.
func TestQuestion(t *testing.T) {
	for _, c := range []struct{ name, schema, first, again, chinese string }{
		{
			"order_number", `{type: string, title: Order number, examples: [A-1042], pattern: "^[A-Z]-[0-9]+$"}`,
			"What is the order number (such as A-1042)?", "I could not find an order number (such as A-1042) in that. What is it?",
			"我没有从中找到order number（例如 A-1042）。请问是什么？",
		},
		{
			"order_number", `{type: string, title: 订单号, examples: [A-1042]}`,
			"What is the 订单号 (such as A-1042)?", "I could not find a 订单号 (such as A-1042) in that. What is it?", "我没有从中找到订单号（例如 A-1042）。请问是什么？",
		},
		{"orderNumber", `{type: string}`, "What is the order number?", "I could not find an order number in that. What is it?", "我没有从中找到order number。请问是什么？"},
		{"city", `{type: string, description: The city}`, "What is the city?", "I could not find a city in that. What is it?", "我没有从中找到city。请问是什么？"},
		{"city", `{type: string, description: "Where do you live?"}`, "Where do you live?", "I could not find a city in that. What is it?", "我没有从中找到city。请问是什么？"},
		{"days", `{type: integer, minimum: 1, maximum: 7}`, "How many days (from 1 to 7)?", "I could not find a number of days (from 1 to 7) in that. What is it?", "我没有从中找到days（1 到 7）。请问是什么？"},
		{"n", `{type: integer, title: number of cups}`, "How many cups?", "I could not find a number of cups in that. What is it?", "我没有从中找到cups。请问是什么？"},
		{
			"colour", `{title: Colour, oneOf: [{const: r, title: Red}, {const: b, title: Blue}]}`, "Which colour is it: Red or Blue?",
			"I could not find a colour in that. Is it Red or Blue?", "我没有从中找到colour。是Red还是Blue？",
		},
		{"gift", `{type: boolean, title: Gift wrapping}`, "Gift wrapping: yes or no?", "I could not find a yes or a no in that. Gift wrapping: yes or no?", "我没有从中看出是或否。Gift wrapping：是还是否？"},
		{
			"approved", `{type: boolean, title: "Refund 150 € for order A-1?"}`, "Refund 150 € for order A-1? (yes or no)",
			"I could not find a yes or a no in that. Refund 150 € for order A-1? (yes or no)", "我没有从中看出是或否。Refund 150 € for order A-1?（是或否）",
		},
		{"weight", `{type: number, title: Weight, unit: kg}`, "What is the weight (a number, in kg)?", "I could not find a weight (a number, in kg) in that. What is it?", "我没有从中找到weight（一个数，单位：kg）。请问是什么？"},
		{"iban", `{type: string, title: IBAN, description: It is on your bank card.}`, "What is the IBAN? It is on your bank card.", "I could not find an IBAN in that. What is it?", "我没有从中找到IBAN。请问是什么？"},
		{"name", `{type: string, title: your name}`, "What is your name?", "I could not find your name in that. What is it?", "我没有从中找到your name。请问是什么？"},
		{"our_seats", `{type: integer}`, "What are our seats (a number)?", "I could not find our seats (a number) in that. What are they?", "我没有从中找到our seats（一个数）。请问是什么？"},
		{"n", `{type: string, title: The order number}`, "What is the order number?", "I could not find an order number in that. What is it?", "我没有从中找到order number。请问是什么？"},
		{"n", `{enum: [red, blue], title: My colour}`, "What is my colour: red or blue?", "I could not find my colour in that. Is it red or blue?", "我没有从中找到my colour。是red还是blue？"},
	} {
		f := ask.Field{Name: c.name, Schema: parse(t, c.schema)}
		en, zh := ask.Wording{Language: "en"}, ask.Wording{Language: "zh-CN"}
		if got := en.Question(f, false); got != c.first {
			t.Errorf("got  %s\nwant %s", got, c.first)
		}
		if got := en.Question(f, true); got != c.again {
			t.Errorf("got  %s\nwant %s", got, c.again)
		}
		if got := zh.Question(f, true); got != c.chinese {
			t.Errorf("got  %s\nwant %s", got, c.chinese)
		}
	}
}

// TestQuestionForEither: alternative fields are asked for together.
func TestQuestionForEither(t *testing.T) {
	f := ask.Field{Either: []ask.Field{{Name: "email", Schema: parse(t, "{type: string}")}, {Name: "phone", Schema: parse(t, "{title: Phone number}")}}}
	en, zh := ask.Wording{Language: "en"}, ask.Wording{Language: "zh"}
	for _, c := range []struct{ got, want string }{
		{en.Question(f, false), "What is the email or phone number?"},
		{en.Question(f, true), `I could not find an email or phone number (written like "email: ...") in that. What is it?`},
		{en.Label(f), "Email or phone number"},
		{zh.Question(f, false), "请问email或phone number是什么？"},
		{zh.Question(f, true), "我没有从中找到email或phone number（写成“email：……”）。请问是什么？"},
	} {
		if c.got != c.want {
			t.Errorf("got  %s\nwant %s", c.got, c.want)
		}
	}
}

// TestUnfit: people read in words why a value does not fit.
func TestUnfit(t *testing.T) {
	for _, c := range []struct{ schema, value, en, zh string }{
		{"{type: integer, minimum: 1}", "0", "It must be at least 1.", "不能小于 1。"},
		{"{type: integer}", "1.5", "It must be a whole number.", "必须是整数。"},
		{"{type: integer}", "many", "It must be a number.", "必须是一个数。"},
		{"{type: string, minLength: 2}", "a", "It is too short: at least 2 characters.", "太短了：至少 2 个字。"},
		{"{enum: [red, blue]}", "green", "It is one of: red, blue.", "只能是：red、blue。"},
		{`{type: string, title: Order number, examples: [A-1], pattern: "^A"}`, "x", "That does not look like an order number (such as A-1).", "这看起来不像order number（例如 A-1）。"},
		{"{type: string, format: email}", "x", "That does not look like a thing (such as name@example.com).", "这看起来不像thing（例如 name@example.com）。"},
		{"{type: string}", `""`, "Please fill this in.", "请填写此项。"},
	} {
		f := ask.Field{Name: "thing", Schema: parse(t, c.schema)}
		if got := (ask.Wording{Language: "en"}).Unfit(f, parse(t, c.value)); got != c.en {
			t.Errorf("%s: got %s", c.schema, got)
		}
		if got := (ask.Wording{Language: "zh"}).Unfit(f, parse(t, c.value)); got != c.zh {
			t.Errorf("%s: got %s", c.schema, got)
		}
	}
}

// TestQuestionOfProject: a project has texts of its own; a broken one is not shown.
func TestQuestionOfProject(t *testing.T) {
	f := ask.Field{Name: "city", Schema: parse(t, "{type: string, title: Ville}")}
	own := ask.Wording{Language: "fr", Languages: fstest.MapFS{"fr/ask/question.txt": {Data: []byte("{% if unread %}Je n'ai pas compris. {% endif %}Quelle est la {{ name }} ?")}}}
	if got := own.Question(f, true); got != "Je n'ai pas compris. Quelle est la ville ?" {
		t.Errorf("got %s", got)
	}
	own.Languages = fstest.MapFS{"fr/ask/question.txt": {Data: []byte("{{ nom }}")}}
	if got := own.Question(f, false); got != "What is the ville?" {
		t.Errorf("got %s", got)
	}
}

// TestQuestionAfter: the question after a message that did not answer it has the choices, the step and the bounds, and why a
// value did not fit.
func TestQuestionAfter(t *testing.T) {
	for _, c := range []struct{ name, schema, said, misfit, en, zh string }{
		{"guests", "{type: integer, minimum: 1, maximum: 8}", "We are 9", "null", "It can be at most 8. How many guests (from 1 to 8)?", "不能大于 8。请问guests是多少（1 到 8）？"},
		{"guests", "{type: integer, minimum: 1, maximum: 8}", "nine people", "9", "It can be at most 8. How many guests (from 1 to 8)?", "不能大于 8。请问guests是多少（1 到 8）？"},
		{"guests", "{type: integer, minimum: 1, maximum: 8}", "the usual", "null", "I could not find a number of guests (from 1 to 8) in that. What is it?", "我没有从中找到guests（1 到 8）。请问是什么？"},
		{"amount", "{type: integer, exclusiveMinimum: 0, multipleOf: 5}", "12", "null", "It must be a multiple of 5. What is the amount (1 or more, a multiple of 5)?", "必须是 5 的倍数。请问amount是什么（不少于 1，5 的倍数）？"},
		{"weight", "{type: number, exclusiveMinimum: 0, exclusiveMaximum: 10}", "10 kg", "null", "It must be less than 10. What is the weight (more than 0 and less than 10)?", "必须小于 10。请问weight是什么（大于 0且小于 10）？"},
		{"toppings", "{type: array, minItems: 2, items: {enum: [ham, corn, basil]}}", "ham", "null", "That is too few: at least 2. What are the toppings (one or more of ham, corn, basil, with commas between, at least 2)?", "太少了：至少 2 个。请问toppings是什么（从ham、corn、basil中选，可选多个，用逗号隔开，至少 2 个）？"},
		{"toppings", "{type: array, items: {enum: [ham, corn]}}", "ham and cheese", "null", "cheese is none of: ham, corn. What are the toppings (one or more of ham, corn, with commas between)?", "cheese不在可选范围内，只能选：ham、corn。请问toppings是什么（从ham、corn中选，可选多个，用逗号隔开）？"},
		{"login", "{type: string, not: {enum: [admin, root]}}", "admin", "null", "It cannot be admin. What is the login (not admin or root)?", "不能是admin。请问login是什么（不能是admin或root）？"},
		{"extras", "{type: object, minProperties: 2}", "dunno", "null", `I could not find any extras (written like "name: value", with commas between, at least 2) in that. What are they?`, "我没有从中找到extras（写成“名称：值”，用逗号隔开，至少 2 个）。请问是什么？"},
		{"contact", "{anyOf: [{type: string, format: email}, {type: integer, minimum: 100}]}", "my pigeon", "null", "I could not find a contact (such as name@example.com or 100 or more) in that. What is it?", "我没有从中找到contact（例如 name@example.com或不少于 100）。请问是什么？"},
		{"extras", "{type: object, maxProperties: 1}", "candles: 2, hats: 4", "null", `That is too many: at most 1. What are the extras (written like "name: value", with commas between)?`, "太多了：最多 1 个。请问extras是什么（写成“名称：值”，用逗号隔开）？"},
		{"extras", "{type: object, additionalProperties: {type: integer}}", "candles: many", "null", `many cannot be used there. What are the extras (written like "name: value", with commas between)?`, "many不能用在这里。请问extras是什么（写成“名称：值”，用逗号隔开）？"},
		{"sizes", "{type: array, items: {type: integer}}", "1, two", "null", `two cannot be used there. What are the sizes (with commas between, if there are several)?`, "two不能用在这里。请问sizes是什么（如有多个，请用逗号隔开）？"},
		{"size", "{anyOf: [{enum: [S, M]}, {type: integer, minimum: 30}]}", "XL", "null", "I could not find a size (S or M or 30 or more) in that. What is it?", "我没有从中找到size（S或M或不少于 30）。请问是什么？"},
		{"size", "{enum: [S, M]}", "XL", "null", "I could not find a size in that. Is it S or M?", "我没有从中找到size。是S还是M？"},
		{"name", "{type: string, minLength: 2}", "x", "null", "It is too short: at least 2 characters. What is the name?", "太短了：至少 2 个字。请问name是什么？"},
		{"name", "{type: string, minLength: 2}", "why?", "null", "I could not find a name in that. What is it?", "我没有从中找到name。请问是什么？"},
	} {
		f := ask.Field{Name: c.name, Schema: parse(t, c.schema)}
		if got := (ask.Wording{Language: "en"}).QuestionAfter(f, c.said, parse(t, c.misfit)); got != c.en {
			t.Errorf("%s %q\ngot  %s\nwant %s", c.schema, c.said, got, c.en)
		}
		if got := (ask.Wording{Language: "zh"}).QuestionAfter(f, c.said, parse(t, c.misfit)); got != c.zh {
			t.Errorf("%s %q\ngot  %s\nwant %s", c.schema, c.said, got, c.zh)
		}
	}
}
