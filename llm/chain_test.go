package llm_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
)

// TestChain: a provider that fails before its first word hands over to the next one, and no other does.
func TestChain(t *testing.T) {
	failed := func(e llm.Error, before ...llm.Delta) scripted.Answer {
		return scripted.Answer{Deltas: before, Error: &e}
	}
	thought, word := llm.Delta{Reasoning: "hm"}, llm.Delta{Text: "well"}
	tool := llm.Delta{ToolCalls: []llm.ToolCallDelta{{Name: "f"}}}
	for name, test := range map[string]struct {
		main scripted.Answer
		want string // the answer, or the error
	}{
		"answers":             {scripted.Answer{Text: "main"}, "main: main"},
		"refused":             {failed(llm.Error{Unsent: true, Temporary: true, Message: "connection refused"}), "backup: backup"},
		"no such model":       {failed(llm.Error{Status: 404}), "backup: backup"},
		"a wrong key":         {failed(llm.Error{Status: 401}), "backup: backup"},
		"too busy":            {failed(llm.Error{Status: 429, Temporary: true}), "backup: backup"},
		"broken":              {failed(llm.Error{Status: 500, Temporary: true}), "backup: backup"},
		"silent":              {failed(llm.Error{Temporary: true, Message: "no data from the server"}), "backup: backup"},
		"not recorded":        {failed(llm.Error{Unsent: true, Message: "no recording"}), "backup: backup"},
		"no credit left":      {failed(llm.Error{Status: 400, Exhausted: true}), "backup: backup"},
		"broken in a thought": {failed(llm.Error{Temporary: true}, thought), "backup: backup"},
		"a wrong request":     {failed(llm.Error{Status: 400, Message: "too long"}, thought), "(hm) error: provider: HTTP 400: too long"},
		"broken in a word":    {failed(llm.Error{Temporary: true, Message: "broken"}, thought, word), "main: (hm) well error: provider: broken"},
		"broken in a tool":    {failed(llm.Error{Temporary: true, Message: "broken"}, tool), "main: f error: provider: broken"},
		"a fault of ours":     {scripted.Answer{Before: func(context.Context, *llm.Request) error { return context.Canceled }}, "backup: backup"},
	} {
		t.Run(name, func(t *testing.T) {
			var told []string
			chain := &llm.Chain{
				Candidates: []llm.Candidate{{Name: "main", Provider: scripted.New(test.main)}, {Name: "backup", Provider: scripted.Texts("backup")}},
				Failed:     func(failed, next *llm.Candidate, err error) { told = append(told, failed.Name+" > "+next.Name) },
			}
			got := transcript(t.Context(), chain)
			if got = strings.TrimPrefix(got, ": "); got != test.want && got != "main: "+test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			want := []string(nil)
			if strings.HasPrefix(test.want, "backup") {
				want = []string{"main > backup"}
			}
			if !slices.Equal(told, want) {
				t.Errorf("told %q, want %q", told, want)
			}
		})
	}
}

