//! PostgreSQL servers of a test's own, on loopback, in a folder of their own.

use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const INSTALL: &str = "apt-get install postgresql";

pub(crate) struct Server {
    programs: PathBuf,
    folder: PathBuf,
    pub(crate) port: u16,
    is_running: bool,
}

/// Where the programs are: found by `pg_config`, or where Debian has them.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    if let Ok(output) = Command::new("pg_config").arg("--bindir").output() {
        folders.push(String::from_utf8_lossy(&output.stdout).trim().into());
    }
    let has = |folder: &Path, program: &str| folder.join(program).is_file();
    folders.into_iter().find(|folder| has(folder, "initdb") && has(folder, "pg_ctl"))
}

fn is_root() -> bool {
    std::fs::read_to_string("/proc/self/status")
        .is_ok_and(|status| status.lines().any(|line| line.starts_with("Uid:\t0\t")))
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Server {
    /// A new server that synchronises every commit, or `None`, said aloud, where there is no PostgreSQL.
    pub(crate) fn start(name: &str) -> Option<Server> {
        let mut server = Server::prepare(name)?;
        let data = server.data();
        server.run("initdb", &["--auth=trust", "--username=leno", "--no-sync", "-D", &data]);
        server.launch();
        Some(server)
    }

    fn prepare(name: &str) -> Option<Server> {
        let Some(programs) = programs() else {
            // Not by `eprintln!`, which nobody would see.
            let mut seen = std::io::stderr();
            writeln!(seen, "skipped: there is no PostgreSQL; install it with: {INSTALL}").unwrap();
            return None;
        };
        let folder =
            std::env::temp_dir().join(format!("leno-session-{name}-{}", std::process::id()));
        let _none = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
        if is_root() {
            let owned = Command::new("chown").arg("postgres:postgres").arg(&folder).status();
            assert!(owned.unwrap().success());
        }
        Some(Server { programs, folder, port: free_port(), is_running: false })
    }

    fn data(&self) -> String {
        self.folder.join("data").display().to_string()
    }

    /// It refuses to run as root.
    fn try_run(&self, program: &str, arguments: &[&str]) -> bool {
        let program = self.programs.join(program);
        let mut command =
            Command::new(if is_root() { "setpriv".as_ref() } else { program.as_path() });
        if is_root() {
            command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(&program);
        }
        command.args(arguments).current_dir("/").stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(Stdio::null()).status().unwrap().success()
    }

    #[track_caller]
    fn run(&self, program: &str, arguments: &[&str]) {
        assert!(
            self.try_run(program, arguments),
            "{program} {arguments:?} fails; see {:?}",
            self.folder
        );
    }

    pub(crate) fn launch(&mut self) {
        let (data, log) = (self.data(), self.folder.join("log").display().to_string());
        let options = format!("-p {} -h 127.0.0.1 -k ''", self.port);
        // After a crash the port or the lock may still be taken for a moment.
        for _ in 0..20 {
            if self.try_run(
                "pg_ctl",
                &["-D", &data, "-l", &log, "-o", &options, "-w", "-t", "60", "start"],
            ) {
                self.is_running = true;
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
        panic!("the server does not start: {}", std::fs::read_to_string(log).unwrap_or_default());
    }

    /// As if the machine had lost its power, but for what the disk was told.
    pub(crate) fn crash(&mut self) {
        self.run("pg_ctl", &["-D", &self.data(), "-m", "immediate", "-w", "stop"]);
        self.is_running = false;
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://leno@127.0.0.1:{}/postgres", self.port)
    }

    /// A second server that follows this one, and for which this one waits at every commit.
    pub(crate) fn standby(&self) -> Server {
        let mut standby = Server::prepare("standby").unwrap();
        let (port, data) = (self.port.to_string(), standby.data());
        standby.run(
            "pg_basebackup",
            &[
                "-h",
                "127.0.0.1",
                "-p",
                &port,
                "-U",
                "leno",
                "-D",
                &data,
                "-R",
                "-X",
                "stream",
                "-c",
                "fast",
            ],
        );
        standby.launch();
        self.sql("ALTER SYSTEM SET synchronous_standby_names = '*'");
        self.sql("SELECT pg_reload_conf()");
        standby
    }

    pub(crate) fn promote(&self) {
        self.run("pg_ctl", &["-D", &self.data(), "-w", "promote"]);
        // Nobody follows it.
        self.sql("ALTER SYSTEM SET synchronous_standby_names = ''");
        self.sql("SELECT pg_reload_conf()");
    }

    pub(crate) fn sql(&self, sql: &str) {
        self.run("psql", &["-q", "-c", sql, &self.url()]);
    }

    /// From now on nobody is let into the database `app`.
    pub(crate) fn forbid_all(&self) {
        self.let_in("reject");
    }

    pub(crate) fn allow_all(&self) {
        self.let_in("trust");
    }

    fn let_in(&self, how: &str) {
        let rules = self.folder.join("data").join("pg_hba.conf");
        std::fs::write(
            rules,
            format!("host app all 127.0.0.1/32 {how}\nhost all all 127.0.0.1/32 trust\n"),
        )
        .unwrap();
        self.sql("SELECT pg_reload_conf()");
    }

    /// What the server says to this.
    pub(crate) fn tells(&self, sql: &str) -> String {
        let mut session = self.session();
        session.say(&format!("{sql};"));
        session.ends()
    }

    /// Someone who talks to the server by hand.
    pub(crate) fn session(&self) -> Psql {
        let mut command = Command::new(self.programs.join("psql"));
        command.args(["--no-psqlrc", &self.url()]).stdin(Stdio::piped()).stdout(Stdio::piped());
        Psql(command.stderr(Stdio::inherit()).spawn().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.is_running {
            self.try_run("pg_ctl", &["-D", &self.data(), "-m", "immediate", "stop"]);
        }
        let _gone = std::fs::remove_dir_all(&self.folder);
    }
}

/// A client that is told what to say.
pub(crate) struct Psql(std::process::Child);

impl Psql {
    pub(crate) fn say(&mut self, sql: &str) {
        self.0.stdin.as_mut().unwrap().write_all(format!("{sql}\n").as_bytes()).unwrap();
    }

    /// All that it was told. Notifications are told after a statement.
    pub(crate) fn ends(mut self) -> String {
        self.say("SELECT 1; SELECT 2;");
        drop(self.0.stdin.take());
        String::from_utf8(self.0.wait_with_output().unwrap().stdout).unwrap()
    }
}
