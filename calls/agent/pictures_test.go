package agent_test

import (
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/agent"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
)

// TestPictures: a model that takes images, or is said to by the step, sees the pictures of a round after its results; another one reads a note of each.
func TestPictures(t *testing.T) {
	dir := desk(t)
	data, err := base64.StdEncoding.DecodeString(png)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"desk/mug.png", "desk/skills/prices/tag.png"} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const url = "data:image/png;base64," + png
	for _, one := range []struct {
		with string
		sees bool // whether the model is known to take images
		want int
	}{
		{with: "", want: 0},
		{with: "", sees: true, want: 4},
		{with: "images: true\n", want: 4},
		{with: "images: false\n", sees: true, want: 0},
	} {
		with, want := one.with, one.want
		p := scripted.New(uses("", "q_snap", "{}", "read_file", `{"path": "mug.png"}`, "read_skill", `{"name": "prices", "file": "tag.png"}`), says("A mug."))
		r := run(t.Context(), t, &world{t: t}, p, with+"prompt: x\nworkspace: desk\ntools: {mcp: [{server: q, tools: [snap]}]}", func(env *calls.Env) {
			env.Dir, env.LLM = dir, &llm.Chain{Candidates: []llm.Candidate{{Provider: env.LLM, Images: true}, {Provider: env.LLM, Images: one.sees}}}
		})
		if r.err != nil {
			t.Fatal(r.err)
		}
		var results []string
		for _, u := range r.Rounds[0].ToolCalls {
			results = append(results, u.Result)
		}
		if diff := cmp.Diff([]string{"two\n[image/jpeg, 70 bytes]\n[image/png, 3 bytes]\n[file:///b, image/png, 70 bytes]", "[image/png, 70 bytes]", "[image/png, 70 bytes]"}, results); diff != "" {
			t.Error(diff)
		}
		sent := p.Requests()[1].Messages
		if got := strings.Count(string(sent[len(sent)-1]), `{"type":"image_url","image_url":{"url":"`+url+`"}}`); got != want {
			t.Errorf("%q: got %d pictures, want %d in %s", with, got, want, sent[len(sent)-1])
		}
		if want == 0 {
			continue
		}
		output, err := value.Of(r.Output)
		if err != nil {
			t.Fatal(err)
		}
		of := calls.Record{Params: parse(t, with+"prompt: x"), Output: output}
		for pointer, want := range map[string]string{
			"/output/messages/5/content/1/image_url/url": "tool q_snap",
			"/output/messages/5/content/3/image_url/url": "tool read_skill",
			"/output/messages/6/content":                 "answer ",
		} {
			got := ""
			for _, o := range agent.Definition().Origins(context.Background(), of, pointer) {
				got = string(o.Kind) + " " + o.Name
			}
			if got != want {
				t.Errorf("%s: got %q, want %q", pointer, got, want)
			}
		}
	}
}
