package suite

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/flow"
)

// callPrefix begins the key of a mock for every use of a call.
const callPrefix = "call:"

// variablePrefix begins the key of a mock for a variable.
const variablePrefix = "vars."

// The keys of a reply that is not an output.
const (
	replyError  = "error"
	replyDelay  = "delay"
	replyOutput = "output"
)

// readMock reads one mock, once for all rows and variants; nil if it is wrong.
func (r *reader) readMock(pointer, key string, v value.Value) *Mock {
	if known, ok := r.mocked[pointer]; ok {
		return known
	}
	r.mocked[pointer] = nil
	m := &Mock{Pos: r.keyAt(pointer)}
	outputs, ok := r.mockTarget(m, key)
	if !ok {
		return nil
	}
	before := len(r.problems)
	node, _, _ := yaml.Walk(r.root, pointer)
	_, isRaw := r.literals[yaml.Resolve(node)]
	if v.Kind() != value.List || isRaw || m.Variable != "" {
		m.Replies = []Reply{r.readReply(pointer, v, outputs)}
	} else {
		m.IsList = true
		if len(v.List()) == 0 {
			r.reportOnce(r.at(pointer), wording.Say("the mock has no reply"), wording.Say("write one for each attempt or item"))
		}
		for i, item := range v.List() {
			m.Replies = append(m.Replies, r.readReply(pointer+"/"+strconv.Itoa(i), item, outputs))
		}
	}
	if m.Variable != "" && m.Replies[0].Delay > 0 {
		r.reportOnce(r.at(pointer), wording.Say("the mock of a variable has no delay"), wording.Say("give its value, or {error: {kind, message}}"))
	}
	if len(r.problems) > before {
		return nil
	}
	m.Pos.File = r.file
	r.mocked[pointer] = m
	return m
}

// callMCP begins the names of tools of MCP servers, which are known in a run.
const callMCP = "mcp"

// checkAllowed reports names under allow, at a place, that name no call, plugin or server.
func (r *reader) checkAllowed(pointer string, names []string) {
	callNames := r.loader.Flows.Registry.CallNames()
	known := slices.Concat(callNames, r.loader.Flows.Plugins)
	for i, name := range names {
		isOfServer := name == callMCP || strings.HasPrefix(name, callMCP+".")
		isFolder := slices.ContainsFunc(callNames, func(call string) bool { return strings.HasPrefix(call, name+".") })
		if !isOfServer && !isFolder && !slices.Contains(known, name) {
			r.reportOnce(r.at(pointer+"/"+strconv.Itoa(i)), wording.Say("unknown call, plugin or tool %q", name), wording.Of(value.DidYouMeanOrList(name, known)))
		}
	}
}

// mockTarget finds the step, call or variable of the mock, and returns the schemas of its outputs.
func (r *reader) mockTarget(m *Mock, key string) (outputs []value.Value, ok bool) {
	if name, isCall := strings.CutPrefix(key, callPrefix); isCall {
		def, known := r.loader.Flows.Registry.Call(name)
		if !known {
			r.reportOnce(m.Pos, wording.Say("unknown call %q", name), wording.Of(value.DidYouMeanOrList(name, r.loader.Flows.Registry.CallNames())))
			return nil, false
		}
		m.Call = name
		if def.Info.Output != nil {
			outputs = append(outputs, def.Info.Output.Doc())
		}
		return outputs, true
	}
	if name, isVariable := strings.CutPrefix(key, variablePrefix); isVariable {
		known := r.loader.Flows.Registry.VariableNames()
		if !slices.Contains(known, name) {
			r.reportOnce(m.Pos, wording.Say("unknown variable %q", key), wording.Of(value.DidYouMeanOrList(name, known)))
			return nil, false
		}
		m.Variable = name
		return nil, true
	}
	m.Step = key
	found := false
	for _, f := range r.flows {
		s, ok := f.flow.FindStep(key)
		if !ok {
			continue
		}
		found = true
		if doc := outputOf(s); !doc.IsNull() {
			outputs = append(outputs, doc)
		}
	}
	if !found {
		r.checkStep(m.Pos, key)
	}
	return outputs, found
}

// outputOf returns the schema of one output of a step: of its call, or of the flow that it runs.
func outputOf(s *flow.Step) value.Value {
	if s.Sub == nil && s.Def.Info.Output != nil {
		return s.Def.Info.Output.Doc()
	}
	doc := s.Output
	if s.ForEach != nil {
		doc, _ = doc.Get("items")
	}
	return doc
}

// readReply reads one reply of a mock.
func (r *reader) readReply(pointer string, v value.Value, outputs []value.Value) Reply {
	reply := Reply{Pos: r.at(pointer), Value: v}
	reply.Pos.File = r.file
	node, _, _ := yaml.Walk(r.root, pointer)
	if _, isRaw := r.literals[yaml.Resolve(node)]; !isRaw && isDirective(v) {
		if !r.readDirective(pointer, v, &reply) {
			return reply
		}
		pointer += "/" + replyOutput
	}
	for _, doc := range outputs {
		reply.Value = r.checkOutput(pointer, reply.Value, doc)
	}
	return reply
}

// isDirective reports whether a reply has more than an output: all its keys are keys of a reply, and one gives an
// error or a delay.
func isDirective(v value.Value) bool {
	if v.Kind() != value.Object {
		return false
	}
	tells := false
	for _, key := range v.Map().Keys() {
		if !slices.Contains([]string{replyError, replyDelay, replyOutput}, key) {
			return false
		}
		tells = tells || key != replyOutput
	}
	return tells
}

