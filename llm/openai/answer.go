package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/endpoint"
)

// answer turns the chunks of one answer into deltas. readAnswer makes one for each body.
type answer struct {
	provider *Provider
	emit     func(llm.Delta) bool
	// begun reports that a chunk had a choice.
	begun        bool
	finishReason string
	usage        *llm.Usage
	extra        map[string]json.RawMessage // members of chunks that are about the answer
	thoughts     thoughts
	refused      bool // the text is why the model refuses
	tools        toolCalls
	limit        endpoint.AnswerLimit
}

// chunkMembers are the members of a chunk that are about the chunk and not the answer.
// Others, such as the citations of a search, go into the Extra of the answer.
var chunkMembers = []string{
	"id", "object", "created", "model", "choices", "usage", "error",
	"system_fingerprint", "service_tier", "obfuscation", "type", "provider",
}

type choice struct {
	Index   int                        `json:"index"`
	Delta   map[string]json.RawMessage `json:"delta"`
	Message map[string]json.RawMessage `json:"message"`
	Finish  string                     `json:"finish_reason"`
	// Error is here with OpenRouter, if an answer breaks off.
	Error json.RawMessage `json:"error"`
	// Usage is here with some vendors.
	Usage json.RawMessage `json:"usage"`
}

// addChunk takes a chunk of a stream or a whole body, which differ only in how they
// call the message.
func (a *answer) addChunk(data []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return a.provider.invalidAnswer(data)
	}
	if !endpoint.IsNull(members["error"]) {
		return a.provider.client.Reported(data)
	}
	var choices []choice
	if raw := members["choices"]; !endpoint.IsNull(raw) && json.Unmarshal(raw, &choices) != nil {
		return a.provider.invalidAnswer(data)
	}
	a.setUsage(members["usage"])
	for name, raw := range members {
		// The last one counts: servers repeat the whole with every chunk.
		if !slices.Contains(chunkMembers, name) && !endpoint.IsNull(raw) {
			a.extra = withMember(a.extra, name, raw)
		}
	}
	for _, choice := range choices {
		if choice.Index != 0 { // n > 1: the contract has room for one answer
			continue
		}
		a.begun = true
		a.setUsage(choice.Usage)
		if choice.Finish != "" && a.finishReason == "" {
			a.finishReason = choice.Finish
		}
		message := choice.Delta
		if message == nil {
			message = choice.Message
		}
		d, err := a.readMessage(message)
		if err != nil {
			return a.provider.invalidAnswer(data)
		}
		if err := a.passOn(d); err != nil {
			return err
		}
		if !endpoint.IsNull(choice.Error) {
			return a.provider.client.Reported(endpoint.MustEncode(map[string]json.RawMessage{"error": choice.Error}))
		}
	}
	return nil
}

// passOn passes a delta on unless it is empty.
func (a *answer) passOn(d llm.Delta) error {
	if endpoint.IsEmpty(d) {
		return nil
	}
	if err := a.limit.Add(d); err != nil {
		return err
	}
	if !a.emit(d) {
		return endpoint.ErrStopped
	}
	return nil
}

// finishAnswer passes on parts that are known only when the answer is complete.
func (a *answer) finishAnswer() error {
	reason, err := endpoint.FinishReason(a.finishReason)
	if err != nil {
		return err
	}
	if a.refused && (reason == "" || reason == llm.FinishStop) {
		reason = llm.FinishContentFilter
	}
	d := llm.Delta{ReasoningMember: a.thoughts.member(), FinishReason: reason, Usage: a.usage, Extra: a.extra}
	if details := a.thoughts.wholeDetails(); details != nil {
		d.Extra = withMember(d.Extra, detailsMember, details)
	}
	return a.passOn(d)
}

// readMessage reads the members of a message: those that [llm.Delta] names, the rest as
// they are.
func (a *answer) readMessage(message map[string]json.RawMessage) (llm.Delta, error) {
	var d llm.Delta
	for name, raw := range message {
		if endpoint.IsNull(raw) {
			continue
		}
		var err error
		switch name {
		case "role":
		case "content":
			err = readContent(raw, &d)
		case "tool_calls":
			d.ToolCalls, err = a.tools.readPieces(raw)
		case "reasoning_content", "reasoning":
			if name == "reasoning" && !endpoint.IsNull(message["reasoning_content"]) {
				continue // servers that send both send the same text twice
			}
			var thought string
			if json.Unmarshal(raw, &thought) != nil {
				d.Extra = withMember(d.Extra, name, raw)
			}
			d.Reasoning += thought
			a.thoughts.sawMember(name)
		case llm.RefusalMember:
			var refusal string
			if json.Unmarshal(raw, &refusal) == nil && refusal != "" {
				d.Text += refusal
				a.refused = true
			}
			d.Extra = withMember(d.Extra, name, raw)
		case detailsMember:
			if !a.thoughts.addDetails(raw) {
				d.Extra = withMember(d.Extra, name, raw)
			}
		default:
			d.Extra = withMember(d.Extra, name, raw)
		}
		if err != nil {
			return llm.Delta{}, err
		}
	}
	return d, nil
}

// readContent reads text, or the list of parts that some vendors send: text, and
// thoughts as a list of texts.
func readContent(raw json.RawMessage, d *llm.Delta) error {
	var whole string
	if json.Unmarshal(raw, &whole) == nil {
		d.Text += whole
		return nil
	}
	var parts []struct {
		Text     string `json:"text"`
		Thinking []struct {
			Text string `json:"text"`
		} `json:"thinking"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return err
	}
	var text, thoughts strings.Builder
	for _, part := range parts {
		text.WriteString(part.Text)
		for _, thought := range part.Thinking {
			thoughts.WriteString(thought.Text)
		}
	}
	d.Text += text.String()
	d.Reasoning += thoughts.String()
	return nil
}

// usage has the names that vendors use for the same counts.
type usage struct {
	PromptTokens     endpoint.Count `json:"prompt_tokens"`
	CompletionTokens endpoint.Count `json:"completion_tokens"`
	InputTokens      endpoint.Count `json:"input_tokens"`
	OutputTokens     endpoint.Count `json:"output_tokens"`
	CacheHitTokens   endpoint.Count `json:"prompt_cache_hit_tokens"`
	Details          struct {
		CachedTokens endpoint.Count `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	Cost float64 `json:"cost"`
}

// setUsage keeps the newest usage: servers that send it with every chunk send the
// sum so far. A usage of another shape is ignored.
func (a *answer) setUsage(raw json.RawMessage) {
	var u usage
	if endpoint.IsNull(raw) || json.Unmarshal(raw, &u) != nil {
		return
	}
	a.usage = &llm.Usage{
		InputTokens:  int(max(u.PromptTokens, u.InputTokens)),
		OutputTokens: int(max(u.CompletionTokens, u.OutputTokens)),
		CachedTokens: int(max(u.Details.CachedTokens, u.CacheHitTokens)),
		Cost:         max(u.Cost, 0),
	}
}

// invalidAnswer returns the error of a body that is not an answer.
func (p *Provider) invalidAnswer(body []byte) *llm.Error {
	return (&llm.Error{Hint: "does base_url point to an OpenAI-compatible API? It often ends in /v1"}).
		WithMessage("the server's answer is not a chat completion: %s", p.client.Readable(string(body[:min(len(body), endpoint.MaxErrorBody)])))
}
