-- The processes that carry runs out, servers and workers: each writes its row as long as it lives.

-- +goose Up
CREATE TABLE serve_worker (
	id     text PRIMARY KEY,
	beat   bigint NOT NULL,  -- when it last told that it is alive
	record bytea NOT NULL    -- JSON
);
