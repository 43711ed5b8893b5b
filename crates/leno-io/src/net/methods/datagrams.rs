//! What all sockets of datagrams have.

/// Gives a socket of datagrams what all have; `Address` is where datagrams come from.
macro_rules! datagrams {
    ($Socket:ident of $Std:ty, from $Address:ty) => {
        $crate::net::methods::two_way!($Socket of $Std);

        impl $Socket {
            /// Receives a datagram, of at most the buffer's size; the rest of a longer one is lost.
            ///
            /// # Blocking
            /// Parks the calling coroutine, or blocks the calling thread; a future uses
            /// [`Self::recv_from_async`].
            ///
            /// # Cancellation
            /// When the calling coroutine is to exit, its stack unwinds; nothing was received.
            ///
            /// # Errors
            /// [`TimedOut`](io::ErrorKind::TimedOut) when the limit is over; else what the system
            /// says.
            ///
            /// # Panics
            /// Inside a future that a core polls, if it has to wait.
            #[track_caller]
            pub fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, $Address)> {
                let Shared { inner, limits } = &*self.shared;
                inner.io(Interest::READ, limits.read.deadline(), || inner.recv_from(buffer))
            }

            /// The same; from whom it came is not told.
            ///
            /// # Errors
            /// As [`Self::recv_from`].
            ///
            /// # Panics
            /// As [`Self::recv_from`].
            #[track_caller]
            pub fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
                let Shared { inner, limits } = &*self.shared;
                inner.io(Interest::READ, limits.read.deadline(), || inner.recv(buffer))
            }

            /// Sends a datagram to where the socket is connected.
            ///
            /// # Blocking
            /// Parks the calling coroutine, or blocks the calling thread, until there is room; a
            /// future uses [`Self::send_async`].
            ///
            /// # Cancellation
            /// When the calling coroutine is to exit, its stack unwinds; nothing was sent.
            ///
            /// # Errors
            /// As [`Self::send_to`].
            ///
            /// # Panics
            /// Inside a future that a core polls, if it has to wait.
            #[track_caller]
            pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
                let Shared { inner, limits } = &*self.shared;
                inner.io(Interest::WRITE, limits.write.deadline(), || inner.send(bytes))
            }

            /// As [`Self::recv_from`], for a future on any executor.
            ///
            /// # Cancellation
            /// A future that is dropped has received nothing.
            ///
            /// # Errors
            /// As [`Self::recv_from`].
            pub async fn recv_from_async(
                &self,
                buffer: &mut [u8],
            ) -> io::Result<(usize, $Address)> {
                let Shared { inner, limits } = &*self.shared;
                let receive = inner.io_async(Interest::READ, || inner.recv_from(buffer));
                within(limits.read.deadline(), "read", receive).await
            }

            /// As [`Self::recv`], for a future on any executor.
            ///
            /// # Errors
            /// As [`Self::recv_from`].
            pub async fn recv_async(&self, buffer: &mut [u8]) -> io::Result<usize> {
                let Shared { inner, limits } = &*self.shared;
                let receive = inner.io_async(Interest::READ, || inner.recv(buffer));
                within(limits.read.deadline(), "read", receive).await
            }

            /// As [`Self::send`], for a future on any executor.
            ///
            /// # Cancellation
            /// A future that is dropped has sent nothing.
            ///
            /// # Errors
            /// As [`Self::send`].
            pub async fn send_async(&self, bytes: &[u8]) -> io::Result<usize> {
                let Shared { inner, limits } = &*self.shared;
                let send = inner.io_async(Interest::WRITE, || inner.send(bytes));
                within(limits.write.deadline(), "write", send).await
            }

            /// Receives a datagram that is there.
            ///
            /// # Errors
            /// [`WouldBlock`](io::ErrorKind::WouldBlock) if none is.
            pub fn try_recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, $Address)> {
                let inner = &self.shared.inner;
                inner.try_io(Interest::READ, || inner.recv_from(buffer))
            }

            /// The same; from whom it came is not told.
            ///
            /// # Errors
            /// As [`Self::try_recv_from`].
            pub fn try_recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
                let inner = &self.shared.inner;
                inner.try_io(Interest::READ, || inner.recv(buffer))
            }

            /// Sends a datagram to where the socket is connected, if there is room.
            ///
            /// # Errors
            /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is none.
            pub fn try_send(&self, bytes: &[u8]) -> io::Result<usize> {
                let inner = &self.shared.inner;
                inner.try_io(Interest::WRITE, || inner.send(bytes))
            }
        }
    };
}

pub(in crate::net) use datagrams;
