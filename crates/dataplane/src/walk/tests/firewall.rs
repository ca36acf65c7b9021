//! Tests of the firewall: chains, changes by rules, and exits.

mod connections;
mod early;
mod egress;
mod ends;
mod fasttrack;
mod marks;
mod plain;
mod shortcuts;
mod tables;

use std::sync::Arc;

use crate::firewall::{Firewall, filter, mangle, nat};
use crate::nat::{Action as nat_action, Side, Target};
use crate::out::OutId;
use crate::rule::{Action, ChainId, Match, Rule, Table};
use crate::table::Adjacency;
use crate::testing::{ETHER1, Rig, Udp4, gateway};

/// The target of `masquerade`.
pub(super) const MASQUERADE: Target = Target {
    side: Side::Source,
    action: nat_action::Own,
    addresses: None,
    ports: None,
    randomise: false,
};

/// Returns a table with the built-in chains of these names, and rules in one of them.
pub(super) fn table(names: &[&str], chain: ChainId, rules: Vec<Rule>) -> Arc<Table> {
    chains(names, vec![(chain, rules)])
}

/// Returns a table with the built-in chains of these names, and rules in some of them.
pub(super) fn chains(names: &[&str], rules: Vec<(ChainId, Vec<Rule>)>) -> Arc<Table> {
    let mut chains: Vec<_> = names
        .iter()
        .map(|name| (Arc::from(*name), Vec::new()))
        .collect();
    for (chain, rules) in rules {
        chains[usize::from(chain.0)].1 = rules.into_iter().map(Arc::new).collect();
    }
    Arc::new(Table::compile(None, chains))
}

pub(super) fn filtered(rig: &mut Rig, chain: ChainId, rules: Vec<Rule>) {
    let mut firewall = Firewall::clone(&rig.snapshot.firewall);
    firewall.ipv4.filter = table(filter::CHAINS, chain, rules);
    rig.snapshot.firewall = Arc::new(firewall);
    for counters in &rig.counters {
        assert!(counters.rules.make_room(20));
    }
    rig.publish();
}

fn mangled(rig: &mut Rig, chain: ChainId, rules: Vec<Rule>) {
    let mut firewall = Firewall::clone(&rig.snapshot.firewall);
    firewall.ipv4.mangle = table(mangle::CHAINS, chain, rules);
    rig.snapshot.firewall = Arc::new(firewall);
    rig.publish();
}

pub(super) fn hits(rig: &Rig, rule: u32) -> (u64, u64) {
    let (traffic, _) = rig.counters[0].rules.get(rule);
    (traffic.packets, traffic.bytes)
}

/// Resolves the client's address.
pub(super) fn client(rig: &mut Rig) {
    let hop = rig.add_hop(&Adjacency {
        egress: ETHER1,
        out: OutId::port(0),
        ..gateway()
    });
    rig.route4(0x0a00_0002, 32, hop);
}

pub(super) fn tracked(rig: &mut Rig) {
    let mut firewall = Firewall::clone(&rig.snapshot.firewall);
    firewall.tracks4 = true;
    rig.snapshot.firewall = Arc::new(firewall);
    rig.publish();
}

pub(super) fn translated(
    rig: &mut Rig,
    chain: ChainId,
    matchers: Vec<crate::rule::Matcher>,
    target: Target,
) {
    tracked(rig);
    let mut firewall = Firewall::clone(&rig.snapshot.firewall);
    let rule = Rule::new(4, matchers, Action::Translate(0));
    firewall.ipv4.nat = table(nat::CHAINS, chain, vec![rule]);
    firewall.targets = Arc::new([target]);
    rig.snapshot.firewall = Arc::new(firewall);
    for counters in &rig.counters {
        assert!(counters.rules.make_room(20));
    }
    rig.publish();
}

/// Returns the gateway's answer to a UDP packet that the router sent.
pub(super) fn answer(sent: &[u8]) -> Vec<u8> {
    let word = |at: usize| u32::from_be_bytes([sent[at], sent[at + 1], sent[at + 2], sent[at + 3]]);
    let port = |at: usize| u16::from_be_bytes([sent[at], sent[at + 1]]);
    Udp4 {
        to: [2, 0, 0, 0, 0, 2],
        source: word(30),
        destination: word(26),
        source_port: port(36),
        destination_port: port(34),
        ..Udp4::default()
    }
    .frame()
}

/// Returns the frame as a TCP segment without data.
fn segment(udp: Udp4, flags: u8, seq: u32, ack: u32) -> Vec<u8> {
    let tcp = Udp4 {
        protocol: 6,
        payload: 12,
        ..udp
    };
    let mut frame = tcp.frame();
    frame[38..42].copy_from_slice(&seq.to_be_bytes());
    frame[42..46].copy_from_slice(&ack.to_be_bytes());
    frame[46..52].copy_from_slice(&[5 << 4, flags, 0x20, 0, 0, 0]);
    frame
}

fn to_port(port: u16) -> Vec<crate::rule::Matcher> {
    vec![
        Match::Protocol(17).into(),
        Match::DestinationPort([(port, port)].into()).into(),
    ]
}
