-- Version 2: what was found of a phase besides its operations, how sure its percentiles are, and comparisons.

ALTER TABLE phase ADD COLUMN steadiness TEXT CHECK (json_valid(steadiness));        -- NULL: nobody looked
ALTER TABLE phase ADD COLUMN around TEXT CHECK (json_valid(around));                -- NULL: nobody looked
ALTER TABLE distribution ADD COLUMN confidence TEXT CHECK (json_valid(confidence)); -- NULL: too short to tell
ALTER TABLE interval_operation ADD COLUMN wait TEXT;  -- intended start to start; NULL: empty, or not kept then
ALTER TABLE run ADD COLUMN writer TEXT;             -- the process that writes it; NULL: not known

-- AUTOINCREMENT, so that the number of a removed comparison never names another.
CREATE TABLE comparison (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    made_wall_ns  INTEGER NOT NULL,
    a             TEXT NOT NULL,            -- labels of the sides
    b             TEXT NOT NULL,
    comparison    TEXT NOT NULL CHECK (json_valid(comparison))
) STRICT;
