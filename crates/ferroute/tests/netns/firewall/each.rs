//! Tests the matchers and actions that `rules.rs` and `beside.rs` omit, with real packets, one row each.
//!
//! A matcher's row has a counting rule, and packets to its port; an action's row has a rule, and the packet that the
//! server receives.

use std::fmt::Write as _;
use std::path::Path;

use lab::Lab;

use super::beside::{sent, sent_and};
use super::{SERVER, hits};
use crate::world::{PACKET, Router, Server, Start, have, lab, layout, text, until, works};

/// A rule after `/ip firewall` or `/ipv6 firewall`, packets as `beside.py` crafts them, and the minimum and maximum
/// number of packets that it counts. `UDP` and `TCP` stand for the protocol and the row's port, `P` for the port.
type Counted = (&'static str, &'static [&'static str], [u64; 2]);

#[rustfmt::skip]
const MATCHERS: &[Counted] = &[
    ("ip filter chain=forward UDP dst-address=203.0.113.1", &["4 udp P", "4 udp P dst=203.0.113.7"], [1; 2]),
    ("ip filter chain=forward UDP src-address-list=known", &["4 udp P src=192.168.88.12", "4 udp P"], [1; 2]),
    ("ip filter chain=forward UDP dst-address-list=!known", &["4 udp P", "4 udp P dst=203.0.113.7"], [1; 2]),
    ("ip mangle chain=prerouting UDP dst-address-type=local", &["4 udp P dst=192.168.88.1", "4 udp P"], [1; 2]),
    ("ip mangle chain=prerouting UDP src-address-type=!unicast", &["4 udp P"], [0; 2]),
    ("ip filter chain=forward port=P protocol=udp", &["4 udp P", "4 udp 6999 from=P"], [2; 2]),
    ("ip filter chain=forward UDP in-interface=ether2", &["4 udp P"], [1; 2]),
    ("ip filter chain=forward UDP in-interface=!ether2", &["4 udp P"], [0; 2]),
    ("ip filter chain=forward UDP out-interface-list=outside", &["4 udp P"], [1; 2]),
    ("ip filter chain=forward UDP in-interface-list=outside", &["4 udp P"], [0; 2]),
    ("ip filter chain=forward UDP src-mac-address=02:00:00:00:00:77", &["4 udp P mac=020000000077", "4 udp P"], [1; 2]),
    ("ip mangle chain=prerouting UDP ttl=greater-than:20", &["4 udp P ttl=21", "4 udp P ttl=20"], [1; 2]),
    ("ip mangle chain=prerouting UDP ttl=not-equal:9", &["4 udp P ttl=9", "4 udp P"], [1; 2]),
    ("ip filter chain=forward UDP tos=16", &["4 udp P tos=16", "4 udp P tos=20"], [1; 2]),
    ("ip filter chain=forward TCP tcp-mss=1400-1500", &["4 tcp P", "4 tcp P size=1300 from=5001"], [1; 2]),
    ("ip filter chain=forward UDP content=needle", &["4 udp P text=a-needle-b", "4 udp P text=a-noodle-b"], [1; 2]),
    ("ip filter chain=forward UDP ipv4-options=record-route", &["4 udp P options=0707040000000000", "4 udp P"], [1; 2]),
    ("ip filter chain=forward UDP ipv4-options=no-record-route", &["4 udp P options=0707040000000000", "4 udp P"], [1; 2]),
    ("ip raw chain=prerouting fragment=yes src-address=192.168.88.15", &["4 udp P src=192.168.88.15", "4 udp P src=192.168.88.15 part=185"], [1; 2]),
    ("ip filter chain=forward connection-mark=kept protocol=udp", &["4 udp 6998", "4 udp P"], [1; 2]),
    ("ip filter chain=forward packet-mark=painted protocol=udp", &["4 udp 6997", "4 udp P"], [1; 2]),
    ("ip filter chain=forward priority=3 protocol=udp", &["4 udp 6996", "4 udp P"], [1; 2]),
    ("ip mangle chain=forward routing-mark=other protocol=udp", &["4 udp 6995", "4 udp P"], [1; 2]),
    ("ip filter chain=forward UDP connection-state=new", &["4 udp P", "4 udp P from=5001"], [2; 2]),
    ("ip filter chain=forward UDP connection-bytes=50-0", &["4 udp P", "4 udp P"], [1; 2]),
    ("ip filter chain=forward UDP connection-rate=0-1M", &["4 udp P"], [1; 2]),
    ("ip filter chain=forward UDP limit=1/1h,2:packet", &["4 udp P"; 4], [2; 2]),
    ("ip filter chain=forward UDP dst-limit=1/1h,2,src-address", &["4 udp P", "4 udp P", "4 udp P", "4 udp P src=192.168.88.12"], [3; 2]),
    ("ip filter chain=forward UDP nth=3,1", &["4 udp P"; 4], [2; 2]),
    ("ip filter chain=forward UDP random=99", &["4 udp P"; 6], [2, 6]),
    ("ip filter chain=forward UDP per-connection-classifier=both-ports:1/0", &["4 udp P"], [1; 2]),
    ("ip filter chain=forward UDP per-connection-classifier=src-port:2/0", &["4 udp P from=1", "4 udp P from=2", "4 udp P from=3", "4 udp P from=4", "4 udp P from=5", "4 udp P from=6", "4 udp P from=7", "4 udp P from=8", "4 udp P from=9"], [1, 8]),
    ("ip filter chain=forward protocol=udp src-address=192.168.88.19 psd=21,3s,3,1", &["4 udp 11 src=192.168.88.19", "4 udp 12 src=192.168.88.19", "4 udp 13 src=192.168.88.19", "4 udp 14 src=192.168.88.19", "4 udp 15 src=192.168.88.19", "4 udp 16 src=192.168.88.19", "4 udp 17 src=192.168.88.19", "4 udp 18 src=192.168.88.19"], [1, 2]),
    ("ip filter chain=forward UDP time=0s-23h59m59s,sun,mon,tue,wed,thu,fri,sat", &["4 udp P"], [1; 2]),
    ("ip filter chain=forward UDP ingress-priority=0", &["4 udp P"], [1; 2]),
    ("ip filter chain=forward UDP ipsec-policy=in,none", &["4 udp P"], [1; 2]),
    ("ip filter chain=forward UDP ipsec-policy=in,ipsec", &["4 udp P"], [0; 2]),
    ("ip filter chain=forward UDP layer7-protocol=greeting", &["4 udp P text=hel", "4 udp P text=lo-you", "4 udp P text=x", "4 udp P from=5001 text=you"], [2; 2]),
    ("ip filter chain=forward TCP tls-host=*.example.com", &["4 tcp P flags=24 hex=HELLO", "4 tcp P flags=24 from=5001"], [1; 2]),
    ("ip raw chain=prerouting TCP tls-host=*.example.com", &["4 tcp P text=", "4 tcp P flags=24 number=1071 hex=LAST", "4 tcp P flags=24 number=1001 hex=FIRST", "4 tcp P flags=24 number=1071 hex=LAST"], [2; 2]),
    ("ip filter chain=forward UDP tls-host=example.*", &["4 udp P hex=QUIC", "4 udp P"], [1; 2]),
    ("ip filter chain=forward UDP tls-host=!example.*", &["4 udp P hex=QUIC", "4 udp P"], [0; 2]),
    ("ipv6 filter chain=forward UDP dst-address=2001:2:0:1::/64", &["6 udp P", "6 udp P dst=2001:2:0:80::80"], [1; 2]),
    ("ipv6 filter chain=forward UDP hop-limit=equal:9", &["6 udp P ttl=10", "6 udp P"], [1; 2]),
    ("ipv6 filter chain=forward UDP headers=dst:contains", &["6 udp P headers=3c1100010400000000", "6 udp P"], [1; 2]),
    ("ipv6 filter chain=forward protocol=icmpv6 icmp-options=139:0", &["6 echo 200", "6 echo 139"], [1; 2]),
    ("ipv6 filter chain=forward TCP tls-host=www.example.com", &["6 tcp P flags=24 hex=HELLO"], [1; 2]),
    ("ipv6 filter chain=forward UDP tls-host=example.com", &["6 udp P hex=QUIC"], [1; 2]),
    ("ipv6 filter chain=forward UDP src-mac-address=02:00:00:00:00:77", &["6 udp P mac=020000000077", "6 udp P"], [1; 2]),
    ("ipv6 raw chain=prerouting TCP tcp-flags=syn,!ack", &["6 tcp P", "6 tcp P flags=18"], [1; 2]),
    ("ip filter chain=forward UDP hotspot=auth", &["4 udp P"], [0; 2]),
    ("ip filter chain=forward UDP hotspot=!auth,!http", &["4 udp P"], [1; 2]),
    ("ip filter chain=forward UDP realm=0", &["4 udp P"], [1; 2]),
    ("ip filter chain=forward UDP realm=!0", &["4 udp P"], [0; 2]),
    ("ip filter chain=forward UDP p2p=all-p2p", &["4 udp P"], [0; 2]),
    ("ip filter chain=forward UDP out-interface=ether1 in-interface=all-ethernet", &["4 udp P"], [1; 2]),
    ("ip filter chain=forward UDP out-interface=all-vlan", &["4 udp P"], [0; 2]),
    ("ip filter chain=forward UDP connection-nat-state=srcnat", &["4 udp P from=5077", "4 udp P from=5077", "4 udp P", "4 udp P"], [1; 2]),
    ("ip filter chain=forward UDP connection-nat-state=!dstnat", &["4 udp P", "4 udp P dst=203.0.113.99"], [1; 2]),
    ("ip filter chain=forward UDP connection-limit=2,32", &["4 udp P", "4 udp P from=5001", "4 udp P from=5002", "4 udp P src=192.168.88.12"], [1; 2]),
    ("ip filter chain=forward UDP packet-size=30-50", &["4 udp P text=#1#", "4 udp P text=#1#............................"], [1; 2]),
    ("ip filter chain=forward UDP dscp=4", &["4 udp P tos=16", "4 udp P tos=20"], [1; 2]),
    ("ip filter chain=forward UDP random=1", &["4 udp P"; 3], [0, 2]),
    ("ipv6 filter chain=forward UDP src-address-list=known", &["6 udp P src=2001:2:0:88::12", "6 udp P"], [1; 2]),
    ("ipv6 filter chain=forward UDP dst-address-list=!known", &["6 udp P", "6 udp P src=2001:2:0:88::12"], [2; 2]),
    ("ipv6 mangle chain=prerouting UDP dst-address-type=local", &["6 udp P dst=2001:2:0:88::1", "6 udp P"], [1; 2]),
    ("ipv6 filter chain=forward UDP in-interface=ether2 out-interface-list=outside", &["6 udp P"], [1; 2]),
    ("ipv6 filter chain=forward port=P protocol=udp", &["6 udp P", "6 udp 6999 from=P"], [2; 2]),
    ("ipv6 filter chain=forward UDP packet-mark=painted", &["6 udp P ttl=21", "6 udp P"], [1; 2]),
    ("ipv6 filter chain=forward UDP connection-mark=kept", &["6 udp P ttl=22", "6 udp P ttl=23", "6 udp P from=5001"], [2; 2]),
    ("ipv6 filter chain=forward UDP priority=3", &["6 udp P ttl=24", "6 udp P from=5001"], [1; 2]),
    ("ipv6 filter chain=forward UDP connection-state=new", &["6 udp P", "6 udp P"], [2; 2]),
    ("ipv6 filter chain=forward UDP connection-bytes=80-0", &["6 udp P", "6 udp P"], [1; 2]),
    ("ipv6 filter chain=forward UDP connection-rate=0-1M", &["6 udp P"], [1; 2]),
    ("ipv6 filter chain=forward UDP connection-limit=1,64", &["6 udp P", "6 udp P src=2001:2:0:88::12", "6 udp P src=2001:2:0:89::12"], [1; 2]),
    ("ipv6 filter chain=forward UDP limit=1/1h,2:packet", &["6 udp P"; 4], [2; 2]),
    ("ipv6 filter chain=forward UDP dst-limit=1/1h,2,src-address", &["6 udp P", "6 udp P", "6 udp P", "6 udp P src=2001:2:0:88::12"], [3; 2]),
    ("ipv6 filter chain=forward UDP nth=3,1", &["6 udp P"; 4], [2; 2]),
    ("ipv6 filter chain=forward UDP random=99", &["6 udp P"; 6], [2, 6]),
    ("ipv6 filter chain=forward UDP per-connection-classifier=src-port:2/0", &["6 udp P from=1", "6 udp P from=2", "6 udp P from=3", "6 udp P from=4", "6 udp P from=5", "6 udp P from=6", "6 udp P from=7", "6 udp P from=8", "6 udp P from=9"], [1, 8]),
    ("ipv6 filter chain=forward UDP time=0s-23h59m59s,sun,mon,tue,wed,thu,fri,sat", &["6 udp P"], [1; 2]),
    ("ipv6 filter chain=forward UDP content=needle", &["6 udp P text=a-needle-b", "6 udp P text=a-noodle-b"], [1; 2]),
    ("ipv6 filter chain=forward UDP dscp=4", &["6 udp P tos=16", "6 udp P tos=20"], [1; 2]),
    ("ipv6 filter chain=forward UDP tos=16/0xf0", &["6 udp P tos=20", "6 udp P tos=32"], [1; 2]),
    ("ipv6 filter chain=forward UDP ingress-priority=0", &["6 udp P"], [1; 2]),
    ("ipv6 filter chain=forward UDP ipsec-policy=in,none", &["6 udp P"], [1; 2]),
    ("ipv6 filter chain=forward TCP tcp-mss=1400-1500", &["6 tcp P", "6 tcp P size=1300 from=5001"], [1; 2]),
    ("ipv6 mangle chain=forward routing-mark=other UDP", &["6 udp P ttl=25", "6 udp P"], [1; 2]),
];

/// A rule, a packet, and a part of the server's description of the received packet.
#[rustfmt::skip]
const ACTIONS: &[[&str; 3]] = &[
    ["ip mangle chain=forward action=strip-ipv4-options UDP", "4 udp P options=0707040000000000", "options 01010101010101"],
    ["ip mangle chain=forward action=clear-df UDP", "4 udp P df=1", " df 0 "],
    ["ip mangle chain=forward action=passthrough UDP", "4 udp P df=1", " df 1 "],
    ["ip mangle chain=postrouting action=change-ttl new-ttl=increment:5 UDP", "4 udp P ttl=9", " ttl 13 "],
    ["ip mangle chain=prerouting action=route route-dst=203.0.113.1 UDP", "4 udp P dst=198.18.0.9", " to 198.18.0.9 "],
    ["ip mangle chain=forward action=sniff-tzsp sniff-target=203.0.113.1 sniff-target-port=37008 UDP", "4 udp P", ", 37008) "],
    ["ip mangle chain=forward action=sniff-pc sniff-id=77 sniff-target=203.0.113.1 sniff-target-port=37009 UDP", "4 udp P", " case 77 in time True of 0x45"],
    ["ip mangle chain=forward action=change-dscp new-dscp=from-priority-to-high-3-bits passthrough=no priority=5 UDP", "4 udp P", " tos 0 "],
    ["ip nat chain=srcnat action=netmap src-address=192.168.88.16/30 to-addresses=203.0.113.64/30 UDP", "4 udp P src=192.168.88.17", " from 203.0.113.65 "],
    ["ip nat chain=srcnat action=same to-addresses=203.0.113.80-203.0.113.83 UDP", "4 udp P", " from 203.0.113.8"],
    ["ip nat chain=srcnat action=src-nat to-addresses=203.0.113.90 UDP", "4 udp P", " from 203.0.113.90 "],
    ["ip filter chain=forward action=add-dst-to-address-list address-list=targets address-list-timeout=1m UDP", "4 udp P", " to 203.0.113.1 "],
    ["ip filter chain=forward action=log log-prefix=seen UDP", "4 udp P", " to 203.0.113.1 "],
    ["ipv6 mangle chain=forward action=change-hop-limit new-hop-limit=set:33 UDP", "6 udp P", " ttl 33 "],
    ["ipv6 mangle chain=postrouting action=snpt src-prefix=2001:2:0:88::/64 dst-prefix=2001:2:0:99::/64 UDP", "6 udp P", " from 2001:2:0:99:"],
    ["ipv6 mangle chain=prerouting action=dnpt src-prefix=2001:2:0:77::/64 dst-prefix=2001:2:0:80::/64 UDP", "6 udp P dst=2001:2:0:77::5", " to 2001:2:0:80:"],
    ["ipv6 nat chain=srcnat action=masquerade UDP", "6 udp P", " from 2001:2:0:1::2 "],
    ["ipv6 nat chain=srcnat action=src-nat to-address=2001:2:0:1::77/128 to-ports=4000 UDP", "6 udp P", " from 2001:2:0:1::77 to 2001:2:0:1::1 (4000, "],
    ["ipv6 nat chain=dstnat action=dst-nat to-address=2001:2:0:80::7/128 to-ports=4001 UDP", "6 udp P", " to 2001:2:0:80::7 (5000, 4001) "],
    ["ipv6 nat chain=dstnat action=netmap dst-address=2001:2:0:70::/64 to-address=2001:2:0:80::/64 UDP", "6 udp P dst=2001:2:0:70::9", " to 2001:2:0:80::9 "],
    ["ipv6 mangle chain=forward action=change-dscp new-dscp=12 UDP", "6 udp P", " tos 48 "],
    ["ipv6 mangle chain=forward action=change-mss new-mss=1200 tcp-flags=syn TCP", "6 tcp P", " mss 1200"],
    ["ipv6 mangle chain=forward action=sniff-tzsp sniff-target=203.0.113.1 sniff-target-port=37010 UDP", "6 udp P", ", 37010) "],
];

const CONFIG: &str = "\
/interface list
add name=outside
/interface list member
add list=outside interface=ether1
/routing table
add fib name=other
/ip address
add address=203.0.113.2/24 interface=ether1
add address=192.168.88.1/24 interface=ether2
/ip route
add dst-address=203.0.113.1/32 gateway=203.0.113.1 routing-table=other
/ipv6 address
add address=2001:2:0:1::2/64 advertise=no interface=ether1
add address=2001:2:0:88::1/64 advertise=no interface=ether2
/ipv6 route
add dst-address=2001:2:0:80::/64 gateway=2001:2:0:1::1
/ip firewall address-list
add list=known address=192.168.88.12
add list=known address=203.0.113.7
/ipv6 firewall address-list
add list=known address=2001:2:0:88::12/128
add list=known address=2001:2:0:80::80/128
/ipv6 firewall mangle
add chain=prerouting action=mark-packet new-packet-mark=painted hop-limit=equal:21
add chain=prerouting action=mark-connection new-connection-mark=kept hop-limit=equal:22
add chain=prerouting action=set-priority new-priority=3 hop-limit=equal:24
add chain=prerouting action=mark-routing new-routing-mark=other hop-limit=equal:25
/ipv6 route
add dst-address=2001:2:0:1::1/128 gateway=2001:2:0:1::1 routing-table=other
/ip firewall nat
add chain=srcnat action=src-nat to-addresses=203.0.113.91 protocol=udp src-port=5077
add chain=dstnat action=dst-nat to-addresses=203.0.113.1 dst-address=203.0.113.99
/ip firewall layer7-protocol
add name=greeting regexp=\"^hello.+you\"
/ip firewall mangle
add chain=output action=passthrough comment=copy protocol=udp dst-port=37008-37010
add chain=prerouting action=mark-connection new-connection-mark=kept protocol=udp dst-port=6998
add chain=prerouting action=mark-packet new-packet-mark=painted protocol=udp dst-port=6997
add chain=prerouting action=set-priority new-priority=3 protocol=udp dst-port=6996
add chain=prerouting action=mark-routing new-routing-mark=other protocol=udp dst-port=6995
/ip firewall filter
add chain=forward action=reject reject-with=tcp-reset protocol=tcp dst-port=443 tls-host=*.blocked.example
";

#[test]
fn every_matcher_and_every_action_works_on_real_packets() {
    let test = "every_matcher_and_every_action_works_on_real_packets";
    let Some(lab) = have(test, &["python3", "ping"])
        .then(|| lab(test, layout("static")))
        .flatten()
    else {
        return;
    };
    let mut config = CONFIG.to_owned();
    for (rule, port) in MATCHERS.iter().map(|row| row.0).zip(7000..) {
        config += &added(rule, port, " action=passthrough");
    }
    for (row, port) in ACTIONS.iter().zip(8000..) {
        config += &added(row[0], port, "");
    }
    let router = Router::start(&lab, &Start::with(PACKET, &config));
    for server in SERVER {
        until("packets pass", || {
            works(&lab, "client", &format!("ping -q -c 1 -W 1 {server}"))
        });
    }

    let mut wrong = String::new();
    matchers_count(&lab, &router, &mut wrong);
    actions_show(&lab, &router, &mut wrong);
    assert!(wrong.is_empty(), "{wrong}");
    names_are_rejected_in_real_handshakes(&lab);
}

/// Returns the command that adds a rule, with the port as its comment.
fn added(rule: &str, port: u16, action: &str) -> String {
    let (family, rest) = rule.split_once(' ').expect("written above");
    let (menu, rest) = rest.split_once(' ').expect("as above");
    let rest = put(rest, port);
    format!("/{family} firewall {menu} add{action} comment={port} {rest}\n")
}

fn put(text: &str, port: u16) -> String {
    let [udp, tcp] = ["udp", "tcp"].map(|it| format!("protocol={it} dst-port={port}"));
    let words = text.split(' ').map(|word| match word {
        "UDP" => udp.clone(),
        "TCP" => tcp.clone(),
        "P" => port.to_string(),
        word => word.replace("=P", &format!("={port}")),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Returns the descriptions of packets, with names replaced by their values.
fn lines(packets: &[&str], port: u16) -> String {
    let hello = client_hello("www.example.com");
    let (first, last) = hello.split_at(70);
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/streams");
    let quic = std::fs::read(corpus.join("initial-9001")).expect("the fuzzers' corpus");
    let hex = |bytes: &[u8]| {
        let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
        digits.collect::<String>()
    };
    let names = [
        ("HELLO", hex(&hello)),
        ("FIRST", hex(first)),
        ("LAST", hex(last)),
        // The first byte of a fuzzing input is not part of the packet.
        ("QUIC", hex(&quic[1..])),
    ];
    let mut text = String::new();
    for packet in packets {
        let mut line = put(packet, port);
        for (name, bytes) in &names {
            line = line.replace(&format!("hex={name}"), &format!("hex={bytes}"));
        }
        let _ = writeln!(text, "{line}");
    }
    text
}

/// Returns a ClientHello (RFC 8446, 4.1.2) with a server name and a part of a key share.
fn client_hello(name: &str) -> Vec<u8> {
    let long = |bytes: &[u8]| [&(bytes.len() as u16).to_be_bytes(), bytes].concat();
    let name = long(&[&[0], long(name.as_bytes()).as_slice()].concat());
    let extensions = [&[0, 51][..], &long(&[7; 60]), &[0, 0], &long(&name)].concat();
    let fixed = [&[3, 3][..], &[9; 32], &[0, 0, 2, 0x13, 1, 1, 0]].concat();
    let body = [fixed, long(&extensions)].concat();
    let message = [&[1, 0, 0, body.len() as u8][..], &body].concat();
    [&[22, 3, 1][..], &long(&message)].concat()
}

/// The client's last packet, which every rule set accepts.
const END: &str = "4 udp 9 text=last\n";

fn matchers_count(lab: &Lab, router: &Router, wrong: &mut String) {
    let rows = MATCHERS.iter().zip(7000..);
    let mut packets: String = rows.clone().map(|(row, port)| lines(row.1, port)).collect();
    packets += END;
    sent(lab, &["craft"], &packets);
    for ((rule, _, [least, most]), port) in rows {
        let mut words = rule.split(' ');
        let menu = [words.next(), Some("firewall"), words.next()].map(Option::unwrap_or_default);
        let counted = hits(router, &format!("/{}", menu.join("/")), &port.to_string());
        if !(*least..=*most).contains(&counted) {
            let _ = writeln!(wrong, "{port}: {rule}: {counted}, not {least} to {most}");
        }
    }
}

fn actions_show(lab: &Lab, router: &Router, wrong: &mut String) {
    let rows = ACTIONS.iter().zip(8000..);
    let packets: String = rows
        .clone()
        .map(|(row, port)| lines(&[row[1]], port))
        .collect();
    let shows = |came: &[String], expected: &str, port| {
        let mut own = own_lines(came, port);
        own.any(|line| line.contains(expected))
    };
    // Copies pass control, and might arrive after the last packet.
    let came = sent_and(lab, &["craft"], &packets, || {
        let copies = || hits(router, "/ip/firewall/mangle", "copy");
        until("the copies have left", || copies() >= 3);
        END
    });
    for ([rule, _, expected], port) in rows {
        if !shows(&came, expected, port) {
            let own: Vec<_> = own_lines(&came, port).collect();
            let _ = writeln!(wrong, "{port}: {rule}: no {expected:?} in {own:#?}");
        }
    }
    let entered = router.rows("/ip/firewall/address-list/print where list=targets");
    assert!(
        entered.iter().any(|row| row["address"] == "203.0.113.1"),
        "{entered:#?}"
    );
    let log = router.exec("/log/print");
    assert!(log.contains("seen forward: in:ether2 out:ether1"), "{log}");
}

/// Returns the received packets of a row.
fn own_lines(came: &[String], port: u16) -> impl Iterator<Item = &String> {
    let sign = port.to_string();
    came.iter().filter(move |line| line.starts_with(&sign))
}

/// Tests `tls-host` with real TLS clients.
fn names_are_rejected_in_real_handshakes(lab: &Lab) {
    const TLS: &str = "\
import socket, ssl, sys
context = ssl.create_default_context()
for address in sys.argv[2:]:
    s = socket.create_connection((address, 443), 20)
    try:
        context.wrap_socket(s, server_hostname=sys.argv[1])
    except ConnectionResetError:
        print('reset')
    except ssl.SSLError:
        print('answered')
";
    // The server's answer after a ClientHello is no TLS, which is enough for the test.
    const SERVER_443: &str = "\
import socket, threading
def answer(talk):
    # Of a rejected client it hears no more: only the sender is told. A hello may come in several segments.
    hello = b''
    while len(hello) < 5 or len(hello) < 5 + int.from_bytes(hello[3:5], 'big'):
        more = talk.recv(65536)
        if not more:
            return
        hello += more
    talk.sendall(b'no TLS here')
    talk.close()
s = socket.create_server(('', 443))
print('ready', flush=True)
while True:
    threading.Thread(target=answer, args=(s.accept()[0],), daemon=True).start()
";
    let mut server = lab
        .command("server", "python3")
        .expect("a host of the layout");
    server.args(["-c", SERVER_443]);
    let _server = Server::begin(server, "ready");
    for (name, expected) in [
        ("www.blocked.example", "reset"),
        ("www.example", "answered"),
    ] {
        let mut command = lab
            .command("client", "python3")
            .expect("a host of the layout");
        command.args(["-c", TLS, name, SERVER[0]]);
        let output = command.output().expect("nsenter is there: it made the lab");
        assert_eq!(
            text(&output.stdout).trim(),
            expected,
            "{name}: {}",
            text(&output.stderr)
        );
    }
}
