//! Two servers are asked the same, over sockets; the answer that comes first counts, and who asked the other
//! is told that nobody wants its answer. Which is first depends on the world: such a graph is not
//! deterministic, and says so by its type. On one thread, by an event loop, with real time.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::time::Duration;

use leno::graph::{Graph, Side};

/// A server that answers one request, when it is let.
fn server(answer: &'static str, may_answer: mpsc::Receiver<()>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        stream.read_exact(&mut [0; 3]).expect("a request");
        let _ = may_answer.recv();
        let _ = stream.write_all(answer.as_bytes());
    });
    address
}

fn ask(server: SocketAddr) -> String {
    let mut stream = TcpStream::connect(server).expect("it listens");
    stream.write_all(b"GET").expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

fn main() {
    let ((near, is_near), (far, is_far)) = (mpsc::channel(), mpsc::channel());
    let (near_server, far_server) = (server("near", is_near), server("far", is_far));

    let mut graph = Graph::nondeterministic().sequential();
    let mut asks = |name: &str, server| {
        let (tx, rx) = graph.named(name, 1);
        graph.free_node(format!("ask {name}"), tx, move |cx, tx| {
            // On a thread of its own; the other nodes go on meanwhile.
            let answer = cx.io(move || ask(server));
            tx.send(cx, answer);
        });
        rx
    };
    let (left, right) = (asks("far", far_server), asks("near", near_server));
    let first = graph.select(left, right);
    let (tx, ticks) = graph.channel(1);
    graph.free_node("clock", tx, |cx, tx| {
        cx.sleep(Duration::from_millis(20));
        tx.send(cx, ());
    });
    let run = graph.build().expect("it is right");

    // Both are asked at once; nobody has answered when the clock ticks.
    let (first, ticks) = (run.outlet(first), run.outlet(ticks));
    ticks.receive().expect("a tick");
    near.send(()).expect("it waits");
    match first.receive().expect("an answer") {
        Side::Left(answer) | Side::Right(answer) => println!("the first answer is from {answer}"),
    }
    println!("the other one is wanted no more: {}", first.cancel());
    far.send(()).expect("it waits");
    run.finish().expect("both have ended");
    for (channel, counters) in run.counters().iter().take(2) {
        println!("{channel}: {} sent", counters.sent);
    }
}
