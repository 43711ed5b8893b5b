//! Connections to a server, over leno's own sockets, without a runtime of tokio's.
//!
//! `tokio-postgres` wants its connection driven while an answer is awaited. Here whoever asks drives it: a connection is
//! used by one caller at a time, so nothing else needs to run it, and a thread and a coroutine can both ask.

use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Duration;

use leno_io::net::TcpStream;
use leno_io::time::timeout_async;
use leno_kernel::block_on;
use socket2::{SockRef, TcpKeepalive};
use tokio_postgres::config::Host;
use tokio_postgres::tls::NoTlsStream;
use tokio_postgres::{AsyncMessage, Client, Config, Connection, NoTls, Statement};

use super::{PostgresLimits, told};
use crate::error::StoreError;
use crate::store::Result;

/// How long a connection is idle before the system asks whether the other side is there, and how often it asks.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// A client that is stopped, or cut off, must not keep its locks; and nobody waits for a lock for ever.
const LIMITS: &str = "SET idle_in_transaction_session_timeout = '3s'; SET lock_timeout = '10s'";

/// Plans are made once for each statement, not each time, which would take longer than the rest. They may be made while
/// tables are small and be used when they are large: so they go by index, whatever there is now.
const PLANS: &str = "
SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_bitmapscan = off;
SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off";

const FREELY: &str = "
SET LOCAL plan_cache_mode = auto; SET LOCAL enable_seqscan = on; SET LOCAL enable_bitmapscan = on;
SET LOCAL enable_hashjoin = on; SET LOCAL enable_mergejoin = on";

pub(super) struct Wire {
    pub(super) client: Client,
    connection: Connection<TcpStream, NoTlsStream>,
    /// By their text.
    statements: std::collections::HashMap<&'static str, Statement>,
    /// Whether something was heard by `LISTEN`.
    pub(super) has_heard: bool,
    limits: PostgresLimits,
    /// For how long an answer is waited for now.
    limit: Duration,
}

impl Wire {
    /// Connects to the first host that can be written to.
    pub(super) fn connect(config: &Config, limits: &PostgresLimits) -> Result<Wire> {
        let mut last = StoreError::Address("the address names no host".into());
        let ports = config.get_ports();
        for (n, host) in config.get_hosts().iter().enumerate() {
            let Host::Tcp(host) = host else { continue };
            let port = ports.get(n).or(ports.first()).copied().unwrap_or(5432);
            let connecting = timeout_async(limits.connect, async {
                let stream = open(host, port, limits).await?;
                config.connect_raw(stream, NoTls).await.map_err(|error| told(&error))
            });
            match block_on(connecting) {
                Ok(Ok((client, connection))) => {
                    let statements = std::collections::HashMap::new();
                    let mut wire = Wire {
                        client,
                        connection,
                        statements,
                        has_heard: false,
                        limits: *limits,
                        limit: limits.connect,
                    };
                    match wire.can_write() {
                        Ok(true) => {
                            wire.limit = limits.statement;
                            return Ok(wire);
                        }
                        Ok(false) => {
                            last = StoreError::Unavailable(format!("{host}:{port} only reads"))
                        }
                        Err(error) => last = error,
                    }
                }
                Ok(Err(error)) => last = error,
                Err(_) => last = StoreError::Unavailable(format!("{host}:{port} does not answer")),
            }
        }
        Err(last)
    }

    /// Sets all that is to be set, and asks whether the server can be written to.
    fn can_write(&mut self) -> Result<bool> {
        let limits = format!("SET {}", statement_limit(self.limits.statement));
        self.drive(|client| async move { client.batch_execute(&limits).await })?;
        self.drive(|client| client.batch_execute(LIMITS))?;
        self.drive(|client| client.batch_execute(PLANS))?;
        let row = self.ask("SELECT pg_is_in_recovery()", &[])?;
        Ok(row.first().is_some_and(|row| !row.get::<_, bool>(0)))
    }

    /// Statements that go through whole tables.
    pub(super) fn scanning<T>(&mut self, work: impl FnOnce(&mut Wire) -> Result<T>) -> Result<T> {
        self.limit = self.limits.scan;
        // If it fails, the connection is not used again.
        let result = work(self)?;
        self.limit = self.limits.statement;
        Ok(result)
    }

