-- What ended instances are paid for is found without looking through them all.

-- +goose Up
-- Until when an ended instance is paid for; 0: it isn't over, or costs nothing.
ALTER TABLE instance ADD COLUMN paid_until BIGINT NOT NULL DEFAULT 0;
CREATE INDEX instance_paid ON instance (paid_until) WHERE paid_until > 0;
