package replay

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/atomicfile"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// format is the value of the member scheduler of a cassette.
const format = "cassette/1"

const head = `# Recorded answers of a model. A request is found by its key; a recording without
# a key gets it from its request, so that recordings can be written by hand.
`

// cassette is a parsed file.
type cassette struct{ recordings []recording }

// recording is one request and its answer.
type recording struct {
	key     string
	request value.Value
	deltas  []llm.Delta
	// take is the repeat of a test that it belongs to; 1 where the file does not tell. ms is how long the answer
	// took; nil where that is not known.
	take int
	ms   *int64
	// vectors are those of embeddings, instead of deltas.
	vectors [][]float32
}

// delta is a piece of an answer as the cassette has it; plain text stands for one
// that has nothing else.
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
	list := make([]value.Value, len(c.recordings))
	for i, r := range c.recordings {
		deltas := make([]value.Value, len(r.deltas))
		for j, d := range r.deltas {
			var err error
			deltas[j], err = encodeDelta(d)
			if err != nil {
				return nil, err
			}
		}
		m := value.Pairs("key", r.key, "request", r.request)
		switch {
		case r.vectors != nil:
			m.Set("vectors", encodeVectors(r.vectors))
		case len(deltas) == 1:
			m.Set("response", deltas[0])
		default:
			m.Set("deltas", value.OfList(deltas...))
		}
		if r.take > 1 {
			m.Set("take", value.OfInt(int64(r.take)))
		}
		if r.ms != nil {
			m.Set("ms", value.OfInt(*r.ms))
		}
		list[i] = value.OfMap(m)
	}
	text := yaml.Append([]byte(head), value.OfMap(value.Pairs("scheduler", format, "recordings", list)))
	if len(text) > yaml.MaxBytes {
		return nil, wording.Errorf("the cassette would have %d bytes, more than %d", len(text), yaml.MaxBytes)
	}
	return text, nil
}

// parseCassette reads a file. Errors begin with line:col or with a pointer.
func parseCassette(src []byte) (*cassette, error) {
	v, err := yaml.ParseValue(src)
	if err != nil {
		return nil, err
	}
	if v.IsNull() {
		return &cassette{}, nil
	}
	if err := checkMembers(v, "scheduler", "recordings"); err != nil {
		return nil, wording.Errorf(" %w", err)
	}
	if got, _ := v.Get("scheduler"); !value.Equal(got, value.OfString(format)) {
		return nil, wording.Errorf(" unknown format of a cassette: scheduler is %s, want %s", got, format)
	}
	list, _ := v.Get("recordings")
	if list.Kind() != value.List && !list.IsNull() {
		return nil, wording.Errorf(" /recordings: want an array, got %s", list.Kind())
	}
	c := &cassette{}
	for i, item := range list.List() {
		r, err := parseRecording(item)
		if err != nil {
			return nil, wording.Errorf(" /recordings/%d: %w", i, err)
		}
		c.recordings = append(c.recordings, r)
	}
	return c, nil
}

func parseRecording(item value.Value) (recording, error) {
	var r recording
	if err := checkMembers(item, "key", "request", "deltas", "response", "take", "ms", "vectors"); err != nil {
		return r, err
	}
	if err := r.readNumbers(item); err != nil {
		return r, err
	}
	r.request, _ = item.Get("request")
	if err := checkMembers(r.request, "model", "messages", "tools", "schema", "temperature", "max_tokens", "extra", "dimensions", "texts"); err != nil {
		return r, wording.Errorf("request: %w", err)
	}
	r.key = keyOf(r.request)
	if key, ok := item.Get("key"); ok && !value.Equal(key, value.OfString(r.key)) {
		return r, wording.Errorf("the key is not that of the request, which was changed: delete the key to make it fit")
	}
	pieces, streamed := item.Get("deltas")
	response, whole := item.Get("response")
	if vectors, ok := item.Get("vectors"); ok && !streamed && !whole {
		var err error
		r.vectors, err = decodeVectors(vectors)
		return r, err
	}
	if streamed == whole {
		return r, wording.Errorf("want either deltas or response")
	}
	if whole {
		pieces = value.OfList(response)
	}
	if pieces.Kind() != value.List {
		return r, wording.Errorf("deltas: want an array, got %s", pieces.Kind())
	}
	for _, piece := range pieces.List() {
		d, err := decodeDelta(piece)
		if err != nil {
			return r, wording.Errorf("deltas: %w", err)
		}
		r.deltas = append(r.deltas, d)
	}
	return r, nil
}

