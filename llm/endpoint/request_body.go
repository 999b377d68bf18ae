package endpoint

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/callnode/scheduler/llm/value/wording"
)

// EncodeBody returns the JSON of a request body with extra members laid over members, later
// ones over earlier ones; a null takes a member out. translate, which may be nil, gives an
// extra member the name and the form that the protocol has for it. An object that is laid over
// one of members is merged with it, so that text: {verbosity: low} does not drop a schema in
// text; an object that stays empty is left out.
func EncodeBody(members map[string]any, translate func(name string, member json.RawMessage) (string, json.RawMessage), extras ...map[string]json.RawMessage) ([]byte, error) {
	for _, extra := range extras {
		for _, name := range slices.Sorted(maps.Keys(extra)) {
			member := extra[name]
			if translate != nil {
				name, member = translate(name, member)
			}
			own, isObject := members[name].(map[string]any)
			var more map[string]json.RawMessage
			switch {
			case IsNull(member):
				delete(members, name)
			case isObject && json.Unmarshal(member, &more) == nil:
				mergeMembers(own, more)
			default:
				members[name] = member
			}
		}
	}
	maps.DeleteFunc(members, func(_ string, member any) bool {
		own, isObject := member.(map[string]any)
		return isObject && len(own) == 0
	})
	body, err := json.Marshal(members)
	if err != nil {
		return nil, wording.Errorf("encoding the request: %w", err)
	}
	return body, nil
}

// mergeMembers lays more over own; a null takes a member out.
func mergeMembers(own map[string]any, more map[string]json.RawMessage) {
	for name, member := range more {
		own[name] = member
		if IsNull(member) {
			delete(own, name)
		}
	}
}

// MustEncode returns the JSON of a part of a request. It panics on values that have none, which
// texts, numbers and valid JSON are not.
func MustEncode(x any) json.RawMessage {
	raw, err := json.Marshal(x)
	if err != nil {
		panic(err)
	}
	return raw
}
