//! What all listeners have, and the connections that come to them.
//!
//! When descriptors or memory run out, connections stay in line, and the listener stays readable: whoever
//! only tried again would spin. So a listener has [`Patience`](crate::net::patience::Patience), which all
//! ways to wait for a connection honour, readiness for selects included.

/// Gives a listener what all have. Its shared part has patience in place of limits.
macro_rules! listener {
    (
        $Listener:ident of $Std:ty, accepts $Stream:ident of $StdStream:ty, from $Address:ty,
        $(#[$doc:meta])* incoming $Incoming:ident
    ) => {
        impl $Listener {
            /// Waits for a connection.
            ///
            /// # Blocking
            /// Parks the calling coroutine, or blocks the calling thread; a future uses
            /// [`Self::accept_async`].
            ///
            /// # Cancellation
            /// When the calling coroutine is to exit, its stack unwinds; the connection is left for
            /// others.
            ///
            /// # Errors
            /// [`Exhausted`](crate::net::Exhausted) when there is no descriptor left for the
            /// connection, which stays in line. Whoever accepts next at this listener waits a little
            /// first: 5 ms, and up to half a second if it fails again and again.
            ///
            /// # Panics
            /// Inside a future that a core polls, if it has to wait.
            #[track_caller]
            pub fn accept(&self) -> io::Result<($Stream, $Address)> {
                self.accept_until(None)
            }

            /// The same, for at most `limit`.
            ///
            /// # Errors
            /// [`TimedOut`](io::ErrorKind::TimedOut) when the time is over; else as [`Self::accept`].
            ///
            /// # Panics
            /// As [`Self::accept`].
            #[track_caller]
            pub fn accept_timeout(&self, limit: Duration) -> io::Result<($Stream, $Address)> {
                self.accept_until(Some(leno_kernel::layer::deadline_in(limit)))
            }

            #[track_caller]
            fn accept_until(
                &self,
                deadline: Option<leno_kernel::Time>,
            ) -> io::Result<($Stream, $Address)> {
                let Shared { inner, limits: patience } = &*self.shared;
                patience.wait(deadline)?;
                let accept = inner.io(Interest::READ, deadline, || inner.accept());
                let accept = accept.map_err($crate::net::accept::late);
                patience.noted(accept).map($Listener::accepted)
            }

            /// Takes a connection that waits, if there is one. It never waits, not even when
            /// descriptors have run out.
            ///
            /// # Errors
            /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is none; else as [`Self::accept`].
            pub fn try_accept(&self) -> io::Result<($Stream, $Address)> {
                let Shared { inner, limits: patience } = &*self.shared;
                let accept = inner.try_io(Interest::READ, || inner.accept());
                patience.noted(accept).map($Listener::accepted)
            }

            /// As [`Self::accept`], for a future on any executor.
            ///
            /// # Cancellation
            /// A future that is dropped has accepted nothing.
            ///
            /// # Errors
            /// As [`Self::accept`].
            pub async fn accept_async(&self) -> io::Result<($Stream, $Address)> {
                let Shared { inner, limits: patience } = &*self.shared;
                patience.wait_async().await;
                let accept = inner.io_async(Interest::READ, || inner.accept()).await;
                patience.noted(accept).map($Listener::accepted)
            }

            /// As [`Self::accept`], for a hand-written future. The waker is kept until there is a
            /// connection, or the listener is dropped.
            ///
            /// # Errors
            /// As [`Self::accept`].
            pub fn poll_accept(
                &self,
                context: &mut core::task::Context<'_>,
            ) -> core::task::Poll<io::Result<($Stream, $Address)>> {
                let Shared { inner, limits: patience } = &*self.shared;
                core::task::ready!(patience.poll(context));
                let accept = inner.poll_io(context, Interest::READ, || inner.accept());
                accept.map(|accept| patience.noted(accept).map($Listener::accepted))
            }

            /// The connections, one after the other: for a server's loop. It outlives the exhaustion
            /// of descriptors; see [`Incoming`](crate::net::Incoming).
            pub fn incoming(&self) -> $Incoming<'_> {
                $Incoming { listener: self, has_told: false }
            }

            /// Waits until there is a connection: a future, and an alternative of a select. See
            /// [`Ready`](crate::net::Ready). When [`Self::try_accept`] has said that descriptors or
            /// memory have run out, it waits a little as well, as [`Self::accept`] does.
            pub fn acceptable(&self) -> $crate::net::Ready<'_, $Std> {
                let Shared { inner, limits: patience } = &*self.shared;
                inner.ready(Interest::READ).with(patience)
            }

            fn accepted(
                (inner, from): ($crate::net::inner::Inner<$StdStream>, $Address),
            ) -> ($Stream, $Address) {
                ($Stream::new(inner), from)
            }
        }

        $(#[$doc])*
        #[derive(Debug)]
        pub struct $Incoming<'a> {
            listener: &'a $Listener,
            /// That something has run out, since the last success.
            has_told: bool,
        }

        impl $Incoming<'_> {
            /// The next one, for a future on any executor.
            ///
            /// # Cancellation
            /// A future that is dropped has accepted nothing.
            ///
            /// # Errors
            /// As described above.
            pub async fn next_async(&mut self) -> io::Result<$Stream> {
                loop {
                    let accepted = self.listener.accept_async().await.map(|(stream, _)| stream);
                    if $crate::net::patience::is_news(&mut self.has_told, &accepted) {
                        return accepted;
                    }
                }
            }
        }

        /// As `incoming`.
        impl<'a> IntoIterator for &'a $Listener {
            type Item = io::Result<$Stream>;
            type IntoIter = $Incoming<'a>;

            fn into_iter(self) -> $Incoming<'a> {
                self.incoming()
            }
        }

        /// Waits as `accept` does.
        impl Iterator for $Incoming<'_> {
            type Item = io::Result<$Stream>;

            #[track_caller]
            fn next(&mut self) -> Option<io::Result<$Stream>> {
                loop {
                    let accepted = self.listener.accept().map(|(stream, _)| stream);
                    if $crate::net::patience::is_exiting(&accepted) {
                        return None;
                    }
                    if $crate::net::patience::is_news(&mut self.has_told, &accepted) {
                        return Some(accepted);
                    }
                }
            }
        }
    };
}

pub(in crate::net) use listener;
