//! A chat server: `chat [ADDRESS]`, 127.0.0.1:7000 by default. Talk with `nc 127.0.0.1 7000`.

use leno::io::net::TcpListener;
use leno::kernel::LocalSystem;
use leno_samples::chat::{Limits, chat};
use leno_samples::serve::{stop, tell};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or("127.0.0.1:7000".into());
    let listener = TcpListener::bind(address)?;
    tell(format_args!("listening at {}", listener.local_addr()?));
    let (stop, stopped) = stop();
    let system = LocalSystem::new();
    drop(system.spawn(move || stop.on_signal()));
    drop(system.spawn(move || chat(listener, &stopped, &Limits::default())));
    system.run()?;
    Ok(())
}
