-- Version 3: what operations touched. 0 in what was recorded before it was counted.

ALTER TABLE operation ADD COLUMN partitions INTEGER NOT NULL DEFAULT 0;
ALTER TABLE operation ADD COLUMN rows INTEGER NOT NULL DEFAULT 0;
ALTER TABLE interval_operation ADD COLUMN partitions INTEGER NOT NULL DEFAULT 0;
ALTER TABLE interval_operation ADD COLUMN rows INTEGER NOT NULL DEFAULT 0;
