//! Frames of one vector end as they do one by one, whatever lies among them.

use machine::Rng;

use super::firewall::{MASQUERADE, client, filtered, hits, tracked, translated};
use super::rig;
use crate::firewall::{filter, nat};
use crate::rule::{Action, Match, Rule, State};
use crate::testing::{ETHER1, ETHER2, MAC, Rig, Udp4, Udp6, arp, ethernet, seal};
use crate::{Drop, Why};

/// What is asked of packets.
#[derive(Clone, Copy, Debug)]
enum Asked {
    Nothing,
    Filter,
    Connections,
    Translation,
}

/// What became of frames.
#[derive(Debug, PartialEq)]
struct Ended {
    sent: [Vec<Vec<u8>>; 2],
    drops: Vec<(Drop, u64)>,
    punts: Vec<(Why, Vec<u8>)>,
    hits: [(u64, u64); 4],
    came: [u64; 2],
}

/// A frame to `ether1`, or the other way round to `ether2`. One of `odd` is not plain.
fn frame(rng: &mut Rng, back: bool, odd: u64) -> Vec<u8> {
    let client = 0x0a00_0002;
    let server = 0x0b00_0000 + rng.below(4) as u32;
    let number = rng.below(40) as u16;
    let udp = Udp4 {
        to: if back { [2, 0, 0, 0, 0, 2] } else { MAC },
        source: if back { server } else { client },
        destination: if back { client } else { server },
        source_port: if back { 53 } else { number },
        destination_port: if back { number } else { 53 },
        protocol: if rng.percent(30) { 6 } else { 17 },
        payload: 12 + rng.below(30) as usize,
        ..Udp4::default()
    };
    let mut frame = udp.frame();
    if udp.protocol == 6 {
        // Mostly acknowledgements.
        frame[46] = 0x50;
        frame[47] = if rng.percent(80) {
            0x10
        } else {
            rng.next_u32() as u8
        };
    }
    if rng.percent(30) {
        frame.extend([0; 9]);
    }
    if rng.below(odd) == 0 {
        spoil(&mut frame, udp, rng);
    }
    frame
}

/// Makes a plain frame another one.
fn spoil(frame: &mut Vec<u8>, udp: Udp4, rng: &mut Rng) {
    let other = |change: &dyn Fn(&mut Udp4)| {
        let mut udp = udp;
        change(&mut udp);
        udp.frame()
    };
    match rng.below(18) {
        0 => frame[24] ^= 1,
        1 => frame[5] ^= 4,
        2 => *frame = other(&|udp| udp.source = 0x0a00_0001),
        3 => *frame = other(&|udp| udp.source = 0x7f00_0001),
        4 => *frame = other(&|udp| udp.destination = 0x7f00_0001),
        5 => *frame = other(&|udp| udp.destination = 0xe000_0005),
        6 => *frame = other(&|udp| udp.ttl = 1),
        7 => *frame = other(&|udp| udp.ttl = 0),
        8 => *frame = other(&|udp| udp.destination = 0x0a00_0001),
        9 => *frame = other(&|udp| udp.protocol = 1),
        10 => *frame = other(&|udp| udp.payload = 1),
        11 => *frame = other(&|udp| udp.payload = 1472),
        12 => {
            frame[14] = if rng.percent(50) { 0x46 } else { 0x55 };
            seal(&mut frame[14..]);
        }
        13 => {
            frame[16..18].copy_from_slice(&(rng.below(80) as u16).to_be_bytes());
            seal(&mut frame[14..]);
        }
        14 => frame.truncate(rng.below(60) as usize),
        15 => *frame = Udp6::default().frame(),
        16 => *frame = arp(),
        _ => *frame = ethernet(udp.to, 0x8100, &frame[12..]),
    }
}

fn router(asked: Asked) -> Rig {
    let mut rig = rig();
    rig.interface(ETHER2).address4 = Some(core::net::Ipv4Addr::new(10, 1, 0, 1));
    client(&mut rig);
    match asked {
        Asked::Nothing => return rig,
        Asked::Filter => {}
        Asked::Connections => tracked(&mut rig),
        Asked::Translation => translated(&mut rig, nat::SRCNAT, Vec::new(), MASQUERADE),
    }
    let established = Match::ConnectionState([State::Established].into_iter().collect());
    let few = Match::DestinationPort([(1, 9)].into());
    let rules = vec![
        Rule::new(1, vec![established.into()], Action::Accept),
        Rule::new(2, vec![few.into()], Action::Drop),
        Rule::new(
            3,
            vec![Match::InInterface(ETHER1).into()],
            Action::Passthrough,
        ),
    ];
    filtered(&mut rig, filter::FORWARD, rules);
    rig
}

/// Passes some vectors in both directions, each frame `alone` or all of a vector together.
fn pass(seed: u64, asked: Asked, alone: bool) -> Ended {
    let mut rng = Rng::seeded(seed);
    let mut rig = router(asked);
    let odd = 8 << (seed % 4);
    for round in 0..6 {
        let back = round % 2 == 1;
        for _ in 0..rng.below(150) {
            let finished = frame::Offload::FINISHED;
            rig.arrive_unfinished(back.into(), frame(&mut rng, back, odd), finished);
            if alone {
                rig.settle();
            }
        }
        rig.settle();
    }
    Ended {
        sent: [rig.sent(0), rig.sent(1)],
        drops: rig.drops(),
        punts: rig.punts(),
        hits: [1, 2, 3, 4].map(|rule| hits(&rig, rule)),
        came: [ETHER1, ETHER2].map(|id| rig.traffic(id).rx.bytes),
    }
}

#[test]
fn frames_of_one_vector_end_as_they_do_one_by_one() {
    for asked in [
        Asked::Nothing,
        Asked::Filter,
        Asked::Connections,
        Asked::Translation,
    ] {
        for seed in 0..60 {
            let together = pass(seed, asked, false);
            let alone = pass(seed, asked, true);
            assert_eq!(together, alone, "{asked:?}, seed {seed}");
            assert!(together.sent[1].len() > 10 || seed > 0);
        }
    }
}
