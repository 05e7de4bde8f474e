-- +goose Up
CREATE TABLE api_token (
    id      TEXT PRIMARY KEY,
    name    TEXT   NOT NULL,
    -- The digest of the secret, which itself is nowhere.
    hash    TEXT   NOT NULL UNIQUE,
    -- 0: never.
    expires BIGINT NOT NULL,
    revoked BIGINT NOT NULL,
    record  TEXT   NOT NULL
);
-- The name of a token that was revoked is free again.
CREATE UNIQUE INDEX api_token_name ON api_token (name) WHERE revoked = 0;

CREATE TABLE audit (
    id     TEXT PRIMARY KEY,
    at     BIGINT NOT NULL,
    record TEXT   NOT NULL
);
CREATE INDEX audit_at ON audit (at);