// readNumbers reads take and ms.
func (r *recording) readNumbers(item value.Value) error {
	r.take = 1
	if v, ok := item.Get("take"); ok {
		n, isInt := v.Int()
		if !isInt || n < 1 {
			return wording.Errorf("take: want a number from 1, got %s", v)
		}
		r.take = int(n)
	}
	if v, ok := item.Get("ms"); ok {
		n, isInt := v.Int()
		if !isInt || n < 0 {
			return wording.Errorf("ms: want whole milliseconds, got %s", v)
		}
		r.ms = &n
	}
	return nil
}

// checkMembers refuses a value that is not an object, or has members of other names.
func checkMembers(v value.Value, names ...string) error {
	if v.Kind() != value.Object {
		return wording.Errorf("want an object, got %s", v.Kind())
	}
	known := value.NewMap(len(names))
	for _, name := range names {
		known.Set(name, value.Value{})
	}
	for name := range v.Map().All() {
		if _, ok := known.Get(name); !ok {
			return wording.Errorf("unknown member %q, known are %s", name, strings.Join(names, ", "))
		}
	}
	return nil
}

// bytesPerNumber is how many bytes a number of a vector has.
const bytesPerNumber = 4

// encodeVectors returns vectors as the file has them: each as the base64 of its numbers, 4 bytes each, the
// lowest first.
func encodeVectors(vectors [][]float32) value.Value {
	list := make([]value.Value, len(vectors))
	for i, vector := range vectors {
		b := make([]byte, 0, bytesPerNumber*len(vector))
		for _, x := range vector {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
		list[i] = value.OfString(base64.StdEncoding.EncodeToString(b))
	}
	return value.OfList(list...)
}

func decodeVectors(v value.Value) ([][]float32, error) {
	if v.Kind() != value.List {
		return nil, wording.Errorf("vectors: want an array, got %s", v.Kind())
	}
	vectors := make([][]float32, len(v.List()))
	for i, item := range v.List() {
		text, _ := item.Str()
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(b) == 0 || len(b)%bytesPerNumber != 0 {
			return nil, wording.Errorf("vectors/%d: want the base64 of a vector", i)
		}
		for part := range slices.Chunk(b, bytesPerNumber) {
			vectors[i] = append(vectors[i], math.Float32frombits(binary.LittleEndian.Uint32(part)))
		}
	}
	return vectors, nil
}

// keyOf returns the digest of a request in its canonical form: it does not depend on
// the order of keys or the spelling of numbers.
func keyOf(request value.Value) string {
	sum := sha256.Sum256(appendCanonical(nil, request))
	return hex.EncodeToString(sum[:])
}

// appendCanonical appends JSON with sorted keys, in which equal numbers are spelt alike.
func appendCanonical(b []byte, v value.Value) []byte {
	switch v.Kind() {
	case value.List:
		b = append(b, '[')
		for i, item := range v.List() {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendCanonical(b, item)
		}
		return append(b, ']')
	case value.Object:
		b = append(b, '{')
		for i, key := range slices.Sorted(slices.Values(v.Map().Keys())) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(value.AppendQuoted(b, key), ':')
			member, _ := v.Get(key)
			b = appendCanonical(b, member)
		}
		return append(b, '}')
	case value.Float:
		// 1.0 is 1, and what float64 cannot tell apart is the same.
		if f, _ := v.Float(); f < 1<<53 && f > -1<<53 && f == float64(int64(f)) {
			return strconv.AppendInt(b, int64(f), 10)
		} else if text := strconv.FormatFloat(f, 'g', -1, 64); json.Valid([]byte(text)) {
			return append(b, text...)
		}
	case value.Int:
		if i, ok := v.Big(); ok {
			return i.Append(b, 10)
		}
	}
	return v.AppendJSON(b)
}

// recordingsOf returns the recordings of a key, in the order of the file.
func (c *cassette) recordingsOf(key string) []recording {
	var found []recording
	for _, r := range c.recordings {
		if r.key == key {
			found = append(found, r)
		}
	}
	return found
}
