//! Tables, and the sentences that are said to them.
//!
//! One column, `due`, does three jobs: when a session can run, when its lease ends, when its time has come.
//! Times are milliseconds since 1970; the greatest number is never.

/// Raised when a table changes.
pub(super) const VERSION: i64 = 5;

/// Ids are random, numbers rise: what belongs together in time lies together in the file, so that a transaction of many
/// steps changes few pages. Messages know their session's number, or 0 as long as there is none. Effects are appended, and
/// deleted when they are confirmed; only those that were handed out are in an index. `taken` is when a message was taken, or 0.
/// `effects` is the sequence of a session's last effect, `first` what it was when the session was created. `leno_forgotten`
/// has the highest token and sequence of sessions that were forgotten: those of new ones are higher.
/// `leno_clock` has the latest time, to about a second, at which something was written: see the header of the store.
pub(super) const CREATE: &str = "
CREATE TABLE leno_session(
    number INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE, kind TEXT NOT NULL, version INTEGER NOT NULL, state INTEGER NOT NULL,
    token INTEGER NOT NULL, sequence INTEGER NOT NULL, effects INTEGER NOT NULL,
    awaits INTEGER NOT NULL, until INTEGER NOT NULL, due INTEGER NOT NULL,
    worker TEXT NOT NULL, said TEXT NOT NULL, reason TEXT NOT NULL,
    created INTEGER NOT NULL, touched INTEGER NOT NULL, image BLOB NOT NULL,
    stored INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0, first INTEGER NOT NULL DEFAULT 0);
CREATE INDEX leno_session_due ON leno_session(kind, due);
CREATE TABLE leno_inbox(
    number INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER NOT NULL, id BLOB NOT NULL, key TEXT NOT NULL,
    body BLOB NOT NULL, taken INTEGER NOT NULL, UNIQUE(id, key));
CREATE INDEX leno_inbox_unread ON leno_inbox(session, number) WHERE taken = 0;
CREATE TABLE leno_effect(
    number INTEGER PRIMARY KEY, id BLOB NOT NULL, sequence INTEGER NOT NULL, topic TEXT NOT NULL, body BLOB NOT NULL,
    due INTEGER NOT NULL);
CREATE INDEX leno_effect_lent ON leno_effect(id, sequence) WHERE due > 0;
CREATE TABLE leno_clock(latest INTEGER NOT NULL);
INSERT INTO leno_clock VALUES (0);
CREATE TABLE leno_forgotten(token INTEGER NOT NULL, effects INTEGER NOT NULL);
INSERT INTO leno_forgotten VALUES (0, 0);
";

/// Makes tables of version 2, which did not know under which token the last step was stored, ones of version 3.
pub(super) const ADD_STORED: &str =
    "ALTER TABLE leno_session ADD COLUMN stored INTEGER NOT NULL DEFAULT 0";

/// Makes tables of version 3, which counted no attempts and did not know when messages were taken, ones of version 4.
pub(super) const ADD_ATTEMPTS: &str = "
ALTER TABLE leno_session ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
CREATE TABLE leno_clock(latest INTEGER NOT NULL);
INSERT INTO leno_clock VALUES (0);
";

/// Makes tables of version 4, which began with every session anew, ones of version 5. Numbers of sessions that it has
/// forgotten are not known: more than any can have had.
pub(super) const ADD_FIRST: &str = "
ALTER TABLE leno_session ADD COLUMN first INTEGER NOT NULL DEFAULT 0;
CREATE TABLE leno_forgotten(token INTEGER NOT NULL, effects INTEGER NOT NULL);
INSERT INTO leno_forgotten VALUES (4294967296, 4294967296);
";

/// The same for version 1, whose tables were made anew.
pub(super) const RAISE_FORGOTTEN: &str =
    "UPDATE leno_forgotten SET token = 4294967296, effects = 4294967296";

/// What was taken by an earlier version counts as taken now.
pub(super) const TAKEN_NOW: &str = "UPDATE leno_inbox SET taken = ?1 WHERE taken = 1";

pub(super) const LATEST: &str = "SELECT latest FROM leno_clock";

pub(super) const TICK: &str = "UPDATE leno_clock SET latest = max(latest, ?1)";

