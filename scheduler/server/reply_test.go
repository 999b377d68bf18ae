package server_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/scheduler/server/store"
)

// forbidden are shapes that no customer is to read: pointers, patterns, keys, words of schemas and of Go.
var forbidden = regexp.MustCompile(`(^|[\s("'])/[a-z_]|\^|\$|\\d|\[A-Z|_|pattern|schema|minimum|maximum|maxLength|minLength|string|integer|boolean|enum|format|pointer|JSON|<nil>|%!|invalid|panic|step |desk:|\{\{|null|required`)

// replies are flows that wait for one value, and messages that are none, with the value that ends the run at last.
var replies = map[string]struct{ property, message, value string }{
	"a pattern":  {`{type: string, title: Order number, examples: [A-1042], pattern: "^[A-Z]-[0-9]+$"}`, "It is A1042", "A-1042"},
	"a number":   {`{type: integer, title: Guests, minimum: 1, maximum: 8}`, "9", "3"},
	"a length":   {`{type: string, description: Your name, minLength: 3, maxLength: 5}`, "x", "Lin"},
	"a choice":   {`{enum: [red, blue], description: The colour you want}`, "green", "blue"},
	"labels":     {`{oneOf: [{const: r_1, title: Red}, {const: b_1, title: Blue}], title: Colour}`, "green", "blue"},
	"yes or no":  {`{type: boolean, title: Gift wrapping}`, "perhaps", "yes"},
	"a date":     {`{type: string, format: date, title: Day of arrival}`, "whenever", "2026-05-01"},
	"an address": {`{type: string, format: email, title: E-mail}`, "lin at example", "lin@example.com"},
	"a list":     {`{type: array, title: Sizes, minItems: 1, items: {type: integer, minimum: 1}}`, "big", "1, 2"},
	"an object":  {`{type: object, required: [zip_code], properties: {zip_code: {type: string, pattern: "^[0-9]{5}$"}}}`, "Lyon", "69001"},
	"no words":   {`{type: string, pattern: "^x+$"}`, "abc", "xxx"},
}

const replyFlow = `language: %s
inputs: {type: object, properties: {question: {type: string}}}
steps:
  - id: desk
    call: slot
    with: {stages: [%s], current_schema: {type: object, required: [order_no], properties: {order_no: %s}}}
  - {id: say, call: template, with: {template: "done"}, to_user: true}
`

// TestReply: through each door, what is no answer makes the same question again in words, and a value ends the wait.
func TestReply(t *testing.T) {
	for name, c := range replies {
		for _, language := range []string{"en", "zh"} {
			for _, stage := range []string{"", "llm"} { // without and with a model that finds nothing
				t.Run(fmt.Sprintf("%s %s %s", name, language, stage), func(t *testing.T) {
					t.Parallel()
					f := serveFlow(t, fmt.Sprintf(replyFlow, language, stage, c.property), nil)
					token := f.token("lin", store.RunsRead, store.RunsWrite)
					check := func(door, text string) {
						t.Helper()
						if text == "" || text == "null" || forbidden.MatchString(text) {
							t.Errorf("%s says %q", door, text)
						}
					}
					first := f.chat(token, "ends", messages("hi"), "")
					check("/v1", first.at(said))
					again := f.chat(token, "ends", messages("hi", first.at(said), c.message), "")
					check("/v1 again", again.at(said))
					isAgain := strings.Contains(again.at(said), "I could not find") || strings.Contains(again.at(said), "我没有从中")
					if !isAgain || again.at("/scheduler/state") != "waiting" {
						t.Errorf("/v1 answers %s", again.text)
					}
					run := first.at("/scheduler/run")
					shown := f.do(token, "GET", "/api/v1/runs/"+run, "")
					check("the page", shown.at("/waiting/0/question"))
					last := f.do(token, "POST", "/api/v1/runs/"+run+"/answers", fmt.Sprintf(`{"message": %q}`, c.value))
					if last.status != http.StatusAccepted || last.at("/state") != "running" {
						t.Fatalf("the value is not taken: %d %s", last.status, last.text)
					}
					f.eventually("the end", func() bool { return f.do(token, "GET", "/api/v1/runs/"+run, "").at("/state") == "finished" })
					late := f.do(token, "POST", "/api/v1/runs/"+run+"/answers", `{"message": "again"}`)
					if late.status != http.StatusConflict {
						t.Errorf("after the end: %d %s", late.status, late.text)
					}
				})
			}
		}
	}
}

