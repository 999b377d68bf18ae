package anthropic

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/endpoint"
)

// doer sends the requests of the SDK, and takes an answer away from it that is not a
// stream of events: gateways ignore that one was asked for, and web servers answer at
// the wrong address.
type doer struct {
	do       endpoint.Do
	document []byte // the answer in one piece; nil for a stream
}

// Do sends one request.
func (d *doer) Do(req *http.Request) (*http.Response, error) {
	resp, err := d.do(req)
	if err != nil {
		return nil, err
	}
	body := bufio.NewReader(resp.Body)
	if mark, _ := body.Peek(len(byteOrderMark)); string(mark) == byteOrderMark {
		_, _ = body.Discard(len(mark)) // cannot fail: it has been read
	}
	if startsStream(body) {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{body, resp.Body}
		return resp, nil
	}
	defer resp.Body.Close()
	d.document, err = io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	resp.Body = http.NoBody
	return resp, nil
}

const byteOrderMark = "\ufeff"

// streamFields are what lines of a stream of events begin with.
var streamFields = []string{":", "event", "data", "id", "retry"}

// startsStream reports whether a body begins as a stream of events does. Servers mislabel
// what they send.
func startsStream(body *bufio.Reader) bool {
	start, _ := body.Peek(len("event")) // less of a shorter body
	line := strings.TrimLeft(string(start), "\r\n")
	return slices.ContainsFunc(streamFields, func(field string) bool { return strings.HasPrefix(line, field) })
}

// answer turns the events of one answer into deltas. readStream makes one for each
// answer.
type answer struct {
	provider     *Provider
	emit         func(llm.Delta) bool
	limit        endpoint.AnswerLimit
	blocks       map[int64]*block
	toolCalls    int
	usage        llm.Usage
	finishReason string
	started      bool
	stopped      bool
}

// block is one that has begun and not ended.
type block struct {
	kind      string
	start     json.RawMessage
	toolCall  int             // the number of the call, of a tool_use
	text      strings.Builder // thoughts, or the JSON of a tool's input
	signature strings.Builder
}

// addEvent takes the next event.
func (a *answer) addEvent(event sdk.MessageStreamEventUnion) error {
	switch event.Type {
	case "message_start":
		a.started = true
		u := event.Message.Usage
		a.setUsage(u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens)
		a.usage.OutputTokens = int(u.OutputTokens)
	case "content_block_start":
		return a.startBlock(event.Index, event.ContentBlock)
	case "content_block_delta":
		return a.addToBlock(event.Index, event.Delta)
	case "content_block_stop":
		return a.stopBlock(event.Index)
	case "message_delta":
		return a.addMessageDelta(event)
	case "message_stop":
		a.stopped = true
	}
	return nil // a kind of event that later versions of the API may have
}

// setUsage takes the counts of the input, of which the API counts those from the cache,
// and those put into it, apart.
func (a *answer) setUsage(input, cacheRead, cacheWrite int64) {
	a.usage.InputTokens = int(input + cacheRead + cacheWrite)
	a.usage.CachedTokens = int(cacheRead)
	a.usage.CacheWriteTokens = int(cacheWrite)
}

func (a *answer) addMessageDelta(event sdk.MessageStreamEventUnion) error {
	u := event.Usage
	if u.JSON.InputTokens.Valid() {
		a.setUsage(u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens)
	}
	if u.JSON.OutputTokens.Valid() {
		a.usage.OutputTokens = int(u.OutputTokens)
	}
	if event.Delta.StopReason != "" {
		a.finishReason = finishReason(event.Delta.StopReason)
	}
	if event.Delta.StopSequence != "" {
		return a.passOn(llm.Delta{Extra: map[string]json.RawMessage{"stop_sequence": mustEncode(event.Delta.StopSequence)}})
	}
	return nil
}

// finishReason returns the word that all providers have for a reason to stop; the
// vendor's own where there is none.
func finishReason(reason sdk.StopReason) string {
	switch reason {
	case sdk.StopReasonEndTurn, sdk.StopReasonStopSequence:
		return "stop"
	case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded:
		return "length"
	case sdk.StopReasonToolUse:
		return "tool_calls"
	case sdk.StopReasonRefusal:
		return "content_filter"
	default:
		return string(reason)
	}
}

