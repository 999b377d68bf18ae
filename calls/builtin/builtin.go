// Package builtin is the list of what the program has without any plugin: its
// calls, importance functions and variables.
package builtin

import (
	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/agent"
	"github.com/callnode/scheduler/calls/chat"
	"github.com/callnode/scheduler/calls/choice"
	"github.com/callnode/scheduler/calls/context"
	"github.com/callnode/scheduler/calls/facts"
	"github.com/callnode/scheduler/calls/flow"
	"github.com/callnode/scheduler/calls/http"
	"github.com/callnode/scheduler/calls/inchat"
	"github.com/callnode/scheduler/calls/input"
	"github.com/callnode/scheduler/calls/memory/recent"
	"github.com/callnode/scheduler/calls/memory/retrieve"
	"github.com/callnode/scheduler/calls/memory/save"
	"github.com/callnode/scheduler/calls/memory/snapshot"
	"github.com/callnode/scheduler/calls/slot"
	"github.com/callnode/scheduler/calls/summary"
	"github.com/callnode/scheduler/calls/template"
)

// Calls returns the built-in calls, with the Chinese of their descriptions.
func Calls() []calls.Definition {
	all := definitions()
	for _, def := range all {
		def.Info.Words = Reference
	}
	return all
}

// definitions lists the built-in calls. A new one adds its line here.
func definitions() []calls.Definition {
	return []calls.Definition{
		agent.Definition(),
		chat.Definition(),
		choice.Definition(),
		context.Definition(),
		facts.Definition(),
		flow.Definition(),
		http.Definition(),
		inchat.Definition(),
		input.Definition(),
		retrieve.Definition(),
		save.Definition(),
		recent.Definition(),
		snapshot.Definition(),
		slot.Definition(),
		summary.Definition(),
		template.Definition(),
	}
}

// Registry holds everything that is built in; plugins are added to it.
func Registry() (*calls.Registry, error) {
	r, err := calls.NewRegistry(Calls()...)
	if err != nil {
		return nil, err
	}
	for _, f := range Functions() {
		if err := r.AddImportance(f.Name, f.Importance); err != nil {
			return nil, err
		}
	}
	all := newResolver()
	for name := range all.values {
		if err := r.AddResolver(all, name); err != nil {
			return nil, err
		}
	}
	return r, nil
}
