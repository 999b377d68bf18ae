-- +goose Up
-- A question, a reply and the cost of the run, for lists: JSON; NULL: none.
ALTER TABLE journal_run ADD COLUMN summary bytea;