/// What a clock that was set back has left behind: up to when sessions are ready.
pub(super) const SET_BACK: &str = "
UPDATE leno_clock SET latest = max(?1, coalesce(
    (SELECT max(due) FROM leno_session WHERE state = 0 AND typeof(due) = 'integer'), 0))";

/// Takes the tables of version 1 out of the way of `CREATE`.
pub(super) const SET_ASIDE: &str = "
DROP INDEX leno_session_due; DROP INDEX leno_inbox_unread; DROP INDEX leno_effect_due;
ALTER TABLE leno_session RENAME TO leno_session_1;
ALTER TABLE leno_inbox RENAME TO leno_inbox_1;
ALTER TABLE leno_effect RENAME TO leno_effect_1;
";

/// Takes over what is in them.
pub(super) const TAKE_OVER: &str = "
INSERT INTO leno_session SELECT rowid, id, kind, version, state, token, sequence, effects, awaits, until, due, worker, said,
    reason, created, touched, image, 0, 0, 0 FROM leno_session_1 ORDER BY rowid;
INSERT INTO leno_inbox SELECT i.number, coalesce(s.number, 0), i.id, i.key, i.body, i.taken
    FROM leno_inbox_1 i LEFT JOIN leno_session s ON s.id = i.id ORDER BY i.number;
INSERT INTO leno_effect(id, sequence, topic, body, due) SELECT id, sequence, topic, body, due
    FROM leno_effect_1 WHERE due < 9223372036854775807 ORDER BY id, sequence;
DROP TABLE leno_session_1; DROP TABLE leno_inbox_1; DROP TABLE leno_effect_1;
";

pub(super) const INSERT: &str = "
INSERT OR IGNORE INTO leno_session VALUES
    (NULL, ?1, ?2, ?3, 0, ?6, 0, ?7, 0, ?4, ?4, '', 'null', '', ?4, ?4, ?5, 0, 0, ?7)";

/// Where the numbers of new sessions begin.
pub(super) const FORGOTTEN_NUMBERS: &str = "SELECT token, effects FROM leno_forgotten";

/// What was sent to a session before it was there.
pub(super) const ADOPT: &str = "UPDATE leno_inbox SET session = ?2 WHERE id = ?1";

/// Whether some can be leased, by kind, version, now, and up to when ready ones are looked for.
pub(super) const IS_DUE: &str = "
SELECT EXISTS(SELECT 1 FROM leno_session
    WHERE kind = ?1 AND version <= ?2 AND due <= ?4 AND (due <= ?3 OR state = 0))";

/// Those that can be leased, by kind, version, now, up to when ready ones are looked for, and how many. No `UPDATE` with a
/// `RETURNING`: that makes two tables for a moment, which takes longer than all the rest.
pub(super) const DUE: &str = "
SELECT number, id, version, token, sequence, effects, awaits, until,
    iif(octet_length(image) <= 8388608, image, NULL), state, attempts, octet_length(image) FROM leno_session
WHERE kind = ?1 AND version <= ?2 AND due <= ?4 AND (due <= ?3 OR state = 0) ORDER BY due LIMIT ?5";

/// The same for the one session of id ?5.
pub(super) const DUE_ONE: &str = "
SELECT number, id, version, token, sequence, effects, awaits, until,
    iif(octet_length(image) <= 8388608, image, NULL), state, attempts, octet_length(image) FROM leno_session
WHERE id = ?5 AND kind = ?1 AND version <= ?2 AND due <= ?4 AND (due <= ?3 OR state = 0)";

/// One that cannot be read. Everything else stays as it is, for those who want to know.
pub(super) const SET_ASIDE_ROW: &str = "
UPDATE leno_session SET state = 6, due = 9223372036854775807, reason = ?2, attempts = 0, touched = ?3
WHERE number = ?1";

pub(super) const LEASE: &str =
    "UPDATE leno_session SET token = ?2, due = ?3, state = 1, worker = ?4 WHERE number = ?1";

pub(super) const ATTEMPT: &str =
    "UPDATE leno_session SET attempts = attempts + 1 WHERE id = ?1 AND token = ?2 AND state = 1";

pub(super) const NUMBER: &str = "SELECT number FROM leno_session WHERE id = ?1";

