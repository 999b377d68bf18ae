-- Who carries a request out, each with a comma after it. Of a row of an earlier version that is not known: it stays until its time is over.

-- +goose Up
ALTER TABLE serve_request ADD COLUMN claims text NOT NULL DEFAULT 'earlier,';
