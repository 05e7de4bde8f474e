-- A claim is stored before its instance, which the loop writes: "pending" is the instance
-- and the operation that it asks for, until they are stored. A token that comes in the
-- meantime is found by the operation.

-- +goose Up
CREATE TABLE claimed (
    provider  TEXT NOT NULL,
    asset     TEXT NOT NULL,
    instance  TEXT NOT NULL UNIQUE,
    operation TEXT NOT NULL,
    pending   TEXT NOT NULL,
    record    TEXT NOT NULL,
    PRIMARY KEY (provider, asset)
);
INSERT INTO claimed (provider, asset, instance, operation, pending, record)
    SELECT provider, asset, instance, '', '', record FROM claim;
DROP TABLE claim;
ALTER TABLE claimed RENAME TO claim;
CREATE INDEX claim_operation ON claim (operation);
