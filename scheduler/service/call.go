package service

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/secret"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler"
)

// Caller runs one call outside of flows. [Service.Caller] makes one; it is safe for
// concurrent use. Requests share nothing but the memory.
type Caller struct {
	service *Service
	by      Principal
	def     calls.Definition

	mu      sync.Mutex
	checked map[string]error // the error of the texts in a language
}

// CallRequest is one use of a call. Its caller makes it; it is only read.
type CallRequest struct {
	// With are the parameters, used unchanged: nothing in them is a template.
	With value.Value
	Vars RequestVars
	// LLM is the model; nil is the settings' model.
	LLM llm.Provider

	wrap func(llm.Provider) llm.Provider // wraps the model; nil for the model itself
}

// RequestVars has the variables of a single call.
type RequestVars struct {
	Question string `json:"question"`
	// Conversation is the list of messages before the question; null is none.
	Conversation value.Value          `json:"conversation"`
	Inputs       value.Value          `json:"inputs"`
	History      []calls.FinishedStep `json:"history"`
	Summary      string               `json:"summary"`
	Facts        []string             `json:"facts"`
	Vars         *value.Map           `json:"vars"`
	Language     string               `json:"language"`
	User         string               `json:"user"`
	Session      string               `json:"session"`
	// Sessions is all for the history of every session of the user, else "".
	Sessions string `json:"sessions"`
	// Now is the time of the call's clock; zero is the clock of the machine.
	Now time.Time `json:"-"`
}

// allSessions is the value of memory.sessions for all sessions.
const allSessions = "all"

// varNames lists the members of vars.
func varNames() []string {
	return []string{"question", "conversation", "inputs", "history", "summary", "facts", "vars", "language", "user", "session", "sessions", "now"}
}

// ParseCall reads a request {"with", "vars"?, "llm"?}, in which llm scripts the answers of the model in order;
// without it, the settings' model is used. parseTime reads vars.now. The error is of kind Invalid.
func (s *Service) ParseCall(doc value.Value, parseTime func(string) (time.Time, error)) (*CallRequest, error) {
	for name := range doc.Map().All() {
		if known := []string{"id", "with", "vars", "llm"}; !slices.Contains(known, name) {
			return nil, calls.Errorf(calls.Invalid, "unknown member %q%s", name, value.DidYouMeanSuffix(name, known))
		}
	}
	vars, _ := doc.Get("vars")
	for name := range vars.Map().All() {
		if known := varNames(); !slices.Contains(known, name) {
			return nil, calls.Errorf(calls.Invalid, "unknown member %q of vars%s", name, value.DidYouMeanSuffix(name, known))
		}
	}
	var members struct {
		ID   value.Value `json:"id"`
		With value.Value `json:"with"`
		Vars struct {
			RequestVars
			Now string `json:"now"`
		} `json:"vars"`
		LLM []value.Value `json:"llm"`
	}
	if err := value.Decode(doc, &members); err != nil {
		return nil, calls.Errorf(calls.Invalid, "%w", err)
	}
	r := &CallRequest{With: members.With, Vars: members.Vars.RequestVars}
	if s := r.Vars.Sessions; s != "" && s != allSessions {
		return nil, calls.Errorf(calls.Invalid, "vars.sessions is %q", s).WithHint("write all for those of every session, or leave it out")
	}
	err := calls.CheckConversation(r.Vars.Conversation)
	if err != nil {
		return nil, calls.Errorf(calls.Invalid, "vars.%w", err)
	}
	if script, _ := doc.Get("llm"); !script.IsNull() {
		r.LLM, err = s.parts.Script(value.OfList(members.LLM...))
		if err != nil {
			return nil, calls.Errorf(calls.Invalid, "llm: %w", err)
		}
	}
	r.Vars.Now, err = parseTime(members.Vars.Now)
	if err != nil {
		return nil, calls.Errorf(calls.Invalid, "%w", err)
	}
	return r, nil
}

