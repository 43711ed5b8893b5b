//! What `docs/compare.md` shows of leno's peers in Rust, run as it stands there.

#[test]
fn corosensei() {
    use corosensei::{Coroutine, CoroutineResult};

    let mut doubles = Coroutine::new(|yielder, mut input: u32| {
        for _ in 0..2 {
            input = yielder.suspend(input * 2);
        }
        input
    });
    assert_eq!(doubles.resume(1), CoroutineResult::Yield(2));
    assert_eq!(doubles.resume(5), CoroutineResult::Yield(10));
    assert_eq!(doubles.resume(7), CoroutineResult::Return(7));
}

#[test]
fn may() {
    use may::{go, sync::mpsc::channel};

    let (tx, rx) = channel();
    go!(move || (1..=4).for_each(|n| tx.send(n).unwrap()));
    let sum = go!(move || rx.iter().sum::<u32>());
    assert_eq!(sum.join().unwrap(), 10);
}

#[test]
fn tokio() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    async fn echo(mut stream: TcpStream) -> std::io::Result<()> {
        let mut text = String::new();
        stream.read_to_string(&mut text).await?;
        stream.write_all(text.to_uppercase().as_bytes()).await
    }

    let program = async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let server = tokio::spawn(async move {
            let (stream, _) = listener.accept().await?;
            echo(stream).await
        });
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(b"hello").await?;
        stream.shutdown().await?;
        let mut text = String::new();
        stream.read_to_string(&mut text).await?;
        server.await.expect("it does not panic")?;
        assert_eq!(text, "HELLO");
        Ok::<(), std::io::Error>(())
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    runtime.block_on(program).unwrap();
}

/// The page shows these very lines.
#[test]
fn the_page_shows_what_is_run_here() {
    let page = include_str!("../../docs/compare.md");
    let own = include_str!("compare.rs");
    let lines: Vec<&str> = own.lines().map(str::trim).collect();
    let mut shown = 0;
    for block in page.split("```rust,ignore\n").skip(1) {
        let block = block.split("```").next().unwrap_or_default();
        for line in block.lines().map(str::trim).filter(|line| !line.is_empty()) {
            assert!(lines.contains(&line), "{line}");
            shown += 1;
        }
    }
    assert!(shown > 20);
}
