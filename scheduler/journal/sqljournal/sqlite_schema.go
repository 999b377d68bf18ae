package sqljournal

import (
	"github.com/callnode/scheduler/calls/database/sqlitefile"
)

// applicationID marks the file as a journal ("cnjr").
const applicationID = 0x636e6a72

// fileMigrations lead from one form of the file to the next; the form is their number. Released migrations are
// never changed, only added to.
var fileMigrations = []string{`
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
`, `
-- Runs are listed in the order of their keys: a clock may be set, a run's own too.
DROP INDEX run_by_start;
ALTER TABLE run DROP COLUMN started_us;
`, `
CREATE TABLE label (
	run   INTEGER NOT NULL REFERENCES run(key) ON DELETE CASCADE,
	name  TEXT NOT NULL,
	value TEXT NOT NULL,
	PRIMARY KEY (run, name)
) WITHOUT ROWID;
CREATE INDEX label_by_value ON label(name, value, run);
ALTER TABLE header ADD COLUMN program TEXT NOT NULL DEFAULT '';
CREATE TABLE store (id TEXT NOT NULL); -- one row
INSERT INTO store VALUES (lower(hex(randomblob(16))));
`, `
ALTER TABLE run ADD COLUMN held_since INTEGER NOT NULL DEFAULT 0; -- in ms since 1970; 0: not known
`, `
ALTER TABLE header ADD COLUMN conversation BLOB; -- in stored form; NULL: none
`, `
ALTER TABLE run ADD COLUMN summary BLOB; -- JSON, see journal.Summary; NULL: none
`}

// layout is the layout of the file.
var layout = sqlitefile.Layout{ApplicationID: applicationID, Migrations: fileMigrations, AutoVacuum: true}