// Caller prepares a call for any number of requests of a principal. One that is bound works in the memory of its
// user, regardless of the requests' users, and reaches no files and no other programs: see
// [calls.Registry.Confined].
func (s *Service) Caller(p Principal, def calls.Definition) *Caller {
	return &Caller{service: s, by: p, def: def, checked: map[string]error{}}
}

// Call runs the call once and returns its output, and its warnings as notes.
func (c *Caller) Call(ctx context.Context, r *CallRequest) (value.Value, []Note, error) {
	language := cmp.Or(r.Vars.Language, c.service.parts.Languages().Default)
	notes, err := c.checkTexts(language)
	if err != nil {
		if r.Vars.Language != "" {
			err = calls.Errorf(calls.Invalid, "vars.language: %w", err)
		}
		return value.Value{}, notes, err
	}
	vars := r.Vars.callVars(language)
	vars.Scope.Bound = c.by.Bound
	vars.Scope.User, err = c.by.memoryOf(vars.Scope.User)
	if err != nil {
		return value.Value{}, notes, err
	}
	vars.Now = c.service.TimeOf(vars.Scope.User, vars.Now)
	env, err := c.newEnv(r.LLM == nil && c.def.Info.UsesLLM)
	if err != nil {
		return value.Value{}, notes, err
	}
	if r.LLM != nil {
		env.LLM = r.LLM
	}
	if env.LLM != nil && r.wrap != nil {
		env.LLM = r.wrap(env.LLM)
	}
	if c.def.Info.UsesMemory || !vars.Scope.IsNone() { // without a user, input has no memories
		env.Memory = c.service.memories
	}
	env.Calls = directCalls{env}
	env.Vars = vars
	warnings := &collectedWarnings{}
	env.Warner = warnings
	def := c.def
	if c.by.Bound {
		env.Registry = env.Registry.Confined(c.service.allowsBound)
		def = env.Registry.Confine(def)
	}
	if !r.Vars.Now.IsZero() {
		env.Clock = func() time.Time { return vars.Now }
	}
	with := r.With
	if with.IsNull() {
		with = value.OfMap(nil)
	}
	hidden := c.service.parts.Hidden
	output, err := scheduler.Invoke(secret.NewContext(ctx, hidden), def, with, env)
	return hidden.MaskValue(output), append(notes, warnings.notes()...), err
}

// newEnv returns the environment for a use of the call. A call that asks the model for some parameters only, for
// example slot unless stages is [], gets a model that cannot be opened as one that fails when it is asked: a check
// needs no key.
func (c *Caller) newEnv(asksModel bool) (*calls.Env, error) {
	env, err := c.service.parts.CallEnv(asksModel)
	if err == nil || !asksModel || !c.def.Info.LLMOptional {
		return env, err
	}
	fault := err
	env, err = c.service.parts.CallEnv(false)
	if err == nil {
		env.LLM = unopened{fault}
	}
	return env, err
}

// unopened is a model that could not be opened.
type unopened struct{ fault error }

// Chat fails.
func (u unopened) Chat(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) { yield(llm.Delta{}, u.fault) }
}

// allowsBound reports whether Parts.BoundCalls has a name: itself, or as mcp.shop.* the beginning of it.
func (s *Service) allowsBound(name string) bool {
	return slices.ContainsFunc(s.parts.BoundCalls, func(listed string) bool {
		begin, isPattern := strings.CutSuffix(listed, "*")
		return listed == name || isPattern && strings.HasPrefix(name, begin)
	})
}

