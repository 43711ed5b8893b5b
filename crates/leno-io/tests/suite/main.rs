//! Tests of I/O through the public interface, in one binary, which is built and linked once.
//!
//! They run at the same time. In binaries of their own are `abuse` and `descriptors`, which count the descriptors of
//! their process, `idle`, which reads its CPU time, and `children`, whose tests start processes: for a moment those
//! keep the sockets open that other tests close.

mod cores;
mod fs;
mod hostile;
mod memory_datagram;
mod memory_explore;
mod memory_net;
mod memory_partition;
mod memory_soak;
mod memory_stream;
mod policies;
mod registration;
mod resolve;
mod support;
mod tcp;
mod time;
mod tokio;
mod twins;
mod udp;
mod unix;
mod wakers;