// TestChainUnheard: of an answer that no user reads while it comes, nothing is passed on before it is whole, so that another provider
// gives it if it breaks off. The last provider passes its pieces on at once.
func TestChainUnheard(t *testing.T) {
	broken := scripted.Answer{Deltas: []llm.Delta{{Reasoning: "hm"}, {Text: "well"}, {ToolCalls: []llm.ToolCallDelta{{Name: "f"}}}}, Error: &llm.Error{Temporary: true, Message: "broken"}}
	wrong := broken
	wrong.Error = &llm.Error{Status: 400, Message: "too long"}
	for _, c := range []struct {
		name         string
		main, backup scripted.Answer
		want         string
	}{
		{"broken", broken, scripted.Answer{Text: "backup"}, "backup: backup"},
		{"whole", scripted.Answer{Text: "main"}, scripted.Answer{Text: "backup"}, "main: main"},
		{"a wrong request", wrong, scripted.Answer{Text: "backup"}, "error: provider: HTTP 400: too long"},
		{"both broken", broken, broken, "backup: (hm) well f error: provider: broken"},
	} {
		t.Run(c.name, func(t *testing.T) {
			chain := &llm.Chain{Unheard: true, Candidates: []llm.Candidate{{Name: "main", Provider: scripted.New(c.main)}, {Name: "backup", Provider: scripted.New(c.backup)}}}
			if got := transcript(t.Context(), chain); !strings.HasSuffix(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// transcript returns a whole answer, after the name of its provider.
func transcript(ctx context.Context, p llm.Provider) string {
	var b llm.AnswerBuilder
	var said []string
	for d, err := range p.Chat(ctx, &llm.Request{}) {
		if err != nil {
			said = append(said, "error: "+err.Error())
			break
		}
		b.Add(d)
		if d.Reasoning != "" {
			said = append(said, "("+d.Reasoning+")")
		}
		for _, c := range d.ToolCalls {
			said = append(said, c.Name)
		}
		if d.Text != "" {
			said = append(said, d.Text)
		}
	}
	return b.Answer().Provider + ": " + strings.Join(said, " ")
}

// TestChainFails: the joint error names each failure, and whether and when to try again.
func TestChainFails(t *testing.T) {
	chain := &llm.Chain{Candidates: []llm.Candidate{
		{Name: "a", Provider: scripted.New(scripted.Answer{Error: &llm.Error{Provider: "a", Status: 429, Temporary: true, RetryAfter: time.Minute}})},
		{Name: "b", Provider: scripted.New(scripted.Answer{Error: &llm.Error{Provider: "b", Status: 503, Temporary: true, RetryAfter: time.Second, Hint: "wait"}})},
		{Name: "c", Provider: scripted.New(scripted.Answer{Error: &llm.Error{Provider: "c", Status: 401, Hint: "check the key"}})},
	}}
	_, err := llm.Collect(chain.Chat(t.Context(), &llm.Request{}))
	var e *llm.Error
	if !errors.As(err, &e) || !e.Temporary || e.RetryAfter != time.Second || e.Hint != "wait" || e.Unsent {
		t.Fatalf("got %#v", err)
	}
	if want := "provider: none of the providers answered: provider a: HTTP 429; provider b: HTTP 503; provider c: HTTP 401"; err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
	if want := "服务商：所有服务商都没有回答：服务商 a：HTTP 429；服务商 b：HTTP 503；服务商 c：HTTP 401"; e.In("zh") != want {
		t.Errorf("got  %s\nwant %s", e.In("zh"), want)
	}
}

// TestChainStopped: once the reader has left, or the time of the request is over, no other candidate is asked.
func TestChainStopped(t *testing.T) {
	backup := scripted.Texts("backup")
	ctx, cancel := context.WithCancel(t.Context())
	stopping := scripted.New(scripted.Answer{Before: func(context.Context, *llm.Request) error { cancel(); return errors.New("stopped") }})
	chain := &llm.Chain{Candidates: []llm.Candidate{{Name: "main", Provider: stopping}, {Name: "backup", Provider: backup}}}
	if got := transcript(ctx, chain); !strings.Contains(got, "error") {
		t.Errorf("got %q", got)
	}
	chain.Candidates[0].Provider = scripted.New(scripted.Answer{Deltas: []llm.Delta{{Text: "a"}, {Text: "b"}}})
	for range chain.Chat(t.Context(), &llm.Request{}) {
		break
	}
	if n := len(backup.Requests()); n != 0 {
		t.Errorf("the second provider was asked %d times", n)
	}
}

func TestParseNames(t *testing.T) {
	for text, want := range map[string][]string{"": nil, "a": {"a"}, "a, b,": {"a", "b"}} {
		if got := llm.ParseNames(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func ExampleChain() {
	down := scripted.New(scripted.Answer{Error: &llm.Error{Provider: "main", Status: 503}})
	chain := &llm.Chain{Candidates: []llm.Candidate{{Name: "main", Provider: down}, {Name: "backup", Provider: scripted.Texts("Hello.")}}}
	answer, err := llm.Collect(chain.Chat(context.Background(), &llm.Request{}))
	fmt.Println(answer.Text, answer.Provider, err)
	// Output: Hello. backup <nil>
}
