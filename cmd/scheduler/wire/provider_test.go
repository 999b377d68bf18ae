package wire_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callnode/scheduler/cmd/scheduler/config"
	"github.com/callnode/scheduler/cmd/scheduler/wire"
)

// TestTakesImages: a provider is known to take images by its server, or because it says so.
func TestTakesImages(t *testing.T) {
	for settings, want := range map[string]string{
		`{base_url: "https://api.openai.com/v1"}`:                    "yes",
		`{base_url: "https://api.openai.com/v1", lacks: [images]}`:   "no",
		`{base_url: "https://models.example.com/v1"}`:                "no",
		`{base_url: "https://models.example.com/v1", has: [images]}`: "yes",
		`{type: anthropic}`: "yes",
		`{type: anthropic, base_url: "https://models.example.com"}`:        "no",
		`{type: openai-responses}`:                                         "yes",
		`{type: openai-responses, base_url: "http://127.0.0.1:1234/v1"}`:   "no",
		`{type: anthropic, has: [picture]}`:                                `unknown ability "picture" (there are images, tools, schema)`,
		`{type: anthropic, lacks: [tools, images], has: [schema, images]}`: `"images" stands under lacks too`,
	} {
		file := filepath.Join(t.TempDir(), "scheduler.yaml")
		text := "llm: {providers: [" + strings.Replace(settings, "{", "{name: main, ", 1) + "]}\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		loaded, err := config.Load(config.Place{File: file}, wire.ProviderTypes())
		got := "no"
		switch {
		case err != nil:
			got = err.Error()
		case loaded.LLM.TakesImages("main"):
			got = "yes"
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", settings, got, want)
		}
	}
}
