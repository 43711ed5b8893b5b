//! Tables, and the sentences that are said to them. What columns mean is as in the store in a file; times are those of
//! the server's clock.

pub(super) const VERSION: i64 = 5;

/// Makes tables, or takes over those of earlier versions. Effects are appended, and deleted when they are confirmed; only
/// those that were handed out are in an index by their ids. Version 1 had them without numbers: they get as many as there are
/// effects, from 1 on, and then in order, because a row that was changed has moved. Version 2 did not know who has stored
/// the last step. Version 3 counted no attempts, and did not know when messages were taken. Version 4 began with every session anew: numbers of sessions
/// that it has forgotten are not known, so new ones get more than any can have had. Locked, so that processes that start at the same time do not get in
/// each other's way.
pub(super) const CREATE: &str = "
BEGIN;
SET LOCAL statement_timeout = 0;
SELECT pg_advisory_xact_lock(7310313);
CREATE TABLE IF NOT EXISTS leno_store(version int8 NOT NULL, idle bool NOT NULL);
INSERT INTO leno_store SELECT 5, false WHERE NOT EXISTS (SELECT 1 FROM leno_store);
CREATE TABLE IF NOT EXISTS leno_session(
    id bytea PRIMARY KEY, kind text NOT NULL, version int8 NOT NULL, state int2 NOT NULL,
    token int8 NOT NULL, sequence int8 NOT NULL, effects int8 NOT NULL,
    awaits int2 NOT NULL, until int8 NOT NULL, due int8 NOT NULL,
    worker text NOT NULL, said text NOT NULL, reason text NOT NULL,
    created int8 NOT NULL, touched int8 NOT NULL, image bytea NOT NULL,
    stored int8 NOT NULL DEFAULT 0, attempts int8 NOT NULL DEFAULT 0, first int8 NOT NULL DEFAULT 0) WITH (fillfactor = 50);
ALTER TABLE leno_session ALTER image SET STORAGE EXTERNAL;
CREATE INDEX IF NOT EXISTS leno_session_due ON leno_session(kind, due);
CREATE TABLE IF NOT EXISTS leno_inbox(
    number bigserial PRIMARY KEY, id bytea NOT NULL, key text NOT NULL, body bytea NOT NULL,
    taken bool NOT NULL DEFAULT false, UNIQUE(id, key), taken_at int8 NOT NULL DEFAULT 0);
CREATE INDEX IF NOT EXISTS leno_inbox_unread ON leno_inbox(id, number) WHERE NOT taken;
CREATE TABLE IF NOT EXISTS leno_effect(
    number bigserial PRIMARY KEY, id bytea NOT NULL, sequence int8 NOT NULL, topic text NOT NULL, body bytea NOT NULL,
    due int8 NOT NULL);
CREATE TABLE IF NOT EXISTS leno_forgotten(token int8 NOT NULL, effects int8 NOT NULL);
DO $$ DECLARE found int8 := (SELECT version FROM leno_store); BEGIN
    IF found = 1 THEN
        DROP INDEX leno_effect_due;
        DELETE FROM leno_effect WHERE due = 9223372036854775807;
        ALTER TABLE leno_effect DROP CONSTRAINT leno_effect_pkey;
        ALTER TABLE leno_effect ADD COLUMN number bigserial;
        UPDATE leno_effect c SET number = o.number
            FROM (SELECT id, sequence, row_number() OVER (ORDER BY id, sequence) AS number FROM leno_effect) o
            WHERE c.id = o.id AND c.sequence = o.sequence;
        ALTER TABLE leno_effect ADD PRIMARY KEY (number);
    END IF;
    IF found < 3 THEN
        ALTER TABLE leno_session ADD COLUMN stored int8 NOT NULL DEFAULT 0;
    END IF;
    IF found < 4 THEN
        ALTER TABLE leno_session ADD COLUMN attempts int8 NOT NULL DEFAULT 0;
        ALTER TABLE leno_inbox ADD COLUMN taken_at int8 NOT NULL DEFAULT 0;
        UPDATE leno_inbox SET taken_at = (extract(epoch FROM clock_timestamp()) * 1000)::int8 WHERE taken;
    END IF;
    IF found < 5 THEN
        ALTER TABLE leno_session ADD COLUMN first int8 NOT NULL DEFAULT 0;
        INSERT INTO leno_forgotten VALUES (4503599627370496, 4294967296);
        UPDATE leno_store SET version = 5;
    END IF;
    INSERT INTO leno_forgotten SELECT 0, 0 WHERE NOT EXISTS (SELECT 1 FROM leno_forgotten);
