//! An HTTP server: `http [ADDRESS]`, 127.0.0.1:8080 by default.
//!
//! ```console
//! $ curl http://127.0.0.1:8080/
//! $ curl --data-binary @README.md http://127.0.0.1:8080/upper
//! $ curl -N http://127.0.0.1:8080/count
//! ```

use std::io::{self, Read, Write};
use std::time::Duration;

use leno::io::net::TcpListener;
use leno::io::time::sleep;
use leno::kernel::LocalSystem;
use leno_samples::http::{Answer, Limits, Request, serve};
use leno_samples::serve::{stop, tell};

fn handle(request: &mut Request<'_>, answer: Answer<'_>) -> io::Result<()> {
    let answer = answer.header("content-type", "text/plain; charset=utf-8");
    match (request.head.method.as_str(), request.head.target.as_str()) {
        ("GET" | "HEAD", "/") => answer.send(200, "hello\n"),
        // Bit by bit: as fast as the client sends and takes it.
        ("POST", "/upper") => {
            let mut out = answer.start(200)?;
            let mut part = [0; 4096];
            while let count @ 1.. = request.body.read(&mut part)? {
                out.write_all(&part[..count].to_ascii_uppercase())?;
            }
            out.finish()
        }
        // A request that takes its time costs a stack, and nobody else any time.
        ("GET", "/count") => {
            let mut out = answer.start(200)?;
            for number in (0..=10).rev() {
                writeln!(out, "{number}")?;
                out.flush()?;
                sleep(Duration::from_millis(500));
            }
            out.finish()
        }
        ("GET" | "HEAD", target) => answer.send(404, format!("there is no {target}\n")),
        (method, _) => answer.send(405, format!("{method} is not for this\n")),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or("127.0.0.1:8080".into());
    let listener = TcpListener::bind(address)?;
    tell(format_args!("listening at http://{}", listener.local_addr()?));
    let (stop, stopped) = stop();
    let system = LocalSystem::new();
    drop(system.spawn(move || stop.on_signal()));
    drop(system.spawn(move || serve(listener, &stopped, &Limits::default(), handle)));
    system.run()?;
    Ok(())
}
