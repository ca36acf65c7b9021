//! Tests of the counters and log entries of `/ip/ipsec` for received packets.

use super::rig::{MAC, Rig};
use super::tunnels::Nothing;

/// Returns an IPv4 packet from 192.0.2.7 to the router.
fn packet(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let len = (20 + payload.len()) as u16;
    let mut header = vec![
        0x45, 0, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0, 192, 0, 2, 7, 192, 0, 2, 1,
    ];
    header[2..4].copy_from_slice(&len.to_be_bytes());
    let sum = wire::checksum::checksum(&header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    let link = [&MAC[..], &[2, 0, 0, 0, 0, 7], &[8, 0]].concat();
    [link, header, payload.to_vec()].concat()
}

/// Returns a datagram to the IKE port.
fn message(payload: &[u8]) -> Vec<u8> {
    let len = (8 + payload.len()) as u16;
    let header = [
        &500_u16.to_be_bytes()[..],
        &500_u16.to_be_bytes(),
        &len.to_be_bytes(),
        &[0, 0],
    ];
    packet(17, &[header.concat(), payload.to_vec()].concat())
}

/// Returns the first message of an IKE SA, with only a nonce.
fn first() -> Vec<u8> {
    let mut bytes = vec![7; 8];
    bytes.extend([0; 8]);
    bytes.extend([40, 0x20, 34, 8, 0, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0, 36]);
    bytes.extend([9; 32]);
    bytes
}

fn rig() -> Rig {
    let mut rig = Rig::new(Nothing);
    for command in [
        "/ip/address/add address=192.0.2.1/24 interface=ether1",
        "/ip/ipsec/peer/add name=far address=192.0.2.2/32 exchange-mode=ike2 passive=yes",
        "/ip/ipsec/identity/add peer=far secret=x",
        "/ip/ipsec/policy/add peer=far tunnel=yes src-address=10.1.0.0/24 dst-address=10.2.0.0/24",
        "/ip/ipsec/policy/add action=discard src-address=0.0.0.0/0 dst-address=192.0.2.7/32 protocol=icmp place-before=0",
    ] {
        rig.run(command);
    }
    rig.go_on_until(2);
    rig
}

fn count(rig: &mut Rig, name: &str) -> String {
    rig.run(&format!(":put [/ip/ipsec/statistics/get {name}]"))
        .trim()
        .to_owned()
}

#[test]
fn statistics_count_what_was_refused() {
    let mut rig = rig();
    assert_eq!(count(&mut rig, "in-no-states"), "0");
    rig.pass(packet(
        50,
        &[0, 0, 0x12, 0x34, 0, 0, 0, 1, 5, 5, 5, 5, 5, 5, 5, 5],
    ));
    assert_eq!(count(&mut rig, "in-no-states"), "1");
    rig.pass(packet(1, &[8, 0, 0xf7, 0xff, 0, 0, 0, 0]));
    assert_eq!(count(&mut rig, "in-policy-blocked"), "1");
    rig.pass(message(b"what is no message of IKE"));
    assert_eq!(count(&mut rig, "in-errors"), "1");
}

#[test]
fn a_peer_that_nobody_has_configured_is_logged() {
    let mut rig = rig();
    rig.pass(message(&first()));
    rig.go_on_until(3);
    let log = rig.run("/log/print");
    assert!(log.contains("no IKEv2 peer config for 192.0.2.7"), "{log}");
}

/// Tests that the first matching policy decides, in whatever order policies change.
#[test]
fn the_order_of_policies_follows_each_change() {
    let mut rig = rig();
    let blocked = |rig: &mut Rig, command: &str| {
        rig.run(command);
        let before = count(rig, "in-policy-blocked");
        rig.pass(packet(1, &[8, 0, 0xf7, 0xff, 0, 0, 0, 0]));
        count(rig, "in-policy-blocked") != before
    };
    assert!(blocked(&mut rig, ""));
    let add = "/ip/ipsec/policy/add action=none src-address=0.0.0.0/0 dst-address=192.0.2.7/32";
    assert!(blocked(&mut rig, &format!("{add} comment=pass")));
    assert!(!blocked(
        &mut rig,
        "/ip/ipsec/policy/move [find comment=pass] 0"
    ));
    assert!(blocked(
        &mut rig,
        "/ip/ipsec/policy/disable [find comment=pass]"
    ));
    assert!(!blocked(
        &mut rig,
        "/ip/ipsec/policy/enable [find comment=pass]"
    ));
    let elsewhere = "/ip/ipsec/policy/set [find comment=pass] dst-address=192.0.2.8/32";
    assert!(blocked(&mut rig, elsewhere));
    let back = "/ip/ipsec/policy/set [find comment=pass] dst-address=192.0.2.0/24";
    assert!(!blocked(&mut rig, back));
    assert!(blocked(
        &mut rig,
        "/ip/ipsec/policy/remove [find comment=pass]"
    ));
    assert!(!blocked(
        &mut rig,
        "/ip/ipsec/policy/remove [find action=discard]"
    ));
}
