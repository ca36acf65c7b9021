//! Each case against the decisions of the walk.

use std::collections::HashSet;

use dataplane::PuntReason;
use dataplane::trace::End;
use dataplane::walk::Exit;
use service::icmp::{Offender, SentTo, v4, v6};

use super::*;
use crate::rig::{Rig, WAN};

/// Returns the ICMP message that control sends about a punted packet.
fn told(why: PuntReason, packet: &[u8], sent_to: SentTo) -> Option<Icmp> {
    let offender = Offender { packet, sent_to };
    let is_v6 = packet[0] >> 4 == 6;
    if matches!(why, PuntReason::Local | PuntReason::Service { .. }) {
        return if is_v6 {
            let reply = v6::echo_reply(&offender, Ipv6Addr::LOCALHOST, |to| !to.is_multicast());
            reply.ok().map(|reply| Icmp::V6(reply[40], reply[41]))
        } else {
            v4::echo_reply(&offender, 0)
                .ok()
                .map(|reply| Icmp::V4(reply[20], reply[21]))
        };
    }
    if is_v6 {
        let error = match why {
            PuntReason::TtlExceeded => v6::Error::TimeExceeded,
            PuntReason::TooBig(mtu) => v6::Error::PacketTooBig { mtu },
            PuntReason::BeyondScope => {
                v6::Error::Unreachable(wire::icmpv6::Unreachable::BEYOND_SCOPE)
            }
            PuntReason::UnknownOption(pointer) => v6::Error::ParameterProblem {
                code: v6::Parameter::Option,
                pointer: pointer.into(),
            },
            other => panic!("{other:?} about an odd packet"),
        };
        let message = v6::error(&offender, error, Ipv6Addr::LOCALHOST).ok()?;
        return Some(Icmp::V6(message[40], message[41]));
    }
    let error = match why {
        PuntReason::TtlExceeded => v4::Error::TimeExceeded,
        PuntReason::TooBig(mtu) => v4::Error::FragmentationNeeded { mtu: mtu as u16 },
        PuntReason::ParameterProblem(pointer) => v4::Error::ParameterProblem {
            pointer: pointer as u8,
        },
        other => panic!("{other:?} about an odd packet"),
    };
    let message = v4::error(&offender, error, Ipv4Addr::LOCALHOST, 0).ok()?;
    Some(Icmp::V4(message[20], message[21]))
}

/// Returns the walk's verdict on a frame.
fn outcome(end: &End, frame: &[u8], mtu: u16) -> Outcome {
    let packet = &frame[14..];
    let sent_to = if frame[0] & 1 == 0 {
        SentTo::One
    } else {
        SentTo::Many
    };
    match *end {
        End::Sent(egress) => {
            assert_eq!(egress, WAN);
            let len = u16::from_be_bytes([packet[2], packet[3]]);
            if packet[0] >> 4 == 4 && len > mtu {
                Outcome::Fragmented
            } else {
                Outcome::Forwarded
            }
        }
        End::Exit(Exit::Drop(reason)) => Outcome::Dropped(reason),
        End::Exit(Exit::Punt(why)) => match (why.discards(), told(why, packet, sent_to)) {
            (Some(reason), Some(icmp)) => Outcome::Refused(reason, icmp),
            (Some(reason), None) => Outcome::Dropped(reason),
            (None, Some(icmp)) => Outcome::Answered(icmp),
            (None, None) => panic!("{why:?} leads nowhere"),
        },
        End::Exit(exit) => panic!("{exit:?} about an odd packet"),
    }
}

#[test]
fn every_odd_packet_has_the_expected_outcome() {
    let rig = Rig::example();
    let hosts = Hosts::example();
    for odd in cases() {
        let frames = (odd.frames)(&hosts);
        assert!(!frames.is_empty(), "{}", odd.name);
        for frame in frames {
            let walked = rig.trace(&frame);

            assert_eq!(
                outcome(&walked.end, &frame, hosts.mtu),
                odd.outcome,
                "{}: {}",
                odd.name,
                odd.why
            );
        }
    }
}

#[test]
fn names_are_unique_and_every_reason_has_its_section() {
    let mut names = HashSet::new();
    for odd in cases() {
        assert!(names.insert(odd.name), "{} twice", odd.name);
        assert!(
            odd.why.contains("RFC") || odd.name.ends_with("plain"),
            "{}",
            odd.name
        );
    }
}
