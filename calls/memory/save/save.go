// Package save is the call that saves a memory, for example "Ann moved to Tokyo".
package save

import (
	"context"
	"iter"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// Params are the parameters of the call.
type Params struct {
	Content   string      `json:"content" doc:"What to remember, as it was said."`
	Role      string      `json:"role,omitempty" doc:"Who said it in the chat: user, assistant. Without it, it is something known rather than said."`
	Context   value.Value `json:"context,omitzero" type:"object|string|null" doc:"Anything else about it, kept as other_context: a text, or an object. Of an object, speaker is who said it. An object with user_id or session_id is a whole context, {user_id, session_id, other_context}; its user must be the flow's own." example:"{speaker: Lin, place: office}"`
	Timestamp string      `json:"timestamp,omitempty" doc:"When it happened, as 2006-01-02T15:04:05.000Z; the time of the run where it is not given." example:"'2026-05-01T10:00:00.000Z'"`
	ID        string      `json:"id,omitempty" doc:"The memory to replace; its old version is kept. Without it a new one is made, unless the same is known already." example:"memory_01890a5d-ac96-774b-bcce-b302099a8001"`
}

// Input is the memory.
type Input struct {
	Memory value.Value `json:"memory" type:"object"`
}

// Output has the id under which it is known.
type Output struct {
	MemoryID string `json:"memory_id" doc:"The id of the memory."`
}

// Definition returns the call memory-save as a registry knows it: schemas, texts, examples.
func Definition() calls.Definition {
	def := calls.Define[Params, Input, Output](calls.Info{
		Name:        "memory-save",
		IsContained: true,
		NoSubsteps:  true,
		Summary: calls.Text{
			En: "Remember something of the user; once it is done, it is safe on the disk and can be found.",
			Zh: "记住与用户有关的内容；完成后即已写入磁盘，可以查到。",
		},
		Stores:     true,
		SavedParam: "content",
		SavedID:    "memory_id",
		UsesMemory: true,
		Examples: []calls.Example{{
			Vars:  memory.ExampleVars(),
			Title: "What the user said",
			With: `content: I like jasmine tea best.
role: user
`,
		}},
	})
	def.Lint = lint
	def.Origins = inputOrigins
	return def
}

// inputOrigins returns the origins of the memory's content in the input of a step.
func inputOrigins(_ context.Context, of calls.Record, pointer string) []calls.Origin {
	if pointer != "/input/memory/content" {
		return nil
	}
	return of.OriginOfParam("/content")
}

// lint finds texts that the store would refuse.
func lint(params value.Value, _ calls.LintEnv) []schema.Problem {
	problems := append(memory.LintTimes(params, "timestamp"), memory.LintID(params, "id", memory.MemoryID)...)
	content, _ := params.Get("content")
	if text, ok := content.Str(); ok && strings.TrimSpace(text) == "" {
		problems = append(problems, schema.Problem{Pointer: "/content", Keyword: "minLength", Message: "it is empty: there is nothing to remember"})
	}
	context, _ := params.Get("context")
	for name, meant := range misspeltMembers(context) {
		p := schema.Problem{Pointer: value.FormatPointer("context", name), Warning: true}
		problems = append(problems, p.WithMessage(keptAsOther, name, meant).WithHint("write %s", meant))
	}
	return problems
}

// keptAsOther is the warning of lint and of a run about a member that was meant to name a user or a session.
const keptAsOther = "%q is kept as something else about the memory: it does not name its %s"

// misspeltMembers returns the members of a context that were meant as user_id or session_id, with the intended
// name.
func misspeltMembers(context value.Value) iter.Seq2[string, string] {
	plain := strings.NewReplacer("_", "", "-", "", " ", "")
	return func(yield func(string, string) bool) {
		for name := range context.Map().All() {
			for _, meant := range []string{"user_id", "session_id"} {
				if name != meant && strings.EqualFold(plain.Replace(name), plain.Replace(meant)) && !yield(name, meant) {
					return
				}
			}
		}
	}
}

// Init makes the memory.
func (p Params) Init(_ context.Context, vars *calls.Vars) (Input, error) {
	m := memory.BaseMemory{
		ID: p.ID, Content: p.Content, Timestamp: vars.Now,
		Context: memory.Context{UserID: vars.Scope.User, SessionID: vars.Scope.Session, Other: p.Context},
	}
	if err := memory.CheckScopeOfSave(vars); err != nil {
		return Input{}, err
	}
	if err := setContext(&m, p.Context); err != nil {
		return Input{}, err
	}
	if p.Timestamp != "" {
		var err error
		m.Timestamp, err = memory.ParseTime(p.Timestamp)
		if err != nil {
			return Input{}, calls.Errorf(calls.Invalid, "timestamp: %w", err)
		}
	}
	if p.Role != "" {
		m.SetRole(p.Role)
	}
	v, err := value.Of(m)
	return Input{v}, err
}

// setContext reads {user_id, session_id, other_context} as the context of a stored memory. The user must be the
// flow's own: users cannot save for each other.
func setContext(m *memory.BaseMemory, context value.Value) error {
	context = objectOf(context)
	if _, ok := context.Get("user_id"); !ok {
		if _, ok := context.Get("session_id"); !ok {
			return nil // anything else about it
		}
	}
	full := memory.BaseMemory{}
	if err := full.DecodeValue(value.OfMap(value.Pairs("context", context))); err != nil {
		return calls.Errorf(calls.Invalid, "context: %w", err)
	}
	c := full.Context
	if c.UserID != "" && c.UserID != m.Context.UserID {
		return calls.Errorf(calls.Invalid, "context.user_id is %q, but the user of the flow is %q", c.UserID, m.Context.UserID).
			WithHint(`a flow saves memories of its own user: write memory: {user: "{{ run.user }}"} in the flow, or leave out user_id`)
	}
	if c.SessionID != "" {
		m.Context.SessionID = c.SessionID
	}
	m.Context.Other, m.Context.Extra = c.Other, c.Extra
	return nil
}

// objectOf returns the object that a text is the JSON of, as the outputs of models and tools
// have it, else the value.
func objectOf(v value.Value) value.Value {
	text, _ := v.Str()
	if parsed, err := value.ParseJSON([]byte(text)); err == nil && parsed.Kind() == value.Object {
		return parsed
	}
	return v
}

// Exec stores it.
func (p Params) Exec(ctx context.Context, env *calls.Env, in Input) iter.Seq2[calls.Chunk, error] {
	return calls.Do(func() (any, error) {
		store, err := memory.FromEnv(ctx, env)
		if err != nil {
			return nil, err
		}
		var m memory.BaseMemory
		if err := value.Decode(in.Memory, &m); err != nil {
			return nil, calls.Errorf(calls.Invalid, "reading the memory: %w", err)
		}
		// An utterance that is made twice is kept twice, but a step that runs twice makes it once.
		if key := env.IdempotencyKey(); key != "" && m.ID == "" && m.Role() != "" {
			m.ID = memory.DeriveID(memory.MemoryID, key, env.Vars.Run.StartedAt)
		}
		if p.ID != "" && env.Vars.Scope.Bound {
			m.ID, err = memory.OwnID(ctx, store.Store, m.Context.UserID, p.ID)
			if err != nil {
				return nil, err
			}
		}
		for name, meant := range misspeltMembers(objectOf(p.Context)) {
			env.Warn("context", keptAsOther, name, meant)
		}
		if env.Vars.Run.ID != "" {
			m.Context.SetRunID(env.Vars.Run.ID)
		}
		id, err := store.ProcessMemory(ctx, m)
		if err != nil {
			return nil, err
		}
		return Output{id}, nil
	})
}
