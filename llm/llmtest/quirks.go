package llmtest

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/llm"
)

// quirk is one way in which servers bend or break the protocol.
type quirk struct {
	name   string
	handle func(w http.ResponseWriter, r *http.Request, n int)
	// want is the answer, or its part before the error.
	want llm.Answer
	// pieces are the texts of the deltas; nil if they do not matter.
	pieces []string
	// fails describes the expected error; nil if there is none.
	fails *llm.Error
	// requests is how many the server must get; 0 is one.
	requests int
}

// checkQuirk plays a quirk and compares the provider's answer.
func (s *suite) checkQuirk(t *testing.T, q quirk) {
	requests := make(chan int, 16)
	base := s.startServer(t, func(w http.ResponseWriter, r *http.Request, n int) {
		requests <- n
		q.handle(w, r, n)
	})
	var answer llm.AnswerBuilder
	var pieces []string
	var err error
	for d, failure := range s.open(base).Chat(t.Context(), Request()) {
		err = failure
		if err != nil {
			continue // a sequence that goes on after its error is caught below
		}
		answer.Add(d)
		if d.Text != "" {
			pieces = append(pieces, d.Text)
		}
	}
	if diff := cmp.Diff(q.want, answer.Answer()); diff != "" {
		t.Errorf("answer (-want +got)\n%s", diff)
	}
	if q.pieces != nil {
		if diff := cmp.Diff(q.pieces, pieces); diff != "" {
			t.Errorf("pieces (-want +got)\n%s", diff)
		}
	}
	if n := len(requests); n != max(q.requests, 1) {
		t.Errorf("the server got %d requests, want %d", n, max(q.requests, 1))
	}
	if q.fails == nil {
		if err != nil {
			t.Errorf("unexpected error: %v", err)
		}
		return
	}
	got, want := *checkError(t, err), *q.fails
	if !strings.Contains(got.Error(), want.Message) {
		t.Errorf("got the error %v, want %q", err, want.Message)
	}
	got = llm.Error{Status: got.Status, Temporary: got.Temporary, RetryAfter: got.RetryAfter}
	want.Message = ""
	if got != want {
		t.Errorf("error %v: got %+v, want %+v", err, got, want)
	}
}

// streamHandler returns a handler that streams pieces.
func streamHandler(pieces ...string) func(http.ResponseWriter, *http.Request, int) {
	return func(w http.ResponseWriter, _ *http.Request, _ int) { writeStream(w, pieces...) }
}

// bodyHandler returns a handler that answers with a status and a body.
func bodyHandler(status int, contentType, body string) func(http.ResponseWriter, *http.Request, int) {
	return func(w http.ResponseWriter, _ *http.Request, _ int) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		w.Write([]byte(body)) //nolint:errcheck // the client may have gone
	}
}

// firstThen returns a handler that passes the first requests to one handler, the others to another.
func firstThen(n int, early, late func(http.ResponseWriter, *http.Request, int)) func(http.ResponseWriter, *http.Request, int) {
	return func(w http.ResponseWriter, r *http.Request, i int) {
		if i <= n {
			early(w, r, i)
			return
		}
		late(w, r, i)
	}
}

// refusalHandler returns a handler that answers with a status, a header and an error of the vendor's.
func refusalHandler(status int, header, headerValue, message string) func(http.ResponseWriter, *http.Request, int) {
	return func(w http.ResponseWriter, r *http.Request, n int) {
		if header != "" {
			w.Header().Set(header, headerValue)
		}
		bodyHandler(status, "application/json", `{"type":"error","error":{"message":"`+message+`","type":"x","code":null}}`)(w, r, n)
	}
}

// hangUp breaks the connection off.
func hangUp(http.ResponseWriter, *http.Request, int) { panic(http.ErrAbortHandler) }

