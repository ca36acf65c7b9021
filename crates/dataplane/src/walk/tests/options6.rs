//! Tests of hop-by-hop options through a whole worker (RFC 8200, 4.2 and 4.3).

use std::sync::Arc;

use super::{ip6, rig, with_options6};
use crate::drop::DropReason;
use crate::firewall::Firewall;
use crate::punt::PuntReason;
use crate::snapshot::SlowReason;
use crate::testing::{GATEWAY, Rig, Udp6, gateway};

const PLAIN: Udp6 = Udp6 {
    source: 0x2001_0db8_0000_000a << 64 | 2,
    destination: 0x2001_0db8_0000_000b << 64 | 2,
    hop_limit: 64,
    next_header: 17,
    payload: 26,
};

/// Returns a router with a route to the destination of [`Udp6`].
fn router() -> Rig {
    let mut rig = rig();
    let mut adjacency = gateway();
    adjacency.header[12..14].copy_from_slice(&[0x86, 0xdd]);
    rig.writer.set_next_hop(rig.gateway, &adjacency);
    rig
}

/// Returns a packet as the router forwards it.
fn forwarded(packet: &[u8]) -> Vec<u8> {
    let mut packet = packet.to_vec();
    packet[7] -= 1;
    [&GATEWAY[..], &[0x86, 0xdd], &packet].concat()
}

/// Returns this many skippable options; the last one fills the header.
fn many(count: usize) -> Vec<u8> {
    let mut options = [0x1e, 0].repeat(count);
    options[2 * count - 1] = 22 - 2 * count as u8;
    options.resize(22, 0);
    options
}

#[test]
fn options_that_are_known_or_may_be_skipped_go_on_as_they_are() {
    let mut rig = router();
    for options in [
        &[1, 4, 0, 0, 0, 0][..],
        &[0, 0, 0, 0, 0, 0],
        // Router alert; an option that may change on the way and may be skipped.
        &[5, 2, 0, 0, 1, 0],
        &[0x3e, 4, 1, 2, 3, 4],
        &many(8),
    ] {
        let packet = with_options6(options);

        assert_eq!(rig.pass(ip6(&packet)), [forwarded(&packet)], "{options:?}");
    }
    assert_eq!((rig.drops(), rig.punts()), (vec![], vec![]));
}

#[test]
fn options_that_are_malformed_or_ask_for_it_end_the_packet() {
    let header = |len| {
        let mut packet = with_options6(&[1, 4, 0, 0, 0, 0]);
        packet[41] = len;
        packet
    };
    let mut empty = with_options6(&[1, 4, 0, 0, 0, 0]);
    empty[4..6].fill(0);
    for (reason, packet) in [
        // Beyond the header, of any length; a router alert of another length; padding with content.
        (
            DropReason::Ipv6Options,
            with_options6(&[0x1e, 5, 0, 0, 0, 0]),
        ),
        (
            DropReason::Ipv6Options,
            with_options6(&[1, 3, 0, 0, 0, 0x1e]),
        ),
        (DropReason::Ipv6Options, with_options6(&[5, 1, 0, 1, 1, 0])),
        (DropReason::Ipv6Options, with_options6(&[1, 4, 0, 0, 0, 1])),
        (DropReason::Ipv6Options, with_options6(&many(9))),
        (
            DropReason::Ipv6UnknownOption,
            with_options6(&[0x5e, 4, 0, 0, 0, 0]),
        ),
        // The header reaches beyond the packet; the packet has no payload length.
        (DropReason::Ipv6ExtensionHeader, header(200)),
        (DropReason::Ipv6ExtensionHeader, empty),
    ] {
        let mut rig = router();

        assert_eq!(rig.pass(ip6(&packet)), [[]; 0] as [[u8; 0]; 0]);
        assert_eq!(rig.drops(), [(reason, 1)], "{packet:?}");
        assert_eq!(rig.punts(), []);
    }
}

#[test]
fn who_wants_to_be_told_of_an_unknown_option_is_told_where_it_is() {
    let mut rig = router();
    let own = Udp6 {
        destination: PLAIN.source - 1,
        ..PLAIN
    };
    for (options, pointer) in [
        (&[0x9e, 4, 0, 0, 0, 0][..], 42),
        (&[0xde, 4, 0, 0, 0, 0], 42),
        // Behind another option; the jumbogram option.
        (&[5, 2, 0, 0, 0x80, 0], 46),
        (&[0xc2, 4, 0, 1, 0, 0], 42),
    ] {
        for udp in [PLAIN, own] {
            let frame = ip6(&super::hop_by_hop(udp.packet(), options));

            assert_eq!(rig.pass(frame.clone()), [[]; 0] as [[u8; 0]; 0]);
            assert_eq!(rig.punts(), [(PuntReason::UnknownOption(pointer), frame)]);
        }
    }
    assert_eq!(rig.drops(), [(DropReason::Ipv6UnknownOption, 8)]);
}

#[test]
fn of_packets_to_groups_only_who_insists_is_told() {
    let udp = Udp6 {
        destination: 0xff02 << 112 | 1,
        ..PLAIN
    };
    let arriving = |option: u8| {
        let packet = super::hop_by_hop(udp.packet(), &[option, 4, 0, 0, 0, 0]);
        let mut frame = ip6(&packet);
        frame[..6].copy_from_slice(&[0x33, 0x33, 0, 0, 0, 1]);
        let mut rig = router();
        rig.pass(frame);
        let punts = rig.punts();
        (punts.first().map(|(why, _)| *why), rig.drops())
    };
    let dropped = vec![(DropReason::Ipv6UnknownOption, 1)];

    let insists = Some(PuntReason::UnknownOption(42));
    assert_eq!(arriving(0x9e), (insists, dropped.clone()));
    assert_eq!(arriving(0xde), (None, dropped.clone()));
    assert_eq!(arriving(0x5e), (None, dropped));
}

#[test]
fn options_are_looked_at_amid_plain_packets_on_every_path() {
    let guarded = |rig: &mut Rig| {
        let mut firewall = Firewall::clone(&rig.snapshot.firewall);
        firewall.tracks6 = true;
        rig.snapshot.firewall = Arc::new(firewall);
    };
    let reasons = [SlowReason::NotAllowed].into_iter().collect();
    let slow = |rig: &mut Rig| rig.snapshot.ipv6.slow = reasons;
    let ways: [&dyn Fn(&mut Rig); 3] = [&|_| {}, &slow, &guarded];
    for way in ways {
        let mut rig = router();
        way(&mut rig);
        rig.publish();
        // Two groups of frames that are checked together.
        for at in 0..32 {
            match at {
                7 => rig.arrive(ip6(&with_options6(&[0x5e, 4, 0, 0, 0, 0]))),
                21 => rig.arrive(ip6(&with_options6(&[5, 2, 0, 0, 1, 0]))),
                _ => rig.arrive(PLAIN.frame()),
            }
        }
        rig.settle();

        let mut expected = vec![forwarded(&PLAIN.packet()); 31];
        expected[20] = forwarded(&with_options6(&[5, 2, 0, 0, 1, 0]));
        assert_eq!(rig.sent(1), expected);
        assert_eq!(rig.drops(), [(DropReason::Ipv6UnknownOption, 1)]);
    }
}
