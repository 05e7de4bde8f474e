-- The names of the documentation: what people decide beside the fleet file is an
-- override, of a fleet's scale or its cost among others.

-- +goose Up
ALTER TABLE standing_order RENAME TO override;
UPDATE override SET kind = 'scale' WHERE kind = 'override';
UPDATE override SET kind = 'cost_override' WHERE kind = 'break_glass';
