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
)

// An answer is recorded once and played from then on, without the model.
func ExampleProvider() {
	dir, err := os.MkdirTemp("", "cassette")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "flow.cassette.yaml")
	req := &llm.Request{Messages: []llm.Message{llm.TextMessage("user", "Say hello.")}}

	recorder, err := replay.New(replay.Config{Path: path, Mode: replay.Auto, Inner: scripted.Texts("Hello.")})
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, err := llm.Collect(recorder.Chat(context.Background(), req))
	fmt.Println("recorded:", answer.Text, err)

	player, err := replay.New(replay.Config{Path: path})
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, err = llm.Collect(player.Chat(context.Background(), req))
	fmt.Println("played:", answer.Text, err)

	req.Messages[0] = llm.TextMessage("user", "Say goodbye.")
	_, err = llm.Collect(player.Chat(context.Background(), req))
	var failure *llm.Error
	fmt.Println("not recorded:", errors.As(err, &failure), failure.Hint)
	// Output:
	// recorded: Hello. <nil>
	// played: Hello. <nil>
	// not recorded: true record it: run once in mode auto or record with a provider that can answer
}
