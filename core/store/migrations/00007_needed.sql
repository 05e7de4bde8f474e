-- How many runners a fleet needed, for its forecast: one row for each time in which
-- the number stayed. What lies between two rows is not known.

-- +goose Up
CREATE TABLE needed (
    fleet   TEXT    NOT NULL,
    -- The first and the last bucket of five minutes, counted from 1970 on.
    first   BIGINT  NOT NULL,
    last    BIGINT  NOT NULL,
    runners INTEGER NOT NULL,
    PRIMARY KEY (fleet, first)
);