END $$;
CREATE INDEX IF NOT EXISTS leno_effect_lent ON leno_effect(id, sequence) WHERE due > 0;
CREATE OR REPLACE FUNCTION leno_now() RETURNS int8 LANGUAGE sql VOLATILE AS
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8';
COMMIT;
";

/// The numbers of forgotten sessions are locked: one whose id is being forgotten is created after that, with what is noted
/// then.
pub(super) const INSERT: &str = "
INSERT INTO leno_session(id, kind, version, state, token, sequence, effects, awaits, until, due, worker, said, reason,
    created, touched, image, first)
SELECT v.id, v.kind, v.version, 0, coalesce(f.token, 0), 0, coalesce(f.effects, 0), 0, n, n, '', 'null', '', n, n, v.image,
    coalesce(f.effects, 0)
FROM unnest($1::bytea[], $2::text[], $3::int8[], $4::bytea[]) v(id, kind, version, image) CROSS JOIN leno_now() n
    LEFT JOIN (SELECT token, effects FROM leno_forgotten LIMIT 1 FOR SHARE) f ON true
ON CONFLICT (id) DO NOTHING RETURNING id";

/// By kinds, versions, for how long, worker, how many, and perhaps which one. The time is asked for once, by a query of its
/// own, so that it can bound what is looked at in the index. A token that someone has made too large is not raised beyond what
/// there is: it would keep all others from being leased.
macro_rules! lease {
    ($from:literal, $which:literal) => {
        concat!(
            "
UPDATE leno_session c SET due = n.n + $3, state = 1, worker = $4,
    token = greatest(0, least(c.token, 9223372034707292159)) + 1 + (random() * 2147483646)::int8
FROM (SELECT leno_now() AS n) n, ",
            $from,
            "(SELECT q.id, q.state, sum(q.size) OVER (ORDER BY q.due, q.id) - q.size AS before FROM
    (SELECT s.id, s.state, s.due, s.size FROM unnest($1::text[], $2::int8[]) k(kind, version), LATERAL
        (SELECT id, state, due, octet_length(image) AS size FROM leno_session WHERE kind = k.kind AND version <= k.version AND due <= (SELECT leno_now())
            ",
            $which,
            " ORDER BY due LIMIT $5 FOR UPDATE SKIP LOCKED) s
        LIMIT $5) q) s
WHERE c.id = s.id AND s.before < 33554432
RETURNING c.id, c.kind, c.version, c.token, c.sequence, c.awaits, c.until <= n.n,
    CASE WHEN octet_length(c.image) <= 8388608 THEN c.image END, s.state = 1, c.attempts, octet_length(c.image)::int8"
        )
    };
}

/// By itself, and not waited for: see the header of the store.
pub(super) const LEASE: &str = lease!("set_config('synchronous_commit', 'off', true) late, ", "");
pub(super) const LEASE_ONE: &str =
    lease!("set_config('synchronous_commit', 'off', true) late, ", "AND id = $6");
/// In the transaction of a commit.
pub(super) const LEASE_TOO: &str = lease!("", "");

/// Of each of these the oldest, so many at most, up to the one with which those of a session have $3 bytes.
pub(super) const UNREAD_WITHIN: &str = "
SELECT i.id, i.number, i.key, CASE WHEN m.size <= $3 THEN i.body END, m.size FROM unnest($1::bytea[]) s(id), LATERAL
    (SELECT number, size, sum(size) OVER (ORDER BY number) - size AS before FROM
        (SELECT number, (octet_length(key) + octet_length(body))::int8 AS size FROM leno_inbox
            WHERE id = s.id AND NOT taken ORDER BY number LIMIT $2) o) m, leno_inbox i
