use std::os::unix::net::UnixStream;
use std::sync::mpsc::channel;

use super::*;
use crate::io::Interest;

#[test]
#[cfg_attr(miri, ignore = "waits for descriptors")]
fn nobody_sleeps_while_something_is_left_to_serve() {
    let (tell, told) = channel();
    std::thread::spawn(move || {
        let reactor = Reactor::new().unwrap().0;
        let (near, _far) = UnixStream::pair().unwrap();
        let watched = Registered::new();
        reactor.add(near.as_fd(), watched.clone()).unwrap();
        reactor.sleep(None);
        // As after a panic of `serve`: the system has told of it, and will not do so again.
        reactor.sleep(None);
        reactor.serve();
        let _ = tell.send(watched.beacon.seen().flags.has(Interest::WRITE.flags()));
    });
    assert_eq!(told.recv_timeout(Duration::from_secs(20)), Ok(true));
}
