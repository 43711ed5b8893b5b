use std::cell::Cell;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::rc::Rc;

use leno::io::net::TcpStream;
use leno::io::time::sleep;
use leno::kernel::{JoinHandle, spawn_local};
use leno_samples::proxy::{Limits, Moved, proxy};
use leno_samples::serve::{self, Stop, stop};

use crate::http::bytes;
use crate::support::{LONG, MS, connect, leaves_nothing, listener, reset};

const PATIENT: Limits = Limits { connect: LONG, stall: LONG };

/// A proxy to a server; what became of the last connection.
struct Proxied {
    address: SocketAddr,
    last: Rc<Cell<Option<Result<Moved, ErrorKind>>>>,
    stop: Stop,
    ended: JoinHandle<bool>,
}

impl Proxied {
    fn new(server: SocketAddr, limits: Limits) -> Proxied {
        let (listener, address) = listener();
        let (stop, stopped) = stop();
        let last = Rc::new(Cell::new(None));
        let tells = last.clone();
        let ended = spawn_local(move || {
            serve::serve(listener, &stopped, serve::Limits::default(), |client| {
                let moved = proxy(&client, server, &limits);
                tells.set(Some(moved.map_err(|error| error.kind())));
            })
        });
        Proxied { address, last, stop, ended }
    }

    fn last(&self) -> Result<Moved, ErrorKind> {
        loop {
            if let Some(last) = self.last.take() {
                return last;
            }
            sleep(MS);
        }
    }

    fn stop(self) {
        drop(self.stop);
        assert!(self.ended.join().unwrap());
    }
}

/// Two streams with a proxy in between.
fn pair(limits: Limits) -> (Proxied, TcpStream, TcpStream) {
    let (listener, address) = listener();
    let proxied = Proxied::new(address, limits);
    let near = connect(proxied.address);
    let (far, _) = listener.accept().unwrap();
    (proxied, near, far)
}

#[test]
fn both_directions_at_once_and_half_closed() {
    leaves_nothing(|| {
        let (proxied, near, far) = pair(PATIENT);
        let said = bytes(2_000_000);
        let (near, far) = (Rc::new(near), Rc::new(far));
        let senders = [(near.clone(), said.clone()), (far.clone(), said[..1_000_000].to_vec())];
        let senders = senders.map(|(stream, said)| {
            spawn_local(move || {
                (&*stream).write_all(&said).unwrap();
                stream.shutdown(Shutdown::Write).unwrap();
            })
        });
        let (mut there, mut back) = (Vec::new(), Vec::new());
        (&*far).read_to_end(&mut there).unwrap();
        (&*near).read_to_end(&mut back).unwrap();
        senders.into_iter().for_each(|sender| sender.join().unwrap());
        assert!(there == said && back == said[..1_000_000]);
        assert_eq!(proxied.last(), Ok(Moved { there: 2_000_000, back: 1_000_000 }));
        proxied.stop();
    });
}

/// One may answer after the other has said that it will say no more.
#[test]
fn the_end_of_one_direction_is_not_the_end_of_the_other() {
    leaves_nothing(|| {
        let (proxied, mut near, mut far) = pair(PATIENT);
        near.write_all(b"question").unwrap();
        near.shutdown(Shutdown::Write).unwrap();
        let mut text = String::new();
        far.read_to_string(&mut text).unwrap();
        assert_eq!(text, "question");
        far.write_all(b"answer").unwrap();
        drop(far);
        text.clear();
        near.read_to_string(&mut text).unwrap();
        assert_eq!(text, "answer");
        assert_eq!(proxied.last(), Ok(Moved { there: 8, back: 6 }));
        proxied.stop();
    });
}

/// Nobody reads at the far end: the near one cannot send more than buffers hold; and then all comes.
#[test]
fn who_reads_slowly_slows_the_sender_down() {
    const MUCH: usize = 64 << 20;
    leaves_nothing(|| {
        let (proxied, near, mut far) = pair(PATIENT);
        let sent = Rc::new(Cell::new(0));
        let counts = sent.clone();
        let sender = spawn_local(move || {
            let part = vec![7; 1 << 16];
            while counts.get() < MUCH {
                (&near).write_all(&part).unwrap();
                counts.set(counts.get() + part.len());
            }
        });
        // It gets stuck.
        let mut before = usize::MAX;
        while sent.get() != before {
            before = sent.get();
            sleep(50 * MS);
        }
        assert!(before < MUCH, "{before} bytes are somewhere");
        let mut got = 0;
        let mut part = vec![0; 1 << 16];
        while let count @ 1.. = far.read(&mut part).unwrap() {
            got += count;
        }
        sender.join().unwrap();
        assert_eq!(got, MUCH);
        drop(far);
        assert_eq!(proxied.last(), Ok(Moved { there: MUCH as u64, back: 0 }));
        proxied.stop();
    });
}

#[test]
fn resets_stalls_and_servers_that_are_not_there() {
    leaves_nothing(|| {
        // Either side goes away in the middle; the other one learns of it.
        for near_resets in [true, false] {
            let (proxied, near, far) = pair(PATIENT);
            let (gone, mut left) = if near_resets { (near, far) } else { (far, near) };
            (&gone).write_all(&[1; 1000]).unwrap();
            left.read_exact(&mut [0; 1000]).unwrap();
            reset(gone);
            assert!(matches!(left.read(&mut [0; 10]), Ok(0) | Err(_)));
            assert!(proxied.last().is_err());
            proxied.stop();
        }
        // Someone takes nothing.
        let (proxied, near, far) = pair(Limits { stall: 30 * MS, ..PATIENT });
        let sender = spawn_local(move || while (&near).write_all(&[0; 4096]).is_ok() {});
        assert_eq!(proxied.last(), Err(ErrorKind::TimedOut));
        sender.join().unwrap();
        drop(far);
        proxied.stop();
        // There is no server. (A port that was free a moment ago might be the proxy's own by now.)
        let nobody = "127.0.0.1:1".parse().unwrap();
        let proxied = Proxied::new(nobody, PATIENT);
        let mut stream = connect(proxied.address);
        assert!(matches!(stream.read(&mut [0; 10]), Ok(0) | Err(_)));
        assert_eq!(proxied.last(), Err(ErrorKind::ConnectionRefused));
        proxied.stop();
    });
}
