//! What all byte streams have.

/// Gives a stream what all have.
macro_rules! byte_stream {
    ($Stream:ident of $Std:ty) => {
        $crate::net::methods::two_way!($Stream of $Std);

        impl $Stream {
            /// As [`Read::read`](std::io::Read::read), for a future on any executor.
            ///
            /// # Cancellation
            /// A future that is dropped has read nothing.
            ///
            /// # Errors
            /// As of `read`, limits included.
            pub async fn read_async(&self, buffer: &mut [u8]) -> io::Result<usize> {
                let inner = &self.shared.inner;
                let read = inner.io_async(Interest::READ, || inner.read(buffer));
                within(self.shared.limits.read.deadline(), "read", read).await
            }

            /// Reads until the buffer is full, for a future on any executor.
            ///
            /// # Cancellation
            /// Of a future that is dropped, what it had read is in the buffer, and how much is not
            /// known.
            ///
            /// # Errors
            /// [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) if the stream ends before; else as
            /// [`Self::read_async`].
            pub async fn read_exact_async(&self, mut buffer: &mut [u8]) -> io::Result<()> {
                while !buffer.is_empty() {
                    match self.read_async(buffer).await? {
                        0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                        count => buffer = &mut buffer[count..],
                    }
                }
                Ok(())
            }

            /// As [`Read::read_to_end`](std::io::Read::read_to_end), for a future. A limit holds for each
            /// wait, none for the whole: the peer decides how much comes, and for how long.
            ///
            /// # Cancellation
            /// Of a future that is dropped, what it had read is in `all`.
            ///
            /// # Errors
            /// As [`Self::read_async`]; what was read before is in `all`.
            pub async fn read_to_end_async(&self, all: &mut Vec<u8>) -> io::Result<usize> {
                let before = all.len();
                let mut piece = vec![0; 1 << 14];
                loop {
                    match self.read_async(&mut piece).await? {
                        0 => return Ok(all.len() - before),
                        count => all.extend_from_slice(&piece[..count]),
                    }
                }
            }

            /// As [`Read::read_to_string`](std::io::Read::read_to_string), for a future.
            ///
            /// # Errors
            /// [`InvalidData`](io::ErrorKind::InvalidData) if what comes is no text, which is lost then; else
            /// as [`Self::read_async`].
            pub async fn read_to_string_async(&self, all: &mut String) -> io::Result<usize> {
                let mut bytes = Vec::new();
                self.read_to_end_async(&mut bytes).await?;
                $crate::text::append(all, bytes)
            }

            /// As [`Read::read_vectored`](std::io::Read::read_vectored), for a future.
            ///
            /// # Errors
            /// As [`Self::read_async`].
            pub async fn read_vectored_async(
                &self,
                buffers: &mut [IoSliceMut<'_>],
            ) -> io::Result<usize> {
                let inner = &self.shared.inner;
                let read = inner.io_async(Interest::READ, || inner.read_vectored(buffers));
                within(self.shared.limits.read.deadline(), "read", read).await
            }

            /// As [`Write::write`](std::io::Write::write), for a future on any executor.
            ///
            /// # Cancellation
            /// A future that is dropped has written nothing.
            ///
            /// # Errors
            /// As of `write`, limits included.
            pub async fn write_async(&self, bytes: &[u8]) -> io::Result<usize> {
                let inner = &self.shared.inner;
                let write = inner.io_async(Interest::WRITE, || inner.write(bytes));
                within(self.shared.limits.write.deadline(), "write", write).await
            }

            /// Writes all of it, for a future on any executor. A limit holds for each wait.
            ///
            /// # Cancellation
            /// Of a future that is dropped, a part may be written.
            ///
            /// # Errors
            /// [`WriteZero`](io::ErrorKind::WriteZero) if nothing more is taken; else as
            /// [`Self::write_async`].
            pub async fn write_all_async(&self, mut bytes: &[u8]) -> io::Result<()> {
                while !bytes.is_empty() {
                    match self.write_async(bytes).await? {
                        0 => return Err(io::ErrorKind::WriteZero.into()),
                        count => bytes = &bytes[count..],
                    }
                }
                Ok(())
            }

            /// As [`Write::write_vectored`](std::io::Write::write_vectored), for a future.
            ///
            /// # Errors
            /// As [`Self::write_async`].
            pub async fn write_vectored_async(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
                let inner = &self.shared.inner;
                let write = inner.io_async(Interest::WRITE, || inner.write_vectored(parts));
                within(self.shared.limits.write.deadline(), "write", write).await
            }

            /// Reads what is there, without waiting.
            ///
            /// # Errors
            /// [`WouldBlock`](io::ErrorKind::WouldBlock) if nothing is.
            pub fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
                let inner = &self.shared.inner;
                inner.try_io(Interest::READ, || inner.read(buffer))
            }

            /// Writes what there is room for, without waiting.
            ///
            /// # Errors
            /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is none.
            pub fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
                let inner = &self.shared.inner;
                inner.try_io(Interest::WRITE, || inner.write(bytes))
            }

            /// Reads, for a hand-written future. The waker is kept until there is something, or the
            /// stream is dropped; limits do not hold.
            ///
            /// # Errors
            /// As of `read`.
            pub fn poll_read(
                &self,
                context: &mut Context<'_>,
                buffer: &mut [u8],
            ) -> Poll<io::Result<usize>> {
                let inner = &self.shared.inner;
                inner.poll_io(context, Interest::READ, || inner.read(buffer))
            }

            /// Writes, for a hand-written future; as [`Self::poll_read`].
            ///
            /// # Errors
            /// As of `write`.
            pub fn poll_write(
                &self,
                context: &mut Context<'_>,
                bytes: &[u8],
            ) -> Poll<io::Result<usize>> {
                let inner = &self.shared.inner;
                inner.poll_io(context, Interest::WRITE, || inner.write(bytes))
            }

            /// Writes several parts, for a hand-written future; as [`Self::poll_read`].
            ///
            /// # Errors
            /// As of `write_vectored`.
            pub fn poll_write_vectored(
                &self,
                context: &mut Context<'_>,
                parts: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                let inner = &self.shared.inner;
                inner.poll_io(context, Interest::WRITE, || inner.write_vectored(parts))
            }

            /// Closes one direction, or both: the peer reads the end, or can write no more. Whoever
            /// waits to read here reads the end.
            ///
            /// # Errors
            /// When the system refuses: the stream is not connected.
            pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
                self.shared.inner.shutdown(how)
            }
        }

        /// Waits as [`net`](crate::net) describes.
        impl io::Read for $Stream {
            #[track_caller]
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                (&*self).read(buffer)
            }

            #[track_caller]
            fn read_vectored(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
                (&*self).read_vectored(buffers)
            }
        }

        /// Waits as [`net`](crate::net) describes.
        impl io::Read for &$Stream {
            #[track_caller]
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let Shared { inner, limits } = &*self.shared;
                inner.io(Interest::READ, limits.read.deadline(), || inner.read(buffer))
            }

            #[track_caller]
            fn read_vectored(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
                let Shared { inner, limits } = &*self.shared;
                let deadline = limits.read.deadline();
                inner.io(Interest::READ, deadline, || inner.read_vectored(buffers))
            }
        }

        /// Waits as [`net`](crate::net) describes. Nothing is buffered, so a flush does nothing.
        impl io::Write for $Stream {
            #[track_caller]
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                (&*self).write(bytes)
            }

            #[track_caller]
            fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
                (&*self).write_vectored(parts)
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }

        /// Waits as [`net`](crate::net) describes. Nothing is buffered, so a flush does nothing.
        impl io::Write for &$Stream {
            #[track_caller]
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                let Shared { inner, limits } = &*self.shared;
                inner.io(Interest::WRITE, limits.write.deadline(), || inner.write(bytes))
            }

            #[track_caller]
            fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
                let Shared { inner, limits } = &*self.shared;
                let deadline = limits.write.deadline();
                inner.io(Interest::WRITE, deadline, || inner.write_vectored(parts))
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
    };
}

pub(in crate::net) use byte_stream;
