package wire

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls/database/sqlitefile"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/archive"
	"github.com/callnode/scheduler/calls/memory/sqlmemory"
	"github.com/callnode/scheduler/cmd/scheduler/terminal"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/service"
)

// OpenMemory opens the memory of the store or of the state directory, or makes it.
func (rt *Runtime) OpenMemory(ctx context.Context, o service.MemoryOptions) (*memory.SnapshotProcessor, error) {
	store, err := rt.openMemoryStore(ctx, o)
	if err != nil {
		return nil, err
	}
	log := terminal.NewWarningLog(rt.log, terminal.Language(rt.settings.DefaultLanguage()))
	if rt.settings.Memory.Log == "debug" {
		log = rt.NewLog(slog.LevelDebug)
	}
	store = memory.NewLogged(store, log)
	p := rt.newProcessor(store, o.Clock)
	if dir := rt.settings.Memory.Mirror; dir != "" && !o.Temporary {
		mirror, err := archive.NewMirror(ctx, store, dir, p.Log)
		if err != nil {
			return nil, errors.Join(err, store.Close())
		}
		p.Store = mirror
	}
	return p, nil
}

// openMemoryStore opens the store of memories.
func (rt *Runtime) openMemoryStore(ctx context.Context, o service.MemoryOptions) (memory.Store, error) {
	log := terminal.NewWarningLog(rt.log, terminal.Language(rt.settings.DefaultLanguage()))
	facts := rt.factOptions()
	if o.Temporary {
		return sqlmemory.OpenTemporary(ctx, sqlmemory.FileOptions{Clock: o.Clock, Facts: facts})
	}
	if rt.SharesStore() {
		return sqlmemory.OpenShared(ctx, sqlmemory.SharedOptions{URL: rt.settings.Store, Clock: o.Clock, Log: log, Facts: facts})
	}
	return sqlmemory.OpenFile(ctx, rt.settings.StateDir, sqlmemory.FileOptions{Clock: o.Clock, Log: log, Facts: facts})
}

// factOptions returns which memories state facts, as the settings say.
func (rt *Runtime) factOptions() sqlmemory.FactOptions {
	f := &rt.settings.Memory.Facts
	return sqlmemory.FactOptions{Off: !f.Enabled, Admit: f.Admit}
}

// MemoryFile returns the path of the file of the memory.
func (rt *Runtime) MemoryFile() string {
	return filepath.Join(rt.settings.StateDir, sqlmemory.FileName)
}

// HasMemory reports whether there is a memory, even an unreadable one. A store has one as soon as it is opened.
func (rt *Runtime) HasMemory() bool { return rt.SharesStore() || sqlitefile.Exists(rt.MemoryFile()) }

// newProcessor returns a processor that uses a store as the settings say.
func (rt *Runtime) newProcessor(store memory.Store, clock func() time.Time) *memory.SnapshotProcessor {
	c := &rt.settings.Memory.Snapshot
	return &memory.SnapshotProcessor{
		Store: store, Clock: clock,
		Log:      terminal.NewWarningLog(rt.log, terminal.Language(rt.settings.DefaultLanguage())),
		Memories: c.Memories, Idle: time.Duration(c.Idle), Snapshots: c.Snapshots, Embeddings: rt.newEmbeddings(),
	}
}

// snapshotGenerator returns the model of the settings that writes snapshots; nil if there is none.
func (rt *Runtime) snapshotGenerator() (*memory.SnapshotGenerator, error) {
	c := rt.settings.Memory.Snapshot
	if len(c.LLM) == 0 {
		return nil, nil
	}
	provider, err := rt.providerOf(strings.Join(c.LLM, llm.NameSeparator))
	if err != nil {
		return nil, err
	}
	return &memory.SnapshotGenerator{
		LLM: provider, Model: c.Model, Language: rt.settings.DefaultLanguage(), Languages: rt.settings.FurtherLanguages().Files,
	}, nil
}

// newEmbeddings returns the embeddings of the settings; nil if there are none. If the provider cannot be opened,
// only embedding fails: memories are saved and found without it.
func (rt *Runtime) newEmbeddings() *memory.Embeddings {
	c := rt.settings.Memory.Embeddings
	if c.Provider == "" {
		return nil
	}
	e := &memory.Embeddings{Timeout: time.Duration(c.Timeout)}
	provider, err := rt.openProvider(c.Provider)
	if err != nil {
		e.Embedder = unusable{c.Model, err}
		return e
	}
	if p, ok := provider.(llm.EmbeddingProvider); ok {
		e.Embedder = p.Embedder(c.Model, c.Dimensions)
		return e
	}
	e.Embedder = unusable{c.Model, wording.Errorf("the provider %q has no embeddings (name one of another type)", c.Provider)}
	return e
}

// unusable is the embedder of a provider that cannot be asked.
type unusable struct {
	model string
	err   error
}

// Model returns the model of the settings.
func (u unusable) Model() string { return u.model }

// Embed returns the error of opening the provider.
func (u unusable) Embed(context.Context, []string) ([][]float32, error) { return nil, u.err }
