package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/endpoint"
)

// Embedder asks a server's embeddings endpoint. [Provider.Embedder] makes one; it is safe
// for concurrent use.
type Embedder struct {
	provider   *Provider
	model      string
	dimensions int
}

// Embedder returns an embedder of a model; dimensions is sent unless it is 0. Requests are sent once: callers
// embed again in their own time.
func (p *Provider) Embedder(model string, dimensions int) llm.Embedder {
	return &Embedder{provider: p, model: model, dimensions: dimensions}
}

// Model returns the name of the model and, if they were requested, its dimensions: vectors of different ones
// cannot be compared.
func (e *Embedder) Model() string {
	if e.dimensions == 0 {
		return e.model
	}
	return fmt.Sprintf("%s/%d", e.model, e.dimensions)
}

// Embed returns a vector for each text, in their order. All errors are of type
// [*llm.Error].
func (e *Embedder) Embed(ctx context.Context, texts []string) (vectors [][]float32, err error) {
	p := e.provider
	request := struct {
		Model      string   `json:"model"`
		Input      []string `json:"input"`
		Dimensions int      `json:"dimensions,omitempty"`
	}{e.model, texts, e.dimensions}
	body, err := json.Marshal(request)
	if err != nil {
		return nil, p.client.Unsendable(err)
	}
	failure := p.client.Post(ctx, p.embeddingsURL, body, func(r io.Reader) error {
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		var problem *llm.Error
		vectors, problem = p.readVectors(data, len(texts))
		if problem != nil {
			return problem
		}
		return nil
	})
	if failure != nil {
		return nil, failure
	}
	return vectors, nil
}

// readVectors reads an answer of n vectors. A wrong one may be right the next time.
func (p *Provider) readVectors(data []byte, n int) ([][]float32, *llm.Error) {
	var answer struct {
		Data []struct {
			Index     *int      `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
		Error json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(data, &answer); err != nil || answer.Data == nil {
		if len(answer.Error) > 0 && string(answer.Error) != "null" {
			return nil, p.client.Reported(data)
		}
		return nil, (&llm.Error{
			Temporary: true, Hint: "is the model one for embeddings, and does base_url point to an OpenAI-compatible API?",
		}).WithMessage("the server's answer has no embeddings: %s", p.client.Readable(string(data[:min(len(data), endpoint.MaxErrorBody)])))
	}
	if len(answer.Data) != n {
		return nil, endpoint.Incomplete("the server gave %d embeddings for %d texts", len(answer.Data), n)
	}
	vectors := make([][]float32, n)
	for i, x := range answer.Data {
		if x.Index != nil {
			i = *x.Index
		}
		isIndex := i >= 0 && i < n
		if !isIndex || vectors[i] != nil || len(x.Embedding) == 0 {
			return nil, endpoint.Incomplete("the server's embedding %d is missing or not one of %d", i, n)
		}
		vectors[i] = x.Embedding
	}
	return vectors, nil
}