func (a *answer) startBlock(index int64, start sdk.ContentBlockStartEventContentBlockUnion) error {
	b := &block{kind: start.Type, start: json.RawMessage(start.RawJSON())}
	if a.blocks == nil {
		a.blocks = map[int64]*block{}
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

func (a *answer) addToBlock(index int64, delta sdk.MessageStreamEventUnionDelta) error {
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
		return a.passOn(extraItem("citations", json.RawMessage(delta.Citation.RawJSON())))
	case "input_json_delta":
		b.text.WriteString(delta.PartialJSON)
		if b.kind == "tool_use" {
			return a.passOn(llm.Delta{ToolCalls: []llm.ToolCallDelta{{Index: b.toolCall, Arguments: delta.PartialJSON}}})
		}
	}
	return nil
}

// stopBlock passes on what is known when a block is whole.
func (a *answer) stopBlock(index int64) error {
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
	var start struct {
		Input json.RawMessage `json:"input"`
	}
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
		members["thinking"] = mustEncode(b.text.String())
		members["signature"] = mustEncode(b.signature.String())
	case b.text.Len() > 0 && json.Valid([]byte(b.text.String())):
		members["input"] = json.RawMessage(b.text.String())
	default:
		return b.start
	}
	return mustEncode(members)
}

// extraItem returns a delta with one item of a list in its Extra.
func extraItem(name string, item json.RawMessage) llm.Delta {
	return llm.Delta{Extra: map[string]json.RawMessage{name: mustEncode([]json.RawMessage{item})}}
}

// addWhole takes an answer that came in one piece.
func (a *answer) addWhole(data []byte) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return endpoint.Incomplete("the server sent an empty body")
	}
	var whole sdk.Message
	if json.Unmarshal(data, &whole) != nil || whole.Type != "message" {
		var refused struct{ Error json.RawMessage }
		if json.Unmarshal(data, &refused) == nil && !endpoint.IsNull(refused.Error) {
			return a.provider.client.Reported(data)
		}
		return a.provider.invalidAnswer(string(data))
	}
	for i, content := range whole.Content {
		if err := a.addWholeBlock(int64(i), content.RawJSON()); err != nil {
			return err
		}
	}
	u := whole.Usage
	a.setUsage(u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens)
	a.usage.OutputTokens = int(u.OutputTokens)
	a.finishReason = finishReason(whole.StopReason)
	a.stopped = true
	return a.endStream(nil)
}

func (a *answer) addWholeBlock(index int64, raw string) error {
	var start sdk.ContentBlockStartEventContentBlockUnion
	if err := start.UnmarshalJSON([]byte(raw)); err != nil {
		return a.provider.invalidAnswer(raw)
	}
	if err := a.startBlock(index, start); err != nil {
		return err
	}
	return a.stopBlock(index)
}

// endStream judges an answer that has no more events, because of err or by itself, and
// passes on what is known only when it is complete.
func (a *answer) endStream(err error) error {
	isComplete := a.stopped || a.finishReason != ""
	var reported *sdk.Error
	switch {
	case isComplete && !errors.Is(err, endpoint.ErrTooLong): // whatever became of its end mark
		usage := a.usage
		return a.passOn(llm.Delta{FinishReason: a.finishReason, Usage: &usage})
	case errors.As(err, &reported):
		return a.provider.client.Reported([]byte(reported.RawJSON()))
	case isSyntaxError(err):
		return a.provider.invalidAnswer(err.Error())
	case err != nil:
		return err
	case !a.started:
		return endpoint.Incomplete("the server sent no event of the Messages API")
	}
	return endpoint.Incomplete("the stream was cut before the answer was complete")
}

func isSyntaxError(err error) bool {
	var syntax *json.SyntaxError
	var wrongType *json.UnmarshalTypeError
	return errors.As(err, &syntax) || errors.As(err, &wrongType)
}

// passOn passes a delta on unless it is empty.
func (a *answer) passOn(d llm.Delta) error {
	isEmpty := d.Text == "" && d.Reasoning == "" && d.ToolCalls == nil
	if isEmpty && d.Extra == nil && d.Usage == nil {
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
func (p *Provider) invalidAnswer(what string) *llm.Error {
	return (&llm.Error{Hint: "does base_url point to a server of the Anthropic Messages API?"}).
		WithMessage("the server's answer is not one of the Messages API: %s", p.client.Readable(what[:min(len(what), endpoint.MaxErrorBody)]))
}
