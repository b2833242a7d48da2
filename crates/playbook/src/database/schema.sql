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
    -- The API that the session used. Its content is sent to no other.
    destination  TEXT NOT NULL,
    -- waiting, done, failed
    state        TEXT NOT NULL DEFAULT 'waiting',
    tries        INTEGER NOT NULL DEFAULT 0,
    not_before   INTEGER NOT NULL DEFAULT 0,
    -- The error of the last attempt, or the result.
    last_result  TEXT,
    -- When it was done or failed.
    ended_at     INTEGER
) STRICT;
CREATE INDEX queue_waiting ON queue (not_before, id) WHERE state = 'waiting';

-- Parts of transcripts that were judged or are being judged, with their progress.
CREATE TABLE slices (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    queued       INTEGER NOT NULL REFERENCES queue (id),
    project      TEXT NOT NULL,
    transcript   TEXT NOT NULL,
    -- The byte range. It contains whole lines of the transcript.
    start_offset INTEGER NOT NULL,
    end_offset   INTEGER NOT NULL,
    -- How often the file was replaced by another of the same name. Each new file is judged from its start.
    generation   INTEGER NOT NULL,
    -- A hash of the file's first bytes and of those before the slice's end. It identifies the file.
    fingerprint  INTEGER NOT NULL,
    -- Whether it was cut at the size limit, so that another slice follows.
    more         INTEGER NOT NULL,
    -- started, reflected, curated, learned, empty, failed
    state        TEXT NOT NULL,
    -- The judge's billed answers, stored until they are learned, so that no question is asked twice.
    reflection   TEXT,
    operations   TEXT,
    started_at   INTEGER NOT NULL,
    ended_at     INTEGER,
    -- The result, or the reason why there is none.
    reason       TEXT,
    UNIQUE (transcript, generation, start_offset)
) STRICT;
CREATE INDEX slices_of ON slices (queued);

-- Rows of transcripts that were judged, by a hash of their ids. Forked and copied sessions contain the same rows.
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
    -- NULL if unknown, or if a separate run counts it.
    cost         INTEGER,
    -- NULL if it was answered.
    fault        TEXT,
    -- A hash of the question, and the answer until its slice is learned, so that the next worker can reuse it.
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

-- Every revision of every playbook, recorded before its file is written, and the revisions that other programs wrote
-- in between. Only the latest keep their content.
CREATE TABLE revisions (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    project      TEXT NOT NULL,
    at           INTEGER NOT NULL,
    -- `slice 17`, `edit`, `undo 3`, or `found` if another program wrote it. A slice has at most one revision.
    cause        TEXT NOT NULL,
    -- `last_updated` of the file before and after. NULL before the first.
    before       TEXT,
    after        TEXT NOT NULL,
    content      TEXT NOT NULL,
    -- Whether the file is known to have contained it. If an older state is then in the file, the user restored it.
    written      INTEGER NOT NULL DEFAULT 0,
    -- Applied and skipped changes, as JSON.
    changes      TEXT NOT NULL
) STRICT;
CREATE INDEX revisions_of ON revisions (project, id);
CREATE UNIQUE INDEX revisions_of_slices ON revisions (cause) WHERE cause LIKE 'slice %';
