//! Decapsulation of datagrams and packets whose content is encrypted: in batches, so that the ciphers keep the CPU's
//! units busy.

use core::net::SocketAddr;
use core::ops::Range;

use frame::{Frame, Segmentation};
use smallvec::SmallVec;

use super::{DEPTH, divide, put};
use crate::agenda::Item;
use crate::counters::Traffic;
use crate::drop::DropReason;
use crate::outlet::Outlet;
use crate::tap::{self, Direction};
use crate::walk::Context;

/// Frames that are encrypted or decrypted together.
pub(super) const TOGETHER: usize = 16;

/// Content of decrypted packets: its place in the frame, or `None` for packets without content.
pub(super) type Contents = SmallVec<[Result<Option<Range<usize>>, DropReason>; TOGETHER]>;

/// An encrypted packet in a frame.
pub(super) struct EncryptedPacket<K> {
    /// Key, and what else decryption needs.
    pub(super) key: K,
    /// The packet's place in the frame.
    pub(super) at: Range<usize>,
    /// Sender.
    pub(super) from: SocketAddr,
    /// Type of service of the outer packet.
    pub(super) tos: u8,
}

/// A frame whose packet waits for decryption.
pub(super) struct WaitingPacket<K> {
    pub(super) frame: Frame,
    pub(super) packet: EncryptedPacket<K>,
}

impl<K> WaitingPacket<K> {
    /// Returns the encrypted packet and its key.
    pub(super) fn parts(&mut self) -> (&K, &mut [u8]) {
        let bytes = self.frame.bytes_mut().get_mut(self.packet.at.clone());
        (&self.packet.key, bytes.unwrap_or_default())
    }
}

/// A protocol with encrypted packets.
pub(super) trait Decrypt {
    /// Key of a packet, and what else its decryption needs.
    type Key;

    /// Finds the encrypted packet in a frame, and its key.
    ///
    /// # Errors
    /// The packet is malformed, or has no key.
    fn locate(&mut self, frame: &Frame) -> Result<EncryptedPacket<Self::Key>, DropReason>;

    /// Decrypts packets in place, and counts the authentic ones. Returns one result for each.
    fn decrypt(&self, packets: &mut [WaitingPacket<Self::Key>]) -> Contents;

    /// Cuts a frame down to its decrypted content, which is at `at`.
    ///
    /// # Errors
    /// The interface is down, or the content is malformed.
    fn extract(
        &self,
        frame: &mut Frame,
        at: Range<usize>,
        packet: &EncryptedPacket<Self::Key>,
    ) -> Result<(), DropReason>;
}

/// Decapsulates `count` frames of a tunnel, and puts the contents on the agenda for `item`. Packets of
/// [`Item::Arrived`] are counted and shown to taps here; frames of [`Item::Framed`] where they are received. Returns
/// the number and the bytes of the frames.
pub(super) fn decapsulate<P: Decrypt>(
    protocol: &mut P,
    cx: &Context<'_>,
    item: Item,
    frames: impl Iterator<Item = Frame>,
    count: usize,
    outlet: &mut Outlet,
) -> Traffic {
    let mut arriving = Decapsulation {
        protocol,
        waiting: SmallVec::new(),
        arrivals: Arrivals {
            cx,
            item,
            batch: outlet.agenda.batch(item, count),
            inner: Traffic::default(),
        },
    };
    let mut all = Traffic::default();
    for frame in frames {
        all.packets += 1;
        all.bytes += frame.len() as u64 + u64::from(frame.untagged);
        if frame.offload.segmentation == Segmentation::Udp {
            divide(frame, outlet, |piece, outlet| arriving.add(piece, outlet));
        } else {
            arriving.add(frame, outlet);
        }
    }
    arriving.open_waiting(outlet);
    let Arrivals { batch, inner, .. } = arriving.arrivals;
    if let Some(batch) = batch {
        outlet.agenda.put_batch(item, batch);
    }
    if let Item::Arrived(id) = item {
        let counters = outlet.counters.interface(id);
        counters.rx.add(inner.packets, inner.bytes);
    }
    all
}

/// State of the decapsulation of one vector.
struct Decapsulation<'a, P: Decrypt> {
    protocol: &'a mut P,
    waiting: SmallVec<[WaitingPacket<P::Key>; TOGETHER]>,
    arrivals: Arrivals<'a>,
}

/// Contents of decrypted packets, and where they go.
struct Arrivals<'a> {
    cx: &'a Context<'a>,
    item: Item,
    batch: Option<Vec<Frame>>,
    inner: Traffic,
}

impl<P: Decrypt> Decapsulation<'_, P> {
    /// Adds a frame to those that wait, and decrypts these if they are enough.
    fn add(&mut self, frame: Frame, outlet: &mut Outlet) {
        let located = match frame.depth >= DEPTH {
            true => Err(DropReason::TunnelDepth),
            false => self.protocol.locate(&frame),
        };
        match located {
            Ok(packet) => self.waiting.push(WaitingPacket { frame, packet }),
            Err(reason) => return outlet.discard(frame, reason),
        }
        if self.waiting.len() == TOGETHER {
            self.open_waiting(outlet);
        }
    }

    /// Decrypts the waiting packets, and passes their contents on.
    fn open_waiting(&mut self, outlet: &mut Outlet) {
        let contents = self.protocol.decrypt(&mut self.waiting);
        let arrivals = &mut self.arrivals;
        for (packet, content) in self.waiting.drain(..).zip(contents) {
            arrivals.arrive(self.protocol, packet, content, outlet);
        }
    }
}

impl Arrivals<'_> {
    /// Passes the content of a decrypted packet on.
    fn arrive<P: Decrypt>(
        &mut self,
        protocol: &P,
        waiting: WaitingPacket<P::Key>,
        content: Result<Option<Range<usize>>, DropReason>,
        outlet: &mut Outlet,
    ) {
        let WaitingPacket { mut frame, packet } = waiting;
        let has_content = match content {
            Ok(Some(at)) => {
                let extracted = protocol.extract(&mut frame, at, &packet);
                extracted.map(|()| true)
            }
            Ok(None) => Ok(false),
            Err(reason) => Err(reason),
        };
        match has_content {
            Ok(true) => {
                if let Item::Arrived(id) = self.item {
                    self.inner.packets += 1;
                    self.inner.bytes += frame.len() as u64;
                    tap::show(self.cx, id, Direction::Received, &frame, 0, outlet);
                }
                put(&mut self.batch, self.item, frame, outlet);
            }
            Ok(false) => outlet.pool.free(frame),
            Err(reason) => outlet.discard(frame, reason),
        }
    }
}
