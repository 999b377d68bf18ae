// Package snapshot is the call that sums up memories, for example a session's.
package snapshot

import (
	"context"
	"iter"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
)

// Params are the parameters of the call.
type Params struct {
	OnlyDue bool   `json:"only_due,omitempty" doc:"Make only the snapshots that are due: of sessions with enough new memories or some rest. Without it, of all with anything new."`
	Model   string `json:"model,omitempty" doc:"The model to ask; the provider's setting where it is not given." example:"some-model"`
}

// Input selects the memories to sum up.
type Input struct {
	User string `json:"user"`
}

// Definition describes the call. Without a model it takes sentences of the
// memories, so it is not said to need one.
func Definition() calls.Definition {
	def := calls.Define[Params, Input, memory.Report](calls.Info{
		Name:        "memory-snapshot",
		IsContained: true,
		NoSubsteps:  true,
		Summary: calls.Text{
			En: "Sum up the user's new memories in snapshots, by the model, or without one by their own sentences.",
			Zh: "把用户的新记忆概括为快照：由模型撰写，没有模型时摘取原句。",
		},
		UsesMemory: true,
		Examples: []calls.Example{{
			Vars:  memory.ExampleVars(),
			Title: "Everything new",
			With:  "{}\n",
		}},
	})
	def.Texts = []calls.Texts{memory.Texts()}
	return def
}

// Init notes the user.
func (p Params) Init(_ context.Context, vars *calls.Vars) (Input, error) {
	return Input{vars.Scope.User}, memory.CheckScope(vars)
}

// Exec makes the snapshots.
func (p Params) Exec(ctx context.Context, env *calls.Env, in Input) iter.Seq2[calls.Chunk, error] {
	return calls.Do(func() (any, error) {
		store, err := memory.FromEnv(ctx, env)
		if err != nil {
			return nil, err
		}
		mine := *store
		mine.Generator = &memory.SnapshotGenerator{LLM: env.LLM, Model: p.Model, Language: env.Vars.Language, Languages: env.Languages, Clock: store.Clock}
		report, err := mine.Run(ctx, memory.User(in.User), !p.OnlyDue)
		if err != nil {
			return nil, err
		}
		for _, text := range report.Warnings {
			env.Warn("snapshot", "%s", text)
		}
		if err := report.ModelFailure(); err != nil { // the snapshots that were made are kept
			return nil, err
		}
		return report, nil
	})
}
