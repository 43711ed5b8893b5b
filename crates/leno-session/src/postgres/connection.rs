//! Connections to a server, over leno's own sockets, without a runtime of tokio's.
//!
//! `tokio-postgres` wants its connection driven while an answer is awaited. Here whoever asks drives it: a connection is
//! used by one caller at a time, so nothing else needs to run it, and a thread and a coroutine can both ask.

use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Duration;

use leno_io::net::TcpStream;
use leno_io::time::timeout_async;
use leno_kernel::block_on;
use tokio_postgres::config::Host;
use tokio_postgres::tls::NoTlsStream;
use tokio_postgres::{AsyncMessage, Client, Config, Connection, NoTls, Statement};

use super::told;
use crate::error::StoreError;
use crate::store::Result;

/// For how long a host may take to let one in.
const PATIENCE: Duration = Duration::from_secs(5);

/// A client that is stopped, or cut off, must not keep its locks; and nobody waits for a lock for ever.
const LIMITS: &str = "SET idle_in_transaction_session_timeout = '3s'; SET lock_timeout = '10s'";

/// Plans are made once for each statement, not each time, which would take longer than the rest. They may be made while
/// tables are small and be used when they are large: so they go by index, whatever there is now.
const PLANS: &str = "
SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_bitmapscan = off;
SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off";

/// Plans as the server likes, until the end of a transaction.
pub(super) const FREELY: &str = "
SET LOCAL plan_cache_mode = auto; SET LOCAL enable_seqscan = on; SET LOCAL enable_bitmapscan = on;
SET LOCAL enable_hashjoin = on; SET LOCAL enable_mergejoin = on";

pub(super) struct Wire {
    pub(super) client: Client,
    connection: Connection<TcpStream, NoTlsStream>,
    /// By their text.
    statements: std::collections::HashMap<&'static str, Statement>,
    /// Whether something was heard by `LISTEN`.
    pub(super) has_heard: bool,
}

impl Wire {
    /// Connects to the first host that can be written to.
    pub(super) fn connect(config: &Config) -> Result<Wire> {
        let mut last = StoreError::Address("the address names no host".into());
        let ports = config.get_ports();
        for (n, host) in config.get_hosts().iter().enumerate() {
            let Host::Tcp(host) = host else { continue };
            let port = ports.get(n).or(ports.first()).copied().unwrap_or(5432);
            let connecting = timeout_async(PATIENCE, async {
                let stream = TcpStream::connect_async((host.as_str(), port)).await;
                let stream = stream.map_err(|error| StoreError::Unavailable(error.to_string()))?;
                let _not_important = stream.set_nodelay(true);
                config.connect_raw(stream, NoTls).await.map_err(|error| told(&error))
            });
            match block_on(connecting) {
                Ok(Ok((client, connection))) => {
                    let statements = std::collections::HashMap::new();
                    let mut wire = Wire { client, connection, statements, has_heard: false };
                    match wire.can_write() {
                        Ok(true) => return Ok(wire),
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
        self.drive(|client| client.batch_execute(LIMITS))?;
        self.drive(|client| client.batch_execute(PLANS))?;
        let row = self.ask("SELECT pg_is_in_recovery()", &[])?;
        Ok(row.first().is_some_and(|row| !row.get::<_, bool>(0)))
    }

    /// Waits for an answer, and drives the connection meanwhile.
    pub(super) fn drive<'c, T, F>(&'c mut self, ask: impl FnOnce(&'c Client) -> F) -> Result<T>
    where
        F: Future<Output = std::result::Result<T, tokio_postgres::Error>>,
    {
        let Wire { client, connection, has_heard, .. } = self;
        let mut answer = pin!(ask(client));
        block_on(poll_fn(|cx| {
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
        }))
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
