package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// terminalTalk is a conversation of test/answers/talks.yaml.
type terminalTalk struct {
	Name     string `json:"name"`
	Flow     string `json:"flow"`
	Terminal *bool  `json:"terminal"`
	Turns    []struct {
		Says         string `json:"says"`
		Reads        string `json:"reads"`
		Model        string `json:"model"`
		WithoutModel bool   `json:"without_model"`
	} `json:"turns"`
}

// notForPeople match text that a person who answers a question should never see: pointers, patterns, keys, words
// of schemas and of Go.
var notForPeople = regexp.MustCompile(`(^|[\s("'])/[a-z_]|\^|\$|\\d|\[A-Z|_|pattern|schema|minimum|maximum|maxLength|minLength|string|integer|boolean|enum|format|pointer|JSON|<nil>|%!|invalid|panic|\{|null|required`)

// TestTalksOnTerminal: people answer the flows of test/answers on a terminal, and read words alone.
func TestTalksOnTerminal(t *testing.T) {
	const from = "../../test/answers"
	text, err := os.ReadFile(filepath.Join(from, "talks.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := yaml.ParseValue(text)
	if err != nil {
		t.Fatal(err)
	}
	var talks []terminalTalk
	if err := value.Decode(doc, &talks); err != nil {
		t.Fatal(err)
	}
	for _, talk := range talks {
		if talk.Terminal != nil && !*talk.Terminal {
			continue
		}
		t.Run(talk.Name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { talk.read(w, r) }))
			t.Cleanup(server.Close)
			dir := t.TempDir()
			flow, err := os.ReadFile(filepath.Join(from, talk.Flow+".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			settings := `llm: {default: m, providers: [{name: m, base_url: "` + server.URL + `/v1", model: m}]}`
			for name, text := range map[string]string{"flow.yaml": string(flow), "scheduler.yaml": settings} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			x := onTerminal(t, dir, "run", "flow.yaml", "--question", "I need help.")
			for _, turn := range talk.Turns {
				if turn.Says != "" {
					x.types(turn.Says + "\n")
				}
				x.reads(turn.Reads)
			}
		})
	}
}

// read plays a model that reads the messages of the talk as its turns say, and finds nothing in all else.
func (k *terminalTalk) read(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Messages []struct{ Content string }
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_, message, _ := strings.Cut(request.Messages[len(request.Messages)-1].Content, "<message>")
	answer := "{}"
	for _, turn := range k.Turns {
		if turn.Model != "" && strings.Contains(message, "\n"+turn.Says+"\n") {
			answer = turn.Model
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	text, _ := json.Marshal(answer)
	_, _ = fmt.Fprintf(w, "data: {\"choices\": [{\"index\": 0, \"delta\": {\"content\": %s}, \"finish_reason\": \"stop\"}]}\n\ndata: [DONE]\n\n", text)
}

// reads waits for a line that a regular expression matches, and checks the lines of the question.
func (x *console) reads(want string) {
	x.t.Helper()
	pattern := regexp.MustCompile(want)
	var fresh string
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		x.mu.Lock()
		fresh = strings.ReplaceAll(x.screen.String()[x.seen:], "\r", "")
		x.mu.Unlock()
		for line := range strings.SplitSeq(fresh, "\n") {
			line = strings.TrimPrefix(strings.TrimSpace(line), "> ")
			if !pattern.MatchString(strings.TrimSpace(line)) || !strings.HasSuffix(fresh, "\n") && !strings.HasSuffix(fresh, "> ") {
				continue
			}
			if found := notForPeople.FindString(line); found != "" && !strings.Contains(line, "A-1042, ") && !strings.Contains(line, "B-0007, ") {
				x.t.Errorf("a person reads %q in %q", found, line)
			}
			x.mu.Lock()
			x.seen = x.screen.Len()
			x.mu.Unlock()
			return
		}
	}
	x.t.Fatalf("no line %s comes on the screen:\n%s", want, fresh)
}
