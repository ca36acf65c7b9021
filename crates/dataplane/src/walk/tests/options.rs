//! Tests of IPv4 options through a whole worker (RFC 791, 3.1; RFC 1812, 5.2.4).

use frame::Offload;

use super::{forwarded4, ip4, rig, with_options};
use crate::drop::DropReason;
use crate::punt::PuntReason;
use crate::snapshot::SlowReason;
use crate::testing::{ETHER1, ETHER2, MIRROR, Rig, Udp4, seal};
/// 10.0.2.1, the router's address on `ether2`.
const EGRESS4: [u8; 4] = [10, 0, 2, 1];
const MIDNIGHT_MS: u32 = 0x0123_4567;

/// Returns a router with a clock, and with an address on both interfaces.
fn recorder() -> Rig {
    let mut rig = rig();
    rig.details(ETHER1).address4 = Some([10, 0, 0, 1].into());
    rig.details(ETHER2).address4 = Some(EGRESS4.into());
    rig.publish();
    rig.workers[0].set_unix_ms(MIDNIGHT_MS.into());
    rig
}

#[test]
fn options_get_the_address_of_the_egress_interface_and_the_time() {
    let mut rig = recorder();
    let cases: [(&[u8], &[u8]); 6] = [
        // Record route with room for two addresses; without room; behind a no-operation.
        (
            &[7, 11, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            &[7, 11, 8, 10, 0, 2, 1, 0, 0, 0, 0, 0],
        ),
        (&[7, 7, 8, 1, 2, 3, 4, 0], &[7, 7, 8, 1, 2, 3, 4, 0]),
        (&[1, 7, 7, 4, 0, 0, 0, 0], &[1, 7, 7, 8, 10, 0, 2, 1]),
        // Timestamps; addresses and timestamps; the timestamp of a prespecified local address
        // (10.0.0.1).
        (
            &[68, 8, 5, 0, 0, 0, 0, 0],
            &[68, 8, 9, 0, 0x01, 0x23, 0x45, 0x67],
        ),
        (
            &[68, 12, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0],
            &[68, 12, 13, 1, 10, 0, 2, 1, 0x01, 0x23, 0x45, 0x67],
        ),
        (
            &[68, 12, 5, 3, 10, 0, 0, 1, 0, 0, 0, 0],
            &[68, 12, 13, 3, 10, 0, 0, 1, 0x01, 0x23, 0x45, 0x67],
        ),
    ];
    for (asked, answered) in cases {
        let sent = rig.pass(ip4(&with_options(asked)));

        // `forwarded4` corrects the checksum, so equality shows that it was right.
        assert_eq!(sent, [forwarded4(&with_options(answered))], "{asked:?}");
    }
    assert_eq!(rig.drops(), []);
}

#[test]
fn options_are_filled_in_amid_plain_packets_and_on_the_slow_path() {
    let mut rig = recorder();
    let asked = with_options(&[7, 7, 4, 0, 0, 0, 0, 0]);
    let answered = forwarded4(&with_options(&[7, 7, 8, 10, 0, 2, 1, 0]));
    let plain = Udp4::default();
    for slow in [&[][..], &[SlowReason::NotAllowed]] {
        rig.slow4(slow);
        rig.publish();
        rig.arrive(plain.frame());
        rig.arrive(ip4(&asked));

        let sent = rig.pass(plain.frame());

        let plain = forwarded4(&plain.packet());
        assert_eq!(sent, [plain.clone(), answered.clone(), plain]);
    }
}

#[test]
fn options_without_room_are_told_about_as_they_came() {
    let mut rig = recorder();
    // Room for three bytes of an address; a pointer before the first address; a sixteenth overflow.
    for (options, pointer) in [
        (&[7, 6, 4, 0, 0, 0, 0, 0], 22),
        (&[7, 7, 3, 0, 0, 0, 0, 0], 22),
        (&[68, 8, 9, 0xf0, 1, 2, 3, 4], 22),
    ] {
        let frame = ip4(&with_options(options));

        assert_eq!(rig.pass(frame.clone()), [[]; 0] as [[u8; 0]; 0]);
        assert_eq!(
            rig.punts(),
            [(PuntReason::ParameterProblem(pointer), frame)]
        );
    }
    assert_eq!(rig.drops(), [(DropReason::Ipv4Options, 3)]);
}

#[test]
fn packets_of_the_router_itself_keep_their_options() {
    let mut rig = recorder();
    let mut packet = with_options(&[7, 7, 4, 0, 0, 0, 0, 0]);
    packet[12..16].copy_from_slice(&[10, 0, 0, 1]);
    seal(&mut packet);

    rig.arrive_unfinished(MIRROR, packet.clone(), Offload::FINISHED);
    rig.settle();

    assert_eq!(rig.sent(1)[0][14..], packet);
}
