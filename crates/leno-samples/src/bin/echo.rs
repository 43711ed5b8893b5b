//! An echo server: `echo [ADDRESS]`, 127.0.0.1:7777 by default.

use std::time::Duration;

use leno::io::net::TcpListener;
use leno::kernel::LocalSystem;
use leno_samples::echo::echo;
use leno_samples::serve::{Limits, serve, stop, tell};

const IDLE: Duration = Duration::from_secs(60);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or("127.0.0.1:7777".into());
    let listener = TcpListener::bind(address)?;
    tell(format_args!("listening at {}", listener.local_addr()?));
    let (stop, stopped) = stop();
    let system = LocalSystem::new();
    drop(system.spawn(move || stop.on_signal()));
    drop(system.spawn(move || {
        serve(listener, &stopped, Limits::default(), |stream| match echo(&stream, IDLE) {
            Ok(count) => tell(format_args!("{count} bytes")),
            Err(error) => tell(format_args!("{error}")),
        })
    }));
    system.run()?;
    Ok(())
}