WHERE i.number = m.number AND m.before < $3 ORDER BY i.number";

/// Rows are locked in the order of their ids, so that two that lock several do not wait for each other.
pub(super) const LOCK: &str =
    "SELECT 1 FROM leno_session WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE";

/// Steps and their effects. Nothing is changed where an element is null; times are from now on. A lease that is kept and
/// has half its time left stays as it is, so that no index changes. The effects of a session are numbered behind those that
/// it has had. Tells which of the batch were stored, from 1 on: of those that name the same session, at most one.
pub(super) const COMMIT: &str = "
WITH u AS (
    UPDATE leno_session c SET sequence = c.sequence + 1, effects = c.effects + v.effects, version = v.version,
        image = coalesce(v.image, c.image), said = coalesce(v.said, c.said), reason = v.reason, state = v.state,
        awaits = coalesce(v.awaits, c.awaits),
        until = CASE WHEN v.awaits IS NULL THEN c.until WHEN v.until IS NULL THEN 9223372036854775807
            ELSE n + v.until END,
        due = CASE WHEN v.due IS NULL THEN 9223372036854775807
            WHEN v.state = 1 AND c.due >= n + v.due / 2 THEN c.due ELSE n + v.due END,
        touched = n, stored = v.token, attempts = 0
    FROM (SELECT leno_now() AS n) t,
        unnest($1::bytea[], $2::int8[], $3::int8[], $4::int8[], $5::int8[], $6::bytea[], $7::text[], $8::text[],
            $9::int2[], $10::int2[], $11::int8[], $12::int8[])
        WITH ORDINALITY v(id, token, sequence, effects, version, image, said, reason, state, awaits, until, due, place)
    WHERE c.id = v.id AND c.token = v.token AND c.sequence = v.sequence AND c.state = 1
    RETURNING v.place, c.id, c.effects),
e AS (
    INSERT INTO leno_effect(id, sequence, topic, body, due)
    SELECT u.id, u.effects - w.many + w.nth, w.topic, w.body, 0
    FROM u, unnest($13::int8[], $14::int8[], $15::int8[], $16::text[], $17::bytea[]) w(place, many, nth, topic, body)
    WHERE w.place = u.place ORDER BY w.place, w.nth)
SELECT place FROM u";

/// Which of these were stored earlier, and are their sessions' last steps: place in the batch, id, token, sequence after the
/// commit. Not by the token of the lease: another lease may have been granted since.
pub(super) const WERE_STORED: &str = "
SELECT v.place FROM leno_session c, unnest($1::int8[], $2::bytea[], $3::int8[], $4::int8[]) v(place, id, token, sequence)
WHERE c.id = v.id AND c.stored = v.token AND c.sequence = v.sequence";

/// Only its key is needed from now on.
pub(super) const TAKE: &str = "
UPDATE leno_inbox SET taken = true, taken_at = leno_now(), body = '' WHERE number = ANY($1)";

pub(super) const REFUSE: &str =
    "UPDATE leno_inbox SET taken = true, taken_at = leno_now() WHERE number = ANY($1)";

/// Of so many messages behind a number, deletes those that were taken that long ago. Tells up to where it has looked, at how
/// many, and how many it has deleted.
pub(super) const SWEEP: &str = "
WITH seen AS (SELECT number, taken AND taken_at <= leno_now() - $2 AS is_old FROM leno_inbox WHERE number > $1
        ORDER BY number LIMIT $3),
    gone AS (DELETE FROM leno_inbox i USING seen WHERE i.number = seen.number AND seen.is_old AND i.taken RETURNING 1)
SELECT coalesce((SELECT max(number) FROM seen), 0), (SELECT count(*) FROM seen), (SELECT count(*) FROM gone)";

pub(super) const ATTEMPT: &str = "
UPDATE leno_session c SET attempts = c.attempts + 1 FROM unnest($1::bytea[], $2::int8[]) v(id, token)
WHERE c.id = v.id AND c.token = v.token AND c.state = 1 RETURNING c.id, c.token";

