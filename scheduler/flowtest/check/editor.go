package check

import (
	"maps"
	"slices"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// ItemSchema returns the JSON Schema of an item of expect, by which editors complete and explain it.
func ItemSchema() value.Value {
	properties := value.NewMap(0)
	set := func(name string, doc value.Value, description string) {
		m := doc.Map().Clone()
		m.Delete("$schema")
		if description != "" {
			m.Set("description", value.OfString(description))
		}
		if old, ok := properties.Get(name); ok && !value.Equal(old, value.OfMap(m)) {
			m = value.Pairs("anyOf", value.OfList(old, value.OfMap(m)))
		}
		properties.Set(name, value.OfMap(m))
	}
	text := value.OfMap(value.Pairs("type", "string"))
	docs := subjectDocs()
	for _, name := range slices.Sorted(maps.Keys(docs)) {
		set(name, text, docs[name])
	}
	for _, m := range matchers() {
		set(m.name, withTemplates(m.schema.Doc()), m.doc.En)
		for _, mod := range m.with {
			set(mod.name, withTemplates(mod.schema.Doc()), "")
		}
	}
	properties.Set("run", value.OfMap(value.Pairs("description", "The run as a whole: its state, or a map of matchers.")))
	properties.Set("round", value.OfMap(value.Pairs("type", "integer", "minimum", 1, "description", "The round of an agent whose prompt or request is looked at; of other steps, the one of that number.")))
	properties.Set("not", value.OfMap(value.Pairs("type", "object", "description", "Matchers of which none may hold.")))
	properties.Set("name", value.OfMap(value.Pairs("type", "string", "description", "What the check is called.")))
	properties.Set("metric", value.OfMap(value.Pairs("type", "string", "description", "Scores of checks with the same metric are summed up over all cases.")))
	properties.Set("weight", value.OfMap(value.Pairs("type", "number", "minimum", 0, "description", "What the score of the check counts; 1 where it is not given. With 0 it is reported alone.")))
	properties.Set("when", value.OfMap(value.Pairs("type", []string{"string", "boolean"}, "description", "An expression that is true or false; where it is false the check is not asked.")))
	return value.OfMap(value.Pairs("type", "object", "additionalProperties", false, "properties", value.OfMap(properties)))
}

// subjectDocs describes each subject, for users.
func subjectDocs() map[string]string {
	return map[string]string{
		string(outputSubject):    "An output of the flow, by its path: reply, items[0].name; items[*].name is each of them.",
		string(stepSubject):      "The output of a step, by its path: answer.text, each[3].name, outer/inner.text; each[*].name is each of the items. With event: the step of the event.",
		string(promptSubject):    "The prompt of a step: answer, each[3], outer/inner; each[*] is each of the items.",
		string(requestSubject):   "What a step sends to its model beside the prompt, or a path into that: answer, answer.temperature, clerk.tools[0].function.name. Only what the flow gives is there.",
		string(eventSubject):     "The events of a type: step.skipped, step.warning ... The warnings are those that the run counts at its end: also steps, items and tools that failed and that it went on after.",
		string(toolsSubject):     "The tools that an agent has used, by its step.",
		string(retrievedSubject): "The ids of the memories that a step of memory-retrieve has found, best first.",
	}
}

// withTemplates returns a schema that a text with templates fits as well.
func withTemplates(doc value.Value) value.Value {
	if kind, ok := doc.Get("type"); ok && slices.Contains([]string{"string"}, textOf(kind)) || doc.Map().Len() == 0 {
		return doc
	}
	return schema.Rewrite(value.OfMap(value.Pairs("anyOf", value.OfList(doc, value.OfMap(value.Pairs("type", "string", "pattern", `\{\{`))))), func(*value.Map) {})
}
