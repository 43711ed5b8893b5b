//! How a server ends while connections are open.

use std::io::{ErrorKind, Read, Write};
use std::rc::Rc;

use leno::channel::{bounded, never};
use leno::io::net::TcpStream;
use leno::kernel::spawn_local;
use leno_samples::http::{Client, Limits};

use crate::http::{Server, hear, patient};
use crate::support::{MS, connect, leaves_nothing};

/// Those who are idle are sent away, whoever has asked gets an answer, and nobody else comes in.
#[test]
fn requests_that_have_begun_are_answered() {
    leaves_nothing(|| {
        let (go_on, may_go_on) = bounded::<()>(0);
        let (begun, has_begun) = bounded::<()>(0);
        let server = Server::with(patient(), move |request, answer| {
            if request.head.target == "/slow" {
                begun.send(()).unwrap();
                may_go_on.recv().unwrap();
            }
            answer.send(200, "done")
        });
        let address = server.address;
        let mut idle = Client::connect(address).unwrap();
        idle.get("/").unwrap().body.read_to_end(&mut Vec::new()).unwrap();
        let mut half = connect(address);
        half.write_all(b"GET / HT").unwrap();
        let mut slow = connect(address);
        slow.write_all(b"GET /slow HTTP/1.1\r\n\r\n").unwrap();
        has_begun.recv().unwrap();
        let Server { stop, ended, .. } = server;
        drop(stop);
        let error = idle.get("/").err().map(|error| error.kind());
        let expected =
            [ErrorKind::UnexpectedEof, ErrorKind::ConnectionReset, ErrorKind::BrokenPipe];
        assert!(error.is_some_and(|kind| expected.contains(&kind)), "{error:?}");
        assert_eq!(TcpStream::connect(address).unwrap_err().kind(), ErrorKind::ConnectionRefused);
        half.write_all(b"TP/1.1\r\n\r\n").unwrap();
        assert!(hear(&mut half).ends_with("done"));
        assert!(!ended.is_finished());
        go_on.send(()).unwrap();
        let heard = hear(&mut slow);
        assert!(heard.contains("connection: close") && heard.ends_with("done"), "{heard}");
        assert!(ended.join().unwrap(), "all have ended by themselves");
    });
}

/// Handlers that would never end are ended when the grace is over, and their destructors run.
#[test]
fn who_goes_on_for_too_long_is_ended() {
    leaves_nothing(|| {
        let mut limits = Limits { ..patient() };
        limits.server.grace = 20 * MS;
        let alive = Rc::new(());
        let (begun, has_begun) = bounded::<()>(10);
        let held = alive.clone();
        let server = Server::with(limits, move |_, answer| {
            let _held = held.clone();
            begun.send(()).unwrap();
            never().recv().unwrap();
            answer.send(200, "too late")
        });
        let clients: Vec<_> = (0..10)
            .map(|_| {
                let mut stream = connect(server.address);
                stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
                spawn_local(move || {
                    let read = stream.read(&mut [0; 10]);
                    assert!(matches!(read, Ok(0) | Err(_)), "{read:?}");
                })
            })
            .collect();
        (0..10).for_each(|_| has_begun.recv().unwrap());
        assert!(!server.stop(), "some had to be ended");
        clients.into_iter().for_each(|client| client.join().unwrap());
        assert_eq!(Rc::strong_count(&alive), 1);
    });
}
