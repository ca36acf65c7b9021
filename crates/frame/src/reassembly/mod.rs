//! Reassembly of fragments (RFC 791, 3.2; RFC 1122, 3.3.2; RFC 8200, 4.5; RFC 5722, RFC 6946, RFC 7112). Each
//! family has an instance because the settings differ; an instance accepts packets of both families.
//!
//! Fragments wait in the frames in which they arrived. When a packet is complete, its bytes are copied into
//! one frame, which records the fragment size ([`Segmentation::Fragments`]): a router forwards it in
//! fragments no larger than those that arrived.
//!
//! Overlapping fragments discard the whole packet, in IPv4 and IPv6: otherwise a firewall and a host could
//! read different packets, and IPv4 packets with a reused identification could be mixed. An exact duplicate
//! is ignored. In IPv6 later fragments of such a packet are discarded too (RFC 5722, 4); in IPv4 they are
//! not, because identifications are few and may belong to another packet.
//!
//! Memory and packets are bounded; the oldest incomplete packet makes room. In the steady state a fragment
//! needs no allocation.

mod packets;
mod piece;
mod slab;

#[cfg(test)]
mod tests;

use machine::{Duration, Instant};

use crate::{Frame, Offload, Pool, Segmentation};
use packets::{InsertPosition, Packets, ReceivedFragment};
use piece::{Join, NoPiece, Piece, Read};

/// Settings of one family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Time from the first fragment until the packet is given up; at least one second.
    pub timeout: Duration,
    /// Maximum bytes of incomplete packets: whole slots of the pool, and bookkeeping.
    pub memory_max_bytes: usize,
    /// Maximum number of incomplete packets.
    pub packets_max: usize,
}

impl Config {
    /// IPv4: 30 seconds (`ipv4-fragment-time`) and 4 MB (`ipv4-high-fragment-thresh`).
    pub const V4: Self = Self {
        timeout: Duration::from_secs(30),
        memory_max_bytes: 4 << 20,
        packets_max: 4_096,
    };

    /// IPv6: 60 seconds (RFC 8200, 4.5).
    pub const V6: Self = Self {
        timeout: Duration::from_secs(60),
        ..Self::V4
    };
}

/// Reason why a fragment is returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The fragment is impossible: malformed, empty, beyond the end of a packet, or a first fragment without
    /// its headers; or the whole packet would be too long.
    Malformed,
    /// The IPv6 fragment is malformed, and its sender must get a parameter problem, code 0 (RFC 8200, 4.5).
    Problem {
        /// Offset of the byte in error from the IPv6 header.
        pointer: u32,
    },
    /// An exact duplicate.
    Duplicate,
    /// Fragments of the packet overlap or disagree about its end.
    Overlap,
    /// Only some fragments of the packet are ECN-capable while others carry a congestion mark (RFC 3168,
    /// 5.3).
    Ecn,
    /// The buffer was full and this packet the oldest, or the packet had more fragments than allowed.
    Full,
    /// The packet was complete, but the pool had no free slot for it.
    NoBuffer,
    /// Holders have their maximum of the pool ([`Pool::hold`]).
    Reserve,
    /// The packet's timeout expired.
    TimedOut {
        /// True for the first fragment: its sender must get time exceeded, code 1, if this router is the
        /// packet's receiver (RFC 1122, 3.3.2; RFC 8200, 4.5).
        first: bool,
    },
}

/// Reassembles packets. `T` is a tag that the owner gets back with a frame.
#[derive(Debug)]
pub struct Reassembly<T> {
    config: Config,
    packets: Packets<T>,
    lost: Vec<(Frame, T, Lost)>,
}

/// Maximum number of fragments per packet: 64 KB over a link with an MTU of 296 bytes, the smallest of the
/// early internet (RFC 1191, 7.1).
const PIECES_MAX: usize = 256;
/// Minimum timeout: with a timeout of zero, reassembly would drop each packet after its first fragment.
const TIMEOUT_MIN: Duration = Duration::from_secs(1);