    /// Plans as the server likes, and time to go through whole tables, until the end of a transaction.
    pub(super) fn freely(&mut self) -> Result<()> {
        let freely = format!("{FREELY}; SET LOCAL {}", statement_limit(self.limits.scan));
        self.drive(|client| async move { client.batch_execute(&freely).await })
    }

    /// Waits for an answer, and drives the connection meanwhile; if there is none in time, an error.
    pub(super) fn drive<'c, T, F>(&'c mut self, ask: impl FnOnce(&'c Client) -> F) -> Result<T>
    where
        F: Future<Output = std::result::Result<T, tokio_postgres::Error>>,
    {
        let Wire { client, connection, has_heard, limit, .. } = self;
        let mut answer = pin!(ask(client));
        let answered = poll_fn(|cx| {
            // Twice: what is asked for is sent at once, and what has come is understood at once.
            for _ in 0..2 {
                if let Poll::Ready(result) = answer.as_mut().poll(cx) {
                    return Poll::Ready(result.map_err(|error| told(&error)));
                }
                if let Err(error) = poll(connection, has_heard, cx) {
                    return Poll::Ready(Err(error));
                }
            }
            answer.as_mut().poll(cx).map_err(|error| told(&error))
        });
        block_on(timeout_async(*limit, answered)).unwrap_or_else(|_| {
            Err(StoreError::Unavailable(format!("the server has not answered within {limit:?}")))
        })
    }

    /// A statement that the server knows.
    pub(super) fn statement(&mut self, sql: &'static str) -> Result<Statement> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.drive(|client| client.prepare(sql))?;
        self.statements.insert(sql, statement.clone());
        Ok(statement)
    }

    /// Waits until something is heard, and for this long at most.
    pub(super) fn listen(&mut self, most: Duration) -> Result<()> {
        let Wire { connection, has_heard, .. } = self;
        let heard = poll_fn(|cx| match poll(connection, has_heard, cx) {
            Ok(()) if *has_heard => Poll::Ready(Ok(())),
            Ok(()) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        });
        let heard = block_on(timeout_async(most, heard));
        self.has_heard = false;
        heard.unwrap_or(Ok(()))
    }
}

/// A little less than the client's own, so that the server ends what nobody waits for.
fn statement_limit(limit: Duration) -> String {
    format!("statement_timeout = {}", (limit.as_millis() * 9 / 10).clamp(1, i32::MAX as u128))
}

/// A connection that does not outlive the other side. One that cannot be made so is not used.
async fn open(host: &str, port: u16, limits: &PostgresLimits) -> Result<TcpStream> {
    let unavailable = |error: io::Error| StoreError::Unavailable(error.to_string());
    let stream = TcpStream::connect_async((host, port)).await.map_err(unavailable)?;
    keep_alive(&stream, limits.statement).map_err(|error| {
        let why = format!("the connection to {host}:{port} cannot be kept alive: {error}");
        StoreError::Unavailable(why)
    })?;
    Ok(stream)
}

/// Lets the system find out that the other side is gone. A proxy that falls silent it does not find out about.
fn keep_alive(stream: &TcpStream, silent: Duration) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let socket = SockRef::from(stream);
    let ask =
        TcpKeepalive::new().with_time(KEEP_ALIVE).with_interval(KEEP_ALIVE / 3).with_retries(3);
    socket.set_tcp_keepalive(&ask)?;
    // Nothing would be the system's own limit, and it takes no more than this.
    let most = Duration::from_millis(i32::MAX as u64);
    socket.set_tcp_user_timeout(Some(silent.clamp(Duration::from_millis(1), most)))
}

fn poll(
    connection: &mut Connection<TcpStream, NoTlsStream>,
    has_heard: &mut bool,
    cx: &mut Context<'_>,
) -> Result<()> {
    loop {
        match connection.poll_message(cx) {
            Poll::Pending => return Ok(()),
            Poll::Ready(None) => {
                return Err(StoreError::Unavailable("the server has hung up".into()));
            }
            Poll::Ready(Some(Err(error))) => return Err(told(&error)),
            Poll::Ready(Some(Ok(AsyncMessage::Notification(_)))) => *has_heard = true,
            Poll::Ready(Some(Ok(_))) => {}
        }
    }
}

#[cfg(test)]
mod tests;
