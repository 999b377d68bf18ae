// Package tokens counts tokens as models do, offline: with the vocabulary of OpenAI's models, times a factor for
// the models of others, and with an estimate for images. For example, it counts 10 % more tokens for a Claude
// model than for GPT.
package tokens

import (
	"context"
	"math"
	"path"
	"strings"

	"github.com/callnode/scheduler/llm"
)

// factors are by how much the models of a family split text finer than o200k, by the prefix of the model's name;
// the longest that fits counts. Only OpenAI publishes its vocabulary: the others lie on the safe side of
// measurements.
var factors = []struct {
	prefix string
	factor float64
}{
	{"", 1.1},
	{"gpt-", 1}, {"o1", 1}, {"o3", 1}, {"o4", 1}, {"chatgpt", 1}, {"codex", 1}, {"text-embedding", 1.2},
	{"gpt-3.5", 1.2}, {"gpt-4", 1.2}, {"gpt-4o", 1}, {"gpt-4.1", 1}, {"gpt-4.5", 1},
	{"claude", 1.1},
	{"llama", 1.2}, {"meta-llama", 1.2}, {"mistral", 1.2}, {"mixtral", 1.2}, {"codestral", 1.2}, {"ministral", 1.2},
}

// For returns the counter of a model by its name, with or without the vendor in front (anthropic/claude-sonnet-4):
// exact for OpenAI's models since gpt-4o. "" is an unknown model, which most likely counts like those. Text that
// spells a special token counts as the text it is.
func For(model string) llm.Counter {
	if model == "" {
		return scaled{factor: 1}
	}
	name, best := baseName(model), 0
	for i, f := range factors {
		if strings.HasPrefix(name, f.prefix) && len(f.prefix) >= len(factors[best].prefix) {
			best = i
		}
	}
	return scaled{factor: factors[best].factor, model: model}
}

// baseName returns a model's name in lower case without vendor or folder.
func baseName(model string) string { return strings.ToLower(path.Base(model)) }

// scaled counts with o200k, times a factor, and images as its model does.
type scaled struct {
	factor float64
	model  string
	done   <-chan struct{} // closed when exact numbers are not worth the time any more; nil never is
}

var (
	_ llm.ImageCounter = scaled{}
	_ llm.BoundCounter = scaled{}
)

// Bound returns the counter with a context.
func (s scaled) Bound(ctx context.Context) llm.Counter {
	s.done = ctx.Done()
	return s
}

func (s scaled) Count(text string) int {
	if text == "" {
		return 0
	}
	return int(math.Ceil(float64(countTokens(text, s.done)) * s.factor))
}
