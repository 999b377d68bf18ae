package server_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/server/store"
)

const eventStream = "text/event-stream"

// TestStreamResumes cuts the stream of a run after every event: the rest is the same, byte for byte, and after the
// last event nothing follows.
func TestStreamResumes(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	path := "/api/v1/runs/" + f.start(token, "echo", `{"question": "one two three"}`) + "/events"
	whole := f.do(token, "GET", path, "", "Accept", eventStream).text
	blocks := strings.SplitAfter(strings.TrimPrefix(whole, "retry: 2000\n"), "\n\n")
	blocks = blocks[:len(blocks)-1]
	if len(blocks) < 8 || !strings.Contains(blocks[len(blocks)-1], "flow.finished") {
		t.Fatalf("got %d events: %s", len(blocks), whole)
	}
	for seq := 1; seq < len(blocks); seq++ {
		got := f.do(token, "GET", path, "", "Accept", eventStream, "Last-Event-ID", fmt.Sprint(seq))
		if want := "retry: 2000\n" + strings.Join(blocks[seq:], ""); got.status != http.StatusOK || got.text != want {
			t.Errorf("after %d: got %d\n%s\nwant\n%s", seq, got.status, got.text, want)
		}
	}
	if got := f.do(token, "GET", path, "", "Accept", eventStream, "Last-Event-ID", fmt.Sprint(len(blocks))); got.status != http.StatusNoContent {
		t.Errorf("after the end: %d %s", got.status, got.text)
	}
	if got := f.do(token, "GET", path+"?view=brief", "", "Accept", eventStream).text; strings.Contains(got, `"params"`) || len(got) >= len(whole) {
		t.Errorf("brief is %s", got)
	}
	for _, wrong := range []string{"x", "-1"} {
		if got := f.do(token, "GET", path, "", "Accept", eventStream, "Last-Event-ID", wrong); got.status != http.StatusUnprocessableEntity {
			t.Errorf("Last-Event-ID %s: %d %s", wrong, got.status, got.text)
		}
	}
	if got := f.do(token, "GET", "/api/v1/runs/nope/events", "", "Accept", eventStream); got.status != http.StatusNotFound || got.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("an unknown run: %d %s", got.status, got.text)
	}
}