pub(super) const SEND: &str = "
INSERT INTO leno_inbox(id, key, body) SELECT v.id, v.key, v.body
FROM unnest($1::bytea[], $2::text[], $3::bytea[]) WITH ORDINALITY v(id, key, body, n) ORDER BY v.n
ON CONFLICT (id, key) DO NOTHING RETURNING id, key";

/// Those of these that wait for a message and have one.
pub(super) const WAKE: &str = "
UPDATE leno_session c SET state = 0, due = leno_now() WHERE id = ANY($1) AND state = 2
AND EXISTS (SELECT 1 FROM leno_inbox i WHERE i.id = c.id AND NOT i.taken)";

/// One that waits for work asks to be told; whoever makes work tells, once.
pub(super) const ASK: &str = "UPDATE leno_store SET idle = true WHERE NOT idle";
pub(super) const TELL: &str = "WITH t AS (UPDATE leno_store SET idle = false WHERE idle RETURNING 1) SELECT pg_notify('leno_session', '') FROM t";

pub(super) const RENEW: &str = "
UPDATE leno_session c SET due = leno_now() + $3
FROM unnest($1::bytea[], $2::int8[]) v(id, token), set_config('synchronous_commit', 'off', true) late
WHERE c.id = v.id AND c.token = v.token AND c.state = 1 RETURNING c.id, c.token";

pub(super) const HELD: &str = "
SELECT c.id, c.token FROM leno_session c, unnest($1::bytea[], $2::int8[]) v(id, token)
WHERE c.id = v.id AND c.token = v.token AND c.state = 1 ORDER BY c.id FOR NO KEY UPDATE OF c";

pub(super) const RELEASE: &str = "
UPDATE leno_session c SET
    state = CASE WHEN awaits = 0 THEN 0 WHEN awaits = 2 THEN 3 WHEN m.has THEN 0 ELSE 2 END,
    due = CASE WHEN awaits = 0 OR (awaits = 1 AND m.has) THEN leno_now() ELSE until END, attempts = 0
FROM (SELECT s.id, EXISTS (SELECT 1 FROM leno_inbox i WHERE i.id = s.id AND NOT i.taken) AS has
    FROM leno_session s WHERE s.id = ANY($1)) m
WHERE c.id = m.id";

pub(super) const CANCEL: &str = "
UPDATE leno_session SET token = token + 1, state = 7, due = 9223372036854775807, reason = $2, touched = leno_now()
WHERE id = ANY($1) AND state NOT IN (4, 7, 8) RETURNING id";

pub(super) const QUARANTINE: &str = "
UPDATE leno_session SET token = CASE WHEN token < 9223372036854775807 THEN token + 1 ELSE token END, state = 6,
    due = 9223372036854775807, reason = $2, attempts = 0, touched = leno_now()
WHERE id = ANY($1) AND state NOT IN (4, 7, 8) RETURNING id";

/// One that has ended says what is wrong, too, and stays as it is.
pub(super) const SAY_WHY: &str =
    "UPDATE leno_session SET reason = $2 WHERE id = ANY($1) AND state IN (4, 7, 8)";

pub(super) const RETRY: &str = "
UPDATE leno_session SET token = token + 1, state = 0, due = leno_now(), touched = leno_now(), attempts = 0,
    image = coalesce($2, image), version = coalesce($3, version)
WHERE id = ANY($1) AND state IN (5, 6) RETURNING id";

pub(super) const EXPIRE: &str = "
UPDATE leno_session SET token = token + 1, state = 8, due = 9223372036854775807, touched = leno_now()
WHERE touched <= leno_now() - $1 AND state IN (2, 3, 5, 6) RETURNING 1";

/// Those that ended and have nothing to be done.
pub(super) const FORGOTTEN: &str = "
SELECT id FROM leno_session s WHERE touched <= leno_now() - $1 AND state IN (4, 7, 8)
    AND NOT EXISTS (SELECT 1 FROM leno_effect e WHERE e.id = s.id)";

