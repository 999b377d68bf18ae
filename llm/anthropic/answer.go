package anthropic

import (
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/endpoint"
)

// answer turns the events of one answer into deltas. readAnswer makes one for each body.
type answer struct {
	provider     *Provider
	emit         func(llm.Delta) bool
	limit        endpoint.AnswerLimit
	blocks       map[int]*block
	toolCalls    int
	usage        llm.Usage
	finishReason string
	started      bool
	stopped      bool
}

// block is a block that has begun and not ended.
type block struct {
	kind      string
	start     json.RawMessage
	toolCall  int             // the number of the call, of a tool_use
	text      strings.Builder // thoughts, or the JSON of a tool's input
	signature strings.Builder
}

// event is one of the events of a stream; Type decides which members it has.
type event struct {
	Type         string          `json:"type"`
	Index        int             `json:"index"`
	Message      wholeMessage    `json:"message"`
	ContentBlock json.RawMessage `json:"content_block"`
	Delta        blockDelta      `json:"delta"`
	Usage        usage           `json:"usage"`
}

// wholeMessage is the message of an event, or an answer in one piece.
type wholeMessage struct {
	Type       string            `json:"type"`
	Content    []json.RawMessage `json:"content"`
	StopReason string            `json:"stop_reason"`
	Usage      usage             `json:"usage"`
}

// blockDelta is a piece of a block, or, in a message_delta, the new data about the message.
type blockDelta struct {
	Type         string          `json:"type"`
	Text         string          `json:"text"`
	Thinking     string          `json:"thinking"`
	Signature    string          `json:"signature"`
	PartialJSON  string          `json:"partial_json"`
	Citation     json.RawMessage `json:"citation"`
	StopReason   string          `json:"stop_reason"`
	StopSequence string          `json:"stop_sequence"`
}

// blockStart is a block as it begins, or a whole one.
type blockStart struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
}

// usage are the counts of the API; nil is one that is not there.
type usage struct {
	Input      *endpoint.Count `json:"input_tokens"`
	CacheRead  endpoint.Count  `json:"cache_read_input_tokens"`
	CacheWrite endpoint.Count  `json:"cache_creation_input_tokens"`
	Output     *endpoint.Count `json:"output_tokens"`
}

// readAnswer reads an answer in one piece, or as a stream of events.
func (p *Provider) readAnswer(body io.Reader, emit func(llm.Delta) bool) error {
	a := answer{provider: p, emit: emit}
	return endpoint.ReadBody(body, a.addWhole, a.readEvents)
}

func (a *answer) readEvents(events *endpoint.EventReader) error {
	for {
		next, err := events.Next()
		switch {
		case errors.Is(err, io.EOF) && events.Junk() != nil:
			return a.provider.invalidAnswer(string(events.Junk()))
		case errors.Is(err, io.EOF):
			return a.endStream(nil)
		case err != nil:
			return a.endStream(err)
		}
		if err := a.readEvent(next); err != nil {
			return err
		}
	}
}

// readEvent takes the values of one event of the stream.
func (a *answer) readEvent(next endpoint.Event) error {
	values, _, rest := next.Values()
	for _, raw := range values {
		var e event
		switch {
		case json.Unmarshal(raw, &e) != nil:
			return a.provider.invalidAnswer(string(raw))
		case e.Type == "error", next.Name == "error":
			return a.provider.client.Reported(raw)
		}
		if err := a.addEvent(e); err != nil {
			return err
		}
	}
	switch {
	case rest != nil && next.Partial:
		return a.endStream(nil)
	case rest != nil:
		return a.provider.invalidAnswer(string(rest))
	}
	return nil
}

func (a *answer) addEvent(e event) error {
	switch e.Type {
	case "message_start":
		a.started = true
		a.setUsage(e.Message.Usage)
	case "content_block_start":
		return a.startBlock(e.Index, e.ContentBlock)
	case "content_block_delta":
		return a.addToBlock(e.Index, e.Delta)
	case "content_block_stop":
		return a.stopBlock(e.Index)
	case "message_delta":
		return a.addMessageDelta(e)
	case "message_stop":
		a.stopped = true
	}
	return nil // a kind of event that later versions of the API may have
}

// setUsage takes the counts that are there. The API counts the input that came from the cache,
// and was put into it, apart.
func (a *answer) setUsage(u usage) {
	if u.Input != nil {
		a.usage.InputTokens = int(*u.Input + u.CacheRead + u.CacheWrite)
		a.usage.CachedTokens = int(u.CacheRead)
		a.usage.CacheWriteTokens = int(u.CacheWrite)
	}
	if u.Output != nil {
		a.usage.OutputTokens = int(*u.Output)
	}
}

func (a *answer) addMessageDelta(e event) error {
	a.setUsage(e.Usage)
	if e.Delta.StopReason != "" {
		a.finishReason = e.Delta.StopReason
	}
	if e.Delta.StopSequence != "" {
		return a.passOn(llm.Delta{Extra: map[string]json.RawMessage{"stop_sequence": endpoint.MustEncode(e.Delta.StopSequence)}})
	}
	return nil
}

