package replay_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/replay"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
)

// An answer is recorded once and played from then on, without the model.
func ExampleCassette() {
	dir, err := os.MkdirTemp("", "cassette")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "flow.cassette.yaml")
	req := &llm.Request{Messages: []llm.Message{llm.TextMessage("user", "Say hello.")}}

	cassette, err := replay.Open(replay.Options{Path: path})
	if err != nil {
		fmt.Println(err)
		return
	}
	recorded := cassette.Record(replay.Header{Inputs: replay.DigestOf(value.Must("inputs")), Seed: 7})
	answer, err := llm.Collect(recorded.Provider("main", scripted.Texts("Hello.")).Chat(context.Background(), req))
	fmt.Println("recorded:", answer.Text, err, recorded.End(true))

	played := cassette.Play(replay.Header{Inputs: replay.DigestOf(value.Must("inputs"))}, true)
	_, _, seed := played.Start(0)
	player := played.Provider("main", nil)
	answer, err = llm.Collect(player.Chat(context.Background(), req))
	fmt.Println("played:", answer.Text, err, "with the seed", seed)

	req.Messages[0] = llm.TextMessage("user", "Say goodbye.")
	_, err = llm.Collect(player.Chat(context.Background(), req))
	var failure *llm.Error
	fmt.Println("not recorded:", errors.As(err, &failure), failure.Hint)
	// Output:
	// recorded: Hello. <nil> <nil>
	// played: Hello. <nil> with the seed 7
	// not recorded: true record it: run once with --record and a provider that can answer
}
