// Tester is a plugin for scripts: it notes what it is asked in the file log, and fails
// when it is told to.
package main

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"os"
	"strings"

	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/plugins/sdk"
)

func main() {
	sdk.Serve(sdk.Plugin{Name: "tester", Version: "1.0.0", Functions: []sdk.Function{
		sdk.Ranking("keep", doc("Keeps what has the word keep."), keep{}, sdk.Retrieves()),
		sdk.Variable("profile", doc("Who asks."), profile),
		sdk.Variable("mood", doc("How they are."), func(context.Context, plugins.State) (string, error) { return "cheerful", note("mood") }),
		sdk.Stream("tell", doc("Tells a text word by word."), tell, sdk.Example("A greeting", "{text: hello there}")),
		sdk.Call("flaky", doc("Dies as often as it is told, then gives its idempotency key."), flaky, sdk.Example("At once", "{dies: 0}")),
		sdk.Call("hang", doc("Never ends."), hang),
		sdk.Call("look", doc("Gives what it can see."), look, sdk.Example("All", "{}")),
	}})
}

func doc(en string) sdk.Doc { return sdk.Doc{En: en, Zh: "测试用。"} }

// note adds a line to the log.
func note(format string, args ...any) error {
	f, err := os.OpenFile("log", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(f, format+"\n", args...); err != nil {
		return err
	}
	return f.Close()
}

type keep struct{}

// Judge notes the size of the batch.
func (keep) Judge(ctx context.Context, s plugins.State, items []plugins.Item) ([]plugins.Verdict, error) {
	found, err := s.Retrieve(ctx)
	if err != nil {
		return nil, err
	}
	verdicts := make([]plugins.Verdict, len(items))
	for i, item := range items {
		verdicts[i].Include = strings.Contains(item.Text+string(item.Data), "keep")
	}
	return verdicts, note("keep: %d items, %d memories, %d turns, input %q", len(items), len(found), len(s.History), s.Input)
}

// Profile is a variable with members.
type Profile struct {
	User  string `json:"user" doc:"Who it is"`
	Likes string `json:"likes" doc:"What they like"`
}

func profile(_ context.Context, s plugins.State) (Profile, error) {
	return Profile{s.User, "tea {{ inputs }}"}, note("profile")
}

// Text is the parameters of tell.
type Text struct {
	Text string `json:"text" doc:"What is told"`
}

func tell(_ context.Context, p Text) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for word := range strings.SplitAfterSeq(p.Text, " ") {
			if !yield(word, nil) {
				return
			}
		}
	}
}

// Dies is the parameters of flaky.
type Dies struct {
	Dies int `json:"dies" doc:"How often it dies before" min:"0"`
}

// Key is the output of flaky.
type Key struct {
	Key   string `json:"key" doc:"The idempotency key"`
	Tries int    `json:"tries" doc:"How often it was tried"`
}

func flaky(ctx context.Context, p Dies) (Key, error) {
	key := sdk.HostOf(ctx).IdempotencyKey()
	if err := note("flaky %s", key); err != nil {
		return Key{}, err
	}
	text, err := os.ReadFile("log")
	tries := bytes.Count(text, []byte("flaky "+key+"\n"))
	if tries <= p.Dies {
		go panic("I die now") // nobody can catch it
		select {}
	}
	return Key{key, tries}, err
}

// Nothing is no parameters.
type Nothing struct{}

func hang(context.Context, Nothing) (Nothing, error) {
	if err := note("hang %d %s", os.Getpid(), os.Getenv("PLUGIN_UNIX_SOCKET_DIR")); err != nil {
		return Nothing{}, err
	}
	select {}
}

// Sight is what a call can see.
type Sight struct {
	Vars string   `json:"vars" doc:"What the step sees"`
	Env  []string `json:"env" doc:"Environment variables"`
}

func look(ctx context.Context, _ Nothing) (Sight, error) {
	h := sdk.HostOf(ctx)
	seen, err := h.Vars(ctx)
	if err == nil {
		err = h.Log(ctx, "warn", "I look \x1b[31maround")
	}
	return Sight{seen.JSON(), os.Environ()}, err
}
