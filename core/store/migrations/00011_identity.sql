-- The resource that a runner was verified as, after its provider; empty: it enrolled
-- without evidence. One resource is one host, so that it is looked up when another
-- runner enrolls.

-- +goose Up
ALTER TABLE runner ADD COLUMN identity TEXT NOT NULL DEFAULT '';
CREATE INDEX runner_identity ON runner (identity);
