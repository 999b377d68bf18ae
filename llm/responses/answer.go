package responses

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/endpoint"
)

// answer turns the events of one answer into deltas. ask makes one for each request.
type answer struct {
	provider *Provider
	emit     func(llm.Delta) bool
	limit    endpoint.AnswerLimit
	open     map[itemKey]*openItem
	started  bool
	ended    bool
	calls    int
	thought  bool // a thought was passed on
	refused  bool
	items    []json.RawMessage // of itemsMember
	telling  bool              // text and calls alone do not show the items
}

// event is one of the events of a stream; Type decides which members it has. Its number in the sequence is not
// read: some servers send none, or one that does not rise.
type event struct {
	Type         string          `json:"type"`
	OutputIndex  *int            `json:"output_index"`
	ItemID       string          `json:"item_id"`
	SummaryIndex int             `json:"summary_index"`
	Delta        string          `json:"delta"`
	Item         json.RawMessage `json:"item"`
	Response     json.RawMessage `json:"response"`
	Error        json.RawMessage `json:"error"`
}

// response is a whole response, at the end of a stream or instead of one.
type response struct {
	Object     string            `json:"object"`
	Status     string            `json:"status"`
	Error      json.RawMessage   `json:"error"`
	Output     []json.RawMessage `json:"output"`
	Incomplete *struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Usage *usage `json:"usage"`
}

type usage struct {
	Input   endpoint.Count `json:"input_tokens"`
	Output  endpoint.Count `json:"output_tokens"`
	Details struct {
		Cached     endpoint.Count `json:"cached_tokens"`
		CacheWrite endpoint.Count `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
}

// readEvents reads a stream up to the event that ends it.
func (a *answer) readEvents(events *endpoint.EventReader) error {
	for !a.ended {
		next, err := events.Next()
		switch {
		case errors.Is(err, io.EOF) && events.Junk() != nil:
			return a.invalid(string(events.Junk()))
		case errors.Is(err, io.EOF) && !a.started:
			return endpoint.Incomplete("the server sent no event of the Responses API")
		case errors.Is(err, io.EOF):
			return endpoint.ErrCut()
		case err != nil:
			return err
		}
		if err := a.readEvent(next); err != nil {
			return err
		}
	}
	return nil
}

func (a *answer) readEvent(next endpoint.Event) error {
	values, _, rest := next.Values()
	for _, raw := range values {
		var e event
		if json.Unmarshal(raw, &e) != nil {
			return a.invalid(string(raw))
		}
		if err := a.addEvent(e, cmp.Or(e.Type, next.Name), raw); err != nil {
			return err
		}
	}
	switch {
	case rest != nil && next.Partial:
		return endpoint.ErrCut()
	case rest != nil:
		return a.invalid(string(rest))
	}
	return nil
}

// addEvent handles an event by its kind. Kinds that repeat the content of others, and kinds of later versions of
// the API, are skipped.
func (a *answer) addEvent(e event, kind string, raw json.RawMessage) error {
	a.started = a.started || strings.HasPrefix(kind, "response.")
	switch kind {
	case "response.output_text.delta":
		return a.addText(a.itemOf(e), e.Delta, false)
	case "response.refusal.delta":
		return a.addText(a.itemOf(e), e.Delta, true)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta", "response.reasoning.delta":
		return a.addThought(a.itemOf(e), kind, e.SummaryIndex, e.Delta)
	case "response.output_item.added":
		return a.beginItem(a.itemOf(e), e.Item)
	case "response.function_call_arguments.delta":
		return a.addArguments(a.itemOf(e), e.Delta)
	case "response.output_item.done":
		return a.endItem(a.itemOf(e), e.Item)
	case "response.completed", "response.incomplete", "response.failed":
		return a.end(e.Response)
	case "error":
		return a.provider.client.Reported(nested(raw))
	case "":
		if !endpoint.IsNull(e.Error) {
			return a.provider.client.Reported(raw)
		}
	}
	return nil
}

// nested returns an error event with its members in the member error, as most servers have them.
func nested(raw json.RawMessage) json.RawMessage {
	var flat struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(raw, &flat) == nil && endpoint.IsNull(flat.Error) {
		return endpoint.MustEncode(map[string]json.RawMessage{"error": raw})
	}
	return raw
}

// readDocument takes an answer that came in one piece.
func (a *answer) readDocument(data []byte) error {
	var whole response
	if json.Unmarshal(data, &whole) != nil {
		return a.invalid(string(data))
	}
	isResponse := whole.Object == "response" || whole.Output != nil
	switch {
	case !isResponse && !endpoint.IsNull(whole.Error):
		return a.provider.client.Reported(data)
	case !isResponse:
		return a.invalid(string(data))
	}
	return a.end(data)
}

// end takes the response that ends the answer.
func (a *answer) end(raw json.RawMessage) error {
	var whole response
	if json.Unmarshal(raw, &whole) != nil {
		return a.invalid(string(raw))
	}
	switch {
	case !endpoint.IsNull(whole.Error):
		return a.provider.client.Reported(endpoint.MustEncode(map[string]json.RawMessage{"error": whole.Error}))
	case slices.Contains([]string{"failed", "cancelled", "queued", "in_progress"}, whole.Status):
		return endpoint.Incomplete("the server broke the answer off: %s", whole.Status)
	}
	if len(a.open) == 0 { // no event listed the items
		for i, item := range whole.Output {
			if err := a.endItem(a.itemOf(event{OutputIndex: &i}), item); err != nil {
				return err
			}
		}
	}
	a.ended = true
	reason, err := a.finishReason(&whole)
	if err != nil {
		return err
	}
	d := llm.Delta{FinishReason: reason}
	if u := whole.Usage; u != nil {
		d.Usage = &llm.Usage{
			InputTokens: int(u.Input), OutputTokens: int(u.Output),
			CachedTokens: int(u.Details.Cached), CacheWriteTokens: int(u.Details.CacheWrite),
		}
	}
	if a.telling {
		d.Extra = map[string]json.RawMessage{itemsMember: endpoint.MustEncode(a.items)}
	}
	return a.passOn(d)
}

func (a *answer) finishReason(whole *response) (string, error) {
	switch {
	case whole.Incomplete != nil && whole.Incomplete.Reason != "":
		return endpoint.FinishReason(whole.Incomplete.Reason)
	case whole.Status == "incomplete":
		return whole.Status, nil
	case a.refused:
		return llm.FinishContentFilter, nil
	case a.calls > 0:
		return llm.FinishToolCalls, nil
	}
	return llm.FinishStop, nil
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

// invalid returns the error of an answer that is not one of this API.
func (a *answer) invalid(text string) *llm.Error {
	return (&llm.Error{Hint: "does base_url point to a server of the Responses API? It often ends in /v1"}).
		WithMessage("the server's answer is not one of the Responses API: %s", a.provider.client.Readable(text[:min(len(text), endpoint.MaxErrorBody)]))
}
