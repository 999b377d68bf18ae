package mcp

import (
	"strings"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/journal"
)

// anyObject is the schema of any object.
func anyObject() value.Value { return value.OfMap(value.Pairs("type", "object")) }

// typeOf returns the type of a schema; "" if it has none or several.
func typeOf(doc value.Value) string {
	kind, _ := doc.Get("type")
	text, _ := kind.Str()
	return text
}

// objectSchema returns the schema of a tool's arguments, which must describe an object.
func objectSchema(doc value.Value) value.Value {
	if doc.Kind() != value.Object {
		return anyObject()
	}
	doc = withoutHeaders(doc)
	if typeOf(doc) == "object" {
		return doc
	}
	whole := doc.Map().Clone()
	whole.Set("type", value.OfString("object"))
	return value.OfMap(whole)
}

// headerKey asks clients to repeat a value in a header of HTTP: nothing here reads it, and
// the library refuses tools with a wrong one.
const headerKey = "x-mcp-header"

// withoutHeaders returns a schema without [headerKey].
func withoutHeaders(doc value.Value) value.Value {
	if !strings.Contains(doc.JSON(), headerKey) {
		return doc
	}
	switch doc.Kind() {
	case value.Object:
		clean := value.NewMap(doc.Map().Len())
		for key, member := range doc.Map().All() {
			if key != headerKey {
				clean.Set(key, withoutHeaders(member))
			}
		}
		return value.OfMap(clean)
	case value.List:
		var clean []value.Value
		for _, item := range doc.List() {
			clean = append(clean, withoutHeaders(item))
		}
		return value.OfList(clean...)
	}
	return doc
}

// runSchema returns the schema of the result of a tool that runs a flow; outputs is the schema of the flow's
// outputs, null if not known.
func runSchema(outputs value.Value) value.Value {
	if _, err := schema.Parse(outputs); err != nil || outputs.Kind() != value.Object {
		outputs = value.OfMap(nil)
	}
	states := []journal.RunStatus{journal.RunRunning, journal.RunWaiting, journal.RunFinished, journal.RunFailed, journal.RunCancelled}
	return value.OfMap(value.Pairs("type", "object", "required", []string{"run", "state"}, "properties", value.OfMap(value.Pairs(
		"run", value.OfMap(value.Pairs("type", "string", "description", "The id of the run: run://ID is the run.")),
		"state", value.OfMap(value.Pairs("type", "string", "enum", value.Must(states))),
		"outputs", outputs,
		"waiting", value.OfMap(value.Pairs("type", "array", "description", "What the run waits for: give it with answer_run.", "items", anyObject())),
		"question", value.OfMap(value.Pairs("type", "string", "description", "What to ask the user; give what they write as message to answer_run.")),
		"text", value.OfMap(value.Pairs("type", "string", "description", "What to tell the user.")),
		"error", anyObject(),
	))))
}
