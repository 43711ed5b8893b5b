//! Streams as tokio's, without and with a runtime of tokio's.

use crate::support::{listener, pair};
use leno_io::net::{TcpStream, UnixStream};
use leno_kernel::{LocalSystem, block_on};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

/// Something that is generic over tokio's traits, as clients of databases are.
async fn ask<S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin>(stream: S) -> String {
    let mut stream = BufReader::new(stream);
    stream.write_all(b"hello\n").await.unwrap();
    stream.flush().await.unwrap();
    let mut line = String::new();
    stream.read_line(&mut line).await.unwrap();
    stream.shutdown().await.unwrap();
    line
}

/// Sends back what comes, in parts.
async fn echo<S: tokio::io::AsyncRead + tokio::io::AsyncWrite>(stream: S) -> usize {
    let (mut from, mut to) = tokio::io::split(stream);
    let (mut buffer, mut sum) = ([0; 3], 0);
    loop {
        let count = from.read(&mut buffer).await.unwrap();
        if count == 0 {
            return sum;
        }
        let (first, rest) = buffer[..count].split_at(1);
        let parts = [std::io::IoSlice::new(first), std::io::IoSlice::new(rest)];
        let sent = to.write_vectored(&parts).await.unwrap();
        assert_eq!(sent, count);
        sum += count;
    }
}

#[test]
fn in_futures_of_a_core() {
    let (listener, address) = listener();
    let system = LocalSystem::new();
    let server =
        system.spawn_future(async move { echo(listener.accept_async().await.unwrap().0).await });
    let client = system
        .spawn_future(async move { ask(TcpStream::connect_async(address).await.unwrap()).await });
    system.run().unwrap();
    assert_eq!((server.join().unwrap(), client.join().unwrap()), (6, "hello\n".to_owned()));
}

#[test]
fn awaited_by_coroutines_and_threads() {
    let (near, far) = UnixStream::pair().unwrap();
    let system = LocalSystem::new();
    let server = system.spawn(move || block_on(echo(far)));
    let client = std::thread::spawn(move || block_on(ask(near)));
    system.run().unwrap();
    assert_eq!((server.join().unwrap(), client.join().unwrap()), (6, "hello\n".to_owned()));
}

#[test]
fn in_tasks_of_another_executor() {
    let (near, far) = pair();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let server = tokio::spawn(echo(far));
        assert_eq!(ask(near).await, "hello\n");
        assert_eq!(server.await.unwrap(), 6);
    });
}
