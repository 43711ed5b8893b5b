//! Channels of the peers, as [`Ends`].

use super::{Asynchronous, Blocking, Ends, Member, OPEN, Room, asynchronously};

/// `std::sync::mpsc`.
pub struct Std;

/// It has two types of senders.
pub enum StdTx {
    Bounded(std::sync::mpsc::SyncSender<u64>),
    Unbounded(std::sync::mpsc::Sender<u64>),
}

impl Ends for Std {
    type Tx = StdTx;
    type Rx = std::sync::mpsc::Receiver<u64>;

    fn open(room: Room) -> (Self::Tx, Self::Rx) {
        let bounded = |n| {
            let (tx, rx) = std::sync::mpsc::sync_channel(n);
            (StdTx::Bounded(tx), rx)
        };
        match room {
            Room::Nothing => bounded(0),
            Room::Some(n) => bounded(n),
            Room::Any => {
                let (tx, rx) = std::sync::mpsc::channel();
                (StdTx::Unbounded(tx), rx)
            }
        }
    }
}

impl Blocking for Std {
    fn send(tx: &Self::Tx, value: u64) {
        match tx {
            StdTx::Bounded(tx) => tx.send(value).expect(OPEN),
            StdTx::Unbounded(tx) => tx.send(value).expect(OPEN),
        }
    }

    fn recv(rx: &Self::Rx) -> Option<u64> {
        rx.recv().ok()
    }
}

/// A crate with `bounded` and `unbounded`, a rendezvous being bounded to nothing.
macro_rules! crate_with_rendezvous {
    ($(#[$doc:meta])* $name:ident, $krate:ident) => {
        $(#[$doc])*
        pub struct $name;

        impl Ends for $name {
            type Tx = $krate::Sender<u64>;
            type Rx = $krate::Receiver<u64>;

            fn open(room: Room) -> (Self::Tx, Self::Rx) {
                match room {
                    Room::Nothing => $krate::bounded(0),
                    Room::Some(n) => $krate::bounded(n),
                    Room::Any => $krate::unbounded(),
                }
            }
        }

        impl Blocking for $name {
            fn send(tx: &Self::Tx, value: u64) {
                tx.send(value).expect(OPEN);
            }

            fn recv(rx: &Self::Rx) -> Option<u64> {
                rx.recv().ok()
            }
        }
    };
}

crate_with_rendezvous!(
    /// `crossbeam-channel`.
    Crossbeam, crossbeam_channel
);
crate_with_rendezvous!(
    /// `flume`, for threads and for tasks.
    Flume, flume
);
crate_with_rendezvous!(
    /// `kanal` for threads.
    Kanal, kanal
);

impl Asynchronous for Flume {
    async fn run(member: Member<Self>) {
        asynchronously!(member,
            tx, value => tx.send_async(value).await.expect(OPEN),
            rx => rx.recv_async().await.ok())
    }
}

/// `kanal` for tasks.
pub struct KanalAsync;

impl Ends for KanalAsync {
    type Tx = kanal::AsyncSender<u64>;
    type Rx = kanal::AsyncReceiver<u64>;

    fn open(room: Room) -> (Self::Tx, Self::Rx) {
        match room {
            Room::Nothing => kanal::bounded_async(0),
            Room::Some(n) => kanal::bounded_async(n),
            Room::Any => kanal::unbounded_async(),
        }
    }
}

impl Asynchronous for KanalAsync {
    async fn run(member: Member<Self>) {
        asynchronously!(member,
            tx, value => tx.send(value).await.expect(OPEN),
            rx => rx.recv().await.ok())
    }
}

/// `async-channel`; without a rendezvous, so with room for one.
pub struct AsyncChannel;

impl Ends for AsyncChannel {
    type Tx = async_channel::Sender<u64>;
    type Rx = async_channel::Receiver<u64>;

    fn open(room: Room) -> (Self::Tx, Self::Rx) {
        match room {
            Room::Nothing => async_channel::bounded(1),
            Room::Some(n) => async_channel::bounded(n),
            Room::Any => async_channel::unbounded(),
        }
    }
}

impl Asynchronous for AsyncChannel {
    async fn run(member: Member<Self>) {
        asynchronously!(member,
            tx, value => tx.send(value).await.expect(OPEN),
            rx => rx.recv().await.ok())
    }
}

/// `tokio::sync::mpsc`; without a rendezvous, so with room for one.
pub struct Tokio;

impl Ends for Tokio {
    type Tx = tokio::sync::mpsc::Sender<u64>;
    type Rx = tokio::sync::mpsc::Receiver<u64>;

    fn open(room: Room) -> (Self::Tx, Self::Rx) {
        match room {
            Room::Nothing => tokio::sync::mpsc::channel(1),
            Room::Some(n) => tokio::sync::mpsc::channel(n),
            Room::Any => unreachable!("that is `TokioUnbounded`"),
        }
    }
}

impl Asynchronous for Tokio {
    async fn run(member: Member<Self>) {
        asynchronously!(member,
            tx, value => tx.send(value).await.expect(OPEN),
            rx => rx.recv().await)
    }
}

/// `tokio::sync::mpsc` whatever room is asked for.
pub struct TokioUnbounded;

impl Ends for TokioUnbounded {
    type Tx = tokio::sync::mpsc::UnboundedSender<u64>;
    type Rx = tokio::sync::mpsc::UnboundedReceiver<u64>;

    fn open(_: Room) -> (Self::Tx, Self::Rx) {
        tokio::sync::mpsc::unbounded_channel()
    }
}

impl Asynchronous for TokioUnbounded {
    async fn run(member: Member<Self>) {
        asynchronously!(member, tx, value => tx.send(value).expect(OPEN), rx => rx.recv().await)
    }
}

/// `may::sync::spsc`: unbounded, whatever room is asked for; it has nothing else.
pub struct May;

impl Ends for May {
    type Tx = may::sync::spsc::Sender<u64>;
    type Rx = may::sync::spsc::Receiver<u64>;

    fn open(_: Room) -> (Self::Tx, Self::Rx) {
        may::sync::spsc::channel()
    }
}

impl Blocking for May {
    fn send(tx: &Self::Tx, value: u64) {
        tx.send(value).expect(OPEN);
    }

    fn recv(rx: &Self::Rx) -> Option<u64> {
        rx.recv().ok()
    }
}
