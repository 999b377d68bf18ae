package dispatch

import (
	"bytes"
	"encoding/json"
	"sync"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Frame is an event as the readers of a run get it: encoded once for all of them. A Frame
// does not change; it is safe for concurrent use.
type Frame struct {
	Seq  int64
	Type journal.EventType
	// JSON is the event as `runs events` prints it, without the end of the line.
	JSON []byte

	once  sync.Once
	brief []byte
}

// EncodeEvent encodes an event.
func EncodeEvent(e *journal.Event) (*Frame, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return nil, err
	}
	return &Frame{Seq: e.Seq, Type: e.Type, JSON: bytes.TrimSuffix(b.Bytes(), []byte("\n"))}, nil
}

// Brief returns the event without its parameters, names, prompts, input and output.
func (f *Frame) Brief() []byte {
	f.once.Do(func() {
		f.brief = f.JSON
		doc, err := value.ParseJSON(f.JSON)
		data, _ := doc.Get("data")
		if err != nil || data.Map().Len() == 0 {
			return
		}
		short := data.Map().Clone()
		for _, name := range []string{"params", "names", "prompts", "input", "output"} {
			short.Delete(name)
		}
		whole := doc.Map().Clone()
		whole.Set("data", value.OfMap(short))
		f.brief = value.OfMap(whole).AppendJSON(nil)
	})
	return f.brief
}

// WithoutWorker returns the frame without the process that carries on the run: users get no names of machines.
func (f *Frame) WithoutWorker() *Frame {
	if f.Type != journal.FlowStarted && f.Type != journal.FlowResumed {
		return f
	}
	e, err := f.Event()
	if err != nil || e.Data == nil || e.Data.Worker == nil {
		return f
	}
	e.Data.Worker = nil
	without, err := EncodeEvent(e)
	if err != nil {
		return f
	}
	return without
}

// InLanguage returns the frame with why a step was skipped, and with the text of a warning, in the language of a reader.
func (f *Frame) InLanguage(language string) *Frame {
	if f.Type != journal.StepSkipped && f.Type != journal.StepWarning {
		return f
	}
	e, err := f.Event()
	if err != nil || e.Data == nil {
		return f
	}
	text := &e.Data.Text
	if f.Type == journal.StepSkipped {
		text = &e.Data.Reason
	}
	restated := wording.Restate(*text).In(language)
	if restated == *text {
		return f
	}
	*text = restated
	told, err := EncodeEvent(e)
	if err != nil {
		return f
	}
	return told
}

// Event returns the event of the frame.
func (f *Frame) Event() (*journal.Event, error) {
	e := &journal.Event{}
	return e, json.Unmarshal(f.JSON, e)
}
