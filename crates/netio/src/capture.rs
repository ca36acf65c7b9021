//! Port wrapper that captures all frames in pcap format.

use std::io::Write;
use std::os::fd::BorrowedFd;

use frame::{Frame, Offloads, Pool, Port, PortCounters, Transmitted, Vector};

use crate::pcap::FrameWriter;

/// A port whose received and sent frames are written to `writer`.
///
/// A writer error ends the capture; frames still pass.
#[derive(Debug)]
pub struct Capture<P, W: Write> {
    port: P,
    writer: Option<FrameWriter<W>>,
}

impl<P: Port, W: Write + Send> Capture<P, W> {
    /// Captures the frames of `port`.
    pub fn new(port: P, writer: FrameWriter<W>) -> Self {
        Self {
            port,
            writer: Some(writer),
        }
    }

    /// True while the writer works.
    pub fn is_writing(&self) -> bool {
        self.writer.is_some()
    }

    fn write(&mut self, frames: &[Frame]) {
        for frame in frames {
            let Some(writer) = &mut self.writer else {
                return;
            };
            if writer.write(frame).is_err() {
                self.writer = None;
            }
        }
    }
}

impl<P: Port, W: Write + Send> Port for Capture<P, W> {
    fn receive(&mut self, pool: &mut Pool, into: &mut Vector) -> usize {
        let before = into.len();
        let count = self.port.receive(pool, into);
        self.write(&into.frames()[before..]);
        count
    }

    fn transmit(&mut self, pool: &mut Pool, frames: &mut Vec<Frame>) -> Transmitted {
        self.write(frames);
        self.port.transmit(pool, frames)
    }

    fn flush(&mut self, pool: &mut Pool) {
        self.port.flush(pool);
        if self
            .writer
            .as_mut()
            .is_some_and(|writer| writer.flush().is_err())
        {
            self.writer = None;
        }
    }

    fn is_sending(&self) -> bool {
        self.port.is_sending()
    }

    fn offloads(&self) -> Offloads {
        self.port.offloads()
    }

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        self.port.wait_fd()
    }

    fn slots(&self) -> usize {
        self.port.slots()
    }

    fn counters(&self) -> PortCounters {
        self.port.counters()
    }

    fn close(&mut self, pool: &mut Pool) {
        self.flush(pool);
        self.port.close(pool);
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use frame::Sizes;

    use super::*;
    use crate::{Handing, MemoryPort};

    /// File in memory that is full after this number of bytes.
    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>, usize);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut all = self.0.lock().expect("nobody panicked");
            if all.len() + bytes.len() > self.1 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            all.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn exchange(limit: usize) -> (bool, Vec<u8>) {
        let mut pool = Pool::new(Sizes::LEAST).expect("memory");
        let (one, mut other) = MemoryPort::pair(8, Handing::Move, Offloads::default());
        let file = Shared(Arc::default(), limit);
        let mut port = Capture::new(one, FrameWriter::new(file.clone()).expect("room"));
        let mut vector = Vector::new();
        let (there, back) = (pool.alloc_from(&[1; 60]), pool.alloc_from(&[2; 61]));

        port.transmit(&mut pool, &mut there.into_iter().collect());
        other.transmit(&mut pool, &mut back.into_iter().collect());
        assert_eq!(port.receive(&mut pool, &mut vector), 1);
        assert_eq!(other.receive(&mut pool, &mut vector), 1);

        vector.drain().for_each(|frame| pool.free(frame));
        let bytes = file.0.lock().expect("nobody panicked").clone();
        (port.is_writing(), bytes)
    }

    #[test]
    fn both_directions_are_written() {
        let (writing, bytes) = exchange(1000);

        assert!(writing);
        assert_eq!(bytes.len(), 24 + 16 + 60 + 16 + 61);
        assert_eq!(
            (&bytes[40..100], &bytes[116..]),
            (&[1; 60][..], &[2; 61][..])
        );
    }

    #[test]
    fn a_full_disk_stops_writing_and_not_forwarding() {
        let (writing, _) = exchange(50);

        assert!(!writing);
    }
}