func (a *answer) startBlock(index int, raw json.RawMessage) error {
	var start blockStart
	if json.Unmarshal(raw, &start) != nil {
		return a.provider.invalidAnswer(string(raw))
	}
	b := &block{kind: start.Type, start: raw}
	if a.blocks == nil {
		a.blocks = map[int]*block{}
	}
	a.blocks[index] = b
	a.started = true
	switch b.kind {
	case "text":
		return a.passOn(llm.Delta{Text: start.Text})
	case "thinking":
		b.text.WriteString(start.Thinking)
		b.signature.WriteString(start.Signature)
		return a.passOn(llm.Delta{Reasoning: start.Thinking})
	case "tool_use":
		b.toolCall = a.toolCalls
		a.toolCalls++
		return a.passOn(llm.Delta{ToolCalls: []llm.ToolCallDelta{{Index: b.toolCall, ID: start.ID, Name: start.Name}}})
	}
	return nil
}

func (a *answer) addToBlock(index int, delta blockDelta) error {
	b := a.blocks[index]
	if b == nil {
		return a.provider.invalidAnswer("a piece of a block that has not begun")
	}
	switch delta.Type {
	case "text_delta":
		return a.passOn(llm.Delta{Text: delta.Text})
	case "thinking_delta":
		b.text.WriteString(delta.Thinking)
		return a.passOn(llm.Delta{Reasoning: delta.Thinking})
	case "signature_delta":
		b.signature.WriteString(delta.Signature)
	case "citations_delta":
		return a.passOn(extraItem("citations", delta.Citation))
	case "input_json_delta":
		b.text.WriteString(delta.PartialJSON)
		if b.kind == "tool_use" {
			return a.passOn(llm.Delta{ToolCalls: []llm.ToolCallDelta{{Index: b.toolCall, Arguments: delta.PartialJSON}}})
		}
	}
	return nil
}

// stopBlock passes on the data that is known when a block is whole.
func (a *answer) stopBlock(index int) error {
	b := a.blocks[index]
	if b == nil {
		return a.provider.invalidAnswer("the end of a block that has not begun")
	}
	delete(a.blocks, index)
	switch b.kind {
	case "text":
		return nil
	case "tool_use":
		if b.text.Len() > 0 {
			return nil
		}
		return a.passOn(llm.Delta{ToolCalls: []llm.ToolCallDelta{{Index: b.toolCall, Arguments: string(b.startInput())}}})
	}
	return a.passOn(extraItem(blocksMember, b.wholeBlock()))
}

// startInput returns the input of a tool that came with the start of its block.
func (b *block) startInput() json.RawMessage {
	var start blockStart
	if json.Unmarshal(b.start, &start) != nil || endpoint.IsNull(start.Input) {
		return json.RawMessage("{}")
	}
	return start.Input
}

// wholeBlock returns a whole block as the API sends and takes it.
func (b *block) wholeBlock() json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(b.start, &members) != nil {
		return b.start
	}
	switch {
	case b.kind == "thinking":
		members["thinking"] = endpoint.MustEncode(b.text.String())
		members["signature"] = endpoint.MustEncode(b.signature.String())
	case b.text.Len() > 0 && json.Valid([]byte(b.text.String())):
		members["input"] = json.RawMessage(b.text.String())
	default:
		return b.start
	}
	return endpoint.MustEncode(members)
}

// extraItem returns a delta with one item of a list in its Extra.
func extraItem(name string, item json.RawMessage) llm.Delta {
	return llm.Delta{Extra: map[string]json.RawMessage{name: endpoint.MustEncode([]json.RawMessage{item})}}
}

// addWhole takes an answer that came in one piece.
func (a *answer) addWhole(data []byte) error {
	var whole wholeMessage
	if json.Unmarshal(data, &whole) != nil || whole.Type != "message" {
		var refused struct{ Error json.RawMessage }
		if json.Unmarshal(data, &refused) == nil && !endpoint.IsNull(refused.Error) {
			return a.provider.client.Reported(data)
		}
		return a.provider.invalidAnswer(string(data))
	}
	for i, raw := range whole.Content {
		if err := a.startBlock(i, raw); err != nil {
			return err
		}
		if err := a.stopBlock(i); err != nil {
			return err
		}
	}
	a.setUsage(whole.Usage)
	a.finishReason = whole.StopReason
	a.stopped = true
	return a.endStream(nil)
}

// endStream judges an answer that has no more events, because of err or by itself, and passes on data that is
// known only when it is complete.
func (a *answer) endStream(err error) error {
	isComplete := a.stopped || a.finishReason != ""
	switch {
	case isComplete && !errors.Is(err, endpoint.ErrTooLong): // whatever became of its end mark
		reason, err := endpoint.FinishReason(a.finishReason)
		if err != nil {
			return err
		}
		counted := a.usage
		return a.passOn(llm.Delta{FinishReason: reason, Usage: &counted})
	case err != nil:
		return err
	case !a.started:
		return endpoint.Incomplete("the server sent no event of the Messages API")
	}
	return endpoint.ErrCut()
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

// invalidAnswer returns the error of an answer that is not one of this API.
func (p *Provider) invalidAnswer(text string) *llm.Error {
	return (&llm.Error{Hint: "does base_url point to a server of the Anthropic Messages API?"}).
		WithMessage("the server's answer is not one of the Messages API: %s", p.client.Readable(text[:min(len(text), endpoint.MaxErrorBody)]))
}
