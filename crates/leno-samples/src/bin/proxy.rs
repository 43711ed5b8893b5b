//! A TCP proxy: `proxy ADDRESS SERVER`; say, `proxy 127.0.0.1:8081 127.0.0.1:8080`.

use leno::io::net::{TcpListener, resolve};
use leno::kernel::LocalSystem;
use leno_samples::proxy::{Limits, proxy};
use leno_samples::serve::{self, serve, stop, tell};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(address), Some(server)) = (arguments.next(), arguments.next()) else {
        return Err("usage: proxy ADDRESS SERVER".into());
    };
    let listener = TcpListener::bind(address)?;
    let server = resolve(server)?.into_iter().next().ok_or("the server has no address")?;
    tell(format_args!("from {} to {server}", listener.local_addr()?));
    let (stop, stopped) = stop();
    let system = LocalSystem::new();
    drop(system.spawn(move || stop.on_signal()));
    drop(system.spawn(move || {
        serve(listener, &stopped, serve::Limits::default(), |client| {
            match proxy(&client, server, &Limits::default()) {
                Ok(moved) => tell(format_args!("{} bytes there, {} back", moved.there, moved.back)),
                Err(error) => tell(format_args!("{error}")),
            }
        })
    }));
    system.run()?;
    Ok(())
}
