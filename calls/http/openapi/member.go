package openapi

import "github.com/callnode/scheduler/llm/value"

func stringMember(v value.Value, key string) string {
	member, _ := v.Get(key)
	text, _ := member.Str()
	return text
}

func boolMember(v value.Value, key string, otherwise bool) bool {
	member, _ := v.Get(key)
	if b, ok := member.Bool(); ok {
		return b
	}
	return otherwise
}
