package server_test

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/server/store"
)

const talksDir = "../../test/answers"

// customerTalk is a conversation of test/answers/talks.yaml.
type customerTalk struct {
	Name  string     `json:"name"`
	Flow  string     `json:"flow"`
	Turns []talkTurn `json:"turns"`
}

// talkTurn is a message of a customer, the values that a model reads in it, and the text that the customer reads
// next.
type talkTurn struct {
	Says         string `json:"says"`
	Reads        string `json:"reads"`
	Model        string `json:"model"`
	WithoutModel bool   `json:"without_model"`
}

func readTalks(t *testing.T) (talks []customerTalk) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(talksDir, "talks.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := yaml.ParseValue(text)
	if err == nil {
		err = value.Decode(doc, &talks)
	}
	if err != nil {
		t.Fatal(err)
	}
	return talks
}

// talkReader is a model that reads the messages of a talk as its turns say, and finds nothing in all else.
type talkReader struct {
	t    *testing.T
	talk customerTalk
}

func (r talkReader) Chat(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		doc, err := value.ParseJSON(req.Messages[len(req.Messages)-1])
		if err != nil {
			r.t.Error(err)
		}
		content, _ := doc.Get("content")
		_, message, isRead := strings.Cut(content.PlainText(), "<message>")
		message, _, _ = strings.Cut(message, "</message>")
		answer := "{}"
		for _, turn := range r.talk.Turns {
			if !isRead || turn.Says == "" || !strings.Contains(message, "\n"+turn.Says+"\n") {
				continue
			}
			if turn.WithoutModel {
				r.t.Errorf("a model reads %q", turn.Says)
			}
			if turn.Model != "" {
				answer = turn.Model
			}
		}
		if isAsked := strings.Contains(content.PlainText(), "<asked>"); isRead && !isAsked {
			r.t.Errorf("the question is not in the prompt: %s", message)
		}
		yield(llm.Delta{Text: answer, FinishReason: "stop"}, nil)
	}
}

// TestTalks: customers talk with the flows of test/answers through the chat API and MCP, and read words alone.
func TestTalks(t *testing.T) {
	for _, talk := range readTalks(t) {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, "flows"), 0o700); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(talksDir, talk.Flow+".yaml"))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "flows", talk.Flow+".yaml"), append([]byte("llm: slow\n"), text...), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		f := newFixture(t, dir, talkReader{t, talk}, nil)
		token := f.token("lin", store.RunsRead, store.RunsWrite)
		t.Run(talk.Name+"/v1", func(t *testing.T) {
			said := []string{"I need help."}
			for _, turn := range talk.Turns {
				if turn.Says != "" {
					said = append(said, turn.Says)
				}
				reply := f.chat(token, talk.Flow, messages(said...), "")
				checkTalk(t, turn, reply.at("/choices/0/message/content"))
				said = append(said, reply.at("/choices/0/message/content"))
			}
		})
		t.Run(talk.Name+"/mcp", func(t *testing.T) {
			s := f.connect(token, eras()[0], nil, nil)
			run := ""
			for i, turn := range talk.Turns {
				var doc value.Value
				if i == 0 {
					_, doc = callTool(t, s, "flow_"+talk.Flow, map[string]any{"question": "I need help."})
					run = textAt(doc, "/run")
				} else {
					_, doc = callTool(t, s, "answer_run", map[string]any{"run": run, "message": turn.Says})
				}
				if textAt(doc, "/state") == "finished" { // the steps' text is not a part of the result
					continue
				}
				read := textAt(doc, "/question")
				if textAt(doc, "/state") == "cancelled" {
					read = textAt(doc, "/text")
				}
				checkTalk(t, turn, read)
			}
		})
	}
}

// checkTalk checks a text that a customer reads.
func checkTalk(t *testing.T, turn talkTurn, read string) {
	t.Helper()
	if !regexp.MustCompile(turn.Reads).MatchString(read) {
		t.Errorf("after %q the customer reads %q, want %s", turn.Says, read, turn.Reads)
	}
	isOurs := !strings.HasPrefix(read, "Noted") && !strings.HasPrefix(read, "已记录")
	if found := forbidden.FindString(read); found != "" && isOurs {
		t.Errorf("the customer reads %q in %q", found, read)
	}
}