// TestStateOfEvents reads the events of a run with the changes of its state: from any starting event, the last
// ones have the end, and each step is the same as in the run's details.
func TestStateOfEvents(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	run := "/api/v1/runs/" + f.start(token, "echo", `{"question": "one two three"}`)
	whole := f.do(token, "GET", run+"/events?view=state", "", "Accept", eventStream).text
	details := f.do(token, "GET", run, "")
	last := map[string]string{}
	for line := range strings.Lines(whole) {
		data, isData := strings.CutPrefix(line, "data: ")
		doc, err := value.ParseJSON([]byte(data))
		if !isData || err != nil {
			continue
		}
		steps, _ := doc.At("/change/steps")
		for _, st := range steps.List() {
			id, _ := st.Get("id")
			last[id.PlainText()] = string(st.AppendJSON(nil))
		}
	}
	steps, _ := details.doc.Get("steps")
	if len(steps.List()) == 0 {
		t.Fatalf("no steps: %s", details.text)
	}
	for _, st := range steps.List() {
		id, _ := st.Get("id")
		if got, want := last[id.PlainText()], string(st.AppendJSON(nil)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if strings.Contains(whole, `"params"`) {
		t.Errorf("it is not brief: %s", whole)
	}
	blocks := strings.SplitAfter(strings.TrimPrefix(whole, "retry: 2000\n"), "\n\n")
	for seq := 1; seq < len(blocks)-1; seq++ {
		got := f.do(token, "GET", run+"/events?view=state", "", "Accept", eventStream, "Last-Event-ID", fmt.Sprint(seq))
		if want := "retry: 2000\n" + strings.Join(blocks[seq:], ""); got.text != want {
			t.Errorf("after %d: got\n%s\nwant\n%s", seq, got.text, want)
		}
	}
	finish := f.do(token, "GET", run+"/events?view=state&types=flow.finished", "", "Accept", eventStream).text
	if !strings.Contains(finish, `"state":"finished"`) || !strings.Contains(finish, `"call":"chat"`) {
		t.Errorf("the events that were left out are not in the change of the last one: %s", finish)
	}
}

// TestPagesOfEvents reads the events of a run page by page.
func TestPagesOfEvents(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	path := "/api/v1/runs/" + f.start(token, "echo", `{"question": "one two"}`) + "/events"
	all := f.do(token, "GET", path, "")
	items, _ := all.doc.Get("items")
	var got []string
	for cursor := ""; ; {
		r := f.do(token, "GET", path+"?limit=3&cursor="+cursor, "")
		page, _ := r.doc.Get("items")
		for _, e := range page.List() {
			got = append(got, e.JSON())
		}
		cursor = r.at("/next")
		if cursor == "null" {
			break
		}
	}
	if len(got) != len(items.List()) || len(got) < 7 {
		t.Fatalf("got %d events in pages, %d at once", len(got), len(items.List()))
	}
	for i, e := range items.List() {
		if e.JSON() != got[i] {
			t.Errorf("event %d: got %s, want %s", i, got[i], e.JSON())
		}
	}
	if r := f.do(token, "GET", path+"?types=flow.started,flow.finished", ""); strings.Count(r.text, `"seq"`) != 2 {
		t.Errorf("of two types: %s", r.text)
	}
}

// follow reads a stream in the background, line by line.
func (f *fixture) follow(token, path string, headers ...string) (lines <-chan string, stop func()) {
	f.t.Helper()
	ctx, cancel := context.WithCancel(f.t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.base+path, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	r.Header.Set("Accept", eventStream)
	r.Header.Set("Authorization", "Bearer "+token)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil || answer.StatusCode != http.StatusOK {
		f.t.Fatal(err, answer)
	}
	out := make(chan string, 1000)
	go func() {
		defer close(out)
		defer answer.Body.Close()
		for s := bufio.NewScanner(answer.Body); s.Scan(); {
			out <- s.Text()
		}
	}()
	return out, cancel
}

// until reads lines until one has the text.
func until(t *testing.T, lines <-chan string, text string) {
	t.Helper()
	for deadline := time.After(20 * time.Second); ; {
		select {
		case line, ok := <-lines:
			if !ok {
				t.Fatalf("the stream ended before %q", text)
			}
			if strings.Contains(line, text) {
				return
			}
		case <-deadline:
			t.Fatalf("no %q came", text)
		}
	}
}

// TestStreamStaysOpen follows a run that waits: the stream continues once it is answered, and with until=waiting
// it ends there.
func TestStreamStaysOpen(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	run := f.start(token, "sub~wait", `{}`)
	path := "/api/v1/runs/" + run
	if got := f.do(token, "GET", path+"/events?until=waiting", "", "Accept", eventStream); !strings.Contains(got.text, "flow.waiting") {
		t.Errorf("until it waits: %s", got.text)
	}
	lines, stop := f.follow(token, path+"/events")
	defer stop()
	until(t, lines, "event: flow.waiting")
	if r := f.do(token, "POST", path+"/answers", `{"answers": [{"pointer": "/city", "value": "Hangzhou"}, {"pointer": "/days", "value": "many"}]}`); r.status != http.StatusUnprocessableEntity || !strings.Contains(r.text, `"pointer":"/answers/1"`) {
		t.Errorf("one of two answers is wrong: %d %s", r.status, r.text)
	}
	if r := f.do(token, "GET", path, ""); r.at("/state") != "waiting" || !strings.Contains(r.at("/waiting"), "/city") {
		t.Errorf("a wrong answer changes the run: %s", r.text)
	}
	if r := f.do(token, "POST", path+"/answers", `{"answers": [{"step": "place", "pointer": "/city", "value": "Hangzhou"}, {"pointer": "/days", "value": 2}]}`); r.status != http.StatusAccepted {
		t.Fatalf("answered: %d %s", r.status, r.text)
	}
	until(t, lines, "Rain in Hangzhou for 2")
	until(t, lines, "event: flow.finished")
	for range lines { // it ends
	}
	if r := f.do(token, "POST", path+"/answers", `{"values": {"city": "x"}}`); r.status != http.StatusConflict || r.at("/kind") != "over" {
		t.Errorf("answering a run that is over: %d %s", r.status, r.text)
	}
	if r := f.do(token, "POST", path+"/cancel", ""); r.status != http.StatusConflict {
		t.Errorf("cancelling a run that is over: %d %s", r.status, r.text)
	}
}

// TestFeed follows the caller's runs, and no others.
func TestFeed(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	lin, bo := f.token("lin", store.RunsRead, store.RunsWrite), f.token("bo", store.RunsWrite)
	lines, stop := f.follow(lin, "/api/v1/events")
	defer stop()
	until(t, lines, "retry: 2000")
	f.start(bo, "echo", `{"question": "q"}`)
	run := f.start(lin, "echo", `{"question": "q"}`)
	for deadline := time.After(20 * time.Second); ; {
		select {
		case line := <-lines:
			if strings.Contains(line, `"bo"`) {
				t.Fatalf("a run of another user: %s", line)
			}
			if strings.Contains(line, run) && strings.Contains(line, "finished") {
				return
			}
		case <-deadline:
			t.Fatal("no change came")
		}
	}
}

// TestFeedResumes: a client whose stream broke off before any change comes back with the id that the stream began with,
// and gets the changes since; with the id of another server it learns that changes may be lost.
func TestFeedResumes(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	lin := f.token("lin", store.RunsRead, store.RunsWrite)
	other, stopOther := f.follow(lin, "/api/v1/events") // so that changes are kept
	defer stopOther()
	until(t, other, "id: ")
	first, stop := f.follow(lin, "/api/v1/events")
	var id string
	for isFound := false; !isFound; {
		id, isFound = strings.CutPrefix(<-first, "id: ")
	}
	stop()
	run := f.start(lin, "echo", `{"question": "q"}`)
	until(t, other, `"finished"`)
	again, stopAgain := f.follow(lin, "/api/v1/events", "Last-Event-ID", id)
	defer stopAgain()
	until(t, again, run)
	stranger, stopStranger := f.follow(lin, "/api/v1/events", "Last-Event-ID", "another.1")
	defer stopStranger()
	until(t, stranger, "event: reset")
}
