package ask_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/ask"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

func parse(t *testing.T, text string) value.Value {
	t.Helper()
	v, err := yaml.ParseValue([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func order(t *testing.T) *schema.Schema {
	t.Helper()
	s, err := schema.Parse(parse(t, "{type: object, required: [n], properties: {n: {type: integer}}}"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestPrompt(t *testing.T) {
	texts := fstest.MapFS{
		"lang/en/hi.txt":     {Data: []byte("Hi {{ name }}\n")},
		"lang/zh/hi.txt":     {Data: []byte("你好 {{ name }}")},
		"lang/en/broken.txt": {Data: []byte("{{")},
	}
	values := value.Pairs("name", "<Ann> {{ x }}")
	env := calls.NewEnv()
	for language, want := range map[string]string{"en": "Hi", "zh": "你好", "fr": "Hi", "": "Hi", "../zh": "Hi"} {
		env.Vars = &calls.Vars{Language: language}
		if got, err := ask.Prompt(t.Context(), env, "greet", texts, "hi", values); err != nil || got != want+" <Ann> {{ x }}" {
			t.Errorf("%s: %q, %v", language, got, err)
		}
	}
	for name, kind := range map[string]calls.Kind{"broken": calls.Invalid, "none": calls.Internal, "hi": calls.Invalid} {
		if _, err := ask.Prompt(t.Context(), env, "greet", texts, name, nil); calls.KindOf(err) != kind {
			t.Errorf("%s: %v", name, err)
		}
	}
	env.Languages = fstest.MapFS{"fr/greet/hi.txt": {Data: []byte("Salut {{ name }}")}, "zh/greet/hi.txt": {Data: []byte("嗨 {{ name }}")}}
	for language, want := range map[string]string{"en": "Hi", "zh": "嗨", "zh_CN": "嗨", "fr": "Salut", "fr-CA": "Salut"} {
		env.Vars = &calls.Vars{Language: language}
		if got, err := ask.Prompt(t.Context(), env, "greet", texts, "hi", values); err != nil || got != want+" <Ann> {{ x }}" {
			t.Errorf("%s: %q, %v", language, got, err)
		}
	}
}

// A text of a user that is wrong is found before it is used, with its place.
func TestTexts(t *testing.T) {
	own := fstest.MapFS{"lang/en/hi.txt": {Data: []byte("{% for p in people %}{{ p.name }}{% endfor %} {{ place.town }}")}}
	set := ask.Texts("greet", own)
	const old = " the text is a Go template, but texts are templates as in flows write {{ name }} for {{.Name}},"
	for text, want := range map[string]string{
		"Salut {% for x in people %}{{ x.name }}{% else %}{{ place.town }}{% endfor %}": "",
		"":                                    "",
		"{{ nom | default('you') }}":          "",
		"Salut\n {% for x in people %}":       "2:2 {% for %} is not closed add {% endfor %}",
		"Salut {{ nom }}\né {{ plcae.town }}": "1:10 there is no nom here there are people, place;2:6 there is no plcae here did you mean \"place\"?",
		"Salut\n {{.Name}}":                   "2:2" + old,
		"{{- range .People}}{{.Name}}{{end}}": "1:1" + old,
		"Salut {{if .Name}}x{{ end }}":        "1:7" + old,
	} {
		var got []string
		for _, p := range set.Check("hi.txt", []byte(text)) {
			got = append(got, fmt.Sprintf("%d:%d %s %s", p.Line, p.Col, p.Message, p.Hint))
		}
		if all := strings.Join(got, ";"); all != want && !(strings.HasSuffix(want, old) && strings.HasPrefix(all, want)) {
			t.Errorf("%s: got %s", text, all)
		}
	}
	env := calls.NewEnv()
	for text, want := range map[string]string{"Salut {{ nom }}": "", "Salut {{.Name}}": "for {{.Name}}"} {
		env.Vars, env.Languages = &calls.Vars{Language: "fr"}, fstest.MapFS{"fr/greet/hi.txt": {Data: []byte(text)}}
		if got, err := ask.Prompt(t.Context(), env, "greet", own, "hi", value.Pairs("name", "Ann")); calls.KindOf(err) != calls.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %q, %v", text, got, err)
		}
	}
}

func TestJSON(t *testing.T) {
	env := calls.NewEnv()
	env.Vars = &calls.Vars{Language: "zh"}
	req := &llm.Request{Messages: []llm.Message{llm.TextMessage("user", "how many?")}}

	p := scripted.Texts("hm", `{"n": "x"}`, "It is ```json\n{\"n\": 3}\n```")
	env.LLM = p
	v, err := ask.JSON(t.Context(), env, req, order(t), nil)
	if err != nil || v.JSON() != `{"n":3}` {
		t.Fatalf("got %s, %v", v, err)
	}
	last := p.Requests()[2]
	if len(last.Messages) != 5 || !strings.Contains(string(last.Messages[4]), "/n：应为整数，实为字符串") || !strings.Contains(string(last.Messages[4]), "请重新回答") {
		t.Errorf("got %s", last.Messages)
	}
	if first := p.Requests()[0]; len(req.Messages) != 1 || req.ResponseSchema != nil || string(first.ResponseSchema) != order(t).Doc().JSON() {
		t.Error("the request was changed, or the schema is not in it")
	}
	for i, asked := range p.Requests()[1:] {
		if asked.ResponseSchema != nil {
			t.Errorf("request %d after an answer without JSON has the schema", i+1)
		}
	}

	p = scripted.Texts(`{"n": "x"}`, `{"n": 3}`)
	env.LLM = p
	v, err = ask.JSON(t.Context(), env, req, order(t), nil)
	if err != nil || v.JSON() != `{"n":3}` || p.Requests()[1].ResponseSchema == nil {
		t.Errorf("a document that does not fit: %s, %v; the schema must be sent again", v, err)
	}

	refuses := scripted.Answer{Error: &llm.Error{Status: 400, Message: "response_format is not supported"}}
	p = scripted.New(refuses, scripted.Answer{Text: "hm"}, scripted.Answer{Text: `{"n":1}`})
	env.LLM = p
	v, err = ask.JSON(t.Context(), env, req, order(t), nil)
	if err != nil || v.JSON() != `{"n":1}` || p.Requests()[1].ResponseSchema != nil || p.Requests()[2].ResponseSchema != nil {
		t.Errorf("a server without schemas: %s, %v", v, err)
	}
	env.LLM = scripted.New(refuses, refuses)
	_, err = ask.JSON(t.Context(), env, req, order(t), nil)
	if !errors.Is(err, refuses.Error) {
		t.Errorf("a server that refuses: %v", err)
	}
	env.LLM = scripted.Texts("a", "b", "c", `{"n":1}`)
	_, err = ask.JSON(t.Context(), env, req, order(t), nil)
	if calls.KindOf(err) != calls.Provider || calls.HintOf(err) == "" || !errors.Is(err, ask.ErrNoAnswer) {
		t.Errorf("got %v", err)
	}
	failure := &llm.Error{Message: "no"}
	env.LLM = scripted.New(scripted.Answer{Error: failure})
	_, err = ask.JSON(t.Context(), env, req, order(t), nil)
	if !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
}

func TestText(t *testing.T) {
	boom := errors.New("boom")
	stream := func(pieces ...string) iter.Seq2[llm.Delta, error] {
		return func(yield func(llm.Delta, error) bool) {
			for _, piece := range pieces {
				if piece == "!" {
					yield(llm.Delta{}, boom)
					return
				}
				if !yield(llm.Delta{Text: piece}, nil) {
					return
				}
			}
		}
	}
	for _, c := range []struct {
		in   []string
		want []string
	}{
		{[]string{"Hel", "lo"}, []string{"Hel", "lo"}},
		{[]string{"<th", "ink>a", "b</thi", "nk>\n", "\nHel", "lo"}, []string{"Hel", "lo"}},
		{[]string{" <think>x</think> Hi"}, []string{"Hi"}},
		{[]string{"<th", "at>"}, []string{"<that>"}},
		{[]string{"<thi"}, []string{"<thi"}},
		{[]string{"<think>never"}, nil},
		{[]string{" ", " x <think>"}, []string{"  x <think>"}},
		{[]string{" "}, []string{" "}},
		{nil, nil},
		{[]string{"a", "!", "b"}, []string{"a", "boom"}},
	} {
		var got []string
		for text, err := range ask.Text(stream(c.in...)) {
			if err != nil {
				text = err.Error()
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q: %s", c.in, diff)
		}
	}
	for range ask.Text(stream("a", "b")) {
		break
	}
}

// However a text is cut into pieces, the result is the same.
func TestTextInPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOf(rapid.StringMatching(`(<think>|</think>|[<>a ]){0,3}`)).Draw(t, "pieces")
		join := func(pieces []string) (all string) {
			for text := range ask.Text(func(yield func(llm.Delta, error) bool) {
				for _, p := range pieces {
					if !yield(llm.Delta{Text: p}, nil) {
						return
					}
				}
			}) {
				all += text
			}
			return all
		}
		if whole := []string{strings.Join(pieces, "")}; join(pieces) != join(whole) {
			t.Errorf("%q gives %q, in one piece %q", pieces, join(pieces), join(whole))
		}
	})
}

func TestFit(t *testing.T) {
	for text, want := range map[string]string{
		`{"n": 1, "z": 1.50}`:                   `{"n":1,"z":1.50}`,
		"Here:\n```json\n{\"n\": 2}\n```\nBye.": `{"n":2}`,
		"<think>{\"n\": 0}</think> {\"n\": 3}":  `{"n":3}`,
		`As [1] says {see below}: {"n": 4}.`:    `{"n":4}`,
		`{"m": 1} {"n": 5}`:                     `{"n":5}`,
		`{"n": "x"}`:                            "/n: want integer, got string",
		`{"a": {"n": 1},}`:                      "there is no JSON in it",
		`{"a": {"n": 1}, "b"`:                   "there is no JSON in it",
		"":                                      "there is no JSON in it",
		strings.Repeat("[", 5000):               "there is no JSON in it",
		strings.Repeat("{]", 500) + ` {"n": 1}`: "there is no JSON in it",
	} {
		v, err := ask.Fit(text, order(t))
		if got := v.JSON(); err != nil && !strings.Contains(err.Error(), want) || err == nil && got != want {
			t.Errorf("%.40q: %s, %v", text, got, err)
		}
	}
}

func FuzzFit(f *testing.F) {
	for _, seed := range []string{`{"n": 1}`, "<think>[</think>```{\"n\":1}```", "{[}]{", "[1,{"} {
		f.Add(seed)
	}
	s, err := schema.Parse(value.Must(map[string]any{"type": "object", "required": []string{"n"}}))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if v, err := ask.Fit(text, s); err == nil && s.Check(v) != nil {
			t.Errorf("%q gives %s", text, v)
		}
	})
}

func TestLines(t *testing.T) {
	var messages []*value.Map
	for _, m := range parse(t, `
- {role: system, content: x}
- {role: user, content: hi}
- {role: assistant, content: null, tool_calls: []}
- {role: user, content: [{type: text, text: a}, {type: image_url}, {type: text, text: b}]}
`).List() {
		messages = append(messages, m.Map())
	}
	if diff := cmp.Diff([]ask.Line{{"user", "hi"}, {"user", "a\nb"}}, ask.Source{Messages: messages}.Lines(&calls.Vars{})); diff != "" {
		t.Error(diff)
	}
	lines := ask.Source{}.Lines(&calls.Vars{Upstream: calls.FixedUpstream{Steps: []calls.FinishedStep{
		{ID: "a", Name: "Search", Output: parse(t, "{text: found}")},
		{ID: "b", Output: parse(t, "{n: 1}")},
		{ID: "c", Output: parse(t, "{}")},
		{ID: "d", Output: parse(t, "{text: ' '}")},
	}}})
	if diff := cmp.Diff([]ask.Line{{"Search", "found"}, {"b", `{"n":1}`}}, lines); diff != "" {
		t.Error(diff)
	}
	traced := []ask.TracedLine{{Text: calls.Traced{Text: "</talk>"}}}
	for _, l := range slices.Backward(lines) {
		traced = slices.Insert(traced, 0, ask.TracedLine{Who: calls.Traced{Text: l.Who}, Text: calls.Traced{Text: l.Text}})
	}
	if got := ask.FormatLines(traced, "talk").Text; got != "Search: found\nb: {\"n\":1}\n<\\/talk>" {
		t.Errorf("got %q", got)
	}
}

// perRune counts a token for each character.
type perRune struct{}

func (perRune) Count(text string) int { return len([]rune(text)) }

func said(lines ...ask.Line) (messages []*value.Map) {
	for _, l := range lines {
		messages = append(messages, value.Pairs("role", l.Who, "content", l.Text))
	}
	return messages
}

// envOf returns an environment with that counter; warned gets the warnings.
func envOf(tokens llm.Counter, warned *[]string) *calls.Env {
	env := calls.NewEnv()
	env.Tokens, env.Warner = tokens, warner{warned}
	return env
}

type warner struct{ texts *[]string }

func (w warner) Warn(one calls.Warning) { *w.texts = append(*w.texts, one.Text) }

func TestTalk(t *testing.T) {
	messages := said(ask.Line{"a", "12345"}, ask.Line{"b", "123"}, ask.Line{"c", "1234567890"})
	const a, b, c = "a: 12345\n", "b: 123\n", "c: 1234567890"
	for budget, want := range map[int]string{
		1000: a + b + c, 30: a + b + c, 29: b + c, 21: b + c, 20: c, 14: c, 10: "c: 12 […]", 0: "c: ",
	} {
		var warned []string
		got, left := newest(t, ask.Source{Messages: messages, MaxInputTokens: budget}, envOf(perRune{}, &warned))
		if isWhole := got.Text == a+b+c; isWhole != (len(warned) == 0) {
			t.Errorf("%d: the warnings are %q", budget, warned)
		}
		if got.Text != want || left != 3-strings.Count(want, ":") {
			t.Errorf("%d: %q, %d left", budget, got.Text, left)
		}
		for _, o := range got.Origins {
			v, _ := value.OfMap(value.Pairs("messages", messages)).At(o.Pointer)
			if text, _ := v.Str(); got.Text[o.Start:o.End] != text[o.From:o.From+o.End-o.Start] {
				t.Errorf("%d: %+v of %q", budget, o, got.Text)
			}
		}
	}
	var warned []string
	if got, left := newest(t, ask.Source{MaxInputTokens: 10}, envOf(perRune{}, &warned)); got.Text != "" || left != 0 || warned != nil {
		t.Errorf("of nothing: %v", got)
	}
}

// newest formats the newest lines of a source.
func newest(t *testing.T, s ask.Source, env *calls.Env) (calls.Traced, int) {
	return s.FormatNewest(env, s.AllLines(t.Context(), env), "x")
}

// weighing counts how much it had to look at.
type weighing struct{ seen *int }

func (w weighing) Count(text string) int {
	*w.seen += len(text)
	return len(text) / 5
}

func TestTalkOfMuch(t *testing.T) {
	seen, size := 0, 1<<20
	messages := said(ask.Line{"a", strings.Repeat("x", size)})
	talk := func(budget int) int {
		got, _ := newest(t, ask.Source{Messages: messages, MaxInputTokens: budget}, envOf(weighing{&seen}, new([]string)))
		return len(got.Text)
	}
	if n := talk(1000); n < 4900 || n > 5000 || seen > size+size/4 {
		t.Errorf("kept %d bytes, looked at %d", n, seen)
	}
	if n := talk(size / 5); n < size-100 {
		t.Errorf("kept %d bytes", n)
	}
}

func TestMessagesWithoutContent(t *testing.T) {
	for messages, want := range map[string]string{
		"[]": "", "[{role: user, content: hi}]": "", "[{role: assistant, content: null}]": "", "[{role: assistant, tool_calls: []}]": "",
		"[{role: user, content: [{type: image_url}]}]":              "",
		"[{role: user, content: hi}, {question: who, answer: Ann}]": "messages/1: the message has no content",
		"[{role: user, content: 5}]":                                "messages/0: the content is of type integer, want text or a list of parts",
		"[{role: user, content: [hi]}]":                             "messages/0: the content is of type array, want text or a list of parts",
		"[{role: user, text: hi}]":                                  "messages/0: the message has no content",
	} {
		got := ""
		for _, p := range ask.CheckSource(parse(t, "{messages: "+messages+"}"), calls.LintEnv{}) {
			got += strings.TrimPrefix(p.Pointer, "/") + ": " + p.Message
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", messages, got, want)
		}
	}
}

// White space in front is looked at once, however many pieces it comes in.
func TestTextAfterMuchSpace(t *testing.T) {
	const n = 300_000
	got := 0
	for text, err := range ask.Text(func(yield func(llm.Delta, error) bool) {
		for range n {
			if !yield(llm.Delta{Text: " "}, nil) {
				return
			}
		}
		for _, piece := range []string{"<thi", "nk>no</thi", "nk>", "yes"} {
			if !yield(llm.Delta{Text: piece}, nil) {
				return
			}
		}
	}) {
		if err != nil || text != "yes" {
			t.Fatalf("%q, %v", text, err)
		}
		got++
	}
	if got != 1 {
		t.Errorf("%d texts", got)
	}
}

func TestTracedPrompt(t *testing.T) {
	texts := fstest.MapFS{"lang/en/hi.txt": {Data: []byte("Hi {{ who }}:{% for x in items %} {{ x.name }}{% for part in x.parts %}{{ part }}{% endfor %}{% endfor %} {{ n | string }}{{ 1 + 1 }}\nBye\n")}}
	items := []*value.Map{value.Pairs("name", "tea", "parts", []string{"."}), value.Pairs("name", "Ann", "parts", []string{})}
	text, parts, err := ask.TracedPrompt(t.Context(), calls.NewEnv(), "greet", texts, "hi", ask.NewValues("who", "Ann", "items", items, "n", 3))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range parts {
		if p.Message == nil || *p.Message != 0 || !p.Included {
			t.Errorf("got %+v", p)
		}
		got = append(got, p.Kind+" "+p.Name+": "+text[p.Start:p.End])
	}
	want := []string{
		"text greet hi.txt: Hi ", "who who: Ann", "text greet hi.txt: : ", "items items.name: tea", "items items.parts: .", "text greet hi.txt:  ",
		"items items.name: Ann", "text greet hi.txt:  ", "n n: 3", "text greet hi.txt: 2\nBye",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestStructured(t *testing.T) {
	refuses := func(status int) scripted.Answer {
		return scripted.Answer{Error: &llm.Error{Status: status, Message: "not supported"}}
	}
	called := scripted.Answer{ToolCalls: []llm.ToolCall{{ID: "a", Name: "fill", Arguments: `{"n":1}`}}}
	broken := scripted.Answer{ToolCalls: []llm.ToolCall{{ID: "a", Name: "fill", Arguments: `{"n":`}}}
	tests := []struct {
		name    string
		answers []scripted.Answer
		want    string
		ways    string // of the requests: Function, Schema, Prompt
		next    string // the way of the next request
		fails   bool
	}{
		{name: "called", answers: []scripted.Answer{called}, want: `{"n":1}`, ways: "F", next: "F"},
		{name: "called with broken arguments", answers: []scripted.Answer{broken}, want: `{"n":`, ways: "F", next: "S"},
		{name: "written instead", answers: []scripted.Answer{{Text: `{"n":2}`}}, want: `{"n":2}`, ways: "F", next: "F"},
		{name: "not called", answers: []scripted.Answer{{Text: "Sure!"}, {Text: "still no document"}}, want: "still no document", ways: "FS", next: "P"},
		{name: "not called, then written", answers: []scripted.Answer{{Text: "Sure!"}, {Text: `{"n":5}`}}, want: `{"n":5}`, ways: "FS", next: "S"},
		{name: "no functions", answers: []scripted.Answer{refuses(404), {Text: `{"n":3}`}}, want: `{"n":3}`, ways: "FS", next: "S"},
		{name: "no functions and schemas", answers: []scripted.Answer{refuses(400), refuses(422), {Text: `{"n":4}`}}, want: `{"n":4}`, ways: "FSP", next: "P"},
		{name: "refused in every way", answers: []scripted.Answer{refuses(400), refuses(400), refuses(400)}, ways: "FSP", fails: true},
		{name: "down", answers: []scripted.Answer{refuses(503)}, ways: "F", fails: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := scripted.New(tt.answers...)
			s := &ask.Structured{Function: "fill", Description: "d", IsDocument: func(text string) bool { return json.Valid([]byte(text)) }}
			req := &llm.Request{
				Messages: []llm.Message{llm.TextMessage("user", "How many?")},
				Extra:    map[string]json.RawMessage{"top_k": json.RawMessage("1")},
			}
			got, err := s.Ask(t.Context(), p, req, order(t).Doc())
			if got != tt.want || (err != nil) != tt.fails {
				t.Errorf("got %s, %v", got, err)
			}
			ways := waysOf(p.Requests())
			if ways != tt.ways || len(req.Extra) != 1 {
				t.Errorf("asked %s, want %s; the request has %v", ways, tt.ways, req.Extra)
			}
			if !tt.fails { // a refused or useless request is not tried again
				_, _ = s.Ask(t.Context(), p, req, order(t).Doc())
				if next := waysOf(p.Requests()[len(tt.ways):]); !strings.HasPrefix(next, tt.next) {
					t.Errorf("the next request asks by %s, want %s", next, tt.next)
				}
			}
		})
	}
}

// waysOf returns the way in which each request asks for a document: F, S or P.
func waysOf(requests []*llm.Request) (ways string) {
	for _, asked := range requests {
		switch {
		case len(asked.Tools) == 1 && string(asked.Extra["tool_choice"]) == `{"type":"function","function":{"name":"fill"}}`:
			ways += "F"
		case asked.ResponseSchema != nil && len(asked.Extra) == 1:
			ways += "S"
		default:
			ways += "P"
		}
	}
	return ways
}
