package suite

import (
	"maps"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/flow"
)

// inputs returns the inputs of a row. Each of these replaces the ones before: the inputs of the run that state is
// taken from, the defaults, the columns of the row, the inputs of the case. If a trigger fired, it gives all of
// them. It reports inputs that do not fit the flow, and whether all fit. For example, a column question replaces
// the question of the defaults.
func (c *caseReader) inputs(f *loadedFlow, row *datasetRow, fired *triggered) (value.Value, bool) {
	m := value.NewMap(0)
	places := map[string]flow.Position{}
	if fired != nil {
		for name, v := range fired.inputs.All() {
			m.Set(name, v)
			places[name] = c.at(c.place("trigger"))
		}
		return c.checkInputs(f, row, m, places)
	}
	for name, v := range c.recorded.All() {
		m.Set(name, v)
		places[name] = c.at(c.place("state"))
	}
	ok := c.addInputs(m, places, "/defaults/inputs", row)
	if row != nil {
		ok = c.addColumns(m, places, f.flow, row) && ok
	}
	ok = c.addInputs(m, places, c.pointer+"/inputs", row) && ok
	if !ok {
		return value.Value{}, false
	}
	return c.checkInputs(f, row, m, places)
}

// checkInputs checks the inputs of a case against the flow. It reports misfits, at the places of the inputs, and
// whether all fit.
func (c *caseReader) checkInputs(f *loadedFlow, row *datasetRow, m *value.Map, places map[string]flow.Position) (value.Value, bool) {
	v := value.OfMap(m)
	problems := f.flow.Inputs.Check(f.flow.Inputs.ApplyDefaults(v))
	for _, p := range problems {
		name := firstName(p.Pointer)
		if pos, given := places[name]; given {
			message, hint := p.Text()
			c.reportOnce(pos, wording.Say("the input %s: %s", name, message), hint)
		} else if !c.wrong[c.pointer] && !c.wrong["/defaults/inputs"] {
			c.reportMissing(name, row)
		}
	}
	return v, problems == nil
}

// conversation returns the messages before the question, and reports whether they have the shape of some.
func (c *caseReader) conversation(row *datasetRow) (value.Value, bool) {
	if c.settings.Conversation.IsNull() {
		return value.Value{}, true
	}
	place := c.place("conversation")
	node, _, _ := yaml.Walk(c.root, place)
	rowValue := value.Value{}
	if row != nil {
		rowValue = value.OfMap(row.cells)
	}
	messages, ok := c.render(node, rowValue)
	if !ok {
		return value.Value{}, false
	}
	if err := calls.CheckConversation(messages); err != nil {
		c.reportOnce(c.at(place), wording.OfError(err), wording.Of(calls.HintOf(err)))
		return value.Value{}, false
	}
	return messages, true
}

// reportMissing reports an input that the flow requires and nothing sets.
func (c *caseReader) reportMissing(name string, row *datasetRow) {
	message := wording.Say("the input %s is missing", name)
	if row == nil {
		c.reportOnce(c.at(c.pointer), message, wording.Say("add inputs: {%s: ...}", name))
		return
	}
	c.reportOnce(row.pos, message, wording.Say("name the column that it comes from: dataset: {inputs: {%s: COLUMN}}; there are %s", name, value.ListNames(c.data.columns)))
}

// firstName returns the first name of a JSON pointer.
func firstName(pointer string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
	return value.Unescape(name)
}

// addInputs adds the inputs at a place of the file.
func (c *caseReader) addInputs(m *value.Map, places map[string]flow.Position, pointer string, row *datasetRow) bool {
	node, _, found := yaml.Walk(c.root, pointer)
	if !found {
		return true
	}
	node = yaml.Resolve(node)
	rowValue := value.Value{}
	if row != nil {
		rowValue = value.OfMap(row.cells)
	}
	ok := true
	for i := 0; i+1 < len(node.Content); i += 2 {
		name := yaml.Resolve(node.Content[i]).Value
		if !c.checkInputName(pointer+"/"+value.Escape(name), name) {
			ok = false
			continue
		}
		v, rendered := c.render(node.Content[i+1], rowValue)
		ok = ok && rendered
		m.Set(name, v)
		places[name] = c.position(node.Content[i+1], 0)
	}
	return ok
}

// checkInputName reports an input that no flow of the file names, and whether one does.
func (r *reader) checkInputName(pointer, name string) bool {
	var known []string
	for _, f := range r.flows {
		names, isOpen := inputNames(f.flow)
		if isOpen || slices.Contains(names, name) {
			return true
		}
		known = append(known, names...)
	}
	r.reportOnce(r.keyAt(pointer), wording.Say("the flow has no input %q", name), wording.Of(value.DidYouMeanOrList(name, known)))
	return false
}

// inputNames returns the inputs that a flow names; isOpen is set if it names none, or allows others.
func inputNames(f *flow.Flow) (names []string, isOpen bool) {
	properties, _ := f.Inputs.Doc().Get("properties")
	_, isOpen = f.Inputs.Doc().Get("additionalProperties")
	names = properties.Map().Keys()
	return names, isOpen || len(names) == 0
}

// inputQuestion is the input that templates and calls know in every flow.
const inputQuestion = "question"

// columnInputs returns the inputs of a flow that columns of their names give: those that it names. A flow that names none takes any, and
// knows question: templates and calls read it.
func columnInputs(f *flow.Flow) []string {
	names, isOpen := inputNames(f)
	more, _ := f.Inputs.Doc().Get("additionalProperties")
	takesAny, isBool := more.Bool()
	if len(names) == 0 && isOpen && (takesAny || !isBool) {
		return []string{inputQuestion}
	}
	return names
}

// addColumns adds the inputs that come from the columns of a row.
func (c *caseReader) addColumns(m *value.Map, places map[string]flow.Position, f *flow.Flow, row *datasetRow) bool {
	columns := map[string]string{} // by input
	for _, name := range columnInputs(f) {
		if slices.Contains(c.data.columns, name) {
			columns[name] = name
		}
	}
	mapped := c.keys.Dataset.Inputs
	for name, column := range mapped.All() {
		if text, isText := column.Str(); isText { // other types are reported
			columns[name] = text
		}
	}
	ok := true
	for _, name := range slices.Sorted(maps.Keys(columns)) {
		v, has := row.cells.Get(columns[name])
		if !has {
			_, isMapped := mapped.Get(name)
			if isMapped && slices.Contains(c.data.columns, columns[name]) {
				c.reportOnce(row.pos, wording.Say("the row has no column %q, which the input %s comes from", columns[name], name), wording.Text{})
			}
			ok = ok && !isMapped
			continue
		}
		if c.data.isText {
			v, has = c.typed(f, row, name, v)
			if !has {
				continue
			}
		}
		m.Set(name, v)
		places[name] = row.pos
	}
	return ok
}

// typed returns the value of a cell's text for an input; ok is false if an empty cell means none.
func (c *caseReader) typed(f *flow.Flow, row *datasetRow, name string, cell value.Value) (v value.Value, ok bool) {
	text, _ := cell.Str()
	if names, _ := inputNames(f); name == inputQuestion && !slices.Contains(names, name) {
		return cell, true // calls take it as a text, also 42
	}
	v, err := f.Inputs.FromText(name, text)
	if err == nil {
		return v, true
	}
	if text != "" {
		c.reportOnce(row.pos, wording.Say("the input %s: %w", name, err), wording.Text{})
	}
	return v, false
}
