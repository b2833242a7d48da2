-- Money is in millionths of a dollar, except in JSON.
CREATE TABLE runs (
    run               INTEGER PRIMARY KEY,
    id                TEXT NOT NULL UNIQUE,
    -- The directory of the day below the home's `runs`.
    day               TEXT NOT NULL,
    -- The bytes of the path, which may not be UTF-8: relative to the home's `runs`, absolute for a run outside it.
    dir               BLOB NOT NULL,
    state             TEXT NOT NULL,
    -- Size and modification time of the journal that the entry was derived from.
    journal_bytes     INTEGER NOT NULL,
    journal_modified  INTEGER NOT NULL,
    -- Everything else, as JSON.
    entry             TEXT NOT NULL,
    -- The parts of it by which runs are found.
    name              TEXT AS (entry ->> 'name') STORED,
    agent             TEXT AS (entry ->> 'agent') STORED,
    project           TEXT AS (entry ->> 'cwd') STORED,
    task              TEXT AS (entry ->> 'task') STORED,
    outcome           TEXT AS (entry ->> 'outcome') STORED,
    started_at        TEXT AS (entry ->> 'started_at') STORED,
    ended_at          TEXT AS (entry ->> 'ended_at') STORED,
    -- The workflow that started the run, and the phase. Empty if no workflow did.
    workflow          TEXT AS (coalesce(entry ->> '$.workflow.id', '')) STORED,
    phase             TEXT AS (coalesce(entry ->> '$.workflow.phase', '')) STORED
) STRICT;

CREATE INDEX runs_newest ON runs (started_at DESC, id);
CREATE INDEX runs_of_day ON runs (day, id);
CREATE INDEX runs_named ON runs (name) WHERE name IS NOT NULL;
-- Every command queries the unfinished runs, which are few of many.
CREATE INDEX runs_unfinished ON runs (started_at DESC, id) WHERE state <> 'finished';
CREATE INDEX runs_by_outcome ON runs (outcome, started_at DESC);
CREATE INDEX runs_of_project ON runs (project, started_at DESC);

CREATE TABLE attempts (
    run               INTEGER NOT NULL,
    number            INTEGER NOT NULL,
    session           TEXT NOT NULL,
    -- The attempt, as JSON.
    entry             TEXT NOT NULL,
    PRIMARY KEY (run, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX attempts_of_session ON attempts (session);

-- A quarter of an hour is a part of the same day in every time zone.
CREATE TABLE spend (
    quarter           INTEGER NOT NULL,
    run               INTEGER NOT NULL,
    -- Empty if unknown.
    model             TEXT NOT NULL,
    cost              INTEGER NOT NULL,
    estimated_cost    INTEGER NOT NULL,
    unpriced          INTEGER NOT NULL,
    input             INTEGER NOT NULL,
    output            INTEGER NOT NULL,
    cache_read        INTEGER NOT NULL,
    cache_write       INTEGER NOT NULL,
    truncated         INTEGER NOT NULL,
    messages          INTEGER NOT NULL,
    PRIMARY KEY (quarter, run, model)
) STRICT, WITHOUT ROWID;

CREATE INDEX spend_of_run ON spend (run);

-- The home at which every run was last compared with its directory: its path, and the ledger's file.
CREATE TABLE place (
    home              BLOB NOT NULL,
    device            INTEGER NOT NULL,
    inode             INTEGER NOT NULL
) STRICT;

-- Modification time of the directory of a day when it was last listed as a whole.
CREATE TABLE days (
    day               TEXT PRIMARY KEY,
    modified          INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
