//! Where sessions are kept: a file, or a PostgreSQL server that is started when it is needed, both in folders of
//! their own among the temporary ones. Whoever wants a disk to be measured sets `TMPDIR` to a folder on it.

use std::cell::{Cell, RefCell};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::rows_postgres;
use crate::contender::Failure;

/// Makes empty databases.
pub enum Database {
    File,
    /// What became of starting it.
    Server(RefCell<Option<Result<Rc<Server>, Failure>>>),
}

/// One that is in use. It goes when this does.
pub struct Place {
    address: String,
    /// That of a file.
    folder: Option<Folder>,
}

impl Database {
    pub fn file() -> Database {
        Database::File
    }

    pub fn server() -> Database {
        Database::Server(RefCell::default())
    }

    /// How addresses of its places begin.
    pub fn scheme(&self) -> String {
        let name = if let Database::File = self { "sqlite" } else { "postgres" };
        name.into()
    }

    /// One without anything in it.
    pub fn empty(&self) -> Result<Place, Failure> {
        let Database::Server(server) = self else {
            let folder = Folder::new()?;
            let address = format!("sqlite:{}", folder.0.join("store").display());
            return Ok(Place { address, folder: Some(folder) });
        };
        let server =
            server.borrow_mut().get_or_insert_with(|| Server::start().map(Rc::new)).clone()?;
        let address = server.address();
        rows_postgres::clear(&address)?;
        Ok(Place { address, folder: None })
    }
}

impl Place {
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Another file with the same in it, on the disk.
    pub fn copied(&self) -> Result<Place, Failure> {
        let from = self.folder.as_ref().ok_or_else(|| Failure::failed("not a file"))?;
        let folder = Folder::new()?;
        for entry in std::fs::read_dir(&from.0).map_err(Failure::failed)? {
            let entry = entry.map_err(Failure::failed)?;
            let to = folder.0.join(entry.file_name());
            std::fs::copy(entry.path(), &to).map_err(Failure::failed)?;
            std::fs::File::open(&to).and_then(|file| file.sync_all()).map_err(Failure::failed)?;
        }
        let address = format!("sqlite:{}", folder.0.join("store").display());
        Ok(Place { address, folder: Some(folder) })
    }
}

/// The path in an address of a file.
pub fn path(address: &str) -> &str {
    address.trim_start_matches("sqlite:")
}

struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Folder, Failure> {
        thread_local!(static COUNT: Cell<u32> = const { Cell::new(0) });
        let n = COUNT.replace(COUNT.get() + 1);
        let name = format!("leno-bench-sessions-{}-{n}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).map_err(Failure::failed)?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// A server that synchronises every commit, on loopback.
pub struct Server {
    process: Child,
    port: u16,
    _folder: Folder,
}

impl Server {
    fn start() -> Result<Server, Failure> {
        let Some(programs) = programs() else {
            return Err(Failure::Skipped(
                "PostgreSQL not found: apt-get install postgresql".into(),
            ));
        };
        let folder = Folder::new()?;
        if is_root() {
            let owned = Command::new("chown").arg("postgres:postgres").arg(&folder.0).status();
            if !owned.map_err(Failure::failed)?.success() {
                return Err(Failure::failed("there is no user `postgres`"));
            }
        }
        let data = folder.0.join("data");
        let mut initdb = as_user(&programs.join("initdb"));
        initdb.args(["--auth=trust", "--username=leno", "--no-sync", "-D"]).arg(&data);
        if !initdb.status().map_err(Failure::failed)?.success() {
            return Err(Failure::failed("initdb fails"));
        }
        let free = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
        let port = free.map_err(Failure::failed)?.port();
        let mut postgres = as_user(&programs.join("postgres"));
        postgres.arg("-D").arg(&data).args(["-p", &port.to_string(), "-h", "127.0.0.1", "-k", ""]);
        let process = postgres.spawn().map_err(Failure::failed)?;
        let mut server = Server { process, port, _folder: folder };
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err()
            || rows_postgres::clear(&server.address()).is_err()
        {
            let has_ended = server.process.try_wait().map_err(Failure::failed)?.is_some();
            if has_ended || begun.elapsed() > Duration::from_secs(30) {
                return Err(Failure::failed("PostgreSQL does not start"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(server)
    }

    fn address(&self) -> String {
        format!("postgres://leno@127.0.0.1:{}/postgres", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // SIGQUIT ends it at once, with all its processes.
        let told = Command::new("kill").args(["-QUIT", &self.process.id().to_string()]).status();
        if !told.is_ok_and(|status| status.success()) {
            let _gone = self.process.kill();
        }
        let _gone = self.process.wait();
    }
}

/// A program of PostgreSQL, which refuses to run as root, and ends when this process does.
fn as_user(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    if is_root() {
        command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]);
    }
    command.args(["--pdeathsig", "QUIT"]).arg(program).current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Where Debian has the programs, or `pg_config` says.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    if let Ok(output) = Command::new("pg_config").arg("--bindir").output() {
        folders.push(String::from_utf8_lossy(&output.stdout).trim().into());
    }
    folders.into_iter().find(|folder| folder.join("initdb").is_file())
}

fn is_root() -> bool {
    std::fs::read_to_string("/proc/self/status")
        .is_ok_and(|status| status.lines().any(|line| line.starts_with("Uid:\t0\t")))
}
