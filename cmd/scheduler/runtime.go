package main

import (
	"io"
	"sync"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/mcp"
	"github.com/callnode/scheduler/cmd/scheduler/config"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value/secret"
	"github.com/callnode/scheduler/plugins/host"
	"github.com/callnode/scheduler/scheduler/journal"
)

// runtime is what the runs and requests of a process share: the settings, the plugins and
// what they offer, the providers. [newRuntime] makes one, [runtime.close] ends it. Its
// methods are safe for concurrent use.
//
// Its methods, in wire.go, wire_memory.go and choose_provider.go, are the only place where
// all parts meet.
type runtime struct {
	settings *config.Settings
	log      io.Writer // what plugins and stores write while they work
	// hidden are the secrets that the settings allow, and what runs compute from them.
	hidden *secret.Set
	// watchJournal wraps the journal when it is opened; nil: nothing does. It is set before.
	watchJournal func(journal.Journal) journal.Journal

	mu       sync.Mutex            // guards what follows
	catalogs map[string]*catalog   // by the directory in which relative paths start
	places   map[string]llm.Places // by provider, of those with max_concurrent
}

// catalog is the plugins of a directory, and all that a flow there can name.
type catalog struct {
	host     *host.Host
	mcp      *mcp.Host
	registry *calls.Registry // nil until it is needed
}
