package journal

import (
	"context"
	"database/sql"
)

// applicationID marks the file as a journal ("cnjr").
const applicationID = 0x636e6a72

// migrations lead from one form of the file to the next; the form is their number.
// What was released is never changed, only added to.
var migrations = []string{`
CREATE TABLE run (
	key             INTEGER PRIMARY KEY,
	id              TEXT NOT NULL UNIQUE,
	flow            TEXT NOT NULL,
	state           TEXT NOT NULL,
	started_at      TEXT NOT NULL,    -- RFC 3339, as it was given
	started_us      INTEGER NOT NULL, -- the same in µs since 1970, to sort by
	updated_at      TEXT NOT NULL,
	last_seq        INTEGER NOT NULL DEFAULT 0,
	cancel          INTEGER NOT NULL DEFAULT 0,
	lease           BLOB,             -- a random number, known to the holder alone; NULL: free
	holder_pid      INTEGER NOT NULL DEFAULT 0,
	holder_host     TEXT NOT NULL DEFAULT '',
	holder_identity TEXT NOT NULL DEFAULT '',
	lease_until     INTEGER NOT NULL DEFAULT 0 -- in ms since 1970
);
CREATE INDEX run_by_start ON run(started_us);

-- What a run begins with; apart, so that the rows of run stay small: every append
-- writes one.
CREATE TABLE header (
	run     INTEGER PRIMARY KEY REFERENCES run(key) ON DELETE CASCADE,
	file    TEXT NOT NULL,
	mode    TEXT NOT NULL,
	source  BLOB NOT NULL, -- the digest of the flow's text
	hash    TEXT NOT NULL, -- the same in hex, for people
	files   TEXT NOT NULL, -- {path: digest}
	inputs  BLOB NOT NULL, -- in stored form
	options BLOB NOT NULL
);

CREATE TABLE event (
	run  INTEGER NOT NULL REFERENCES run(key) ON DELETE CASCADE,
	seq  INTEGER NOT NULL,
	body BLOB NOT NULL, -- in stored form
	PRIMARY KEY (run, seq)
) WITHOUT ROWID;

CREATE TABLE blob (
	key    INTEGER PRIMARY KEY,
	sha256 BLOB NOT NULL UNIQUE,
	data   BLOB NOT NULL
);
CREATE TABLE run_blob (
	run  INTEGER NOT NULL REFERENCES run(key) ON DELETE CASCADE,
	blob INTEGER NOT NULL REFERENCES blob(key),
	PRIMARY KEY (run, blob)
) WITHOUT ROWID;
CREATE INDEX run_blob_by_blob ON run_blob(blob);
`}

// prepare makes a journal of a new file and brings an old one up to date.
func prepare(ctx context.Context, conn *sql.Conn, file string) error {
	form, err := look(ctx, conn, file)
	if err != nil {
		return err
	}
	if form == 0 {
		// Freed pages can be given back only if that was said before the first table.
		if _, err := conn.ExecContext(ctx, "PRAGMA auto_vacuum = INCREMENTAL"); err != nil {
			return err
		}
	}
	var mode string
	if err := conn.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode); err != nil {
		return err
	}
	if mode != "wal" {
		return errNoWAL(file, mode)
	}
	if form == len(migrations) {
		return nil
	}
	return migrate(ctx, conn, file)
}

// migrate takes the missing steps, all or none; another process may be faster.
func migrate(ctx context.Context, conn *sql.Conn, file string) (err error) {
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		}
	}()
	form, err := formOf(ctx, conn, file)
	if err != nil {
		return err
	}
	for _, step := range migrations[form:] {
		if _, err := conn.ExecContext(ctx, step); err != nil {
			return err
		}
	}
	for name, number := range map[string]int{"application_id": applicationID, "user_version": len(migrations)} {
		if _, err := conn.ExecContext(ctx, pragma(name, number)); err != nil {
			return err
		}
	}
	_, err = conn.ExecContext(ctx, "COMMIT")
	return err
}

// look is formOf in a transaction of its own.
func look(ctx context.Context, conn *sql.Conn, file string) (form int, err error) {
	if _, err := conn.ExecContext(ctx, "BEGIN"); err != nil {
		return 0, err
	}
	defer func() {
		if _, end := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK"); err == nil {
			err = end
		}
	}()
	return formOf(ctx, conn, file)
}

// formOf is the form of the file; 0 is an empty one. It needs a transaction, for
// others may change the file between its questions.
func formOf(ctx context.Context, conn *sql.Conn, file string) (int, error) {
	var application, form, tables int
	for query, target := range map[string]*int{
		"PRAGMA application_id": &application, "PRAGMA user_version": &form, "SELECT count(*) FROM sqlite_schema": &tables,
	} {
		if err := conn.QueryRowContext(ctx, query).Scan(target); err != nil {
			return 0, err
		}
	}
	switch {
	case application == 0 && form == 0 && tables == 0:
		return 0, nil
	case application != applicationID || form <= 0:
		return 0, errForeign(file)
	case form > len(migrations):
		return 0, errNewer(file, form)
	}
	return form, nil
}
