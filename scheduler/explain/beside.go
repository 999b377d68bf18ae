package explain

import (
	"strconv"

	"github.com/callnode/scheduler/llm/value"
)

// explainBeside explains the texts that a step sends beside the contents of messages, as far as its parameters
// show: the names of messages, the names, descriptions and parameters of tools, the schema of the answer, and the
// members that extra adds to the request.
func (x *explainer) explainBeside(at site) (all []BesideText) {
	at = x.callerOf(at)
	add := func(role, pointer, text string) {
		if text == "" {
			return
		}
		pieces := x.explainGiven(at, pointer, text, 0)
		for i := range pieces {
			pieces[i].Tokens = x.counter.Count(pieces[i].Text)
		}
		all = append(all, BesideText{pointer, role, orAnywhere(at, completed(pieces, sourceOfMaker(at.got)))})
	}
	params := at.got.Params
	messages, _ := params.Get("messages")
	for i, m := range messages.List() {
		role, _ := textAt(m, "role")
		name, _ := textAt(m, "name")
		add(role, "/messages/"+strconv.Itoa(i)+"/name", name)
	}
	addTexts := func(pointer string) {
		v, _ := params.At(pointer)
		eachText(v, pointer, func(pointer, text string) { add(RoleTools, pointer, text) })
	}
	tools, _ := params.Get("tools")
	for i := range tools.List() {
		addTexts("/tools/" + strconv.Itoa(i) + "/function")
	}
	for group, list := range tools.Map().All() {
		for i := range list.List() {
			entry := "/tools/" + value.Escape(group) + "/" + strconv.Itoa(i)
			for _, member := range []string{"/name", "/description", "/parameters"} { // the rest is not sent
				addTexts(entry + member)
			}
		}
	}
	addTexts("/response_schema")
	addTexts("/extra")
	return all
}

// eachText visits the texts in a value, including keys; a key has the pointer of its map.
func eachText(v value.Value, pointer string, visit func(pointer, text string)) {
	if text, ok := v.Str(); ok {
		visit(pointer, text)
	}
	for i, item := range v.List() {
		eachText(item, pointer+"/"+strconv.Itoa(i), visit)
	}
	for key, member := range v.Map().All() {
		if !isSchemaWord(key) {
			visit(pointer, key)
		}
		eachText(member, pointer+"/"+value.Escape(key), visit)
	}
}

// isSchemaWord reports whether a key is a word of tool definitions and schemas, which no flow chooses.
func isSchemaWord(key string) bool {
	switch key {
	case "name", "description", "parameters", "strict", "type", "properties", "required", "items", "enum", "default", "additionalProperties", "format", "title":
		return true
	}
	return false
}
