//! TCP segments that this router sends in answer: resets where there is no connection (RFC 9293, 3.10.7.1), and the
//! tarpit.

use core::net::IpAddr;

use frame::Frame;
use wire::checksum::{pseudo_v4, pseudo_v6};
use wire::tcp::{Flags, Repr, Segment};
use wire::{Protocol, ipv4, ipv6};

use super::punt::packet_of;

/// A packet with a TCP segment to answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct TcpPacket<'a> {
    packet: &'a [u8],
    /// The checksum is not computed yet: the sender is a guest, or a process of this router, with checksum offload.
    unfinished: bool,
}

impl<'a> TcpPacket<'a> {
    pub(super) fn of(frame: &'a Frame) -> Self {
        Self {
            packet: packet_of(frame),
            unfinished: frame.offload.needs_checksum,
        }
    }
}

/// Builds the reset for a segment in an IPv4 packet; `None` for a reset or a damaged packet.
pub(super) fn answer4(asked: TcpPacket<'_>, id: u16) -> Option<Vec<u8>> {
    reply4(asked, id, |segment, _| reset(segment))
}

/// Builds the IPv4 packet with the segment that `answer` returns for a segment between these addresses.
fn reply4(
    asked: TcpPacket<'_>,
    id: u16,
    answer: impl FnOnce(&Segment<'_>, (u32, u32)) -> Option<Repr>,
) -> Option<Vec<u8>> {
    let packet = ipv4::Packet::new_checked(asked.packet).ok()?;
    let (src, dst) = (packet.src(), packet.dst());
    if !is_one(src.into()) || !is_one(dst.into()) || dst.is_broadcast() {
        return None;
    }
    let segment = Segment::new_checked(packet.payload()).ok()?;
    if !asked.unfinished {
        segment.verify_v4(src, dst).ok()?;
    }
    let answer = answer(&segment, (u32::from(src), u32::from(dst)))?;
    let mut upper = Vec::new();
    let len = Repr::len(&[], &[]);
    let pseudo = pseudo_v4(dst, src, Protocol::TCP, len as u16);
    answer.emit(&[], &[], pseudo, &mut upper);
    let header = ipv4::Repr {
        id,
        ..ipv4::Repr::new(Protocol::TCP, dst, src)
    };
    Some([&header.to_bytes(len)[..], &upper].concat())
}

/// Builds the reset for a segment in an IPv6 packet; `None` for a reset or a damaged packet.
pub(super) fn answer6(asked: TcpPacket<'_>) -> Option<Vec<u8>> {
    let packet = ipv6::Packet::new_checked(asked.packet).ok()?;
    let (src, dst) = (packet.src(), packet.dst());
    if !is_one(src.into()) || !is_one(dst.into()) {
        return None;
    }
    let upper = packet.upper().ok()?;
    let segment = Segment::new_checked(upper.payload).ok()?;
    if !asked.unfinished {
        segment.verify_v6(src, dst).ok()?;
    }
    let reset = reset(&segment)?;
    let mut bytes = Vec::new();
    let len = Repr::len(&[], &[]);
    let pseudo = pseudo_v6(dst, src, Protocol::TCP, len as u32);
    reset.emit(&[], &[], pseudo, &mut bytes);
    let header = ipv6::Repr::new(Protocol::TCP, dst, src);
    Some([&header.to_bytes(len)[..], &bytes].concat())
}

/// Builds the answer of a server that accepts a connection and never reads its data; `None` for a segment that needs no
/// answer. Sequence numbers follow from the secret `key`, so that no state is kept.
pub(super) fn hold4(asked: TcpPacket<'_>, id: u16, key: u64) -> Option<Vec<u8>> {
    reply4(asked, id, |segment, ends| {
        hold(segment, ends.0, ends.1, key)
    })
}

/// Announces a window of zero: the sender keeps probing the window, and keeps the connection (RFC 9293, 3.8.6.1).
fn hold(segment: &Segment<'_>, src: u32, dst: u32, key: u64) -> Option<Repr> {
    let flags = segment.flags();
    if flags.contains(Flags::RST) || flags.contains(Flags::FIN) {
        return None;
    }
    let ends = u64::from(src) << 32 | u64::from(dst);
    let ports = u64::from(segment.src_port()) << 16 | u64::from(segment.dst_port());
    let (seq, ack, flags) = if flags.contains(Flags::SYN) {
        let both = Flags(Flags::SYN.0 | Flags::ACK.0);
        let seq = mix64(mix64(ends ^ key) ^ ports) as u32;
        (seq, segment.seq().wrapping_add(1), both)
    } else if flags.contains(Flags::ACK) {
        (segment.ack(), segment.seq(), Flags::ACK)
    } else {
        return None;
    };
    Some(Repr {
        src_port: segment.dst_port(),
        dst_port: segment.src_port(),
        seq,
        ack,
        flags,
        window: 0,
        urgent: 0,
    })
}

/// Mixes all bits (last step of MurmurHash3).
const fn mix64(mut bits: u64) -> u64 {
    bits = (bits ^ bits >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    bits = (bits ^ bits >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    bits ^ bits >> 33
}

fn is_one(addr: IpAddr) -> bool {
    !addr.is_multicast() && !addr.is_unspecified() && !addr.is_loopback()
}

fn reset(segment: &Segment<'_>) -> Option<Repr> {
    let flags = segment.flags();
    if flags.contains(Flags::RST) {
        return None;
    }
    let control = u32::from(flags.contains(Flags::SYN)) + u32::from(flags.contains(Flags::FIN));
    let len = segment.payload().len() as u32 + control;
    let (seq, ack, flags) = if flags.contains(Flags::ACK) {
        (segment.ack(), 0, Flags::RST)
    } else {
        let all = Flags(Flags::RST.0 | Flags::ACK.0);
        (0, segment.seq().wrapping_add(len), all)
    };
    Some(Repr {
        src_port: segment.dst_port(),
        dst_port: segment.src_port(),
        seq,
        ack,
        flags,
        window: 0,
        urgent: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn syn(flags: Flags) -> Vec<u8> {
        let (src, dst) = ("10.0.0.2".parse(), "10.0.0.1".parse());
        let (src, dst) = (src.expect("an address"), dst.expect("an address"));
        let segment = Repr {
            src_port: 40_000,
            dst_port: 80,
            seq: 1_000,
            ack: 77,
            flags,
            window: 100,
            urgent: 0,
        };
        let mut upper = Vec::new();
        let pseudo = pseudo_v4(src, dst, Protocol::TCP, 23);
        segment.emit(&[], b"abc", pseudo, &mut upper);
        let header = ipv4::Repr::new(Protocol::TCP, src, dst);
        [&header.to_bytes(upper.len())[..], &upper].concat()
    }

    fn finished(packet: &[u8]) -> TcpPacket<'_> {
        TcpPacket {
            packet,
            unfinished: false,
        }
    }

    #[test]
    fn an_unfinished_checksum_is_not_treated_as_wrong() {
        let mut packet = syn(Flags::SYN);
        packet[36] ^= 1;

        assert_eq!(answer4(finished(&packet), 1), None);
        let unfinished = TcpPacket {
            packet: &packet,
            unfinished: true,
        };
        assert_eq!(
            answer4(unfinished, 1),
            answer4(finished(&syn(Flags::SYN)), 1)
        );
    }

    #[test]
    fn who_is_held_gets_a_connection_without_a_window() {
        let held = |flags: Flags| {
            let bytes = hold4(finished(&syn(flags)), 1, 7)?;
            let packet = ipv4::Packet::new_verified(&bytes).expect("a whole packet");
            let segment = Segment::new_checked(packet.payload()).expect("a segment");
            let sum = segment.verify_v4(packet.src(), packet.dst());
            sum.expect("a checksum");
            Some((
                segment.flags(),
                segment.seq(),
                segment.ack(),
                segment.window(),
            ))
        };
        let both = Flags(Flags::SYN.0 | Flags::ACK.0);

        let (flags, seq, ack, window) = held(Flags::SYN).expect("an answer");
        assert_eq!((flags, ack, window), (both, 1_001, 0));
        assert_eq!(held(Flags::SYN).map(|answer| answer.1), Some(seq));
        assert_eq!(held(Flags::ACK), Some((Flags::ACK, 77, 1_000, 0)));
        assert_eq!((held(Flags::RST), held(Flags::FIN)), (None, None));
    }

    fn answer(flags: Flags) -> Option<(u32, u32, Flags)> {
        let bytes = answer4(finished(&syn(flags)), 1)?;
        let packet = ipv4::Packet::new_verified(&bytes).expect("a whole packet");
        let segment = Segment::new_checked(packet.payload()).expect("a segment");
        segment
            .verify_v4(packet.src(), packet.dst())
            .expect("a checksum");
        assert_eq!((segment.src_port(), segment.dst_port()), (80, 40_000));
        Some((segment.seq(), segment.ack(), segment.flags()))
    }

    #[test]
    fn a_segment_is_reset_with_numbers_that_its_sender_believes() {
        // "If the ACK bit is off, sequence number zero is used,
        // <SEQ=0><ACK=SEG.SEQ+SEG.LEN><CTL=RST,ACK>".
        let both = Flags(Flags::RST.0 | Flags::ACK.0);
        assert_eq!(answer(Flags::SYN), Some((0, 1_004, both)));
        // "If the ACK bit is on, <SEQ=SEG.ACK><CTL=RST>".
        assert_eq!(answer(Flags::ACK), Some((77, 0, Flags::RST)));
        assert_eq!(answer(Flags::RST), None);
    }
}
