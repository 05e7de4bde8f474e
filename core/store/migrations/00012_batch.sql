-- The batch that an operation goes out with; empty: it goes out alone. A batch's
-- enrollment token names it, so that its operations are looked up when a host enrolls.

-- +goose Up
ALTER TABLE operation ADD COLUMN batch TEXT NOT NULL DEFAULT '';
CREATE INDEX operation_batch ON operation (batch);
