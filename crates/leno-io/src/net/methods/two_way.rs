//! What sockets have that are read from and written to, be it bytes or datagrams.

/// Gives a socket readiness and limits for both ways.
macro_rules! two_way {
    ($Socket:ident of $Std:ty) => {
        impl $Socket {
            /// Waits until there is something to read, the end included: a future, and an
            /// alternative of a select. See [`Ready`](crate::net::Ready).
            pub fn readable(&self) -> $crate::net::Ready<'_, $Std> {
                self.shared.inner.ready(Interest::READ)
            }

            /// Waits until there is room to write: a future, and an alternative of a select. See
            /// [`Ready`](crate::net::Ready).
            pub fn writable(&self) -> $crate::net::Ready<'_, $Std> {
                self.shared.inner.ready(Interest::WRITE)
            }

            /// For how long reading, or receiving, may wait.
            ///
            /// # Errors
            /// Never; it is as in `std`.
            pub fn read_timeout(&self) -> io::Result<Option<Duration>> {
                Ok(self.shared.limits.read.get())
            }

            /// Lets reading, or receiving, wait for at most so long; then it fails with
            /// [`TimedOut`](io::ErrorKind::TimedOut). All clones of the socket share it.
            ///
            /// # Errors
            /// If it is nothing.
            pub fn set_read_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
                $crate::net::limits::set(&self.shared.limits.read, limit)
            }

            /// For how long writing, or sending, may wait.
            ///
            /// # Errors
            /// Never; it is as in `std`.
            pub fn write_timeout(&self) -> io::Result<Option<Duration>> {
                Ok(self.shared.limits.write.get())
            }

            /// Lets writing, or sending, wait for at most so long; then it fails with
            /// [`TimedOut`](io::ErrorKind::TimedOut). All clones of the socket share it.
            ///
            /// # Errors
            /// If it is nothing.
            pub fn set_write_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
                $crate::net::limits::set(&self.shared.limits.write, limit)
            }
        }
    };
}

pub(in crate::net) use two_way;
