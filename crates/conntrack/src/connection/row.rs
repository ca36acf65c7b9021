//! Consistent copy of a connection, for the control plane and the packet tracer.

use frame::InterfaceId;
use packet::count::Traffic;
use packet::{Tuple, protocol};

use super::gre::Gre;
use super::id::{EntryId, NextHop, Slot};
use super::layout::{
    FLAGS_SHIFT, Layout, SHARED, flag, half_of, line_of, next_hop_of, own, shared,
};
use super::rate::Rate;
use super::settings::Tick;
use super::state::{Helper, NatState, TcpState};

/// The words of an entry, copied.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Words {
    pub(super) lines: [[u64; 8]; 5],
    pub(super) cold: [u64; 2],
}

/// Counters and FastTrack state of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Direction {
    /// All packets and bytes, from the network header on.
    pub traffic: Traffic,
    /// The part of the traffic that FastTrack carried.
    pub fasttrack: Traffic,
    /// Time of the last packet.
    pub last: Tick,
    /// The next hop that FastTrack remembers.
    pub next_hop: NextHop,
    pub(super) rate: Rate,
}

/// One row of `/ip/firewall/connection` or `/ipv6/firewall/connection`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The connection's id.
    pub id: EntryId,
    /// The tuple of the original direction.
    pub original: Tuple,
    /// The tuple of the reply direction.
    pub reply: Tuple,
    /// `tcp-state`.
    pub tcp_state: TcpState,
    /// The helper that reads the connection, or that expected it.
    pub helper: Helper,
    /// The connection mark.
    pub mark: u32,
    /// The interface by which the first packet left the router.
    pub egress: InterfaceId,
    /// Kinds of address translation.
    pub nat: NatState,
    /// Flag `S`.
    pub seen_reply: bool,
    /// Flag `A`.
    pub assured: bool,
    /// Flag `E`.
    pub expected: bool,
    /// Flag `F`.
    pub fasttrack: bool,
    /// True if `masquerade` translated the source.
    pub masquerade: bool,
    /// Idle timeout in seconds.
    pub timeout_secs: u32,
    /// The GRE header of the first packet, if the connection is GRE.
    pub gre: Option<Gre>,
    /// Value that another module stores with the connection (`Tracker::set_attachment`).
    pub attachment: u32,
    /// Original direction, reply direction.
    pub directions: [Direction; 2],
}

impl Row {
    /// Decodes an entry; `None` if the slot is empty.
    pub(super) fn of<F: Layout>(slot: Slot, words: &Words) -> Option<Self> {
        let common = &words.lines[SHARED];
        let state = common[shared::STATE];
        let owned = (state >> 40) as u16;
        if owned & own::LIVE == 0 {
            return None;
        }
        let line = |reply| &words.lines[line_of(reply)];
        let flags = (line(false)[F::META] >> FLAGS_SHIFT) as u8;
        let fasttrack = flags & flag::FASTTRACK != 0;
        let original = F::tuple(line(false));
        let gre = (original.protocol == protocol::GRE).then(|| Gre::of_word(common[shared::GRE]));
        Some(Self {
            id: EntryId {
                slot,
                generation: half_of(common[shared::VERSION], 1),
            },
            original,
            reply: F::tuple(line(true)),
            tcp_state: TcpState::from_bits((state >> 24) as u8),
            helper: Helper::from_bits((state >> 32) as u8),
            mark: half_of(common[shared::MARK], 0),
            egress: InterfaceId(half_of(common[shared::MARK], 1)),
            nat: NatState(flags >> flag::NAT_SHIFT & 0xf),
            seen_reply: flags & flag::SEEN_REPLY != 0,
            assured: flags & flag::ASSURED != 0,
            expected: owned & own::EXPECTED != 0,
            fasttrack,
            masquerade: owned & own::MASQUERADE != 0,
            timeout_secs: state as u32 & 0xff_ffff,
            gre: gre.flatten(),
            attachment: half_of(words.cold[1], 0),
            directions: [false, true].map(|reply| direction::<F>(words, reply, fasttrack)),
        })
    }

    /// Returns the seconds until the connection expires if no packet arrives.
    pub fn timeout(&self, now: Tick) -> u32 {
        let [original, reply] = self.directions.map(|direction| now.since(direction.last));
        let silent = original.min(reply).max(0) as u32;
        self.timeout_secs
            .saturating_sub(silent / super::settings::TICKS_PER_SECOND)
    }

    /// Returns `orig-rate` and `repl-rate`: the bits of the last whole second.
    pub fn rates_bps(&self, now: Tick) -> [u64; 2] {
        self.directions.map(|direction| {
            direction
                .rate
                .bps(direction.traffic.bytes, direction.last, now)
        })
    }
}

fn direction<F: Layout>(words: &Words, reply: bool, fasttrack: bool) -> Direction {
    let line = &words.lines[line_of(reply)];
    let side = usize::from(reply);
    let traffic = Traffic {
        packets: line[F::PACKETS],
        bytes: line[F::BYTES],
    };
    let slow = [shared::SLOW_PACKETS[side], shared::SLOW_BYTES[side]];
    let [packets, bytes] = slow.map(|word| words.lines[SHARED][word]);
    let slow = super::trail::slow_of(packets, bytes);
    let rate = words.lines[F::RATE_LINE[side]][F::RATE];
    Direction {
        traffic,
        fasttrack: Traffic {
            packets: traffic.packets.saturating_sub(slow.packets),
            bytes: traffic.bytes.saturating_sub(slow.bytes),
        },
        last: Tick(half_of(line[F::LAST], 0)),
        next_hop: next_hop_of(line[F::META], line[F::LAST]),
        rate: Rate::of_word(rate),
    }
    .without_fasttrack(!fasttrack)
}

impl Direction {
    /// Clears the FastTrack counters if the words hold TCP state instead.
    fn without_fasttrack(self, without: bool) -> Self {
        let fasttrack = if without {
            Traffic::default()
        } else {
            self.fasttrack
        };
        Self { fasttrack, ..self }
    }
}
