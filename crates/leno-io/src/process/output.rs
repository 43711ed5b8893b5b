//! All that a child process writes.

use core::pin::{Pin, pin};
use core::task::{Context, Poll};
use std::io;
use std::process::Output;

use leno_kernel::{Time, try_block_on};

use super::child::Child;
use crate::time::within;

/// Reads all that it writes, both pipes at once: it may fill either while the other is read. Then
/// waits until it has ended.
pub(super) async fn gather(mut child: Child) -> io::Result<Output> {
    drop(child.stdin.take());
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let read_stdout = async {
        let mut all = Vec::new();
        if let Some(pipe) = &stdout {
            pipe.read_to_end_async(&mut all).await?;
        }
        Ok(all)
    };
    let read_stderr = async {
        let mut all = Vec::new();
        if let Some(pipe) = &stderr {
            pipe.read_to_end_async(&mut all).await?;
        }
        Ok(all)
    };
    let both = Both { futures: [Box::pin(read_stdout), Box::pin(read_stderr)], done: [None, None] };
    let [stdout, stderr] = both.await;
    let status = child.wait_async().await?;
    Ok(Output { status, stdout: stdout?, stderr: stderr? })
}

/// The same for those who can park or block. When the time is over the child is dropped.
#[track_caller]
pub(super) fn output_of(child: Child, deadline: Option<Time>) -> io::Result<Output> {
    let id = child.id();
    let what = format_args!("wait for process {id}");
    try_block_on(within(deadline, what, pin!(gather(child))))
        .unwrap_or_else(|exiting| Err(io::Error::other(exiting)))
}

type Reading<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<u8>>> + Send + 'a>>;

/// Two futures at once.
struct Both<'a> {
    futures: [Reading<'a>; 2],
    done: [Option<io::Result<Vec<u8>>>; 2],
}

impl Future for Both<'_> {
    type Output = [io::Result<Vec<u8>>; 2];

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Both { futures, done } = &mut *self;
        for (future, done) in futures.iter_mut().zip(done.iter_mut()) {
            if done.is_none()
                && let Poll::Ready(result) = future.as_mut().poll(context)
            {
                *done = Some(result);
            }
        }
        match done {
            [Some(_), Some(_)] => {
                Poll::Ready(done.each_mut().map(|done| done.take().expect("both are there")))
            }
            _ => Poll::Pending,
        }
    }
}
