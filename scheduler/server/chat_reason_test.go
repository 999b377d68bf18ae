package server_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/scheduler/server/store"
)

// serveFlow serves a flow called ends, whose model is slow.
func serveFlow(t *testing.T, flow string, slow llm.Provider) *fixture {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "flows"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "flows", "ends.yaml"), []byte(flow), 0o600); err != nil {
		t.Fatal(err)
	}
	return newFixture(t, dir, slow, nil)
}

// TestChatReason: clients are told of an answer that was cut or filtered, and an answer without text is one, in
// place of the run's outputs.
func TestChatReason(t *testing.T) {
	const speaks = "llm: slow\nsteps: [{id: a, call: chat, with: {user: hello}, to_user: true, on_error: continue}]\noutputs: {all: '{{ a }}'}\n"
	for name, c := range map[string]struct {
		flow   string
		answer scripted.Answer
		text   string
		reason string
	}{
		"whole":             {speaks, scripted.Answer{Text: "hi"}, "hi", "stop"},
		"cut":               {speaks, scripted.Answer{Text: "half an", FinishReason: "length"}, "half an", "length"},
		"filtered":          {speaks, scripted.Answer{FinishReason: "content_filter"}, "", "content_filter"},
		"a silent model":    {strings.Replace(speaks, "outputs: {", "outputs: {reply: nothing to say, ", 1), scripted.Answer{FinishReason: "content_filter"}, "nothing to say", "content_filter"},
		"nobody was to say": {strings.Replace(speaks, "to_user: true", "to_user: false", 1), scripted.Answer{Text: "hi", FinishReason: "length"}, `"text":"hi"`, "stop"},
	} {
		t.Run(name, func(t *testing.T) {
			f := serveFlow(t, c.flow, scripted.New(c.answer, c.answer))
			token := f.token("lin", store.RunsWrite)
			r := f.chat(token, "ends", messages("hi"), "")
			text := r.at(said)
			fits := text == c.text || c.text != "" && strings.Contains(text, c.text)
			if !fits || r.at("/choices/0/finish_reason") != c.reason {
				t.Errorf("got %s", r.text)
			}
			stream := f.chat(token, "ends", messages("hi"), `, "stream": true`)
			if !strings.Contains(stream.text, `"finish_reason":"`+c.reason+`"`) {
				t.Errorf("the stream is %s", stream.text)
			}
		})
	}
	t.Run("a step that failed", func(t *testing.T) {
		f := serveFlow(t, speaks, scripted.New(scripted.Answer{Error: &llm.Error{Message: "out of order", Status: 400}}))
		r := f.chat(f.token("lin", store.RunsWrite), "ends", messages("hi"), "")
		if r.status < 400 || !strings.Contains(r.text, "out of order") {
			t.Errorf("got %d %s", r.status, r.text)
		}
	})
	t.Run("a run that failed is not to be run again by an SDK", func(t *testing.T) {
		failing := strings.Replace(speaks, ", on_error: continue", "", 1)
		f := serveFlow(t, failing, scripted.New(scripted.Answer{Error: &llm.Error{Message: "out of order", Status: 500}}))
		r := f.chat(f.token("lin", store.RunsWrite), "ends", messages("hi"), "")
		if r.status != http.StatusBadGateway || r.header.Get("X-Should-Retry") != "false" {
			t.Errorf("got %d %v %s", r.status, r.header, r.text)
		}
	})
}
