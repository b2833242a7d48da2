-- Moments are milliseconds since 1970, money is in millionths of a dollar, paths are text.

-- What hooks and people said: there is something to learn in this transcript.
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
    -- What happened at the last try, or what came of it.
    why          TEXT,
    -- When it was done or had failed.
    ended_at     INTEGER
) STRICT;
CREATE INDEX queue_waiting ON queue (not_before, id) WHERE state = 'waiting';

-- What was judged, and how far the judging of what is being judged has come.
CREATE TABLE slices (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    queued       INTEGER NOT NULL REFERENCES queue (id),
    project      TEXT NOT NULL,
    transcript   TEXT NOT NULL,
    -- Its bytes, whole lines of the transcript.
    begins       INTEGER NOT NULL,
    ends         INTEGER NOT NULL,
    -- How often the file was replaced by another one of the same name: each begins anew.
    generation   INTEGER NOT NULL,
    -- A hash of the file's first bytes and of those before the slice's end, by which it is known again.
    fingerprint  INTEGER NOT NULL,
    -- Whether it ends where it would have been too long: there is more behind it.
    more         INTEGER NOT NULL,
    -- begun, reflected, curated, learnt, empty, failed
    state        TEXT NOT NULL,
    -- What the judge said until it is learnt, as it is paid for: nothing is asked twice.
    reflection   TEXT,
    operations   TEXT,
    begun_at     INTEGER NOT NULL,
    ended_at     INTEGER,
    -- What came of it, or why nothing did.
    why          TEXT,
    UNIQUE (transcript, generation, begins)
) STRICT;
CREATE INDEX slices_of ON slices (queued);

-- Rows of transcripts that were judged, by a hash of their ids: a forked or copied session brings the same ones again.
CREATE TABLE judged (
    row          INTEGER PRIMARY KEY
) STRICT;

-- Every answer of a judge, and every question without one.
CREATE TABLE asked (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    at           INTEGER NOT NULL,
    project      TEXT NOT NULL,
    slice        INTEGER REFERENCES slices (id),
    -- reflector, curator, keypoints
    what         TEXT NOT NULL,
    judge        TEXT NOT NULL,
    model        TEXT NOT NULL,
    input        INTEGER NOT NULL,
    output       INTEGER NOT NULL,
    cache_read   INTEGER NOT NULL,
    cache_write  INTEGER NOT NULL,
    -- Nothing where it is not known, or is counted by a run of its own.
    cost         INTEGER,
    -- Nothing if it was answered.
    fault        TEXT,
    -- A hash of the question, and its answer until its slice is learnt: whoever goes on with it does not ask again.
    prompt       INTEGER NOT NULL DEFAULT 0,
    answer       TEXT
) STRICT;
CREATE INDEX asked_for ON asked (slice) WHERE slice IS NOT NULL;
CREATE INDEX asked_when ON asked (at);

-- Judges that gave no answer when they were asked last. Each answer takes its judge out.
CREATE TABLE silent (
    judge        TEXT NOT NULL,
    destination  TEXT NOT NULL,
    since        INTEGER NOT NULL,
    failures     INTEGER NOT NULL,
    -- Nothing is asked before.
    not_before   INTEGER NOT NULL,
    -- Whether a person must change something first: no key, no money.
    person       INTEGER NOT NULL,
    why          TEXT NOT NULL,
    PRIMARY KEY (judge, destination)
) STRICT;

-- Every state of every playbook that we wrote, each written down before the file is, and what others wrote between two of
-- them. What a state was, is kept for the last of them only.
CREATE TABLE saves (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    project      TEXT NOT NULL,
    at           INTEGER NOT NULL,
    -- What it was for: `slice 17`, `edit`, `undo 3`; `found` is what others wrote. That of a slice is there once.
    cause        TEXT NOT NULL,
    -- `last_updated` of the file before and after; nothing before the first.
    before       TEXT,
    after        TEXT NOT NULL,
    content      TEXT NOT NULL,
    -- Whether it is known to have been in the file. Somebody who brings an older state back has meant it.
    placed       INTEGER NOT NULL DEFAULT 0,
    -- What was done and what was skipped, as JSON.
    told         TEXT NOT NULL
) STRICT;
CREATE INDEX saves_of ON saves (project, id);
CREATE UNIQUE INDEX saves_of_slices ON saves (cause) WHERE cause LIKE 'slice %';
