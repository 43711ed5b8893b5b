//! An echo server: plain sequential code with `Read` and `Write`, one coroutine per connection, all on
//! one thread. A slow client keeps nobody else waiting, and a silent one is given up.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

use leno::io::net::{TcpListener, TcpStream};
use leno::io::time::sleep;
use leno::kernel::{LocalSystem, spawn_local};

fn serve(listener: &TcpListener) {
    for stream in listener.incoming() {
        match stream {
            Ok(stream) => drop(spawn_local(move || echo(&stream))),
            Err(error) => eprintln!("cannot accept: {error}"),
        }
    }
}

/// Anything that works with `Read` and `Write` works here, `io::copy` for one.
fn echo(mut stream: &TcpStream) -> io::Result<u64> {
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    let result = io::copy(&mut &*stream, &mut stream);
    if let Err(error) = &result {
        println!("server: {error}");
    }
    result
}

fn ask(address: SocketAddr, text: &str, pause: Duration) -> io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    let mut answer = vec![0; text.len()];
    for (n, byte) in text.bytes().enumerate() {
        stream.write_all(&[byte])?;
        stream.read_exact(&mut answer[n..=n])?;
        sleep(pause);
    }
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = LocalSystem::new();
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let server = system.spawn(move || serve(&listener));
    drop(system.spawn(move || {
        let slow = spawn_local(move || ask(address, "slowly", Duration::from_millis(5)));
        let quick = spawn_local(move || ask(address, "quickly", Duration::ZERO));
        println!("client: {}", quick.join().unwrap().unwrap());
        println!("client: {}", slow.join().unwrap().unwrap());
        let mut silent = TcpStream::connect(address).unwrap();
        assert_eq!(silent.read(&mut [0]).unwrap(), 0);
        server.cancel();
    }));
    let report = system.run()?;
    println!("{} coroutines, {} left", report.spawned, report.alive.len());
    Ok(())
}