// commonQuirks returns the quirks of servers of any protocol.
func (s *suite) commonQuirks() []quirk {
	plain := llm.Answer{Text: "Hello", FinishReason: "stop", Usage: s.usage}
	hello := s.wholeAnswer("Hel", "lo")
	ok := streamHandler(hello...)
	long := strings.Repeat("x", 1<<20)
	half := func(escape string) string { return strings.Replace(s.text("HALF"), "HALF", escape, 1) }
	halfCharacter := strings.Split(s.text("你好"), "\xa0")
	return []quirk{
		{name: "plain stream", handle: ok, want: plain, pieces: []string{"Hel", "lo"}},
		{name: "comments and keep-alives", handle: streamHandler(": PROCESSING\n\n" + strings.Join(hello, ":\n\n: ping\n\n")), want: plain},
		{name: "CRLF line ends", handle: streamHandler(strings.ReplaceAll(strings.Join(hello, ""), "\n", "\r\n")), want: plain},
		{name: "no space after the colon", handle: streamHandler(strings.NewReplacer("data: ", "data:", "event: ", "event:").Replace(strings.Join(hello, ""))), want: plain},
		{name: "byte order mark", handle: streamHandler("\ufeff" + strings.Join(hello, "")), want: plain},
		{
			name:   "a character cut between packets",
			handle: streamHandler(slices.Concat(s.begin, []string{halfCharacter[0] + "\xa0", halfCharacter[1]}, s.end)...),
			want:   llm.Answer{Text: "你好", FinishReason: "stop", Usage: s.usage},
		},
		{
			name:   "a character in halves, over two events",
			handle: streamHandler(slices.Concat(s.begin, []string{half(`a\ud83d`), half(`\ude00b`)}, s.end)...),
			want:   llm.Answer{Text: "a😀b", FinishReason: "stop", Usage: s.usage},
		},
		{name: "a huge line", handle: streamHandler(s.wholeAnswer(long)...), want: llm.Answer{Text: long, FinishReason: "stop", Usage: s.usage}},
		{name: "slow first byte", want: plain, handle: func(w http.ResponseWriter, _ *http.Request, _ int) {
			time.Sleep(100 * time.Millisecond)
			writeStream(w, hello...)
		}},

		{name: "429 then success", handle: firstThen(1, refusalHandler(429, "Retry-After", "0", "slow down"), ok), want: plain, requests: 2},
		{name: "503 and 500 then success", handle: firstThen(1, refusalHandler(503, "", "", "busy"), firstThen(2, refusalHandler(500, "", "", "oops"), ok)), want: plain, requests: 3},
		{name: "408 then success", handle: firstThen(1, refusalHandler(408, "", "", "late"), ok), want: plain, requests: 2},
		{name: "connection closed then success", handle: firstThen(1, hangUp, ok), want: plain, requests: 2},
		{name: "cut before the first delta, then success", handle: firstThen(1, streamHandler(": hi\n\n"), ok), want: plain, requests: 2},
		{name: "500 for good", handle: refusalHandler(500, "", "", "the model crashed"), requests: 3, fails: &llm.Error{Status: 500, Temporary: true, Message: "the model crashed"}},
		{name: "a long Retry-After is not waited for", handle: refusalHandler(429, "Retry-After", "3600", "quota"), fails: &llm.Error{Status: 429, Temporary: true, Message: "quota", RetryAfter: time.Hour}},
		{name: "400 is not retried", handle: refusalHandler(400, "", "", "unknown parameter: foo"), fails: &llm.Error{Status: 400, Message: "unknown parameter: foo"}},
		{name: "401 that echoes the key", handle: refusalHandler(401, "", "", "Incorrect API key provided: "+APIKey), fails: &llm.Error{Status: 401, Message: "Incorrect API key provided: ***"}},
		{name: "error as text", handle: bodyHandler(404, "application/json", `{"error":"model 'x' not found"}`), fails: &llm.Error{Status: 404, Message: "model 'x' not found"}},
		{name: "error as detail", handle: bodyHandler(422, "application/json", `{"detail":[{"loc":["body"],"msg":"field required"}]}`), fails: &llm.Error{Status: 422, Message: "field required"}},
		{name: "error as a web page", handle: bodyHandler(502, "text/html", "<html><head><title>Bad Gateway</title></head>"+APIKey+"</html>"), requests: 3, fails: &llm.Error{Status: 502, Temporary: true, Message: "Bad Gateway"}},
		{name: "error without a body", handle: bodyHandler(403, "text/plain", ""), fails: &llm.Error{Status: 403, Message: "Forbidden"}},
		{name: "a body that is not JSON", handle: bodyHandler(200, "text/html", "<!doctype html><p>"+APIKey+" welcome"), fails: &llm.Error{Message: "welcome"}},
		{name: "a body that is plain text", handle: bodyHandler(200, "text/plain", "It works! "+APIKey), fails: &llm.Error{Message: "It works!"}},
		{name: "JSON that is not an answer", handle: bodyHandler(200, "application/json", `{"object":"error","message":"no such model","code":404}`), fails: &llm.Error{Message: "no such model"}},
		{name: "error with status 200", handle: bodyHandler(200, "application/json", `{"error":{"message":"bad model","code":400}}`), fails: &llm.Error{Status: 400, Message: "bad model"}},
		{name: "stream cut in the middle", handle: streamHandler(s.cutAnswer("Hello")...), want: llm.Answer{Text: "Hello"}, fails: &llm.Error{Temporary: true, Message: "cut"}},
		{name: "connection lost in the middle", want: llm.Answer{Text: "Hel"}, fails: &llm.Error{Temporary: true},
			handle: func(w http.ResponseWriter, r *http.Request, n int) {
				writeStream(w, s.cutAnswer("Hel")...)
				hangUp(w, r, n)
			}},
		{name: "empty body", handle: bodyHandler(200, "application/json", ""), requests: 3, fails: &llm.Error{Temporary: true, Message: "empty body"}},
	}
}
