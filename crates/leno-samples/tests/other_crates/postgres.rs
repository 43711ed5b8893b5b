//! `tokio-postgres` without a runtime of tokio's: its connection is a future of the core, and coroutines
//! await its answers with `block_on`.
//!
//! It needs a server: the one that `LENO_POSTGRES_URL` names, or else one that the test starts for itself,
//! if the machine has PostgreSQL. Otherwise the test says so and passes.

use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use leno::io::net::{TcpStream, UnixStream};
use leno::kernel::{LocalSystem, block_on, scope, spawn_local_future};
use tokio_postgres::config::Host;
use tokio_postgres::{Client, Config, NoTls};

const INSTALL: &str = "apt-get install postgresql";

/// A server of the test's own, in a folder of its own, on loopback.
struct Server {
    process: Child,
    folder: PathBuf,
    url: String,
}

impl Server {
    /// `None` if there is no PostgreSQL.
    fn start() -> Option<Server> {
        let programs = programs()?;
        let folder = std::env::temp_dir().join(format!("leno-postgres-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let data = folder.join("data");
        // It refuses to run as root.
        let is_root = std::fs::read_to_string("/proc/self/status")
            .is_ok_and(|status| status.lines().any(|line| line.starts_with("Uid:\t0\t")));
        let command = |program: &str| {
            let program = programs.join(program);
            let mut command =
                Command::new(if is_root { "setpriv".as_ref() } else { program.as_path() });
            if is_root {
                command
                    .args(["--reuid=postgres", "--regid=postgres", "--clear-groups"])
                    .arg(program);
            }
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::inherit());
            command.current_dir("/");
            command
        };
        if is_root {
            let owned = Command::new("chown").arg("postgres:postgres").arg(&folder).status();
            assert!(owned.unwrap().success());
        }
        let mut init = command("initdb");
        init.args(["--auth=trust", "--username=leno", "--no-sync", "-D"]).arg(&data);
        assert!(init.status().unwrap().success(), "initdb fails");
        // Free now, and not likely to be taken by the time the server wants it.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut postgres = command("postgres");
        postgres.args(["-p", &port.to_string(), "-h", "127.0.0.1", "-F", "-k"]).arg(&folder);
        postgres.args(["-c", "log_min_messages=panic"]).arg("-D").arg(&data);
        let process = postgres.spawn().unwrap();
        let url = format!("postgres://leno@127.0.0.1:{port}/postgres");
        Some(Server { process, folder, url })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // SIGINT: it ends at once, and its children with it.
        let pid = self.process.id().to_string();
        let _gone = Command::new("kill").args(["-INT", &pid]).status();
        let _gone = self.process.wait();
        let _gone = std::fs::remove_dir_all(&self.folder);
    }
}

/// Where `initdb` and `postgres` are: found by `pg_config`, or where Debian has them.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    if let Ok(output) = Command::new("pg_config").arg("--bindir").output() {
        folders.push(String::from_utf8_lossy(&output.stdout).trim().into());
    }
    let has = |folder: &Path, program: &str| folder.join(program).is_file();
    folders.into_iter().find(|folder| has(folder, "initdb") && has(folder, "postgres"))
}

/// A client. What drives its connection is a future of the same core, and ends with the client.
async fn connect(config: &Config) -> Result<Client, Box<dyn std::error::Error>> {
    let port = config.get_ports().first().copied().unwrap_or(5432);
    match config.get_hosts().first() {
        Some(Host::Tcp(host)) => {
            let stream = TcpStream::connect_async((host.as_str(), port)).await?;
            let (client, connection) = config.connect_raw(stream, NoTls).await?;
            drop(spawn_local_future(connection));
            Ok(client)
        }
        Some(Host::Unix(folder)) => {
            let stream = UnixStream::connect_async(folder.join(format!(".s.PGSQL.{port}"))).await?;
            let (client, connection) = config.connect_raw(stream, NoTls).await?;
            drop(spawn_local_future(connection));
            Ok(client)
        }
        None => Err("the URL names no host".into()),
    }
}

/// The server may still be about to start.
fn connect_patiently(config: &Config) -> Client {
    let begun = Instant::now();
    loop {
        match block_on(connect(config)) {
            Ok(client) => return client,
            Err(error) if begun.elapsed() > Duration::from_secs(60) => panic!("{error}"),
            Err(_) => leno::io::time::sleep(Duration::from_millis(50)),
        }
    }
}

/// Eight coroutines share one client; each asks as if it were alone.
fn talk(config: &Config) {
    let client = connect_patiently(config);
    let create = "CREATE TEMPORARY TABLE numbers (n BIGINT, text TEXT)";
    block_on(client.batch_execute(create)).unwrap();
    scope(|scope| {
        for worker in 0..8_i64 {
            let client = &client;
            scope.spawn(move || {
                let insert =
                    block_on(client.prepare("INSERT INTO numbers VALUES ($1, $2)")).unwrap();
                for n in 0..25 {
                    let (n, text) = (worker * 25 + n, "x".repeat(n as usize * 100));
                    block_on(client.execute(&insert, &[&n, &text])).unwrap();
                }
            });
        }
    });
    let select = "SELECT count(*), sum(n)::BIGINT, sum(length(text)) FROM numbers";
    let row = block_on(client.query_one(select, &[])).unwrap();
    let sums: (i64, i64, i64) = (row.get(0), row.get(1), row.get(2));
    assert_eq!(sums, (200, 199 * 100, 8 * 300 * 100));
    let error = block_on(client.query("SELECT 1 / 0", &[])).unwrap_err();
    assert!(error.to_string().contains("division by zero") || error.as_db_error().is_some());
}

#[test]
fn a_client_over_leno_sockets() {
    let _alone = crate::support::alone();
    let server;
    let url = match std::env::var("LENO_POSTGRES_URL") {
        Ok(url) => url,
        Err(_) => {
            server = Server::start();
            let Some(server) = &server else {
                // Not by `eprintln!`, which nobody would see.
                writeln!(
                    std::io::stderr(),
                    "skipped: there is no PostgreSQL; install it with: {INSTALL}"
                )
                .unwrap();
                return;
            };
            server.url.clone()
        }
    };
    let config: Config = url.parse().unwrap();
    let system = LocalSystem::new();
    let talked = system.spawn(move || talk(&config));
    let report = system.run().unwrap();
    talked.join().unwrap();
    assert_eq!((report.panicked, report.alive.len()), (0, 0), "{report:?}");
    println!("a client over leno's sockets has talked to PostgreSQL at {url}");
}
