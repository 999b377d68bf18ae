-- The URL of a notification may be a credential: only its host and its hash are kept. Rows with a whole URL are dropped.

-- +goose Up
DELETE FROM serve_outbox;
ALTER TABLE serve_outbox RENAME COLUMN url TO target;
