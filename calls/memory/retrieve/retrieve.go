// Package retrieve is the call that finds memories, for example the answer to "Where does Ann live?".
package retrieve

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// Params are the parameters of the call.
type Params struct {
	CurrentQuery string           `json:"current_query" doc:"What is asked, in the user's words. Times in it are understood, in English and Chinese: yesterday evening, the day before Christmas, before May 7. A weekday alone (on Wednesday) is the last one before today; a holiday, a season and a date without a year are the last that have begun."`
	History      []memory.Message `json:"history,omitempty" doc:"The dialogue before, oldest first: {is_user, content, timestamp} or {role, content}. What the user said last helps a query that says little." example:"[{role: user, content: I like tea., timestamp: '2026-05-01T10:00:00.000Z'}]"`
	Timestamp    string           `json:"timestamp,omitempty" doc:"The present, as 2006-01-02T15:04:05.000Z; the time of the run where it is not given. An offset such as +08:00 says whose days yesterday and today are." example:"'2026-05-01T10:00:00.000Z'"`
	Limit        int              `json:"limit" default:"10" min:"1" max:"1000" doc:"How many memories are given at most."`
	MinRelevance float64          `json:"min_relevance" default:"0.5" min:"0" max:"1" doc:"Only memories whose relevance is above this are given. With the default, of more than three those far less sure than the best are left out too; write 0.49 to get them."`
	Include      []string         `json:"include,omitempty" enum:"content|timestamp|snapshot_ids|context|neighbours" doc:"What each memory comes with, beside its id, score and reason. neighbours adds memories that only stand near one that matches, marked context."`
	AsOf         bool             `json:"as_of,omitempty" doc:"Leave out what happened after the timestamp."`
	Since        string           `json:"since,omitempty" doc:"Only memories of this time or later. A day begins at midnight in the zone of the timestamp, else of the run." example:"'2026-05-01'"`
	Before       string           `json:"before,omitempty" doc:"Only memories from before this time." example:"'2026-06-01'"`
	OnlySession  bool             `json:"only_session,omitempty" doc:"Only memories of the flow's session. Without it they count a little more than others."`
	OtherContext value.Value      `json:"other_context,omitzero" type:"object|string|null" doc:"Memories whose other context shares members with this one count a little more." example:"{place: office}"`
	AllUsers     bool             `json:"all_users,omitempty" doc:"Look in everybody's memories, not only in those of the flow's user. It is refused where the run is bound to a user, and not offered to a model that has the call as a tool."`
}

// Input is the search request.
type Input struct {
	Request memory.Request `json:"request"`
	User    string         `json:"user"`
	Session string         `json:"session"`
}

// Definition returns the call memory-retrieve as a registry knows it: schemas, texts, examples.
func Definition() calls.Definition {
	def := calls.Define[Params, Input, memory.Response](calls.Info{
		Name:        "memory-retrieve",
		IsContained: true,
		NoSubsteps:  true,
		Summary: calls.Text{
			En: "Find what was remembered of the user and matters for a question, with a score and a reason.",
			Zh: "查找与问题相关的用户记忆，给出相关度和原因。",
		},
		UsesMemory: true, OnlyRecalls: true,
		AllUsers: []string{"all_users"},
		Examples: []calls.Example{{
			Vars:  memory.ExampleVars(),
			Title: "What is known that matters for a question",
			With: `current_query: What tea does she like?
include: [content]
`,
		}},
	})
	def.Lint = lintParams
	def.Origins = origins
	return def
}

// origins returns the origins of the request; the origin of a memory's content is the memory.
func origins(_ context.Context, of calls.Record, pointer string) []calls.Origin {
	if below, isInput := strings.CutPrefix(pointer, "/input/request"); isInput {
		return of.OriginOfParam(below)
	}
	found, ok := strings.CutSuffix(pointer, "/content")
	id, _ := of.Output.At(strings.TrimPrefix(found, "/output") + "/memory_id")
	name, isMemory := id.Str()
	if !ok || !isMemory {
		return nil
	}
	return []calls.Origin{{Kind: calls.OriginMemory, Name: name}}
}

// lintParams finds texts that cannot be read as times, and bounds of time between which no time can be.
func lintParams(params value.Value, _ calls.LintEnv) []schema.Problem {
	problems := memory.LintTimes(params, "timestamp", "since", "before")
	if len(problems) > 0 {
		return problems
	}
	at := func(name string) (t time.Time) {
		v, _ := params.Get(name)
		text, _ := v.Str()
		t, _ = memory.ParseTime(text) // zero if no time is given
		return t
	}
	if since, before := at("since"), at("before"); !since.IsZero() && !before.IsZero() && !since.Before(before) {
		problems = append(problems, schema.Problem{Pointer: "/before", Keyword: "minimum", Message: "it is not after since: no memory is from between the two"})
	}
	return problems
}

// Init puts the request together.
func (p Params) Init(_ context.Context, vars *calls.Vars) (Input, error) {
	in := Input{Request: memory.Request{CurrentQuery: p.CurrentQuery, History: p.History, Timestamp: p.Timestamp}, User: vars.Scope.User, Session: vars.Scope.Session}
	if in.Request.History == nil {
		in.Request.History = []memory.Message{}
	}
	if in.Request.Timestamp == "" {
		in.Request.Timestamp = memory.FormatTime(vars.Now)
	}
	if p.AllUsers {
		return in, nil
	}
	return in, memory.CheckScope(vars)
}

// Exec searches.
func (p Params) Exec(ctx context.Context, env *calls.Env, in Input) iter.Seq2[calls.Chunk, error] {
	return calls.Do(func() (any, error) {
		store, err := memory.FromEnv(ctx, env)
		if err != nil {
			return nil, err
		}
		q, err := p.newQuery(env, &in)
		if err != nil {
			return nil, err
		}
		found, err := store.GetRelevantMemories(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, note := range found.Notes {
			env.Warn("search", "%s", note)
		}
		return found.Response(p.Include...), nil
	})
}

func (p Params) newQuery(env *calls.Env, in *Input) (*memory.Query, error) {
	users := memory.User(in.User)
	if p.AllUsers {
		users = memory.AllUsers()
	}
	q, err := in.Request.Query(users, in.Session, env.Vars.Now)
	if err != nil {
		return nil, err
	}
	q.Limit, q.MinRelevance, q.AsOf, q.OnlySession, q.Other = p.Limit, p.MinRelevance, p.AsOf, p.OnlySession, p.OtherContext
	q.Neighbours = slices.Contains(p.Include, memory.IncludeNeighbours)
	q.Language = cmp.Or(env.Vars.Language, "en")
	if p.Since != "" {
		q.Since, err = memory.ParseTimeIn(p.Since, q.Now.Location())
		if err != nil {
			return nil, calls.Errorf(calls.Invalid, "since: %w", err)
		}
	}
	if p.Before != "" {
		q.Before, err = memory.ParseTimeIn(p.Before, q.Now.Location())
		if err != nil {
			return nil, calls.Errorf(calls.Invalid, "before: %w", err)
		}
	}
	return q, nil
}
