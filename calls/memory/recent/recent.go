// Package recent is the call memory-recent: the newest turns of the flow's session, for example for a prompt.
package recent

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/internal/transcript"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
)

// Params are the parameters of the call.
type Params struct {
	Items  int `json:"items" default:"200" min:"1" max:"10000" doc:"How many utterances are given at most."`
	Tokens int `json:"tokens" default:"5000" min:"1" max:"10000000" doc:"How many tokens they have at most; the oldest are left out."`
}

// Input selects the user and the session whose utterances are read.
type Input struct {
	calls.Scope
}

// Output is the dialogue.
type Output struct {
	Turns []Turn `json:"turns" doc:"The newest utterances of the flow's session, oldest first: {role, content, timestamp}."`
	Text  string `json:"text" doc:"The same as text, a line for each."`
	// MemoryIDs are the ids of the memories from which the turns come.
	MemoryIDs []string `json:"memory_ids" doc:"The ids of the memories that the turns are, in the same order."`
}

// Turn is an utterance, a message of a chat as other calls take it.
type Turn struct {
	Role      string `json:"role"`
	Content   string `json:"content"`
	Timestamp string `json:"timestamp"`
}

// Definition returns the call memory-recent as a registry knows it: schemas, texts, examples.
func Definition() calls.Definition {
	def := calls.Define[Params, Input, Output](calls.Info{
		Name:        "memory-recent",
		IsContained: true,
		NoSubsteps:  true,
		Summary: calls.Text{
			En: "The newest utterances of the flow's session: the short-term memory.",
			Zh: "流程会话中最近的发言，即短期记忆。",
		},
		UsesMemory: true, OnlyRecalls: true,
		Examples: []calls.Example{{
			Vars:  memory.ExampleVars(),
			Title: "The last ten",
			With:  "items: 10\n",
		}},
	})
	def.Origins = outputOrigins
	return def
}

// outputOrigins returns the origins of the words of a turn, and of the lines of the text: the memories.
func outputOrigins(_ context.Context, of calls.Record, pointer string) (origins []calls.Origin) {
	var out Output
	if value.Decode(of.Output, &out) != nil || len(out.MemoryIDs) != len(out.Turns) {
		return nil
	}
	at := 0
	for i, turn := range out.Turns {
		isCut := strings.HasSuffix(turn.Content, llm.TruncationMarker)
		o := calls.Origin{Kind: calls.OriginMemory, Name: out.MemoryIDs[i], End: len(turn.Content), Computed: isCut}
		if pointer == fmt.Sprintf("/output/turns/%d/content", i) {
			return []calls.Origin{o}
		}
		at += len(turn.Role) + len(": ")
		o.Start, o.End = at, at+len(turn.Content)
		origins = append(origins, o)
		at = o.End + len("\n")
	}
	if pointer == "/output/text" {
		return origins
	}
	return nil
}

// Init notes the scope.
func (p Params) Init(_ context.Context, vars *calls.Vars) (Input, error) {
	return Input{vars.Scope}, memory.CheckScope(vars)
}

// Exec reads the utterances.
func (p Params) Exec(ctx context.Context, env *calls.Env, in Input) iter.Seq2[calls.Chunk, error] {
	return calls.Do(func() (any, error) {
		store, err := memory.FromEnv(ctx, env)
		if err != nil {
			return nil, err
		}
		turns, err := store.Recent(ctx, in.Scope, p.Items)
		if err != nil {
			return nil, err
		}
		trimmer := transcript.NewTrimmer(p.Items, p.Tokens, env.Tokens)
		for _, turn := range turns {
			trimmer.Add(turn)
		}
		out := Output{Turns: []Turn{}, MemoryIDs: []string{}}
		var lines []string
		for _, turn := range trimmer.Turns() {
			out.Turns = append(out.Turns, Turn{turn.Role, turn.Content, memory.FormatTime(turn.Timestamp)})
			out.MemoryIDs = append(out.MemoryIDs, turn.ID)
			lines = append(lines, turn.Role+": "+turn.Content)
		}
		out.Text = strings.Join(lines, "\n")
		return out, nil
	})
}
