//! Downloads over plain HTTP: `download URL..`, four at a time, into the current folder. Without arguments it
//! shows itself: it serves what it downloads, slowly, and throws it away.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use leno::channel::bounded;
use leno::io::fs::{File, OpenOptions};
use leno::io::net::{TcpListener, resolve};
use leno::io::time::sleep;
use leno::kernel::{LocalSystem, scope, spawn_local};
use leno_samples::download::{Job, download, show};
use leno_samples::http::{self, Answer, Limits, Request};
use leno_samples::serve::stop;

const AT_ONCE: usize = 4;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let jobs = std::env::args().skip(1).map(|url| job(&url)).collect::<io::Result<Vec<_>>>()?;
    let system = LocalSystem::new();
    drop(system.spawn(move || match jobs.is_empty() {
        true => show_itself(),
        false => download_all(&jobs, create),
    }));
    system.run()?;
    Ok(())
}

/// What a URL means.
fn job(url: &str) -> io::Result<Job> {
    let rest = url.strip_prefix("http://").ok_or_else(|| io::Error::other("http:// only"))?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let server = if host.contains(':') { resolve(host)? } else { resolve((host, 80))? };
    let server = server.first().ok_or_else(|| io::Error::other("the host has no address"))?;
    Ok(Job { server: *server, target: format!("/{path}") })
}

/// The bar, and who makes it grow.
fn download_all<W: Write>(jobs: &[Job], open: impl Fn(&Job) -> io::Result<W>) {
    let results = scope(|scope| {
        let (news, heard) = bounded(16);
        scope.spawn(move || show(jobs.len() as u64, &heard, &mut io::stderr()));
        download(jobs, AT_ONCE, open, &news)
    });
    for (job, result) in jobs.iter().zip(results) {
        match result {
            Ok(length) => println!("{}: {length} bytes", job.target),
            Err(error) => println!("{}: {error}", job.target),
        }
    }
}

/// A new file, named as what is downloaded; one that is there is left alone.
fn create(job: &Job) -> io::Result<File> {
    let path = job.target.split('?').next().unwrap_or_default();
    let name = Path::new(path).file_name().unwrap_or("index.html".as_ref());
    OpenOptions::new().write(true).create_new(true).open(name)
}

fn show_itself() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback is there");
    let server = listener.local_addr().expect("it listens");
    let (stop, stopped) = stop();
    let serving = spawn_local(move || http::serve(listener, &stopped, &Limits::default(), slowly));
    let jobs: Vec<_> = (1..=12).map(|n| numbered(server, n)).collect();
    download_all(&jobs, |_| Ok(io::sink()));
    drop(stop);
    serving.join().expect("a server that does not panic");
}

fn numbered(server: SocketAddr, number: usize) -> Job {
    Job { server, target: format!("/{}", number * 100_000) }
}

/// As many bytes as the path says, 100 KB a tenth of a second.
fn slowly(request: &mut Request<'_>, answer: Answer<'_>) -> io::Result<()> {
    let Ok(length) = request.head.target[1..].parse() else { return answer.send(404, "") };
    let mut out = answer.start_sized(200, length as u64)?;
    for part in vec![0; length].chunks(10_000) {
        out.write_all(part)?;
        out.flush()?;
        sleep(Duration::from_millis(10));
    }
    out.finish()
}
