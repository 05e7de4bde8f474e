-- Which instance has which asset of a provider's inventory. The primary key is
-- what keeps two instances from having one host; the row goes with the step that
-- calls its instance terminated.

-- +goose Up
CREATE TABLE claim (
    provider TEXT NOT NULL,
    asset    TEXT NOT NULL,
    instance TEXT NOT NULL UNIQUE REFERENCES instance (id) ON DELETE CASCADE,
    record   TEXT NOT NULL,
    PRIMARY KEY (provider, asset)
);
