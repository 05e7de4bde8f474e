-- When a runner was revoked; 0: it wasn't. It is no part of the record, which a
-- batch of heartbeats replaces whole.

-- +goose Up
ALTER TABLE runner ADD COLUMN revoked_at BIGINT NOT NULL DEFAULT 0;