/// A session's number, and how many effects it has had.
pub(super) const PLACE: &str = "SELECT number, effects FROM leno_session WHERE id = ?1";

/// Messages that were not taken, up to the one with which they have ?3 bytes. Sizes are looked at without what has them.
pub(super) const UNREAD_WITHIN: &str = "
SELECT i.number, i.key, iif(m.size <= ?3, i.body, NULL), m.size FROM
    (SELECT number, size, sum(size) OVER (ORDER BY number) - size AS before FROM
        (SELECT number, octet_length(key) + octet_length(body) AS size FROM leno_inbox
            WHERE session = ?1 AND taken = 0 ORDER BY number LIMIT ?2)) m
    CROSS JOIN leno_inbox i ON i.number = m.number
WHERE m.before < ?3 ORDER BY i.number";

pub(super) const HAS_MAIL: &str =
    "SELECT EXISTS(SELECT 1 FROM leno_inbox WHERE session = ?1 AND taken = 0)";

/// Nothing is changed where the argument is null. No `RETURNING`, which takes as long as the rest: what there was before is
/// an argument.
pub(super) const COMMIT: &str = "
UPDATE leno_session SET sequence = sequence + 1, effects = ?6, version = ?7,
    image = coalesce(?8, image), said = coalesce(?9, said), reason = ?10, state = ?11,
    awaits = coalesce(?12, awaits), until = coalesce(?13, until), due = ?14, touched = ?15, stored = ?3,
    attempts = 0
WHERE number = ?1 AND id = ?2 AND token = ?3 AND sequence = ?4 AND effects = ?5 AND state = 1";

/// The same for a step whose lease is kept and lasts until ?11 anyway: without the due time, so that no index changes.
pub(super) const COMMIT_KEPT: &str = "
UPDATE leno_session SET sequence = sequence + 1, effects = ?6, version = ?7, image = ?8, said = ?9, reason = '',
    awaits = 0, until = ?10, touched = ?10, stored = ?3, attempts = 0
WHERE number = ?1 AND id = ?2 AND token = ?3 AND sequence = ?4 AND effects = ?5 AND state = 1 AND due >= ?11";

/// Whether it is the session's last step. Not by the token of the lease: another lease may have been granted since.
pub(super) const WAS_STORED: &str =
    "SELECT EXISTS(SELECT 1 FROM leno_session WHERE id = ?1 AND stored = ?2 AND sequence = ?3)";

/// Only its key is needed from now on.
pub(super) const TAKE: &str = "UPDATE leno_inbox SET taken = ?2, body = x'' WHERE number = ?1";

pub(super) const REFUSE: &str = "UPDATE leno_inbox SET taken = ?2 WHERE number = ?1";

/// Messages behind a number, and whether they were taken by then.
pub(super) const TAKEN: &str = "
SELECT number, taken > 0 AND taken <= ?2 FROM leno_inbox WHERE number > ?1 ORDER BY number LIMIT ?3";

pub(super) const SWEEP: &str = "DELETE FROM leno_inbox WHERE number = ?1 AND taken > 0";

pub(super) const EFFECT: &str = "INSERT INTO leno_effect VALUES (NULL, ?1, ?2, ?3, ?4, 0)";

pub(super) const SEND: &str = "
INSERT OR IGNORE INTO leno_inbox(session, id, key, body, taken) VALUES (?1, ?2, ?3, ?4, 0)";

pub(super) const WAKE: &str =
    "UPDATE leno_session SET state = 0, due = ?2 WHERE number = ?1 AND state = 2";

pub(super) const RENEW: &str =
    "UPDATE leno_session SET due = ?3 WHERE id = ?1 AND token = ?2 AND state = 1";

/// States by what is awaited: nothing, a message, a time.
pub(super) const RELEASE: &str = "
UPDATE leno_session SET
    state = CASE WHEN awaits = 0 OR (awaits = 1 AND ?3) THEN 0 WHEN awaits = 1 THEN 2 ELSE 3 END,
    due = CASE WHEN awaits = 0 OR (awaits = 1 AND ?3) THEN ?4 ELSE until END, attempts = 0
WHERE id = ?1 AND token = ?2 AND state = 1";

