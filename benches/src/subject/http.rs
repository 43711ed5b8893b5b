//! leno in the bench of HTTP servers.

use std::cell::RefCell;
use std::net::TcpListener;
use std::time::Duration;

use leno::io::net::TcpListener as Listener;
use leno::kernel::LocalSystem;
use leno_samples::http::{self, Limits};
use leno_samples::serve::stop;

use super::sockets::serve;
use crate::bench::http::{BODY, answer};
use crate::contender::{Contender, Failure};
use crate::serve::{Connections, Load, contender};

pub fn http(connections: Connections, load: Load) -> Vec<Contender> {
    vec![
        contender("leno", sample, connections, load),
        contender("leno plain", |listener, n| serve(listener, n, answer), connections, load),
    ]
}

/// The server among the samples, with its limits, until it is asked to stop.
fn sample(listener: TcpListener, _: usize) -> Result<(), Failure> {
    let listener = Listener::from_std(listener).map_err(Failure::failed)?;
    let (order, stopped) = stop();
    let order = RefCell::new(Some(order));
    let system = LocalSystem::new();
    let served = system.spawn(move || {
        let mut limits = Limits::default();
        limits.server.grace = Duration::from_secs(1);
        // All connections are of one client.
        limits.server.per_client = limits.server.connections;
        http::serve(listener, &stopped, &limits, |request, answer| {
            if request.head.target == "/stop" {
                drop(order.take());
            }
            answer.send(200, BODY)
        })
    });
    system.run().map_err(Failure::failed)?;
    served.join().map(drop).map_err(Failure::failed)
}
