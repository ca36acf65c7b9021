//! Reassembly: fragments become the packet that they were (RFC 791, 3.2; RFC 1122, 3.3.2; RFC 8200,
//! 4.5; RFC 5722, RFC 6946, RFC 7112). One for each family, because their settings differ; it takes
//! packets of either.
//!
//! Fragments wait in the frames that they came in. When the last is here their bytes move into one
//! frame, which carries what it was made of ([`Segmentation::Fragments`]): a router passes it on in
//! fragments no larger than those that came.
//!
//! Pieces that overlap make the whole packet disappear, in IPv4 as in IPv6: whichever piece wins,
//! a firewall and a host could read different packets, and an IPv4 sender whose identifications
//! come around would otherwise mix two packets. A piece that comes twice, byte for byte, is ignored.
//! In IPv6 what comes later of such a packet is discarded too (RFC 5722, 4); in IPv4 it is not,
//! because identifications are few and the next packet may be innocent.
//!
//! Memory and packets are bounded; where there is no room the oldest incomplete packet goes. Nothing
//! is allocated for a fragment once as many have waited before.

mod packets;
mod piece;
mod slab;

#[cfg(test)]
mod tests;

use machine::{Duration, Instant};

use crate::{Frame, Offload, Pool, Segmentation};
use packets::{Held, Packets, Place};
use piece::{Join, NoPiece, Piece, Read};

/// The settings of one family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// From the first piece that arrives until the packet is given up; a second at least.
    pub timeout: Duration,
    /// The most bytes that incomplete packets may use: whole slots of the pool, and bookkeeping.
    pub memory_max_bytes: usize,
    /// The most incomplete packets.
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

/// Why a fragment is given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// It cannot be: malformed, empty, beyond the end of a packet, without the headers that a first
    /// one has; or the whole would be too long.
    Malformed,
    /// The same of IPv6, and a parameter problem, code 0, is owed about it (RFC 8200, 4.5).
    Problem {
        /// The byte in error, from the IPv6 header on.
        pointer: u32,
    },
    /// It came twice.
    Duplicate,
    /// Pieces of its packet overlap, or contradict each other about its end.
    Overlap,
    /// Only some pieces of its packet knew of congestion marks (RFC 3168, 5.3).
    Ecn,
    /// There was no room: its packet was the oldest, or in too many pieces.
    Full,
    /// The packet was whole, and the pool had no slot for it.
    NoBuffer,
    /// Whoever holds frames has all of the pool that they may ([`Pool::hold`]).
    Reserve,
    /// Its packet's time is up.
    TimedOut {
        /// It is the first piece: time exceeded, code 1, is owed about it by the packet's receiver
        /// (RFC 1122, 3.3.2; RFC 8200, 4.5).
        first: bool,
    },
}

/// Puts packets together. `T` is what the owner wants back with a frame.
#[derive(Debug)]
pub struct Reassembly<T> {
    config: Config,
    packets: Packets<T>,
    lost: Vec<(Frame, T, Lost)>,
}

/// The most pieces of a packet: 64 KB in those of a link of 296 bytes, the smallest of the first
/// internet (RFC 1191, 7.1).
const PIECES_MAX: usize = 256;
/// A timeout of zero would give every packet up at once.
const TIMEOUT_MIN: Duration = Duration::from_secs(1);

impl<T: Copy> Reassembly<T> {
    /// Nothing waits yet.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            packets: Packets::default(),
            lost: Vec::new(),
        }
    }

    /// Changes the settings, for packets that wait as well.
    pub fn configure(&mut self, config: Config) {
        self.config = config;
        self.make_room();
    }

    /// How many packets are incomplete.
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Whether no packet is incomplete.
    pub fn is_empty(&self) -> bool {
        self.packets.len() == 0
    }

    /// Bytes in use, bookkeeping included.
    pub fn used_bytes(&self) -> usize {
        self.packets.used_bytes()
    }

    /// When [`Self::expire`] is next worth calling.
    pub fn deadline(&self) -> Option<Instant> {
        let oldest = self.packets.oldest()?;
        Some(oldest.1 + self.config.timeout.max(TIMEOUT_MIN))
    }

    /// Takes a packet whose network header is at `frame.l3`. Gives back the one that is whole with
    /// it, in a frame of `pool`, with the link header and the tag of its first piece; a packet that is
    /// none in pieces comes back as it is. What is given up is fetched by [`Self::take_lost`].
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
        let mut held = Held::new(piece, frame, tag);
        let behind = match self.packets.place(at, piece, &held) {
            Place::Behind(behind) => behind,
            Place::Duplicate => {
                self.lost.push((held.frame, tag, Lost::Duplicate));
                return None;
            }
            Place::Overlap => {
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

    /// The packet is whole: its pieces are freed, or lost with it.
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

    /// Gives up packets whose time is over.
    pub fn expire(&mut self, now: Instant) {
        let timeout = self.config.timeout.max(TIMEOUT_MIN);
        while let Some((oldest, since)) = self.packets.oldest()
            && since + timeout <= now
        {
            let first = |held: &Held<T>| held.offset == 0;
            self.give_up(oldest, |held| Lost::TimedOut { first: first(held) }, false);
        }
    }

    /// Gives up all packets.
    pub fn clear(&mut self) {
        while let Some((oldest, _)) = self.packets.oldest() {
            self.give_up(oldest, |_| Lost::Full, false);
        }
    }

    /// A fragment that was given up, with its tag; the last one first.
    pub fn take_lost(&mut self) -> Option<(Frame, T, Lost)> {
        self.lost.pop()
    }

    /// Gives a packet up. With `poisons`, what comes later of it is discarded, too.
    fn give_up(&mut self, at: u32, why: impl Fn(&Held<T>) -> Lost, poisons: bool) {
        let lost = &mut self.lost;
        let each = |held: Held<T>| {
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

/// An atomic fragment without its fragment header (RFC 6946, 4).
///
/// # Errors
/// The frame, whose headers do not hold together; it is good for nothing.
fn without_header(mut frame: Frame, head_len: usize, join: Join) -> Result<Frame, Frame> {
    let l3 = usize::from(frame.l3);
    let kept = join.kept(head_len);
    let gone = head_len - kept;
    let packet = frame.bytes().get(l3..).unwrap_or_default();
    // Padding of the link is no data.
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

/// What is unfinished about a packet that was put together of pieces of at most so many bytes.
const fn of_pieces(bytes_max: u16) -> Offload {
    Offload {
        segmentation: Segmentation::Fragments,
        segment_bytes: bytes_max,
        ..Offload::FINISHED
    }
}
