package openai_test

import (
	"testing"
	"time"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/llmtest"
	"github.com/callnode/scheduler/llm/openai"
)

func TestConformance(t *testing.T) {
	llmtest.Run(t, func(baseURL string) llm.Provider {
		p, err := openai.New(openai.Config{
			Name: "test", BaseURL: baseURL, APIKey: llmtest.APIKey, Model: llmtest.Model,
			MaxRetries: 2, RetryWait: time.Millisecond, Timeout: 5 * time.Second,
		})
		if err != nil {
			t.Fatal(err)
		}
		return p
	})
}
