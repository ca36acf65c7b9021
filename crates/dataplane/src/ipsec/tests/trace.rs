//! Tests of traces of packets that IPsec protects, admits, or would have protected.

use super::*;
use crate::firewall as tables;
use crate::nat::{self, Side, Target};
use crate::rule::{self, Match, Rule};
use crate::testing::{ETHER1, ETHER2, class_of};
use crate::trace::{Assumed, End, Question, Walked, trace, trace_packet};
use crate::walk::Exit;

fn lines(walked: &Walked) -> String {
    let lines = walked.lines.iter();
    let lines = lines.map(|line| format!("{}: {}\n", line.stage.name(), line.decision));
    lines.collect()
}

fn revealed(rig: &Rig, frame: &[u8]) -> Walked {
    let question = Question {
        assumed: Assumed {
            revealed: true,
            ..Assumed::default()
        },
        ..Question::new(frame, ETHER1)
    };
    trace(rig.tables(), &question)
}

#[test]
fn a_trace_does_not_deliver_what_had_to_be_protected() {
    for guards in [false, true] {
        let mut to = receiver(Way { guards, ..TUNNEL });
        to.own(IpAddr::V4(Ipv4Addr::from_bits(HOST)));
        for destination in [HOST, 0x0b01_0009] {
            let frame = Udp4 {
                source: 0x0a00_0002,
                destination,
                ..Udp4::default()
            };
            let walked = trace_packet(to.tables(), &frame.frame(), ETHER1);
            let dropped = End::Exit(Exit::Drop(DropReason::IpsecClear));
            assert_eq!(walked.end, dropped, "{}", lines(&walked));
            assert!(to.pass(frame.frame()).is_empty());
        }
    }
}

#[test]
fn a_trace_of_what_came_out_of_ipsec_goes_on_or_is_of_no_policy() {
    for guards in [false, true] {
        let to = receiver(Way { guards, ..TUNNEL });
        let walked = revealed(&to, &to_host().frame());
        assert_eq!(walked.end, End::Sent(ETHER2), "{}", lines(&walked));
        let by = "came out of IPsec, by the policy 11.1.0.0/16->10.0.0.0/24";
        assert!(lines(&walked).contains(by), "{}", lines(&walked));
        let walked = revealed(&to, &Udp4::default().frame());
        let dropped = End::Exit(Exit::Drop(DropReason::IpsecMismatch));
        assert_eq!(walked.end, dropped, "{}", lines(&walked));
    }
}

#[test]
fn a_trace_follows_what_is_protected_to_the_outer_packet_and_uses_no_number() {
    for guards in [false, true] {
        for mode in [Mode::Tunnel, Mode::Transport] {
            let way = Way {
                guards,
                mode,
                ..TUNNEL
            };
            let mut from = sender(way);
            let frame = to_host().frame();
            let walked = trace_packet(from.tables(), &frame, ETHER1);
            let said = lines(&walked);
            assert_eq!(walked.end, End::Sent(ETHER2), "{said}");
            let sealed = from.pass(frame);
            let outer = format!("becomes a packet of {} bytes", sealed[0].len() - 14);
            assert!(said.contains(&outer), "{outer}: {said}");
            assert!(said.contains("SPI 0x12345678"), "{said}");
            let policy = "by the policy 10.0.0.0/24->11.1.0.0/16; packets of up to";
            assert!(said.contains(policy), "{said}");
            // The trace has used no sequence number.
            assert_eq!(sealed[0][14 + 20 + 4..14 + 20 + 8], [0, 0, 0, 1]);
        }
    }
}

#[test]
fn a_trace_says_that_source_nat_takes_a_packet_from_its_policy() {
    let mut from = sender(Way {
        guards: true,
        ..TUNNEL
    });
    let said = |rig: &Rig| lines(&trace_packet(rig.tables(), &to_host().frame(), ETHER1));
    let notice = "leaves in the clear: the IPsec policy 10.0.0.0/24->11.1.0.0/16 has";
    assert!(!said(&from).contains(notice), "{}", said(&from));
    masquerade(&mut from);
    assert!(said(&from).contains(notice), "{}", said(&from));
}

/// Masquerades all packets that leave by `ether2`.
fn masquerade(rig: &mut Rig) {
    rig.details(ETHER2).address4 = Some(Ipv4Addr::new(11, 0, 0, 1));
    let target = Target {
        side: Side::Source,
        action: nat::Action::Own,
        addresses: None,
        ports: None,
        randomise: false,
    };
    let out = vec![Match::OutInterface(class_of(ETHER2)).into()];
    let rule = Rule::new(1, out, rule::Action::Translate(0));
    let names = tables::nat::CHAINS.iter();
    let mut chains: Vec<_> = names.map(|name| (Arc::from(*name), Vec::new())).collect();
    chains[usize::from(tables::nat::SRCNAT.0)]
        .1
        .push(Arc::new(rule));
    let mut firewall = Firewall::clone(&rig.snapshot.firewall);
    firewall.ipv4.nat = Arc::new(rule::Table::compile(None, chains));
    firewall.targets = Arc::new([target]);
    rig.snapshot.firewall = Arc::new(firewall);
    for counters in &rig.counters {
        assert!(counters.rules.make_room(2));
    }
    rig.publish();
}
