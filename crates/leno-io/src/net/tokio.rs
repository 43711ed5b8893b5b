//! Streams as tokio's `AsyncRead` and `AsyncWrite`, so that clients which are generic over those can be
//! used over leno's sockets: `tokio_postgres::Config::connect_raw`, say. No runtime of tokio's is needed.
//!
//! Each direction may be polled by one task at a time, as tokio's own streams.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::io::{self, IoSlice};
use std::net::Shutdown;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{TcpStream, UnixStream};

macro_rules! tokio_stream {
    ($Stream:ident) => {
        impl AsyncRead for $Stream {
            fn poll_read(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                buffer: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                let count =
                    ready!($Stream::poll_read(&self, context, buffer.initialize_unfilled()))?;
                buffer.advance(count);
                Poll::Ready(Ok(()))
            }
        }

        impl AsyncWrite for $Stream {
            fn poll_write(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                bytes: &[u8],
            ) -> Poll<io::Result<usize>> {
                $Stream::poll_write(&self, context, bytes)
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                parts: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                $Stream::poll_write_vectored(&self, context, parts)
            }

            fn is_write_vectored(&self) -> bool {
                true
            }

            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(self.shutdown(Shutdown::Write))
            }
        }
    };
}

tokio_stream!(TcpStream);
tokio_stream!(UnixStream);