// readDirective reads {error}, {delay} and {delay, output}. It reports whether there is an output to be checked.
func (r *reader) readDirective(pointer string, v value.Value, reply *Reply) bool {
	if delay, ok := v.Get(replyDelay); ok {
		reply.Delay = r.replyDelay(pointer+"/"+replyDelay, delay)
	}
	output, hasOutput := v.Get(replyOutput)
	reply.Value = output
	if e, ok := v.Get(replyError); ok {
		reply.Error = r.replyError(pointer+"/"+replyError, e)
		if hasOutput {
			r.reportOnce(r.at(pointer), wording.Say("a mock has an error or an output, not both"), wording.Text{})
		}
		return false
	}
	reply.PassesOn = !hasOutput
	return hasOutput
}

func (r *reader) replyDelay(pointer string, v value.Value) time.Duration {
	text, isText := v.Str()
	if !isText || text == "" {
		r.reportOnce(r.at(pointer), wording.Say("invalid duration %q", v.JSON()), wording.Say("use 500ms, 30s, 2m or 1h30m"))
		return 0
	}
	return r.duration(pointer, text)
}

// errorWant is an error as a test file writes it.
type errorWant struct {
	Kind    string `json:"kind" enum:"invalid|notfound|missing|plugin|provider|budget|timeout|canceled|internal" doc:"The kind of the error."`
	Message string `json:"message,omitempty" default:"mocked" doc:"What it says."`
}

var errorSchema = sync.OnceValue(schema.MustFor[errorWant])

func (r *reader) replyError(pointer string, v value.Value) *ReplyError {
	problems := errorSchema().Check(v)
	for _, p := range problems {
		message, hint := p.Text()
		r.reportOnce(r.at(pointer+p.Pointer), message, hint)
	}
	var e errorWant
	if problems == nil {
		if err := value.Decode(errorSchema().ApplyDefaults(v), &e); err != nil {
			r.reportOnce(r.at(pointer), wording.OfError(err), wording.Text{})
		}
	}
	return &ReplyError{Kind: e.Kind, Message: e.Message}
}

// checkOutput reports each place at which the output of a mock does not fit its schema.
func (r *reader) checkOutput(pointer string, v, doc value.Value) value.Value {
	return r.checkGiven(pointer, v, doc, func(message wording.Text) wording.Text {
		return wording.Say("the mock does not fit the output: %s", message)
	})
}

// checkEnded is checkOutput of a step that has ended.
func (r *reader) checkEnded(pointer string, v, doc value.Value) value.Value {
	return r.checkGiven(pointer, v, doc, func(message wording.Text) wording.Text {
		return wording.Say("it does not fit the output of the step: %s", message)
	})
}

// checkGiven reports each place at which a given output does not fit its schema, in the words of say. Members may
// be left out and are empty then: the file has only the parts that the test is about.
func (r *reader) checkGiven(pointer string, v, doc value.Value, say func(message wording.Text) wording.Text) value.Value {
	s, err := schema.Parse(schema.Rewrite(doc, func(keywords *value.Map) { keywords.Delete("required") }))
	if err != nil {
		return v // the schema is the call's, and nothing that the file can mend
	}
	for _, p := range s.Check(v) {
		message, hint := p.Text()
		if p.Pointer == "" && v.Kind() == value.String && hasText(doc) {
			hint = wording.Say("write {text: ...}")
		}
		pos := r.at(pointer + p.Pointer)
		if p.Keyword == "additionalProperties" {
			pos = r.keyAt(pointer + p.Pointer)
		}
		r.reportOnce(pos, say(message), hint)
	}
	return completed(v, doc, 0)
}

// hasText reports whether an output has a text.
func hasText(doc value.Value) bool {
	properties, _ := doc.Get("properties")
	_, has := properties.Get("text")
	return has
}

// maxFill bounds the depth to which left out parts of a mock are filled in.
const maxFill = 8

// completed returns an object with the members that its schema requires and that it does not have, empty.
func completed(v, doc value.Value, depth int) value.Value {
	required, _ := doc.Get("required")
	if v.Kind() != value.Object || depth > maxFill {
		return v
	}
	properties, _ := doc.Get("properties")
	m := v.Map().Clone()
	for _, name := range required.List() {
		key, _ := name.Str()
		property, _ := properties.Get(key)
		if have, ok := m.Get(key); ok {
			m.Set(key, completed(have, property, depth+1))
			continue
		}
		if empty, ok := emptyOf(property, depth+1); ok {
			m.Set(key, empty)
		}
	}
	return value.OfMap(m)
}

// emptyOf returns the empty value of a schema; ok is false if the schema gives no type.
func emptyOf(doc value.Value, depth int) (v value.Value, ok bool) {
	if enum, ok := doc.Get("enum"); ok && len(enum.List()) > 0 {
		return enum.List()[0], true
	}
	typed, _ := doc.Get("type")
	kind, isOne := typed.Str()
	if !isOne && len(typed.List()) > 0 {
		kind, _ = typed.List()[0].Str()
	}
	switch kind {
	case "string":
		return value.OfString(""), true
	case "array":
		return value.OfList(), true
	case "object":
		return completed(value.OfMap(value.NewMap(0)), doc, depth), true
	case "integer", "number":
		return value.OfInt(0), true
	case "boolean":
		return value.OfBool(false), true
	}
	return v, kind == "null"
}
