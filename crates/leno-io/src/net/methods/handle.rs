//! What all sockets have.

/// Gives a socket what all have. `Shared` is what its handles share.
macro_rules! handle {
    ($Socket:ident of $Std:ty) => {
        impl $Socket {
            pub(in crate::net) fn new(inner: $crate::net::inner::Inner<$Std>) -> $Socket {
                $Socket { shared: $crate::net::inner::Shared::new(inner) }
            }

            /// Takes over one of `std`'s.
            ///
            /// # Errors
            /// When the system or the platform of the calling coroutine refuses: virtual time does.
            pub fn from_std(socket: $Std) -> io::Result<$Socket> {
                Ok($Socket::new($crate::net::inner::Inner::os(socket)?))
            }

            /// As one of `std`'s, which does not block. If there are other handles of it, this one
            /// has a descriptor of its own.
            ///
            /// # Errors
            /// When there is no descriptor left for that.
            pub fn into_std(self) -> io::Result<$Std> {
                match Arc::try_unwrap(self.shared) {
                    Ok(shared) => shared.inner.into_std(),
                    Err(shared) => shared.inner.clone_std(),
                }
            }

            /// Another handle of the same socket. It costs no descriptor.
            ///
            /// # Errors
            /// Never; it is as in `std`.
            pub fn try_clone(&self) -> io::Result<$Socket> {
                Ok($Socket { shared: self.shared.clone() })
            }

            /// Takes the error that waits on the socket, if there is one.
            ///
            /// # Errors
            /// When the system refuses.
            pub fn take_error(&self) -> io::Result<Option<io::Error>> {
                self.shared.inner.take_error()
            }
        }

        /// # Panics
        /// If the socket is not the operating system's.
        impl AsFd for $Socket {
            fn as_fd(&self) -> BorrowedFd<'_> {
                self.shared.inner.as_fd()
            }
        }

        /// # Panics
        /// If the socket is not the operating system's.
        impl std::os::fd::AsRawFd for $Socket {
            fn as_raw_fd(&self) -> std::os::fd::RawFd {
                self.as_fd().as_raw_fd()
            }
        }
    };
}

/// Gives a socket of the Internet the limit on its hops.
macro_rules! hops {
    ($Socket:ident) => {
        impl $Socket {
            /// How many hops packets may take.
            ///
            /// # Errors
            /// When the system refuses.
            pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
                self.shared.inner.set_ttl(ttl)
            }

            /// How many hops packets may take.
            ///
            /// # Errors
            /// When the system refuses.
            pub fn ttl(&self) -> io::Result<u32> {
                self.shared.inner.ttl()
            }
        }
    };
}

pub(in crate::net) use {handle, hops};
