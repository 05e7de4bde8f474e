-- What people decided beside the fleet file and what holds until it expires or is
-- taken back: one row for each kind and subject.

-- +goose Up
CREATE TABLE standing_order (
    kind    TEXT NOT NULL,
    subject TEXT NOT NULL,
    -- When it ends by itself; 0: when a person takes it back.
    expires BIGINT NOT NULL,
    record  TEXT NOT NULL,
    PRIMARY KEY (kind, subject)
);
