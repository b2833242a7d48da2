-- Moments are milliseconds since 1970, money is in millionths of a dollar, paths are text.

-- Transcripts that hooks or users queued for learning.
CREATE TABLE queue (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    at           INTEGER NOT NULL,
    -- The directory whose playbook learns.
    project      TEXT NOT NULL,
    session      TEXT,
    transcript   TEXT NOT NULL,
    event        TEXT NOT NULL,
    reason       TEXT,
    judge        TEXT NOT NULL,
    -- The API that the session itself talked to: its content is sent nowhere else.
    destination  TEXT NOT NULL,
    -- waiting, done, failed
    state        TEXT NOT NULL DEFAULT 'waiting',
    tries        INTEGER NOT NULL DEFAULT 0,
    not_before   INTEGER NOT NULL DEFAULT 0,
    -- The error of the last attempt, or the result.
    last_result  TEXT,
    -- When it was done or had failed.
    ended_at     INTEGER
) STRICT;
CREATE INDEX queue_waiting ON queue (not_before, id) WHERE state = 'waiting';

-- Parts of transcripts that were judged, or are being judged, and how far.
CREATE TABLE slices (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    queued       INTEGER NOT NULL REFERENCES queue (id),
    project      TEXT NOT NULL,
    transcript   TEXT NOT NULL,
    -- Its bytes, whole lines of the transcript.
    start_offset INTEGER NOT NULL,
    end_offset   INTEGER NOT NULL,
    -- How often the file was replaced by another one of the same name. Each starts from the beginning.
    generation   INTEGER NOT NULL,
    -- A hash of the file's first bytes and of those before the slice's end, by which it is known again.
    fingerprint  INTEGER NOT NULL,
    -- Whether it ends where it would have been too long: there is more behind it.
    more         INTEGER NOT NULL,
    -- started, reflected, curated, learned, empty, failed
    state        TEXT NOT NULL,
    -- The judge's paid answers, kept until they are learned, so that no question is asked twice.
    reflection   TEXT,
    operations   TEXT,
    started_at   INTEGER NOT NULL,
    ended_at     INTEGER,
    -- The result, or the reason why there is none.
    reason       TEXT,
    UNIQUE (transcript, generation, start_offset)
) STRICT;
CREATE INDEX slices_of ON slices (queued);

-- Rows of transcripts that were judged, by a hash of their ids: a forked or copied session brings the same ones again.
CREATE TABLE judged (
    row          INTEGER PRIMARY KEY
) STRICT;

-- Every answer of a judge, and every question without one.
CREATE TABLE judge_requests (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    at           INTEGER NOT NULL,
    project      TEXT NOT NULL,
    slice        INTEGER REFERENCES slices (id),
    -- reflector, curator, keypoints
    question     TEXT NOT NULL,
    judge        TEXT NOT NULL,
    model        TEXT NOT NULL,
    input        INTEGER NOT NULL,
    output       INTEGER NOT NULL,
    cache_read   INTEGER NOT NULL,
    cache_write  INTEGER NOT NULL,
    -- NULL if unknown, or if a run of its own counts it.
    cost         INTEGER,
    -- NULL if it was answered.
    fault        TEXT,
    -- A hash of the question, and its answer until its slice is learned: another worker that continues does not ask again.
    prompt       INTEGER NOT NULL DEFAULT 0,
    answer       TEXT
) STRICT;
CREATE INDEX judge_requests_for ON judge_requests (slice) WHERE slice IS NOT NULL;
CREATE INDEX judge_requests_when ON judge_requests (at);

-- Judges whose last request failed. An answer removes its judge.
CREATE TABLE judge_backoff (
    judge        TEXT NOT NULL,
    destination  TEXT NOT NULL,
    since        INTEGER NOT NULL,
    failures     INTEGER NOT NULL,
    -- The judge is not asked before this moment.
    not_before   INTEGER NOT NULL,
    -- Whether the user must act first: no key, no money.
    needs_person INTEGER NOT NULL,
    reason       TEXT NOT NULL,
    PRIMARY KEY (judge, destination)
) STRICT;

-- Every revision of every playbook, recorded before its file is written, and revisions that other programs wrote in between.
-- Only the last ones keep their content.
CREATE TABLE revisions (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    project      TEXT NOT NULL,
    at           INTEGER NOT NULL,
    -- Its cause: `slice 17`, `edit`, `undo 3`, or `found` for another program's. A slice has at most one.
    cause        TEXT NOT NULL,
    -- `last_updated` of the file before and after. NULL before the first.
    before       TEXT,
    after        TEXT NOT NULL,
    content      TEXT NOT NULL,
    -- Whether it is known to have been in the file. A user who restores an older state did so on purpose.
    written      INTEGER NOT NULL DEFAULT 0,
    -- Applied and skipped changes, as JSON.
    changes      TEXT NOT NULL
) STRICT;
CREATE INDEX revisions_of ON revisions (project, id);
CREATE UNIQUE INDEX revisions_of_slices ON revisions (cause) WHERE cause LIKE 'slice %';
