-- Saved plans that were applied: each is good for one apply. Rows are kept for as
-- long as the store, or an old plan would be good again.

-- +goose Up
CREATE TABLE plan_use (
    id      TEXT PRIMARY KEY,
    used_at BIGINT NOT NULL,
    used_by TEXT   NOT NULL,
    -- The definition that was current afterwards.
    serial  BIGINT NOT NULL
);
