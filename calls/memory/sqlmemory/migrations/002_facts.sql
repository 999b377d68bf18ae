-- +goose Up
-- What memories state, read from them by rules: it can be dropped and read again at any time.
CREATE TABLE memory_fact (
	rid       bigint NOT NULL,
	n         integer NOT NULL,           -- among the facts of the memory
	owner     bigint NOT NULL,
	subject   text COLLATE "C" NOT NULL,
	attribute text COLLATE "C" NOT NULL,
	topic     text COLLATE "C" NOT NULL,
	value     text COLLATE "C" NOT NULL,
	kind      text COLLATE "C" NOT NULL,
	old       text COLLATE "C" NOT NULL,  -- the value that no longer holds, or ''
	from_ms   bigint NOT NULL,
	to_ms     bigint,                     -- NULL unless the text says it
	exact     integer NOT NULL,           -- how exactly from_ms is known
	v0        integer NOT NULL,           -- the bytes of the value
	v1        integer NOT NULL,
	c0        integer NOT NULL,           -- the bytes of its clause
	c1        integer NOT NULL,
	read_by   text COLLATE "C" NOT NULL,
	PRIMARY KEY (rid, n)
);
CREATE INDEX memory_fact_by_subject ON memory_fact (owner, subject, attribute, from_ms);
-- Two names of one subject: my sister, anna.
CREATE TABLE memory_fact_alias (
	owner bigint NOT NULL,
	alias text COLLATE "C" NOT NULL,
	name  text COLLATE "C" NOT NULL,
	rid   bigint NOT NULL,
	PRIMARY KEY (owner, alias, name, rid)
);
CREATE INDEX memory_fact_alias_by_memory ON memory_fact_alias (rid);
-- The version of the rules that have read all memories of the user; 0 is none. Those below facts_next are read again.
ALTER TABLE memory_user ADD COLUMN facts integer NOT NULL DEFAULT 0;
ALTER TABLE memory_user ADD COLUMN facts_next bigint NOT NULL DEFAULT 0;