pub(super) const CANCEL: &str = "
UPDATE leno_session SET token = token + 1, state = 7, due = 9223372036854775807, reason = ?2, touched = ?3
WHERE id = ?1 AND state NOT IN (4, 7, 8)";

pub(super) const QUARANTINE: &str = "
UPDATE leno_session SET state = 6, due = 9223372036854775807, reason = ?2, attempts = 0, touched = ?3,
    token = CASE WHEN typeof(token) = 'integer' AND token < 9223372036854775807 THEN token + 1 ELSE token END
WHERE id = ?1 AND state NOT IN (4, 7, 8)";

/// One that has ended says what is wrong, too, and stays as it is.
pub(super) const SAY_WHY: &str =
    "UPDATE leno_session SET reason = ?2 WHERE id = ?1 AND state IN (4, 7, 8)";

pub(super) const RETRY: &str = "
UPDATE leno_session SET token = token + 1, state = 0, due = ?2, touched = ?2, attempts = 0,
    image = coalesce(?3, image), version = coalesce(?4, version)
WHERE id = ?1 AND state IN (5, 6)";

pub(super) const EXPIRE: &str = "
UPDATE leno_session SET token = token + 1, state = 8, due = 9223372036854775807, touched = ?2
WHERE touched <= ?1 AND state IN (2, 3, 5, 6)";

/// Those that ended and have nothing to be done.
pub(super) const FORGOTTEN: &str = "
SELECT number FROM leno_session WHERE touched <= ?1 AND state IN (4, 7, 8) AND id NOT IN (SELECT id FROM leno_effect)";

pub(super) const FORGET_MESSAGES: &str =
    "DELETE FROM leno_inbox WHERE id = (SELECT id FROM leno_session WHERE number = ?1)";

/// Notes the numbers of one that is about to be forgotten. One above ?2 is damage, and would leave no room for others.
pub(super) const NOTE_FORGOTTEN: &str = "
UPDATE leno_forgotten SET (token, effects) = (
    SELECT max(leno_forgotten.token, iif(typeof(s.token) = 'integer' AND s.token <= ?2, s.token, 0)),
        max(leno_forgotten.effects, iif(typeof(s.effects) = 'integer' AND s.effects <= ?2, s.effects, 0))
    FROM leno_session s WHERE s.number = ?1)";

pub(super) const FORGET: &str = "DELETE FROM leno_session WHERE number = ?1";

/// Those that are due, ?2 at most, up to the one with which they have ?3 bytes. What has more than ?4 is not read, only its size.
pub(super) const OUTBOX: &str = "
SELECT e.number, e.id, e.sequence, iif(m.size <= ?4, e.topic, NULL) AS topic, iif(m.size <= ?4, e.body, NULL) AS body,
    m.size FROM
    (SELECT number, size, sum(size) OVER (ORDER BY number) - size AS before FROM
        (SELECT number, octet_length(topic) + octet_length(body) AS size FROM leno_effect
            WHERE due <= ?1 ORDER BY number LIMIT ?2)) m
    CROSS JOIN leno_effect e ON e.number = m.number
WHERE m.before < ?3 ORDER BY e.number";

pub(super) const LEND: &str = "UPDATE leno_effect SET due = ?2 WHERE number = ?1";

pub(super) const CONFIRM: &str =
    "DELETE FROM leno_effect WHERE id = ?1 AND sequence = ?2 AND due > 0";

/// Of a session, with the same limits: ?2 for each, ?3 for all.
pub(super) const UNCONFIRMED: &str = "
SELECT e.number, e.id, e.sequence, iif(m.size <= ?2, e.topic, NULL) AS topic, iif(m.size <= ?2, e.body, NULL) AS body,
    m.size FROM
    (SELECT number, size, sum(min(size, ?2)) OVER (ORDER BY number) - min(size, ?2) AS before FROM
        (SELECT number, octet_length(topic) + octet_length(body) AS size FROM leno_effect WHERE id = ?1)) m
    CROSS JOIN leno_effect e ON e.number = m.number
WHERE m.before < ?3 ORDER BY e.number";

/// What a row needs, in its order.
pub(super) const ROW: &str = "id, kind, version, state, sequence, effects, token, worker, due, said, reason, \
    created, touched, length(image), first";
