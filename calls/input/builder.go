package input

import (
	"slices"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins"
)

// builder makes one prompt. newBuilder creates it for one step; it is used by one
// goroutine.
type builder struct {
	params   Params
	in       Input
	env      *calls.Env
	config   *config
	settings settings
	names    variableNames

	warnings []string
	fetched  map[string]fetched // by root
	notes    map[string]string  // by memory variable: the parts that were left out
	// before is the dialogue before the question if the step gives no short-term memory; spokenAt are its messages
	// that have a text.
	before   calls.Dialogue
	spokenAt []int
	// memoryTexts are the texts of memory variables that were fetched.
	memoryTexts map[string]calls.Traced

	// These are computed on first use and kept.
	dialogue func() (dialogue, error)
	memories func() ([]recalledMemory, error)
	state    func() plugins.State
}

// dialogue is the short-term memory after its bounds were applied.
type dialogue struct {
	turns []plugins.Turn
	lines []calls.Traced // as the prompt shows them
	total int            // before the bounds
}

type fetched struct {
	value value.Value
	err   error
}

func newBuilder(p Params, in Input, env *calls.Env, cfg, local *config, warnings []wording.Text) *builder {
	b := &builder{
		params: p, in: in, env: env,
		config: cfg, settings: cfg.Settings.withDefaults(local.Settings),
		names:    variableNames{given: p.Variables, registry: env.Registry, in: in, vars: env.Vars},
		warnings: []string{},
		fetched:  map[string]fetched{},
		notes:    map[string]string{},

		memoryTexts: map[string]calls.Traced{},
	}
	for _, text := range warnings {
		b.warn("%s", text)
	}
	return b
}

func (b *builder) warn(format string, args ...any) {
	text := b.env.Say(format, args...)
	if !slices.Contains(b.warnings, text) {
		b.warnings = append(b.warnings, text)
		b.env.Warn("module", "%s", text)
	}
}
