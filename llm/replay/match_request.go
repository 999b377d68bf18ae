package replay

import (
	"crypto/sha256"
	"encoding/hex"
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
