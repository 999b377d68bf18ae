package server_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/scheduler/server/store"
)

// forbidden match text that no customer should see: pointers, patterns, keys, words of schemas and of Go.
var forbidden = regexp.MustCompile(`(^|[\s("'])/[a-z_]|\^|\$|\\d|\[A-Z|_|pattern|schema|minimum|maximum|maxLength|minLength|string|integer|boolean|enum|format|pointer|JSON|<nil>|%!|invalid|panic|step |desk:|\{\{|null|required`)

// replies are flows that wait for one value, and messages that are not a value, with the value that ends the run
// at last.
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

// TestReply: through each door, a message that does not answer repeats the question, and a value ends the wait.
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
					isAgain := again.at(said) != first.at(said) && again.at("/scheduler/run") == first.at("/scheduler/run")
					if !isAgain || again.at("/scheduler/state") != "waiting" {
						t.Errorf("/v1 answers %s", again.text)
					}
					run := first.at("/scheduler/run")
					shown := f.do(token, "GET", "/api/v1/runs/"+run, "")
					check("the page", shown.at("/waiting/0/question"))
					answer := func() *reply {
						return f.do(token, "POST", "/api/v1/runs/"+run+"/answers", fmt.Sprintf(`{"message": %q}`, c.value))
					}
					asked := f.do(token, "GET", "/api/v1/runs/"+run, "").at("/last_seq")
					last := answer()
					if isFree := name == "a length"; isFree && stage == "llm" { // any text fits: it counts when the model has found nothing in it
						f.eventually("the question", func() bool {
							now := f.do(token, "GET", "/api/v1/runs/"+run, "")
							return now.at("/state") == "waiting" && now.at("/last_seq") != asked
						})
						last = answer()
					}
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

// TestReplyRefused: a value of a form that does not fit is reported in words, through the form of the page and
// through MCP's.
func TestReplyRefused(t *testing.T) {
	for name, c := range map[string]struct{ property, value, en, zh string }{
		"a pattern":    {replies["a pattern"].property, "x", "That does not look like an order number (such as A-1042).", "这看起来不像order number（例如 A-1042）。"},
		"a time":       {`{type: string, format: time, title: Arrival}`, "why?", "That does not look like an arrival (a time, such as 14:30).", "这看起来不像arrival（时间，例如 14:30）。"},
		"a date":       {`{type: string, format: date, title: Day}`, "why?", "That does not look like a day (a date, such as 2026-05-01).", "这看起来不像day（日期，例如 2026-05-01）。"},
		"a length":     {`{type: string, format: duration, title: Stay}`, "30", "That does not look like a stay (a length of time, such as 30 minutes).", "这看起来不像stay（时长，例如 30 分钟）。"},
		"an address":   {replies["an address"].property, "lin", "That does not look like an e-mail (such as name@example.com).", "这看起来不像e-mail（例如 name@example.com）。"},
		"a union":      {`{anyOf: [{type: string, format: email}, {type: integer}], title: Contact}`, "lin", "That does not look like a contact (such as name@example.com or a number).", "这看起来不像contact（例如 name@example.com或一个数）。"},
		"a question":   {`{type: string, title: Note}`, "why?", "That does not look like a note.", "这看起来不像note。"},
		"a refusal":    {`{type: string, title: Note}`, "跳过", "That does not look like a note.", "这看起来不像note。"},
		"two blanks":   {`{type: string, title: Note}`, "  ", "Please fill this in.", "请填写此项。"},
		"no text":      {`{type: string, title: Note}`, "", "Please fill this in.", "请填写此项。"},
		"a blank date": {`{type: string, format: date, title: Day}`, " ", "Please fill this in.", "请填写此项。"},
	} {
		for language, want := range map[string]string{"en": c.en, "zh": c.zh} {
			t.Run(name+" "+language, func(t *testing.T) {
				f := serveFlow(t, fmt.Sprintf(replyFlow, language, "", c.property), nil)
				token := f.token("lin", store.RunsRead, store.RunsWrite)
				run := f.chat(token, "ends", messages("hi"), "").at("/scheduler/run")
				body := fmt.Sprintf(`{"answers": [{"pointer": "/order_no", "value": %q}]}`, c.value)
				for _, path := range []string{"/answers", "/answers?check=true"} {
					for _, reader := range []string{"", "en", "zh", "de"} { // the words are in the language of the flow
						r := f.do(token, "POST", "/api/v1/runs/"+run+path, body, "Accept-Language", reader)
						if r.status != http.StatusUnprocessableEntity || r.at("/errors/0/words") != want {
							t.Errorf("%s for a reader of %q gets %d %s", path, reader, r.status, r.text)
						}
					}
				}
				p := &person{answers: []*sdk.ElicitResult{{Action: "accept", Content: map[string]any{"order_no": c.value}}}}
				result, doc := callTool(t, f.connect(token, eras()[0], p, nil), "flow_ends", nil)
				told := doc.JSON()
				for _, asked := range p.asked {
					told += asked.Message
				}
				if !strings.Contains(told, want) || len(p.asked) < 2 || result.IsError {
					t.Errorf("the form of MCP tells %s", told)
				}
			})
		}
	}
}