// TestReplyRefused: a value of a form that does not fit is told in words.
func TestReplyRefused(t *testing.T) {
	f := serveFlow(t, fmt.Sprintf(replyFlow, "en", "", replies["a pattern"].property), nil)
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	run := f.chat(token, "ends", messages("hi"), "").at("/scheduler/run")
	r := f.do(token, "POST", "/api/v1/runs/"+run+"/answers", `{"answers": [{"pointer": "/order_no", "value": "x"}]}`)
	if want := "That does not look like an order number (such as A-1042)."; r.status != http.StatusUnprocessableEntity || r.at("/errors/0/words") != want {
		t.Errorf("got %d %s", r.status, r.text)
	}
	zh := f.do(token, "POST", "/api/v1/runs/"+run+"/answers", `{"answers": [{"pointer": "/order_no", "value": "x"}]}`, "Accept-Language", "zh")
	if want := "这看起来不像order number（例如 A-1042）。"; zh.at("/errors/0/words") != want {
		t.Errorf("got %d %s", zh.status, zh.text)
	}
}

// TestReplyCancels: a word cancels the run, and says so; the same request again says it again, and the next message is a new question.
func TestReplyCancels(t *testing.T) {
	for word, c := range map[string]struct{ language, text string }{
		"Cancel.": {"en", "All right, I have stopped. Nothing more will be done."}, "取消": {"zh", "好的，已取消，不会再继续。"},
	} {
		f := serveFlow(t, fmt.Sprintf(replyFlow, c.language, "", replies["a number"].property), nil)
		token := f.token("lin", store.RunsRead, store.RunsWrite)
		first := f.chat(token, "ends", messages("hi"), "")
		for range 2 {
			r := f.chat(token, "ends", messages("hi", first.at(said), word), "")
			if r.at(said) != c.text || r.at("/scheduler/state") != "cancelled" || r.at("/scheduler/run") != first.at("/scheduler/run") {
				t.Errorf("got %s", r.text)
			}
		}
		next := f.chat(token, "ends", messages("hi", first.at(said), word, c.text, "hello"), "")
		if next.at("/scheduler/run") == first.at("/scheduler/run") || next.at("/scheduler/state") != "waiting" {
			t.Errorf("the next message: %s", next.text)
		}
		if list := f.do(token, "GET", "/api/v1/waiting", ""); strings.Contains(list.text, first.at("/scheduler/run")) {
			t.Errorf("the inbox still has it: %s", list.text)
		}
	}
	f := serveFlow(t, fmt.Sprintf(replyFlow, "en", "", "{enum: [change, cancel], title: Wish}"), nil)
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	first := f.chat(token, "ends", messages("hi"), "")
	if r := f.chat(token, "ends", messages("hi", first.at(said), "cancel"), ""); r.at("/scheduler/state") != "finished" {
		t.Errorf("a choice that is called cancel: %s", r.text)
	}
}

// TestReplyByModel: an answer in words is read by the model, and is on the bill.
func TestReplyByModel(t *testing.T) {
	model := scripted.Texts("{}", `{"/order_no": "A-1042"}`)
	f := serveFlow(t, "llm: slow\n"+fmt.Sprintf(replyFlow, "en", "llm", replies["a pattern"].property), model)
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	first := f.chat(token, "ends", messages("Where is my order?"), "")
	if want := "What is the order number (such as A-1042)?"; first.at(said) != want {
		t.Errorf("asks %s", first.text)
	}
	r := f.chat(token, "ends", messages("Where is my order?", first.at(said), "It is A-1042"), "")
	if r.at(said) != "done" || r.at("/scheduler/state") != "finished" {
		t.Errorf("got %s", r.text)
	}
	if events := f.do(token, "GET", "/api/v1/runs/"+first.at("/scheduler/run")+"/events", ""); !strings.Contains(events.text, `"message":"It is A-1042"`) {
		t.Errorf("the message is not on record: %s", events.text)
	}
	if n := len(model.Requests()); n != 2 {
		t.Errorf("the model was asked %d times", n)
	}
}

// TestRepliesAtOnce: of two messages at once, one is taken, and the other is none for what is asked next.
func TestRepliesAtOnce(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	first := f.chat(token, "sub~wait", messages("Snow"), "")
	run := first.at("/scheduler/run")
	seen := f.do(token, "GET", "/api/v1/runs/"+run, "").at("/last_seq")
	answers := make(chan *reply, 2)
	for _, city := range []string{"Lyon", "Oslo"} {
		go func() {
			answers <- f.do(token, "POST", "/api/v1/runs/"+run+"/answers", fmt.Sprintf(`{"message": %q, "seen": %s}`, city, seen))
		}()
	}
	taken := 0
	for range 2 {
		r := <-answers
		switch {
		case r.status == http.StatusAccepted:
			taken++
		case r.status == http.StatusConflict:
		case r.status == http.StatusOK && r.at("/text") == "How many days?":
		default:
			t.Errorf("got %d %s", r.status, r.text)
		}
	}
	f.eventually("the next question", func() bool {
		return f.do(token, "GET", "/api/v1/runs/"+run, "").at("/waiting/0/question") == "How many days?"
	})
	if taken != 1 {
		t.Errorf("%d messages were taken", taken)
	}
}
