-- Version 6: names that hold on every machine, for histories that are brought together.

ALTER TABLE experiment ADD COLUMN uid TEXT;     -- 32 hexadecimal digits
ALTER TABLE run ADD COLUMN uid TEXT;            -- 32 hexadecimal digits
ALTER TABLE run ADD COLUMN received INTEGER NOT NULL DEFAULT 0 CHECK (received IN (0, 1)); -- 1: from another history
UPDATE experiment SET uid = lower(hex(randomblob(16)));
UPDATE run SET uid = lower(hex(randomblob(16)));
CREATE UNIQUE INDEX experiment_by_uid ON experiment (uid);
CREATE UNIQUE INDEX run_by_uid ON run (uid);

CREATE TRIGGER experiment_gets_uid AFTER INSERT ON experiment WHEN NEW.uid IS NULL BEGIN
    UPDATE experiment SET uid = lower(hex(randomblob(16))) WHERE id = NEW.id;
END;
CREATE TRIGGER run_gets_uid AFTER INSERT ON run WHEN NEW.uid IS NULL BEGIN
    UPDATE run SET uid = lower(hex(randomblob(16))) WHERE id = NEW.id;
END;

-- Runs that were removed here: they do not come back from a folder that still has them.
CREATE TABLE removed_run (
    uid TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
CREATE TRIGGER run_was_removed AFTER DELETE ON run WHEN OLD.uid IS NOT NULL BEGIN
    INSERT OR IGNORE INTO removed_run (uid) VALUES (OLD.uid);
END;
