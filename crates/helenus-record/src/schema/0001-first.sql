-- Version 1: experiment > trial > restart > run > phase > interval, with doubts, node samples and tags.
-- Times are nanoseconds: *_wall_ns since 1970, others on the generator's monotonic clock.
-- Seeds are decimal text: they use all 64 bits, and SQLite's integers have a sign.
-- Enumerations are the words of the JSON shapes. Histograms are HDR V2 in base64; NULL is the empty one.

CREATE TABLE experiment (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    name          TEXT,                     -- NULL: made for a single run
    seed          TEXT,                     -- of its order; NULL: nothing was drawn
    began_wall_ns INTEGER NOT NULL
) STRICT;

CREATE TABLE trial (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    experiment_id INTEGER NOT NULL REFERENCES experiment (id) ON DELETE CASCADE,
    ordinal       INTEGER NOT NULL,
    name          TEXT,                     -- what sets it apart; NULL: there is only one
    UNIQUE (experiment_id, ordinal)
) STRICT;

CREATE TABLE restart (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    trial_id      INTEGER NOT NULL REFERENCES trial (id) ON DELETE CASCADE,
    ordinal       INTEGER NOT NULL,
    life          TEXT UNIQUE,              -- NULL: not known, so no proof of being a life of its own
    UNIQUE (trial_id, ordinal)
) STRICT;

-- AUTOINCREMENT, so that the number of a removed run never names another.
CREATE TABLE run (
    id                    INTEGER PRIMARY KEY AUTOINCREMENT,
    restart_id            INTEGER NOT NULL REFERENCES restart (id) ON DELETE CASCADE,
    state                 TEXT NOT NULL DEFAULT 'broken'
                          CHECK (state IN ('broken', 'complete', 'interrupted', 'invalid')),
    began_wall_ns         INTEGER NOT NULL,
    plan                  TEXT NOT NULL CHECK (json_valid(plan)),
    plan_hash             TEXT NOT NULL,    -- SHA-256 of the column before
    seed                  TEXT NOT NULL,
    workload              TEXT NOT NULL,
    release               TEXT,             -- NULL: not known
    preset                TEXT,
    jvm                   TEXT,
    host                  TEXT NOT NULL CHECK (json_valid(host)),
    cluster_plan          TEXT CHECK (json_valid(cluster_plan)),
    helenus_version       TEXT NOT NULL,
    command               TEXT NOT NULL,
    header                TEXT CHECK (json_valid(header)),      -- the generator's, once it is ready
    -- What follows is known at the end only.
    result_format         TEXT,
    start_means           TEXT,
    pacing                TEXT,
    load_began_wall_ns    INTEGER,
    generator_cpu_us      INTEGER,          -- NULL: the generator did not get to say
    generator_cpu_per_operation_us REAL,
    generator_max_rss_bytes INTEGER,
    generator_voluntary_switches INTEGER,
    generator_involuntary_switches INTEGER,
    verdict               TEXT
) STRICT;
CREATE INDEX run_by_restart ON run (restart_id);

CREATE TABLE tag (
    run_id        INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    tag           TEXT NOT NULL,
    PRIMARY KEY (run_id, tag)
) STRICT, WITHOUT ROWID;
CREATE INDEX tag_by_name ON tag (tag);

CREATE TABLE phase (
    id             INTEGER PRIMARY KEY,
    run_id         INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    ordinal        INTEGER NOT NULL,
    name           TEXT NOT NULL,
    rate_per_s     REAL,                    -- NULL: closed loop
    in_flight      INTEGER NOT NULL,
    -- What follows is known at the end only.
    achieved_per_s REAL,
    duration_s     REAL,
    thread_busy    REAL,
    backlog        INTEGER,
    abandoned      INTEGER,
    standing       TEXT CHECK (json_valid(standing)),   -- the generator's place in the scheduler
    verdict        TEXT,                    -- NULL: the phase has no result
    UNIQUE (run_id, ordinal)
) STRICT;

CREATE TABLE first_failure (
    phase_id      INTEGER NOT NULL REFERENCES phase (id) ON DELETE CASCADE,
    kind          TEXT NOT NULL,
    text          TEXT NOT NULL,
    PRIMARY KEY (phase_id, kind)
) STRICT, WITHOUT ROWID;

CREATE TABLE operation (
    id            INTEGER PRIMARY KEY,
    phase_id      INTEGER NOT NULL REFERENCES phase (id) ON DELETE CASCADE,
    is_total      INTEGER NOT NULL CHECK (is_total IN (0, 1)),  -- 1: all operations together
    name          TEXT NOT NULL,
    offered       INTEGER NOT NULL,
    started       INTEGER NOT NULL,
    completed     INTEGER NOT NULL,
    failed        TEXT NOT NULL CHECK (json_valid(failed)),     -- kind: count
    UNIQUE (phase_id, is_total, name)
) STRICT;

CREATE TABLE distribution (
    operation_id  INTEGER NOT NULL REFERENCES operation (id) ON DELETE CASCADE,
    measure       TEXT NOT NULL CHECK (measure IN ('service', 'response', 'lateness', 'slot_wait')),
    count         INTEGER NOT NULL,
    min_us        REAL NOT NULL,
    mean_us       REAL NOT NULL,
    p50_us        REAL,                     -- NULL: fewer than ten samples above it
    p90_us        REAL,
    p95_us        REAL,
    p99_us        REAL,
    p999_us       REAL,
    p9999_us      REAL,
    max_us        REAL NOT NULL,
    histogram     TEXT NOT NULL,
    PRIMARY KEY (operation_id, measure)
) STRICT;

CREATE TABLE doubt (
    id            INTEGER PRIMARY KEY,
    run_id        INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    phase_id      INTEGER REFERENCES phase (id) ON DELETE CASCADE,  -- NULL: about the whole run
    kind          TEXT NOT NULL,
    severity      TEXT NOT NULL,
    measured      REAL NOT NULL,
    threshold     REAL NOT NULL,
    unit          TEXT NOT NULL,
    text          TEXT NOT NULL,
    cure          TEXT NOT NULL,
    about         TEXT
) STRICT;
CREATE INDEX doubt_by_run ON doubt (run_id);
CREATE INDEX doubt_by_phase ON doubt (phase_id);

CREATE TABLE interval (
    id            INTEGER PRIMARY KEY,
    phase_id      INTEGER NOT NULL REFERENCES phase (id) ON DELETE CASCADE,
    stretch       TEXT NOT NULL CHECK (stretch IN ('warmup', 'measured')),
    start_ns      INTEGER NOT NULL,
    end_ns        INTEGER NOT NULL,
    thread_cpu_ns INTEGER NOT NULL
) STRICT;
CREATE INDEX interval_by_phase ON interval (phase_id);

CREATE TABLE interval_operation (
    interval_id   INTEGER NOT NULL REFERENCES interval (id) ON DELETE CASCADE,
    operation     TEXT NOT NULL,
    offered       INTEGER NOT NULL,
    started       INTEGER NOT NULL,
    completed     INTEGER NOT NULL,
    failed        TEXT NOT NULL CHECK (json_valid(failed)),
    service       TEXT,
    response      TEXT,
    lateness      TEXT,
    slot_wait     TEXT,
    PRIMARY KEY (interval_id, operation)
) STRICT;

CREATE TABLE node_sample (
    id            INTEGER PRIMARY KEY,
    run_id        INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    node          TEXT NOT NULL,
    at_ns         INTEGER NOT NULL,
    sample        TEXT NOT NULL CHECK (json_valid(sample))
) STRICT;
CREATE INDEX node_sample_by_run ON node_sample (run_id, node, at_ns);
