package replay

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/atomicfile"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// The values of the member scheduler of a cassette. Version 1 has answers of models only, and no runs.
const (
	format  = "cassette/2"
	format1 = "cassette/1"
)

const head = `# Recorded runs: answers of models, servers, tools and the memory. A request is found by its key; a
# recording without a key gets it from its request, so that recordings can be written by hand.
`

// cassette is a parsed file: the runs, and recordings outside of runs, such as recordings of tests and of version
// 1.
type cassette struct {
	runs       []*recordedRun
	recordings []recording
}

// recordedRun is a run as the file has it.
type recordedRun struct {
	Header
	recordings []recording
}

// recording is one request and its answer.
type recording struct {
	key     string
	request value.Value
	// kind is [KindModel] or a word of the caller of [Run.Exchange]; name is the provider of a model, the tool of a server,
	// the call of a plugin; "" is not known.
	kind, name string
	// step is the path of the step that asked, and part how often its run had been resumed before.
	step string
	part int
	// deltas are the answer of a model, vectors the embeddings, answer is the answer of all other kinds.
	deltas  []llm.Delta
	vectors [][]float32
	answer  value.Value
	// failure is the error of a model that did not answer; nil for an answer.
	failure *failure
	// take is the repeat of a test that it belongs to; 1 if the file does not say. ms is how long the answer took;
	// nil if that is not known.
	take int
	ms   *int64
}

// limits bound a file: one with all that many runs were answered is large.
func limits() yaml.Limits { return yaml.Limits{Bytes: 64 << 20, Nodes: 8_000_000} }

// KindModel is the kind of the requests to models. It is not written: a recording without a kind is a model's.
const KindModel = "model"

// delta is a piece of an answer as the cassette has it; plain text means a piece with nothing else.
type delta struct {
	Text            string                     `json:"text,omitempty"`
	Reasoning       string                     `json:"reasoning,omitempty"`
	ReasoningMember string                     `json:"reasoning_member,omitempty"`
	ToolCalls       []toolCall                 `json:"tool_calls,omitempty"`
	FinishReason    string                     `json:"finish_reason,omitempty"`
	Usage           *llm.Usage                 `json:"usage,omitempty"`
	Extra           map[string]json.RawMessage `json:"extra,omitempty"`
}

type toolCall struct {
	Index     int                        `json:"index,omitempty"`
	ID        string                     `json:"id,omitempty"`
	Name      string                     `json:"name,omitempty"`
	Arguments string                     `json:"arguments,omitempty"`
	Extra     map[string]json.RawMessage `json:"extra,omitempty"`
}

func encodeDelta(d llm.Delta) (value.Value, error) {
	out := delta{Text: d.Text, Reasoning: d.Reasoning, ReasoningMember: d.ReasoningMember, FinishReason: d.FinishReason, Usage: d.Usage, Extra: d.Extra}
	for _, c := range d.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, toolCall(c))
	}
	v, err := value.Of(out)
	if err == nil && v.Map().Len() == 1 && d.Text != "" {
		return value.OfString(d.Text), nil
	}
	return v, err
}

func decodeDelta(v value.Value) (llm.Delta, error) {
	if text, ok := v.Str(); ok {
		return llm.Delta{Text: text}, nil
	}
	var in delta
	if err := checkMembers(v, "text", "reasoning", "reasoning_member", "tool_calls", "finish_reason", "usage", "extra"); err != nil {
		return llm.Delta{}, err
	}
	if err := value.Decode(v, &in); err != nil {
		return llm.Delta{}, err
	}
	d := llm.Delta{Text: in.Text, Reasoning: in.Reasoning, ReasoningMember: in.ReasoningMember, FinishReason: in.FinishReason, Usage: in.Usage, Extra: in.Extra}
	for _, c := range in.ToolCalls {
		d.ToolCalls = append(d.ToolCalls, llm.ToolCallDelta(c))
	}
	return d, nil
}

// write replaces the file.
func (c *cassette) write(path string) error {
	text, err := c.encodeFile()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return atomicfile.Write(path, text, 0o644)
}

// encodeFile returns the file's text.
func (c *cassette) encodeFile() ([]byte, error) {
	m := value.Pairs("scheduler", format)
	if len(c.runs) > 0 {
		list := make([]value.Value, len(c.runs))
		for i, run := range c.runs {
			recordings, err := encodeRecordings(run.recordings)
			if err != nil {
				return nil, err
			}
			one := run.encode()
			one.Set("recordings", recordings)
			list[i] = value.OfMap(one)
		}
		m.Set("runs", value.OfList(list...))
	}
	if len(c.recordings) > 0 || len(c.runs) == 0 {
		recordings, err := encodeRecordings(c.recordings)
		if err != nil {
			return nil, err
		}
		m.Set("recordings", recordings)
	}
	text := yaml.Append([]byte(head), value.OfMap(m))
	if most := limits().Bytes; len(text) > most {
		return nil, wording.Errorf("the cassette would have %d bytes, more than %d", len(text), most)
	}
	return text, nil
}

func encodeRecordings(recordings []recording) (value.Value, error) {
	list := make([]value.Value, len(recordings))
	for i := range recordings {
		m, err := recordings[i].encode()
		if err != nil {
			return value.Value{}, err
		}
		list[i] = value.OfMap(m)
	}
	return value.OfList(list...), nil
}

// encode returns the recording as the file has it.
func (r *recording) encode() (*value.Map, error) {
	m := value.Pairs("key", r.key)
	if r.kind != KindModel {
		m.Set("kind", value.OfString(r.kind))
	}
	for _, member := range []struct{ name, text string }{{"name", r.name}, {"step", r.step}} {
		if member.text != "" {
			m.Set(member.name, value.OfString(member.text))
		}
	}
	for _, member := range []struct {
		name     string
		n, least int
	}{{"part", r.part, 1}, {"take", r.take, 2}} {
		if member.n >= member.least {
			m.Set(member.name, value.OfInt(int64(member.n)))
		}
	}
	m.Set("request", r.request)
	if err := r.encodeAnswer(m); err != nil {
		return nil, err
	}
	if r.failure != nil {
		m.Set("error", value.Must(r.failure))
	}
	if r.ms != nil {
		m.Set("ms", value.OfInt(*r.ms))
	}
	return m, nil
}

// encodeAnswer adds the answer to the members of the recording.
func (r *recording) encodeAnswer(m *value.Map) error {
	if r.kind != KindModel {
		m.Set("answer", r.answer)
		return nil
	}
	if r.vectors != nil {
		m.Set("vectors", encodeVectors(r.vectors))
		return nil
	}
	deltas := make([]value.Value, len(r.deltas))
	for i, d := range r.deltas {
		var err error
		deltas[i], err = encodeDelta(d)
		if err != nil {
			return err
		}
	}
	switch {
	case len(deltas) == 1:
		m.Set("response", deltas[0])
	case len(deltas) > 0 || r.failure == nil:
		m.Set("deltas", value.OfList(deltas...))
	}
	return nil
}