// TestReplyTakesBlank: a text that a schema lets be empty may be, through the form and in the chat.
func TestReplyTakesBlank(t *testing.T) {
	f := serveFlow(t, fmt.Sprintf(replyFlow, "en", "", "{type: string, title: Note, minLength: 0}"), nil)
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	first := f.chat(token, "ends", messages("hi"), "")
	if r := f.chat(token, "ends", messages("hi", first.at(said), " "), ""); r.at("/scheduler/state") != "finished" {
		t.Errorf("the chat gets %s", r.text)
	}
	run := f.chat(token, "ends", messages("ho"), "").at("/scheduler/run")
	if r := f.do(token, "POST", "/api/v1/runs/"+run+"/answers", `{"answers": [{"pointer": "/order_no", "value": ""}]}`); r.status != http.StatusAccepted {
		t.Errorf("the form gets %s", r.text)
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

// TestReplyTellsWaysOut: from the second message in a row that does not answer, the user reads how to answer and how to stop.
func TestReplyTellsWaysOut(t *testing.T) {
	for _, c := range []struct {
		name, language, property, says string
		want, last                     string
		withoutModel                   bool
	}{
		{name: "without a model", language: "en", property: `{type: string, title: Full name}`, says: "why?", withoutModel: true,
			want: `I could not find a full name in that. What is it? You can answer like this: "full name: ...". To stop, write "cancel".`, last: "Lin"},
		{name: "a number without a model", language: "zh", property: `{type: integer, title: 人数}`, says: "很多", withoutModel: true,
			want: "我没有从中找到人数（一个数）。请问是什么？ 不想继续的话，请写“取消”。", last: "3"},
		{name: "free text", language: "en", property: `{type: string, title: Full name}`, says: "nope", want: `I could not find a full name in that. What is it? You can answer like this: "full name: ...". To stop, write "cancel".`, last: "Full name: Nope"},
		{name: "free text", language: "zh", property: `{type: string, title: 姓名}`, says: "不要", want: "我没有从中找到姓名。请问是什么？ 可以这样回答：“姓名：……”。不想继续的话，请写“取消”。", last: "姓名：不要"},
		{name: "a pattern", language: "en", property: replies["a pattern"].property, says: "nope", want: `I could not find an order number (such as A-1042) in that. What is it? To stop, write "cancel".`, last: "A-1042"},
	} {
		t.Run(c.name+" "+c.language, func(t *testing.T) {
			model := scripted.Texts("{}", "{}", "{}", "{}")
			stage, provider := "llm", llm.Provider(model)
			if c.withoutModel {
				stage, provider = "", nil
			}
			flow := fmt.Sprintf(replyFlow, c.language, stage, c.property)
			if !c.withoutModel {
				flow = "llm: slow\n" + flow
			}
			f := serveFlow(t, flow, provider)
			token := f.token("lin", store.RunsRead, store.RunsWrite)
			talk := []string{"hi"}
			for _, says := range []string{c.says, c.says, c.last} {
				r := f.chat(token, "ends", messages(talk...), "")
				if found := forbidden.FindString(r.at(said)); found != "" {
					t.Errorf("the customer reads %q in %s", found, r.at(said))
				}
				talk = append(talk, r.at(said), says)
			}
			if got := talk[len(talk)-2]; got != c.want {
				t.Errorf("the question is %q, want %q", got, c.want)
			}
			if strings.Contains(talk[3], "cancel") || strings.Contains(talk[3], "取消") {
				t.Errorf("after the first message it asks %q", talk[3])
			}
			if r := f.chat(token, "ends", messages(talk...), ""); r.at(said) != "done" {
				t.Errorf("the last answer gets %s", r.text)
			}
		})
	}
}

// TestRepliesAtOnce: of two messages at once, one is used, and the other does not answer the next question.
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

// TestReplyAfterFailedReading: another message than the one that a model failed to read answers the same run, on each door.
func TestReplyAfterFailedReading(t *testing.T) {
	const session = `, "metadata": {"session": "s"}`
	withUser := func(conversation, more string) string {
		return strings.TrimSuffix(conversation, "]") + fmt.Sprintf(`,{"role": "user", "content": %q}]`, more)
	}
	for _, c := range []struct {
		name string
		more string // of each request
		says func(first string) string
	}{
		{"both messages", "", func(first string) string { return withUser(messages("hi", first, "it is B1"), "it is A-1042") }},
		{"both messages, a value", "", func(first string) string { return withUser(messages("hi", first, "it is B1"), "A-1042") }},
		{"the last message alone", "", func(first string) string { return messages("hi", first, "it is A-1042") }},
		{"a session", session, func(string) string { return messages("it is A-1042") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			down := scripted.Answer{Error: &llm.Error{Status: 401, Message: "the key is wrong"}}
			model := scripted.New(scripted.Answer{Text: "{}"}, down, scripted.Answer{Text: `{"/order_no": "A-1042"}`})
			f := serveFlow(t, "llm: slow\n"+fmt.Sprintf(replyFlow, "en", "llm", replies["a pattern"].property), model)
			token := f.token("lin", store.RunsRead, store.RunsWrite)
			first := f.chat(token, "ends", messages("hi"), c.more)
			failed := f.chat(token, "ends", messages("hi", first.at(said), "it is B1"), c.more)
			if failed.status < 400 {
				t.Fatalf("got %d %s", failed.status, failed.text)
			}
			last := f.chat(token, "ends", c.says(first.at(said)), c.more)
			if last.at("/scheduler/run") != first.at("/scheduler/run") || last.at("/scheduler/state") != "finished" || last.at(said) != "done" {
				t.Errorf("got %s", last.text)
			}
		})
	}
	for name, more := range map[string]string{"cancel": "", "cancel of a session": session} {
		down := scripted.Answer{Error: &llm.Error{Status: 401, Message: "the key is wrong"}}
		f := serveFlow(t, "llm: slow\n"+fmt.Sprintf(replyFlow, "en", "llm", replies["a pattern"].property), scripted.New(scripted.Answer{Text: "{}"}, down, scripted.Answer{Text: "{}"}))
		token := f.token("lin", store.RunsRead, store.RunsWrite)
		first := f.chat(token, "ends", messages("hi"), more)
		f.chat(token, "ends", messages("hi", first.at(said), "it is B1"), more)
		run := "/api/v1/runs/" + first.at("/scheduler/run")
		if asked := f.do(token, "GET", run, ""); asked.at("/state") != "failed" || asked.at("/waiting/0/question") == "" {
			t.Errorf("%s: the failed run is %s", name, asked.text)
		}
		cancelled := f.chat(token, "ends", withUser(messages("hi", first.at(said), "it is B1"), "cancel"), more)
		next := f.chat(token, "ends", messages("hi", first.at(said), "cancel", cancelled.at(said), "hello"), more)
		if cancelled.at(said) != "All right, I have stopped. Nothing more will be done." || next.at("/scheduler/run") == first.at("/scheduler/run") {
			t.Errorf("%s: %s, then %s", name, cancelled.text, next.text)
		}
	}
	down := scripted.Answer{Error: &llm.Error{Status: 401, Message: "the key is wrong"}}
	f := serveFlow(t, "llm: slow\n"+fmt.Sprintf(replyFlow, "en", "llm", replies["a pattern"].property), scripted.New(scripted.Answer{Text: "{}"}, down))
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	run := "/api/v1/runs/" + f.chat(token, "ends", messages("hi"), "").at("/scheduler/run")
	f.do(token, "POST", run+"/answers", `{"message": "it is B1"}`)
	f.eventually("the failure", func() bool { return f.do(token, "GET", run, "").at("/state") == "failed" })
	if r := f.do(token, "POST", run+"/answers", `{"message": "A-1042"}`); r.status != http.StatusAccepted {
		t.Errorf("the API answers %d %s", r.status, r.text)
	}
	f.eventually("the end", func() bool { return f.do(token, "GET", run, "").at("/state") == "finished" })
}

// TestChatEndsWithUser: messages after the last one of the user would lose their place in the conversation, and are refused.
func TestChatEndsWithUser(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	r := f.chat(token, "echo", messages("hello", "Hi, how"), "")
	if r.status != http.StatusBadRequest || r.at("/error/param") != "messages[1]" || !strings.Contains(r.text, "end with a message of the user") {
		t.Errorf("an assistant's message at the end: %d %s", r.status, r.text)
	}
	r = f.chat(token, "echo", `[{"role": "user", "content": "hello"}, {"role": "system", "content": "Be short."}]`, "")
	if r.status != http.StatusOK || r.at(said) != "hello" {
		t.Errorf("a system message at the end: %d %s", r.status, r.text)
	}
}

// threeAsks waits for three places, one after the other.
const threeAsks = `name: asks
inputs: {type: object, properties: {question: {type: string}}}
steps:
  - id: args
    call: slot
    with: {stages: [], current_schema: {type: object, required: [name, day, city], properties: {name: {type: string}, day: {type: integer}, city: {type: string}}}}
  - {id: say, call: template, with: {template: "{{ args.slot_data.name }} in {{ args.slot_data.city }}"}, to_user: true}
`

// TestChangedAnswerBeginsRun: a message to a question that the run has asked before, when it waited for more, begins a new run.
func TestChangedAnswerBeginsRun(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	writeFile(t, f.dir+"/flows/asks.yaml", threeAsks)
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	first := f.chat(token, "asks", messages("Book"), "")
	run, question := first.at("/scheduler/run"), first.at(said)
	if r := f.do(token, "POST", "/api/v1/runs/"+run+"/answers", `{"answers": [{"step": "args", "pointer": "/day", "value": 7}]}`); r.status != http.StatusAccepted {
		t.Fatal(r.text)
	}
	f.eventually("the day to be known", func() bool {
		at := f.do(token, "GET", "/api/v1/runs/"+run, "")
		return at.at("/state") == "waiting" && !strings.Contains(at.at("/waiting/0"), `"/day"`) && at.at("/last_seq") != first.at("/last_seq")
	})
	changed := f.chat(token, "asks", messages("Book", question, "Bob"), "")
	if changed.status != http.StatusOK || changed.at("/scheduler/run") == run {
		t.Errorf("the changed answer went into the old run: %s", changed.text)
	}
}

// TestAnswersAtOnce: of two messages at once in a chat, one is accepted, and the other is refused or gets a run of
// its own.
func TestAnswersAtOnce(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	writeFile(t, f.dir+"/flows/asks.yaml", threeAsks)
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	for i := range 8 {
		opening := fmt.Sprintf("Book %d", i)
		first := f.chat(token, "asks", messages(opening), "")
		send := func(name string) *reply { return f.chat(token, "asks", messages(opening, first.at(said), name), "") }
		replies := make(chan *reply, 2)
		for _, name := range []string{"Ann", "Bob"} {
			go func() { replies <- send(name) }()
		}
		runs := map[string]bool{}
		for range 2 {
			r := <-replies
			if r.status != http.StatusConflict {
				runs[r.at("/scheduler/run")] = true
			} else {
				runs["refused"] = true
			}
		}
		if len(runs) != 2 {
			t.Errorf("two messages are in one run: %v", runs)
		}
	}
}
