package wire

import (
	"context"
	"log/slog"
	"path/filepath"

	"github.com/callnode/scheduler/calls/database/pgdb"
	"github.com/callnode/scheduler/calls/database/sqlitefile"
	"github.com/callnode/scheduler/scheduler/fleet"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/sqljournal"
	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/scheduler/service"
)

// openJournal opens the journal of the store, or of the state directory. With create it is made if missing, and
// must be writable.
func (rt *Runtime) openJournal(ctx context.Context, create bool) (journal.Journal, error) {
	var j journal.Journal
	var err error
	if rt.SharesStore() {
		j, err = rt.OpenSharedJournal(ctx, rt.settings.Store)
	} else {
		j, err = OpenFileJournal(ctx, rt.settings.StateDir, create)
	}
	if err != nil {
		return nil, err
	}
	if rt.watchJournal != nil {
		return rt.watchJournal(j), nil
	}
	return j, nil
}

// OpenFileJournal opens the journal in a state directory.
func OpenFileJournal(ctx context.Context, dir string, create bool) (*sqljournal.Journal, error) {
	if !create && !sqlitefile.Exists(filepath.Join(dir, sqljournal.FileName)) {
		return nil, service.ErrNoJournal
	}
	return sqljournal.OpenFile(ctx, dir, sqljournal.FileOptions{})
}

// OpenSharedJournal opens the journal in a database, and creates its tables if they do not exist.
func (rt *Runtime) OpenSharedJournal(ctx context.Context, url string) (*sqljournal.Journal, error) {
	key, err := rt.settings.Journal.ImageKey()
	if err != nil {
		return nil, err
	}
	return sqljournal.OpenShared(ctx, sqljournal.SharedOptions{URL: url, ImageKey: key, KeySource: "the setting journal.key_env", Version: rt.version, Log: rt.NewLog(slog.LevelWarn)})
}

// OpenServerStore opens the server's own store, at the same place as the journal.
func (rt *Runtime) OpenServerStore(ctx context.Context) (*store.Store, error) {
	if rt.SharesStore() {
		return store.OpenShared(ctx, rt.settings.Store, nil)
	}
	return store.Open(ctx, rt.settings.StateDir, nil)
}

// Workers lists the processes of the store that carry runs out. Of a state directory in which no server ever ran there are none.
func (rt *Runtime) Workers(ctx context.Context) ([]*fleet.Worker, error) {
	if !rt.SharesStore() && !sqlitefile.Exists(filepath.Join(rt.settings.StateDir, store.FileName)) {
		return nil, nil
	}
	s, err := rt.OpenServerStore(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }() // it was only read
	return s.Workers(ctx)
}

// UnusedServerFile returns the file of the state directory that a server without a shared store keeps its data in,
// if it exists and the server does not use it; else "".
func (rt *Runtime) UnusedServerFile() string {
	file := filepath.Join(rt.settings.StateDir, store.FileName)
	if rt.SharesStore() && sqlitefile.Exists(file) {
		return file
	}
	return ""
}

// SharesStore reports whether the journal and the memory are in a store that other machines
// can have too.
func (rt *Runtime) SharesStore() bool { return rt.settings.Store != "" }

// StorePlace returns the place of the journal and the memory, for users: a folder, or the host and the name of a
// database.
func (rt *Runtime) StorePlace() string {
	if !rt.SharesStore() {
		return rt.settings.StateDir
	}
	return pgdb.PlaceOf(rt.settings.Store)
}
