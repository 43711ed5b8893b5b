//! Loops written by hand, on PostgreSQL, by `tokio-postgres` on a runtime of tokio's.

use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio_postgres::{Client, NoTls, Row, Statement};

use super::{Begin, Chain, Keeper, Pace};
use crate::contender::Failure;

const TABLES: &str = "
CREATE TABLE session(id int8 PRIMARY KEY, token int8 NOT NULL, sequence int8 NOT NULL,
    due timestamptz NOT NULL, state bytea NOT NULL) WITH (fillfactor = 50);
CREATE INDEX session_due ON session(due);
CREATE TABLE effect(id int8 NOT NULL, sequence int8 NOT NULL, body text NOT NULL, PRIMARY KEY(id, sequence));";

const LEASE: &str = "
UPDATE session c SET token = c.token + 1, due = clock_timestamp() + interval '10 s'
FROM (SELECT id FROM session WHERE due <= clock_timestamp() ORDER BY due LIMIT $1 FOR UPDATE SKIP LOCKED) s
WHERE c.id = s.id RETURNING c.id, c.token, c.sequence, c.state";

const COMMIT: &str = "
WITH u AS (
    UPDATE session c SET sequence = v.sequence + 1, state = v.state
    FROM unnest($1::int8[], $2::int8[], $3::int8[], $4::bytea[]) v(id, token, sequence, state)
    WHERE c.id = v.id AND c.token = v.token AND c.sequence = v.sequence RETURNING c.id, c.sequence)
INSERT INTO effect SELECT u.id, u.sequence, w.body
FROM u, unnest($1::int8[], $5::text[]) w(id, body) WHERE w.id = u.id RETURNING id";

const COMMIT_AND_LEAVE: &str = "
WITH u AS (
    UPDATE session c SET sequence = v.sequence + 1, state = v.state, due = clock_timestamp()
    FROM unnest($1::int8[], $2::int8[], $3::int8[], $4::bytea[]) v(id, token, sequence, state)
    WHERE c.id = v.id AND c.token = v.token AND c.sequence = v.sequence RETURNING c.id, c.sequence)
INSERT INTO effect SELECT u.id, u.sequence, w.body
FROM u, unnest($1::int8[], $5::text[]) w(id, body) WHERE w.id = u.id RETURNING id";

const LOCK: &str = "
SELECT id, token, sequence, state FROM session WHERE due <= clock_timestamp() ORDER BY due LIMIT $1
FOR UPDATE SKIP LOCKED";

type Result<T> = std::result::Result<T, Failure>;

pub fn keepers() -> Vec<Keeper> {
    vec![
        Keeper { name: "row", fill, work, waiting: None },
        Keeper { name: "row locked", fill, work: work_locked, waiting: None },
    ]
}

fn failed(error: tokio_postgres::Error) -> Failure {
    let cause = error.as_db_error().map(|error| error.message().to_owned());
    Failure::Failed(cause.unwrap_or_else(|| error.to_string()))
}

fn connect(address: &str) -> Result<(Runtime, Client)> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(Failure::failed)?;
    let (client, connection) =
        runtime.block_on(tokio_postgres::connect(address, NoTls)).map_err(failed)?;
    drop(runtime.spawn(connection));
    Ok((runtime, client))
}

/// Takes everything out of a database.
pub fn clear(address: &str) -> Result<()> {
    let (runtime, client) = connect(address)?;
    let sql = "DROP SCHEMA public CASCADE; CREATE SCHEMA public";
    runtime.block_on(client.batch_execute(sql)).map_err(failed)
}

fn fill(address: &str, count: u64) -> Result<()> {
    let (runtime, client) = connect(address)?;
    let ids: Vec<i64> = (0..count as i64).collect();
    let states: Vec<Vec<u8>> = (0..count).map(|id| Chain::new(id).bytes()).collect();
    let sql = "INSERT INTO session SELECT v.id, 0, 0, clock_timestamp(), v.state
        FROM unnest($1::int8[], $2::bytea[]) v(id, state)";
    runtime.block_on(async {
        client.batch_execute(TABLES).await.map_err(failed)?;
        client.execute(sql, &[&ids, &states]).await.map(drop).map_err(failed)
    })
}

/// A session in hand.
struct Taken {
    id: i64,
    token: i64,
    sequence: i64,
    chain: Chain,
}

fn taken(row: &Row) -> Result<Taken> {
    let chain = postcard::from_bytes(row.get(3)).map_err(Failure::failed)?;
    Ok(Taken { id: row.get(0), token: row.get(1), sequence: row.get(2), chain })
}

/// A step of each, and one statement that stores them and their effects. How many it has stored.
async fn step<C: tokio_postgres::GenericClient>(
    client: &C,
    commit: &Statement,
    sessions: &mut [Taken],
) -> Result<u64> {
    let effects: Vec<String> = sessions.iter_mut().map(|one| one.chain.advance()).collect();
    let states: Vec<Vec<u8>> = sessions.iter().map(|one| one.chain.bytes()).collect();
    let ids: Vec<i64> = sessions.iter().map(|one| one.id).collect();
    let tokens: Vec<i64> = sessions.iter().map(|one| one.token).collect();
    let sequences: Vec<i64> = sessions.iter().map(|one| one.sequence).collect();
    let stored = client.query(commit, &[&ids, &tokens, &sequences, &states, &effects]).await;
    let stored = stored.map_err(failed)?.len() as u64;
    sessions.iter_mut().for_each(|one| one.sequence += 1);
    Ok(stored)
}

/// Leases some, makes steps of them in rounds, and leaves them.
fn work(address: &str, pace: Pace, begin: Begin<'_>, time: Duration) -> Result<u64> {
    let (runtime, client) = connect(address)?;
    runtime.block_on(async {
        let lease = client.prepare(LEASE).await.map_err(failed)?;
        let commit = client.prepare(COMMIT).await.map_err(failed)?;
        let commit_and_leave = client.prepare(COMMIT_AND_LEAVE).await.map_err(failed)?;
        begin()?;
        let (start, mut made) = (Instant::now(), 0);
        while start.elapsed() < time {
            let leased = client.query(&lease, &[&(pace.batch as i64)]).await.map_err(failed)?;
            let mut leased = leased.iter().map(taken).collect::<Result<Vec<_>>>()?;
            for round in 1..=pace.rounds {
                let is_last = round == pace.rounds || start.elapsed() >= time;
                let commit = if is_last { &commit_and_leave } else { &commit };
                made += step(&client, commit, &mut leased).await?;
                if is_last {
                    break;
                }
            }
        }
        Ok(made)
    })
}

/// Locks some that are due, makes a step of each, and stores them, in one transaction.
fn work_locked(address: &str, pace: Pace, begin: Begin<'_>, time: Duration) -> Result<u64> {
    let (runtime, mut client) = connect(address)?;
    runtime.block_on(async {
        let lock = client.prepare(LOCK).await.map_err(failed)?;
        let commit = client.prepare(COMMIT_AND_LEAVE).await.map_err(failed)?;
        begin()?;
        let (start, mut made) = (Instant::now(), 0);
        while start.elapsed() < time {
            let transaction = client.transaction().await.map_err(failed)?;
            let locked = transaction.query(&lock, &[&(pace.batch as i64)]).await.map_err(failed)?;
            let mut locked = locked.iter().map(taken).collect::<Result<Vec<_>>>()?;
            made += step(&transaction, &commit, &mut locked).await?;
            transaction.commit().await.map_err(failed)?;
        }
        Ok(made)
    })
}