impl<T: Copy> Reassembly<T> {
    /// Creates an instance without packets.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            packets: Packets::default(),
            lost: Vec::new(),
        }
    }

    /// Changes the settings, also for waiting packets.
    pub fn configure(&mut self, config: Config) {
        self.config = config;
        self.make_room();
    }

    /// Returns the number of incomplete packets.
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Returns true if there are no incomplete packets.
    pub fn is_empty(&self) -> bool {
        self.packets.len() == 0
    }

    /// Returns the bytes in use, including bookkeeping.
    pub fn used_bytes(&self) -> usize {
        self.packets.used_bytes()
    }

    /// Returns the time of the next useful call of [`Self::expire`].
    pub fn deadline(&self) -> Option<Instant> {
        let oldest = self.packets.oldest()?;
        Some(oldest.1 + self.config.timeout.max(TIMEOUT_MIN))
    }

    /// Accepts a packet with its network header at `frame.l3`. Returns the packet that it completes, in a
    /// frame of `pool` with link header and tag of the first fragment. Returns a packet that is not a
    /// fragment unchanged. [`Self::take_lost`] returns the fragments that were given up.
    pub fn collect(
        &mut self,
        pool: &mut Pool,
        frame: Frame,
        tag: T,
        now: Instant,
    ) -> Option<(Frame, T)> {
        let packet = frame.bytes().get(usize::from(frame.l3)..);
        let read = piece::read(packet.unwrap_or_default(), frame.ingress);
        let refused = match read {
            Ok(Read::Whole) => return Some((frame, tag)),
            Ok(_) if !frame.offload.is_finished() => Lost::Malformed,
            Ok(Read::Atomic { head_len, join }) => match without_header(frame, head_len, join) {
                Ok(frame) => return Some((frame, tag)),
                Err(frame) => {
                    self.lost.push((frame, tag, Lost::Malformed));
                    return None;
                }
            },
            Ok(Read::Piece(piece)) => return self.take(pool, &piece, frame, tag, now),
            Err(NoPiece::Malformed) => Lost::Malformed,
            Err(NoPiece::Problem { pointer }) => Lost::Problem { pointer },
        };
        self.lost.push((frame, tag, refused));
        None
    }

    fn take(
        &mut self,
        pool: &mut Pool,
        piece: &Piece,
        frame: Frame,
        tag: T,
        now: Instant,
    ) -> Option<(Frame, T)> {
        let at = self.packets.of(piece.key, now);
        let mut held = ReceivedFragment::new(piece, frame, tag);
        let behind = match self.packets.place(at, piece, &held) {
            InsertPosition::Behind(behind) => behind,
            InsertPosition::Duplicate => {
                self.lost.push((held.frame, tag, Lost::Duplicate));
                return None;
            }
            InsertPosition::Overlap => {
                self.lost.push((held.frame, tag, Lost::Overlap));
                self.give_up(at, |_| Lost::Overlap, piece.key.is_v6());
                return None;
            }
        };
        if !pool.hold(&mut held.frame) {
            self.lost.push((held.frame, tag, Lost::Reserve));
            self.give_up(at, |_| Lost::Reserve, false);
            return None;
        }
        let pieces = self.packets.insert(at, behind, piece, held);
        if let Some(made) = self.packets.join(at, pool) {
            return self.finish(at, made, pool);
        }
        if pieces >= PIECES_MAX {
            self.give_up(at, |_| Lost::Full, false);
        }
        self.make_room();
        None
    }

    /// Ends a complete packet: frees its fragments, or gives them up.
    fn finish(
        &mut self,
        at: u32,
        made: Result<(Frame, T), Lost>,
        pool: &mut Pool,
    ) -> Option<(Frame, T)> {
        match made {
            Ok(whole) => {
                self.packets.remove(at, |held| pool.free(held.frame));
                Some(whole)
            }
            Err(lost) => {
                self.give_up(at, |_| lost, false);
                None
            }
        }
    }

    /// Gives up packets whose timeout has expired.
    pub fn expire(&mut self, now: Instant) {
        let timeout = self.config.timeout.max(TIMEOUT_MIN);
        while let Some((oldest, since)) = self.packets.oldest()
            && since + timeout <= now
        {
            let first = |held: &ReceivedFragment<T>| held.offset == 0;
            self.give_up(oldest, |held| Lost::TimedOut { first: first(held) }, false);
        }
    }

    /// Gives up all packets.
    pub fn clear(&mut self) {
        while let Some((oldest, _)) = self.packets.oldest() {
            self.give_up(oldest, |_| Lost::Full, false);
        }
    }

    /// Returns a fragment that was given up, with its tag; the last one first.
    pub fn take_lost(&mut self) -> Option<(Frame, T, Lost)> {
        self.lost.pop()
    }

    /// Gives up a packet. With `poisons`, its later fragments are discarded as well.
    fn give_up(&mut self, at: u32, why: impl Fn(&ReceivedFragment<T>) -> Lost, poisons: bool) {
        let lost = &mut self.lost;
        let each = |held: ReceivedFragment<T>| {
            let why = why(&held);
            lost.push((held.frame, held.tag, why));
        };
        match poisons {
            true => self.packets.poison(at, each),
            false => self.packets.remove(at, each),
        }
    }

    fn make_room(&mut self) {
        while self.packets.used_bytes() > self.config.memory_max_bytes
            || self.packets.len() > self.config.packets_max
        {
            let Some((oldest, _)) = self.packets.oldest() else {
                return;
            };
            self.give_up(oldest, |_| Lost::Full, false);
        }
    }
}

/// Removes the fragment header of an atomic fragment (RFC 6946, 4).
///
/// # Errors
/// Returns the frame, which is unusable, if its headers are inconsistent.
fn without_header(mut frame: Frame, head_len: usize, join: Join) -> Result<Frame, Frame> {
    let l3 = usize::from(frame.l3);
    let kept = join.kept(head_len);
    let gone = head_len - kept;
    let packet = frame.bytes().get(l3..).unwrap_or_default();
    // Link padding is not data.
    let len = packet.get(4..6).map_or(0, |len| {
        wire::ipv6::HEADER_LEN + usize::from(u16::from_be_bytes([len[0], len[1]]))
    });
    let Some(data_len) = len.checked_sub(head_len).filter(|_| len <= packet.len()) else {
        return Err(frame);
    };
    let bytes = frame.bytes_mut();
    bytes.copy_within(..l3 + kept, gone);
    frame.pull_front(gone);
    let finished = frame
        .bytes_mut()
        .get_mut(l3..l3 + kept)
        .and_then(|head| join.finish(head, data_len, None, false));
    match finished {
        Some(()) if frame.set_len(l3 + kept + data_len) => Ok(frame),
        _ => Err(frame),
    }
}

/// Returns the offload state of a packet reassembled from fragments of at most `bytes_max` bytes.
const fn of_pieces(bytes_max: u16) -> Offload {
    Offload {
        segmentation: Segmentation::Fragments,
        segment_bytes: bytes_max,
        ..Offload::FINISHED
    }
}
