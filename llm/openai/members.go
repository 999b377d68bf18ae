package openai

import "encoding/json"

// isNull reports whether a member of an object is not there, or null.
func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// withMember adds a member to extra, which may be nil.
func withMember(extra map[string]json.RawMessage, name string, raw json.RawMessage) map[string]json.RawMessage {
	if extra == nil {
		extra = map[string]json.RawMessage{}
	}
	extra[name] = raw
	return extra
}
