package replay

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Matching a request with a recording: describeRequest writes it down with secrets masked, places of the machine
// named and images as digests, keyOf makes a digest of the result, and [Run] plays the recordings of this key: see
// pickLocked.

// describeRequest makes the recording of a request without its answer: the request as
// the cassette shows it, and its key.
func describeRequest(req *llm.Request, hidden secrets, shown places) (recording, error) {
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
	request := shown.hide(hidden.maskValue(digestThoughts(digestImages(value.OfMap(m)))))
	return recording{kind: KindModel, take: 1, key: keyOf(request), request: request}, nil
}

// digestImages returns v with a digest in place of each data URL: people cannot read a picture in a cassette.
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

// digestThoughts returns a request with a digest in place of each encrypted thought in the response_items of its
// messages.
func digestThoughts(request value.Value) value.Value {
	messages, _ := request.Get("messages")
	found := false
	digested := mapList(messages, func(message value.Value) value.Value {
		items, ok := message.Get("response_items")
		if !ok {
			return message
		}
		found = true
		return withMember(message, "response_items", mapList(items, digestThought))
	})
	if !found {
		return request
	}
	return withMember(request, "messages", digested)
}

func digestThought(item value.Value) value.Value {
	sealed, _ := item.Get("encrypted_content")
	text, ok := sealed.Str()
	if !ok {
		return item
	}
	sum := sha256.Sum256([]byte(text))
	return withMember(item, "encrypted_content", value.OfString("sha256:"+hex.EncodeToString(sum[:])))
}

// mapList returns a list with every item changed; another value as it is.
func mapList(list value.Value, change func(value.Value) value.Value) value.Value {
	if list.Kind() != value.List {
		return list
	}
	items := make([]value.Value, len(list.List()))
	for i, item := range list.List() {
		items[i] = change(item)
	}
	return value.OfList(items...)
}

// withMember returns a copy of an object with another member.
func withMember(object value.Value, name string, member value.Value) value.Value {
	m := value.NewMap(object.Map().Len())
	for k, v := range object.Map().All() {
		m.Set(k, v)
	}
	m.Set(name, member)
	return value.OfMap(m)
}
