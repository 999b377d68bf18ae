package sqlmemory

import (
	"github.com/callnode/scheduler/calls/database/sqlitefile"
)

// applicationID marks the file as a memory store ("cnmm").
const applicationID = 0x636e6d6d

// fileMigrations lead from one form of the file to the next; the form is their number. Released ones are never
// changed; new ones are appended.
var fileMigrations = []string{`
-- A user's memories have numbers from 0; a memory's rowid is user<<32 | number.
CREATE TABLE user (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	name       TEXT NOT NULL UNIQUE,
	n          INTEGER NOT NULL DEFAULT 0, -- memories so far, deleted ones included
	folded     INTEGER NOT NULL DEFAULT 0, -- those below are in entry and posting, the others in tail
	extras     INTEGER NOT NULL DEFAULT 0, -- snapshots and meta snapshots so far
	generation INTEGER NOT NULL DEFAULT 0  -- grows when something that was there is changed
);
CREATE TABLE session (
	user       INTEGER NOT NULL,
	number     INTEGER NOT NULL,           -- from 0; -1 holds what belongs to no session
	name       TEXT NOT NULL,
	fresh      INTEGER NOT NULL DEFAULT 0, -- memories that no snapshot has
	waits      INTEGER NOT NULL DEFAULT 0, -- 1 where fresh is not 0, and at times where it is: the index need not change with each memory
	last       INTEGER NOT NULL DEFAULT 0, -- when the newest of them was saved, in ms
	after      INTEGER NOT NULL,           -- memories below that rowid wait for no snapshot
	attempts   INTEGER NOT NULL DEFAULT 0,
	not_before INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (user, number)
) WITHOUT ROWID;
CREATE UNIQUE INDEX session_by_name ON session(user, name);
CREATE INDEX session_waits ON session(user, number) WHERE waits;
CREATE TABLE speaker (
	user   INTEGER NOT NULL,
	number INTEGER NOT NULL,
	name   TEXT NOT NULL,
	PRIMARY KEY (user, number)
) WITHOUT ROWID;

CREATE TABLE memory (
	rid     INTEGER PRIMARY KEY,
	id      BLOB NOT NULL UNIQUE, -- the UUID
	session INTEGER NOT NULL,     -- its number
	time    INTEGER NOT NULL,     -- ms since 1970
	saved   INTEGER NOT NULL,
	content TEXT NOT NULL,
	other   TEXT,                 -- other_context as JSON
	extra   TEXT,                 -- [unknown members, unknown members of the context]
	hash    INTEGER NOT NULL      -- of what exact duplicates share
);
CREATE INDEX memory_by_hash ON memory(hash);
CREATE TABLE version (
	key  INTEGER PRIMARY KEY,
	rid  INTEGER NOT NULL,
	body TEXT NOT NULL
);
CREATE INDEX version_by_memory ON version(rid);

-- The index: new memories lie in tail until so many have come that their terms are
-- put into the postings together.
CREATE TABLE tail (
	rid INTEGER PRIMARY KEY,
	doc BLOB NOT NULL
);
CREATE TABLE entry (
	user  INTEGER NOT NULL,
	chunk INTEGER NOT NULL,
	data  BLOB NOT NULL,
	PRIMARY KEY (user, chunk)
) WITHOUT ROWID;
CREATE TABLE posting (
	user  INTEGER NOT NULL,
	term  TEXT NOT NULL,
	chunk INTEGER NOT NULL, -- negative ones are those of snapshots
	data  BLOB NOT NULL,
	PRIMARY KEY (user, term, chunk)
) WITHOUT ROWID;

CREATE TABLE snapshot (
	key      INTEGER PRIMARY KEY,
	id       BLOB NOT NULL UNIQUE,
	user     INTEGER NOT NULL,
	number   INTEGER NOT NULL, -- among the user's extras
	category TEXT NOT NULL,    -- folded
	body     TEXT NOT NULL
);
CREATE INDEX snapshot_by_user ON snapshot(user, number);
CREATE INDEX snapshot_by_category ON snapshot(user, category);
CREATE TABLE snapshot_ref (
	snapshot INTEGER NOT NULL,
	rid      INTEGER NOT NULL,
	PRIMARY KEY (snapshot, rid)
) WITHOUT ROWID;
CREATE INDEX snapshot_ref_by_memory ON snapshot_ref(rid);
CREATE TABLE meta (
	key      INTEGER PRIMARY KEY,
	id       BLOB NOT NULL UNIQUE,
	user     INTEGER NOT NULL,
	number   INTEGER NOT NULL,
	category TEXT NOT NULL,
	body     TEXT NOT NULL
);
CREATE INDEX meta_by_user ON meta(user, number);
CREATE TABLE meta_ref (
	meta     INTEGER NOT NULL,
	snapshot INTEGER NOT NULL,
	PRIMARY KEY (meta, snapshot)
) WITHOUT ROWID;
CREATE INDEX meta_ref_by_snapshot ON meta_ref(snapshot);
-- Models whose vectors are here; one is in use.
CREATE TABLE model (
	number     INTEGER PRIMARY KEY,
	name       TEXT NOT NULL UNIQUE,
	dimensions INTEGER NOT NULL,
	unrelated  REAL NOT NULL,
	related    REAL NOT NULL,
	used       INTEGER NOT NULL
);
CREATE TABLE vector (
	rid   INTEGER PRIMARY KEY,
	model INTEGER NOT NULL,
	data  BLOB NOT NULL -- packed
);
-- Memories that wait for a vector of the model in use.
CREATE TABLE unembedded (
	rid        INTEGER PRIMARY KEY,
	not_before INTEGER NOT NULL DEFAULT 0,
	attempts   INTEGER NOT NULL DEFAULT 0
);
-- Categories with snapshots that no meta snapshot has.
CREATE TABLE category (
	user       INTEGER NOT NULL,
	name       TEXT NOT NULL, -- folded
	fresh      INTEGER NOT NULL,
	last       INTEGER NOT NULL,
	attempts   INTEGER NOT NULL DEFAULT 0,
	not_before INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (user, name)
) WITHOUT ROWID;
`, `
-- Which version of the analysis of texts has made the words in the index; 0 is one
-- that nobody noted.
ALTER TABLE user ADD COLUMN analysis INTEGER NOT NULL DEFAULT 0;
`, `
-- The words of memories that are not in entry and posting yet are read from themselves,
-- and the rowids tell how many there are: a save need not write both.
DROP TABLE tail;
ALTER TABLE user DROP COLUMN n;
`, `
-- What memories state, read from them by rules: it can be dropped and read again at any time.
CREATE TABLE fact (
	rid       INTEGER NOT NULL,
	n         INTEGER NOT NULL, -- among the facts of the memory
	user      INTEGER NOT NULL,
	subject   TEXT NOT NULL,
	attribute TEXT NOT NULL,
	topic     TEXT NOT NULL,
	value     TEXT NOT NULL,
	kind      TEXT NOT NULL,
	old       TEXT NOT NULL,    -- the value that no longer holds, or ''
	from_ms   INTEGER NOT NULL,
	to_ms     INTEGER,          -- NULL unless the text says it
	exact     INTEGER NOT NULL, -- how exactly from_ms is known
	v0        INTEGER NOT NULL, -- the bytes of the value
	v1        INTEGER NOT NULL,
	c0        INTEGER NOT NULL, -- the bytes of its clause
	c1        INTEGER NOT NULL,
	read_by   TEXT NOT NULL,
	PRIMARY KEY (rid, n)
) WITHOUT ROWID;
CREATE INDEX fact_by_subject ON fact(user, subject, attribute, from_ms);
-- Two names of one subject: my sister, anna.
CREATE TABLE fact_alias (
	user  INTEGER NOT NULL,
	alias TEXT NOT NULL,
	name  TEXT NOT NULL,
	rid   INTEGER NOT NULL,
	PRIMARY KEY (user, alias, name, rid)
) WITHOUT ROWID;
CREATE INDEX fact_alias_by_memory ON fact_alias(rid);
-- The version of the rules that have read all memories of the user; 0 is none. Those below facts_next are read again.
ALTER TABLE user ADD COLUMN facts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE user ADD COLUMN facts_next INTEGER NOT NULL DEFAULT 0;
`}

// layout is the layout of the file.
var layout = sqlitefile.Layout{ApplicationID: applicationID, Migrations: fileMigrations}
