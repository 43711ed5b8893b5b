use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;

use leno::kernel::spawn_local;
use leno_samples::echo::echo;
use leno_samples::serve::{Limits, serve, stop};

use crate::support::{LONG, MS, connect, leaves_nothing, listener, reset};

#[test]
fn what_is_said_comes_back_and_who_goes_away_is_forgotten() {
    leaves_nothing(|| {
        let (listener, address) = listener();
        let (stop, stopped) = stop();
        let server = spawn_local(move || {
            serve(listener, &stopped, Limits::default(), |stream| drop(echo(&stream, LONG)))
        });
        let clients: Vec<_> = (0..40_usize)
            .map(|n| {
                spawn_local(move || {
                    let mut stream = connect(address);
                    let said = vec![n as u8; 1 + n * 1000];
                    stream.write_all(&said).unwrap();
                    if n % 4 == 0 {
                        return reset(stream);
                    }
                    stream.shutdown(Shutdown::Write).unwrap();
                    let mut heard = Vec::new();
                    stream.read_to_end(&mut heard).unwrap();
                    assert!(heard == said);
                })
            })
            .collect();
        clients.into_iter().for_each(|client| client.join().unwrap());
        drop(stop);
        assert!(server.join().unwrap());
    });
}

#[test]
fn the_silent_are_given_up() {
    leaves_nothing(|| {
        let (listener, address) = listener();
        let silent = connect(address);
        let (stream, _) = listener.accept().unwrap();
        assert_eq!(echo(&stream, 5 * MS).unwrap_err().kind(), ErrorKind::TimedOut);
        drop(silent);
    });
}
