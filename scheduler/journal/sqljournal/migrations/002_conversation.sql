-- +goose Up
-- The messages that the caller sent before the question, in stored form; NULL: none.
ALTER TABLE journal_header ADD COLUMN conversation bytea;