/// Before any is deleted: whoever creates one of them waits until its numbers are noted.
pub(super) const LOCK_FORGOTTEN: &str = "SELECT 1 FROM leno_forgotten FOR UPDATE";

/// Deletes those of these ids that still have nothing to be done, and notes their numbers. One above $3 is damage, and
/// would leave no room for others.
pub(super) const FORGET: &str = "
WITH old AS (DELETE FROM leno_session s WHERE id = ANY($2) AND touched <= leno_now() - $1 AND state IN (4, 7, 8)
        AND NOT EXISTS (SELECT 1 FROM leno_effect e WHERE e.id = s.id)
        RETURNING id, token, effects),
    mail AS (DELETE FROM leno_inbox i USING old WHERE i.id = old.id),
    noted AS (UPDATE leno_forgotten f SET token = greatest(f.token, m.token), effects = greatest(f.effects, m.effects)
        FROM (SELECT max(token) FILTER (WHERE token <= $3) AS token,
            max(effects) FILTER (WHERE effects <= $3) AS effects FROM old) m)
SELECT count(*) FROM old";

/// Those that are due, up to the one with which they have 32 MiB. What has more than $3 bytes is not read, only its size.
pub(super) const OUTBOX: &str = "
UPDATE leno_effect c SET due = leno_now() + $1
FROM (SELECT q.number, q.size, sum(q.size) OVER (ORDER BY q.number) - q.size AS before FROM
    (SELECT number, octet_length(topic)::int8 + octet_length(body) AS size FROM leno_effect
        WHERE due <= (SELECT leno_now()) ORDER BY number LIMIT $2 FOR UPDATE SKIP LOCKED) q) s
WHERE c.number = s.number AND s.before < 33554432 RETURNING c.number, c.id, c.sequence,
    CASE WHEN s.size <= $3 THEN c.topic END, CASE WHEN s.size <= $3 THEN c.body END, s.size";

/// Nobody is handed these again.
pub(super) const SET_ASIDE: &str =
    "UPDATE leno_effect SET due = 9223372036854775807 WHERE number = ANY($1)";

pub(super) const CONFIRM: &str = "
DELETE FROM leno_effect c USING unnest($1::bytea[], $2::int8[]) v(id, sequence)
WHERE c.id = v.id AND c.sequence = v.sequence AND c.due > 0";

pub(super) const LIST: &str = "
SELECT id, kind, version, state, sequence, greatest(0, effects - first), token, worker, due, said, reason, created, touched,
    length(image)::int8
FROM leno_session WHERE ($1::text IS NULL OR kind = $1) AND ($2::int2 IS NULL OR state = $2)
    AND ($3::bytea IS NULL OR id > $3)
ORDER BY id LIMIT nullif($4::int8, 0)";

/// One of them, by its index, which the general form cannot use.
pub(super) const SHOW: &str = "
SELECT id, kind, version, state, sequence, greatest(0, effects - first), token, worker, due, said, reason, created, touched,
    length(image)::int8
FROM leno_session WHERE id = $1";

pub(super) const LOAD: &str = "
SELECT id, kind, version, state, sequence, greatest(0, effects - first), token, worker, due, said, reason, created, touched,
    length(image)::int8, awaits, CASE WHEN length(image) <= $2 THEN image END
FROM leno_session WHERE id = $1";

/// Of a session, up to the one with which they have $3 bytes; $2 is the limit of one.
pub(super) const UNCONFIRMED: &str = "
SELECT e.number, e.id, e.sequence, CASE WHEN m.size <= $2 THEN e.topic END, CASE WHEN m.size <= $2 THEN e.body END, m.size
FROM (SELECT number, size, sum(least(size, $2)) OVER (ORDER BY number) - least(size, $2) AS before FROM
    (SELECT number, octet_length(topic)::int8 + octet_length(body) AS size FROM leno_effect WHERE id = $1) q) m
    JOIN leno_effect e ON e.number = m.number
WHERE m.before < $3::int8 ORDER BY e.number";

pub(super) const COUNT: &str = "SELECT state, count(*) FROM leno_session GROUP BY state";
