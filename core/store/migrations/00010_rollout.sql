-- What must be remembered of a fleet's rollouts: what it is made from, what was
-- known good before, since when its canaries soak, and why it was halted. How far
-- it is shows in the instances.

-- +goose Up
CREATE TABLE rollout (
    fleet  TEXT PRIMARY KEY REFERENCES fleet (id) ON DELETE CASCADE,
    record TEXT NOT NULL
);
