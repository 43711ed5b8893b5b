//! Tables, and the sentences that are said to them.
//!
//! One column, `due`, does three jobs: when a session can run, when its lease ends, when its time has come.
//! Times are milliseconds since 1970; the greatest number is never.

/// Raised when a table changes.
pub(super) const VERSION: i64 = 1;

pub(super) const CREATE: &str = "
CREATE TABLE IF NOT EXISTS leno_session(
    id BLOB NOT NULL UNIQUE, kind TEXT NOT NULL, version INTEGER NOT NULL, state INTEGER NOT NULL,
    token INTEGER NOT NULL, sequence INTEGER NOT NULL, effects INTEGER NOT NULL,
    awaits INTEGER NOT NULL, until INTEGER NOT NULL, due INTEGER NOT NULL,
    worker TEXT NOT NULL, said TEXT NOT NULL, reason TEXT NOT NULL,
    created INTEGER NOT NULL, touched INTEGER NOT NULL, image BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS leno_session_due ON leno_session(kind, due);
CREATE TABLE IF NOT EXISTS leno_inbox(
    number INTEGER PRIMARY KEY AUTOINCREMENT, id BLOB NOT NULL, key TEXT NOT NULL, body BLOB NOT NULL,
    taken INTEGER NOT NULL DEFAULT 0, UNIQUE(id, key));
CREATE INDEX IF NOT EXISTS leno_inbox_unread ON leno_inbox(id, number) WHERE taken = 0;
CREATE TABLE IF NOT EXISTS leno_effect(
    id BLOB NOT NULL, sequence INTEGER NOT NULL, topic TEXT NOT NULL, body BLOB NOT NULL,
    due INTEGER NOT NULL, PRIMARY KEY(id, sequence)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS leno_effect_due ON leno_effect(due) WHERE due < 9223372036854775807;
";

pub(super) const INSERT: &str = "
INSERT OR IGNORE INTO leno_session VALUES
    (?1, ?2, ?3, 0, 0, 0, 0, 0, ?4, ?4, '', 'null', '', ?4, ?4, ?5)";

/// By kind, version, now, until when, worker, how many.
pub(super) const LEASE: &str = "
UPDATE leno_session SET token = token + 1, due = ?4, state = 1, worker = ?5
WHERE rowid IN (SELECT rowid FROM leno_session WHERE kind = ?1 AND version <= ?2 AND due <= ?3
    ORDER BY due LIMIT ?6)
RETURNING id, version, token, sequence, awaits, until, image";

/// The same for the one session of id ?6.
pub(super) const LEASE_ONE: &str = "
UPDATE leno_session SET token = token + 1, due = ?4, state = 1, worker = ?5
WHERE id = ?6 AND kind = ?1 AND version <= ?2 AND due <= ?3
RETURNING id, version, token, sequence, awaits, until, image";

pub(super) const UNREAD: &str =
    "SELECT number, key, body FROM leno_inbox WHERE id = ?1 AND taken = 0 ORDER BY number LIMIT 16";

pub(super) const HAS_MAIL: &str =
    "SELECT EXISTS(SELECT 1 FROM leno_inbox WHERE id = ?1 AND taken = 0)";

/// Nothing is changed where the argument is null.
pub(super) const COMMIT: &str = "
UPDATE leno_session SET sequence = sequence + 1, effects = effects + ?4, version = ?5,
    image = coalesce(?6, image), said = coalesce(?7, said), reason = ?8, state = ?9,
    awaits = coalesce(?10, awaits), until = coalesce(?11, until), due = ?12, touched = ?13
WHERE id = ?1 AND token = ?2 AND sequence = ?3 AND state = 1";

/// The same for a step whose lease is kept and lasts until ?9 anyway: without the due time, so that no index changes.
pub(super) const COMMIT_KEPT: &str = "
UPDATE leno_session SET sequence = sequence + 1, effects = effects + ?4, version = ?5,
    image = coalesce(?6, image), said = coalesce(?7, said), reason = '', awaits = 0, until = ?8, touched = ?8
WHERE id = ?1 AND token = ?2 AND sequence = ?3 AND state = 1 AND due >= ?9";

/// How many effects a session has had. A `RETURNING` of the commit would say so, too, but takes as long as the commit.
pub(super) const EFFECTS: &str = "SELECT effects FROM leno_session WHERE id = ?1";

pub(super) const WAS_STORED: &str =
    "SELECT EXISTS(SELECT 1 FROM leno_session WHERE id = ?1 AND token = ?2 AND sequence = ?3)";

pub(super) const TAKE: &str = "UPDATE leno_inbox SET taken = 1 WHERE number = ?1";

pub(super) const EFFECT: &str = "INSERT INTO leno_effect VALUES (?1, ?2, ?3, ?4, 0)";

pub(super) const SEND: &str = "INSERT OR IGNORE INTO leno_inbox(id, key, body) VALUES (?1, ?2, ?3)";

pub(super) const WAKE: &str =
    "UPDATE leno_session SET state = 0, due = ?2 WHERE id = ?1 AND state = 2";

pub(super) const RENEW: &str =
    "UPDATE leno_session SET due = ?3 WHERE id = ?1 AND token = ?2 AND state = 1";

/// States by what is awaited: nothing, a message, a time.
pub(super) const RELEASE: &str = "
UPDATE leno_session SET
    state = CASE WHEN awaits = 0 OR (awaits = 1 AND ?3) THEN 0 WHEN awaits = 1 THEN 2 ELSE 3 END,
    due = CASE WHEN awaits = 0 OR (awaits = 1 AND ?3) THEN ?4 ELSE until END
WHERE id = ?1 AND token = ?2 AND state = 1";

pub(super) const CANCEL: &str = "
UPDATE leno_session SET token = token + 1, state = 7, due = 9223372036854775807, reason = ?2, touched = ?3
WHERE id = ?1 AND state NOT IN (4, 7, 8)";

pub(super) const RETRY: &str = "
UPDATE leno_session SET token = token + 1, state = 0, due = ?2, touched = ?2,
    image = coalesce(?3, image), version = coalesce(?4, version)
WHERE id = ?1 AND state IN (5, 6)";

pub(super) const EXPIRE: &str = "
UPDATE leno_session SET token = token + 1, state = 8, due = 9223372036854775807, touched = ?2
WHERE touched <= ?1 AND state IN (2, 3, 5, 6)";

/// Those that ended and have nothing to be done, into a table of their own for a moment.
pub(super) const FORGOTTEN: &str = "
SELECT id FROM leno_session s WHERE touched <= ?1 AND state IN (4, 7, 8)
AND NOT EXISTS(SELECT 1 FROM leno_effect e WHERE e.id = s.id AND e.due < 9223372036854775807)";

pub(super) const OUTBOX: &str = "
UPDATE leno_effect SET due = ?2 WHERE (id, sequence) IN
    (SELECT id, sequence FROM leno_effect WHERE due <= ?1 AND due < 9223372036854775807 ORDER BY due LIMIT ?3)
RETURNING id, sequence, topic, body";

pub(super) const CONFIRM: &str =
    "UPDATE leno_effect SET due = 9223372036854775807 WHERE id = ?1 AND sequence = ?2";

/// What a row needs, in its order.
pub(super) const ROW: &str = "id, kind, version, state, sequence, effects, token, worker, due, said, reason, \
    created, touched, length(image)";