// checkTexts checks the texts of the call in a language, once. To a call without texts the language is a name like
// any other.
func (c *Caller) checkTexts(language string) ([]Note, error) {
	if len(c.def.Texts) == 0 {
		return nil, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err, known := c.checked[language]; known {
		return nil, err
	}
	languages := c.service.parts.Languages()
	err := languages.Check(language)
	var notes []Note
	if err == nil {
		problems := languages.Lint(language, c.def)
		for _, p := range problems.Warnings() {
			notes = append(notes, Note{Text: wording.Same(p.String())})
		}
		if faults := problems.Err(); faults != nil {
			err = calls.Errorf(calls.Invalid, "%w", faults)
		}
	}
	c.checked[language] = err
	return notes, err
}

// callVars returns the variables of the call.
func (v *RequestVars) callVars(language string) *calls.Vars {
	inputs := v.Inputs
	if inputs.IsNull() {
		inputs = value.OfMap(nil)
	}
	now := v.Now
	if now.IsZero() {
		now = time.Now()
	}
	return &calls.Vars{
		Inputs: inputs, Question: v.Question, Conversation: v.Conversation, Resolved: maps.Collect(v.Vars.All()), Language: language, Now: now,
		Scope:    calls.Scope{User: v.User, Session: v.Session, AllSessions: v.Sessions == allSessions},
		Upstream: calls.FixedUpstream{Steps: v.History, SummaryText: v.Summary, FactList: v.Facts},
	}
}

// TimeOf returns a time in the user's zone, which defines the days today and yesterday. A time with an offset
// keeps it.
func (s *Service) TimeOf(user string, t time.Time) time.Time {
	if s.parts.UserZone == nil {
		return t
	}
	return calls.TimeIn(t, s.parts.UserZone(user))
}

// directCalls runs calls without a flow around them.
type directCalls struct{ env *calls.Env }

// RunCall runs a call of the registry.
func (c directCalls) RunCall(ctx context.Context, name string, params value.Value) (value.Value, error) {
	def, ok := c.env.Registry.Call(name)
	if !ok {
		return value.Value{}, c.env.Registry.CheckCall(name)
	}
	return scheduler.Invoke(ctx, def, params, c.env)
}

// AnswerLine answers one line of requests: {"id", "output"}, or {"id", "error"} with the kind, the message and the
// hint. If the call has given warnings, "warnings" holds {"code", "text", "source"?} of each. Other notes are
// returned. line is the number of the line, for messages.
func (c *Caller) AnswerLine(ctx context.Context, line int, text []byte, parseTime func(string) (time.Time, error)) (value.Value, []Note) {
	language := c.service.parts.Languages().Default
	parsed, err := value.ParseStrictJSON(text)
	if err != nil {
		return callAnswer(language, value.Value{}, value.Value{}, calls.Errorf(calls.Invalid, "line %d: the JSON at %w", line, err)), nil
	}
	id, _ := parsed.Get("id")
	vars, _ := parsed.Get("vars")
	named, _ := vars.Get("language")
	if text, ok := named.Str(); ok {
		language = cmp.Or(text, language)
	}
	r, err := c.service.ParseCall(parsed, parseTime)
	if err != nil {
		return callAnswer(language, id, value.Value{}, calls.Errorf(calls.Invalid, "line %d: %w", line, err)), nil
	}
	output, notes, err := c.Call(ctx, r)
	answer := callAnswer(language, id, output, err)
	if warnings := warningList(notes, language); len(warnings) > 0 {
		answer.Map().Set("warnings", value.OfList(warnings...))
	}
	return answer, slices.DeleteFunc(notes, isCallWarning)
}

// callAnswer returns the answer to one line, with the message of an error in a language.
func callAnswer(language string, id, output value.Value, err error) value.Value {
	answer := value.Pairs("id", id)
	if err == nil {
		answer.Set("output", output)
		return value.OfMap(answer)
	}
	info := value.Pairs("kind", string(calls.KindOf(err)), "message", wording.OfError(err).In(language))
	if hint := calls.HintIn(err, language); hint != "" {
		info.Set("hint", value.OfString(hint))
	}
	answer.Set("error", value.OfMap(info))
	return value.OfMap(answer)
}
