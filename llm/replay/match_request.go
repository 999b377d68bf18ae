package replay

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// How a request is matched with a recording: describeRequest writes it down with secrets masked
// and images as digests, keyOf makes a digest of that, and nextRecording plays the recordings of
// this key in the order in which they were made; the last one is repeated.

// describeRequest makes the recording of a request without its answer: the request as
// the cassette shows it, and its key.
func describeRequest(req *llm.Request, hidden secrets) (recording, error) {
	m := value.NewMap(7)
	set := func(name string, x any) error {
		v, err := value.Of(x)
		if err == nil {
			m.Set(name, v)
			return nil
		}
		return wording.Errorf("the request's %s: %w", name, err)
	}
	var err error
	if req.Model != "" {
		err = set("model", req.Model)
	}
	for _, member := range []struct {
		name string
		has  bool
		x    any
	}{
		{"messages", true, req.Messages},
		{"tools", len(req.Tools) > 0, req.Tools},
		{"schema", len(req.ResponseSchema) > 0, req.ResponseSchema},
		{"temperature", req.Temperature != nil, req.Temperature},
		{"max_tokens", req.MaxTokens > 0, req.MaxTokens},
		{"extra", len(req.Extra) > 0, req.Extra},
	} {
		if err == nil && member.has {
			err = set(member.name, member.x)
		}
	}
	if err != nil {
		return recording{}, err
	}
	request := hidden.maskValue(digestImages(value.OfMap(m)))
	return recording{key: keyOf(request), request: request}, nil
}

// digestImages returns v with a digest in the place of each data URL: people cannot read
// a picture in a cassette.
func digestImages(v value.Value) value.Value {
	return mapStrings(v, func(s string) string {
		head, data, ok := strings.Cut(s, ";base64,")
		if !ok || !strings.HasPrefix(head, "data:") || strings.ContainsAny(head, " \n") {
			return s
		}
		sum := sha256.Sum256([]byte(data))
		return head + ";sha256," + hex.EncodeToString(sum[:])
	})
}

// mapStrings returns v with every string changed, but not the keys.
func mapStrings(v value.Value, change func(string) string) value.Value {
	switch v.Kind() {
	case value.String:
		s, _ := v.Str()
		return value.OfString(change(s))
	case value.List:
		items := make([]value.Value, len(v.List()))
		for i, item := range v.List() {
			items[i] = mapStrings(item, change)
		}
		return value.OfList(items...)
	case value.Object:
		m := value.NewMap(v.Map().Len())
		for k, member := range v.Map().All() {
			m.Set(k, mapStrings(member, change))
		}
		return value.OfMap(m)
	default:
		return v
	}
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

// nextRecording returns the next recording of a request, if it has one.
func (p *Provider) nextRecording(key string) (deltas []llm.Delta, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	takes := p.cassette.recordingsOf(key)
	if len(takes) == 0 {
		return nil, false
	}
	take := takes[min(p.played[key], len(takes)-1)]
	p.played[key]++
	return take.deltas, true
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
