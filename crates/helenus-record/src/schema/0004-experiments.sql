-- Version 4: experiments from files: their text, and what became of each run that they plan.

CREATE TABLE experiment_file (
    experiment_id INTEGER PRIMARY KEY REFERENCES experiment (id) ON DELETE CASCADE,
    text          TEXT NOT NULL,
    folder        TEXT NOT NULL,            -- where paths in it begin
    command       TEXT NOT NULL,
    sittings      INTEGER NOT NULL DEFAULT 0, -- how often somebody began to run it, or went on
    writer        TEXT,                     -- the process that runs it; NULL: none
    first_stage   INTEGER,                  -- blocks that gave the number of all; NULL: it was just given
    dataset_bytes INTEGER,                  -- the smallest dataset; NULL: none was made
    memory_bytes  INTEGER                   -- what the nodes may use, files in memory included; NULL: not known
) STRICT;

CREATE TABLE planned_run (
    id            INTEGER PRIMARY KEY,
    experiment_id INTEGER NOT NULL REFERENCES experiment_file (experiment_id) ON DELETE CASCADE,
    place         INTEGER NOT NULL,
    block         INTEGER NOT NULL,
    restart       INTEGER NOT NULL,         -- in the plan: runs of equal number share a life of the nodes
    combination   INTEGER NOT NULL,
    stage         TEXT NOT NULL CHECK (stage IN ('main', 'twin', 'again')),
    state         TEXT NOT NULL DEFAULT 'planned'
                  CHECK (state IN ('planned', 'running', 'done', 'died', 'interrupted', 'does_not_fit')),
    attempts      INTEGER NOT NULL DEFAULT 0,
    run_id        INTEGER REFERENCES run (id) ON DELETE SET NULL, -- NULL: not done, or removed since
    began_wall_ns INTEGER,                  -- of its last attempt
    ended_wall_ns INTEGER,
    why           TEXT,                     -- of what died or does not fit
    UNIQUE (experiment_id, place)
) STRICT;
