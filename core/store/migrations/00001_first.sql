-- Common to SQLite and PostgreSQL. Times are microseconds since 1970 in UTC.
-- A column exists where a query or a constraint needs it; everything else of a
-- record is in its JSON text, so that a new field needs no migration.

-- +goose Up
CREATE TABLE writer (
    one        INTEGER PRIMARY KEY CHECK (one = 1),
    epoch      BIGINT NOT NULL,
    -- Counts write transactions; a row's revision is that of the last one which
    -- wrote it.
    revision   BIGINT NOT NULL,
    holder     TEXT   NOT NULL,
    claimed_at BIGINT NOT NULL
);
INSERT INTO writer (one, epoch, revision, holder, claimed_at) VALUES (1, 0, 0, '', 0);

CREATE TABLE setting (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE definition (
    serial     BIGINT PRIMARY KEY,
    applied_at BIGINT NOT NULL,
    applied_by TEXT   NOT NULL,
    record     TEXT   NOT NULL
);

CREATE TABLE fleet (
    id      TEXT PRIMARY KEY,
    address TEXT    NOT NULL,
    serial  BIGINT  NOT NULL,
    retired INTEGER NOT NULL,
    record  TEXT    NOT NULL
);
CREATE UNIQUE INDEX fleet_address ON fleet (address) WHERE retired = 0;

CREATE TABLE instance (
    id       TEXT PRIMARY KEY,
    fleet    TEXT   NOT NULL REFERENCES fleet (id),
    state    TEXT   NOT NULL,
    since    BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    record   TEXT   NOT NULL
);
CREATE INDEX instance_fleet ON instance (fleet);
CREATE INDEX instance_revision ON instance (revision);
CREATE INDEX instance_terminated ON instance (since) WHERE state = 'terminated';

CREATE TABLE operation (
    id       TEXT PRIMARY KEY,
    instance TEXT   NOT NULL REFERENCES instance (id) ON DELETE CASCADE,
    revision BIGINT NOT NULL,
    record   TEXT   NOT NULL,
    -- The canonical request byte for byte: it is what goes out again.
    request  TEXT   NOT NULL
);
CREATE INDEX operation_instance ON operation (instance);
CREATE INDEX operation_revision ON operation (revision);

CREATE TABLE runner (
    id        TEXT PRIMARY KEY,
    -- UNIQUE is what makes a token good for one certificate only.
    operation TEXT   NOT NULL UNIQUE REFERENCES operation (id) ON DELETE CASCADE,
    instance  TEXT   NOT NULL REFERENCES instance (id) ON DELETE CASCADE,
    revision  BIGINT NOT NULL,
    record    TEXT   NOT NULL
);
CREATE INDEX runner_instance ON runner (instance);
CREATE INDEX runner_revision ON runner (revision);

CREATE TABLE decision (
    id     TEXT PRIMARY KEY,
    fleet  TEXT   NOT NULL REFERENCES fleet (id),
    at     BIGINT NOT NULL,
    record TEXT   NOT NULL
);
CREATE INDEX decision_fleet ON decision (fleet, at);
CREATE INDEX decision_at ON decision (at);
