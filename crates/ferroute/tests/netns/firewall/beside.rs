//! Tests the firewall against the kernel's nftables: with equal rules, both pass the same packets with the same
//! changes.
//!
//! Each rule set is written in both languages, side by side. `beside.py` generates the packets: some of every kind that
//! the rules distinguish.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

use lab::Lab;

use super::SERVER;
use crate::world::{PACKET, Router, Start, have, lab, layout, run, shell, until, works};

const PACKETS: &str = include_str!("beside.py");

/// A rule set for both families: lines for `/ip firewall` or `/ipv6 firewall`, and chains of nftables.
struct Set {
    name: &'static str,
    ours: [&'static str; 2],
    theirs: [&'static str; 2],
}

const SETS: &[Set] = &[
    Set {
        name: "ports, lengths and what headers say",
        ours: [
            "\
filter add chain=forward action=drop protocol=udp dst-port=1000-1999,3000
filter add chain=forward action=drop protocol=udp src-port=!11000-11299 dst-port=53
filter add chain=forward action=drop packet-size=120-140
filter add chain=forward action=drop ttl=less-than:9
filter add chain=forward action=drop ttl=equal:9 protocol=udp
filter add chain=forward action=drop dscp=46 protocol=tcp
filter add chain=forward action=drop tcp-flags=syn,!ack dst-port=443 protocol=tcp
filter add chain=forward action=drop protocol=icmp icmp-options=13:0
filter add chain=forward action=drop src-address=192.168.88.12-192.168.88.14 protocol=!tcp",
            "\
filter add chain=forward action=drop protocol=udp dst-port=1000-1999,3000
filter add chain=forward action=drop protocol=udp src-port=!11000-11299 dst-port=53
filter add chain=forward action=drop packet-size=120-140
filter add chain=forward action=drop hop-limit=less-than:9
filter add chain=forward action=drop hop-limit=equal:9 protocol=udp
filter add chain=forward action=drop dscp=46 protocol=tcp
filter add chain=forward action=drop tcp-flags=syn,!ack dst-port=443 protocol=tcp
filter add chain=forward action=drop protocol=icmpv6 icmp-options=139:0
filter add chain=forward action=drop src-address=2001:2:0:88::14/126 protocol=!tcp",
        ],
        theirs: [
            "\
chain forward { type filter hook forward priority 0
udp dport 9 accept
udp dport { 1000-1999, 3000 } drop
udp sport != 11000-11299 udp dport 53 drop
meta length 120-140 drop
ip ttl < 9 drop
ip ttl 9 meta l4proto udp drop
ip dscp 46 meta l4proto tcp drop
tcp flags & (syn | ack) == syn tcp dport 443 drop
icmp type 13 icmp code 0 drop
ip saddr 192.168.88.12-192.168.88.14 meta l4proto != tcp drop
}",
            "\
chain forward { type filter hook forward priority 0
udp dport 9 accept
udp dport { 1000-1999, 3000 } drop
udp sport != 11000-11299 udp dport 53 drop
meta length 120-140 drop
ip6 hoplimit < 9 drop
ip6 hoplimit 9 meta l4proto udp drop
ip6 dscp 46 meta l4proto tcp drop
tcp flags & (syn | ack) == syn tcp dport 443 drop
icmpv6 type 139 icmpv6 code 0 drop
ip6 saddr 2001:2:0:88::14/126 meta l4proto != tcp drop
}",
        ],
    },
    Set {
        name: "states of connections",
        ours: [
            "\
filter add chain=forward action=accept connection-state=established,related
filter add chain=forward action=drop connection-state=invalid
filter add chain=forward action=drop connection-state=new protocol=tcp tcp-flags=!syn src-address=192.168.88.10-192.168.88.14",
            "\
filter add chain=forward action=accept connection-state=established,related
filter add chain=forward action=drop connection-state=invalid
filter add chain=forward action=drop connection-state=new protocol=tcp tcp-flags=!syn src-address=2001:2:0:88::10/125",
        ],
        theirs: [
            "\
chain forward { type filter hook forward priority 0
udp dport 9 accept
ct state established,related accept
ct state invalid drop
ct state new tcp flags & syn == 0 ip saddr 192.168.88.10-192.168.88.14 drop
}",
            "\
chain forward { type filter hook forward priority 0
udp dport 9 accept
ct state established,related accept
ct state invalid drop
ct state new tcp flags & syn == 0 ip6 saddr 2001:2:0:88::10/125 drop
}",
        ],
    },
    Set {
        name: "chains, marks and changes",
        ours: [
            "\
mangle add chain=prerouting action=mark-packet new-packet-mark=low src-address=192.168.88.10-192.168.88.13
mangle add chain=prerouting action=mark-packet new-packet-mark=high dst-port=443 protocol=tcp
mangle add chain=forward action=change-ttl new-ttl=set:33 packet-mark=low
mangle add chain=forward action=change-dscp new-dscp=12 packet-mark=high
mangle add chain=forward action=change-mss new-mss=1300 protocol=tcp tcp-flags=syn
filter add chain=forward action=jump jump-target=own
filter add chain=forward action=drop dst-port=80 protocol=udp
filter add chain=own action=return packet-mark=low
filter add chain=own action=accept dst-port=80 protocol=udp
filter add chain=own action=jump jump-target=deeper packet-mark=!high
filter add chain=deeper action=return protocol=icmp
filter add chain=deeper action=drop dst-port=2000,3000 protocol=tcp",
            "\
mangle add chain=prerouting action=mark-packet new-packet-mark=low src-address=2001:2:0:88::10/126
mangle add chain=prerouting action=mark-packet new-packet-mark=high dst-port=443 protocol=tcp
mangle add chain=forward action=change-hop-limit new-hop-limit=set:33 packet-mark=low
mangle add chain=forward action=change-dscp new-dscp=12 packet-mark=high
mangle add chain=forward action=change-mss new-mss=1300 protocol=tcp tcp-flags=syn
filter add chain=forward action=jump jump-target=own
filter add chain=forward action=drop dst-port=80 protocol=udp
filter add chain=own action=return packet-mark=low
filter add chain=own action=accept dst-port=80 protocol=udp
filter add chain=own action=jump jump-target=deeper packet-mark=!high
filter add chain=deeper action=return protocol=icmpv6
filter add chain=deeper action=drop dst-port=2000,3000 protocol=tcp",
        ],
        theirs: [
            "\
chain prerouting { type filter hook prerouting priority -150
ip saddr 192.168.88.10-192.168.88.13 meta mark set 1
tcp dport 443 meta mark set 2
}
chain change { type filter hook forward priority -150
meta mark 1 ip ttl set 33
meta mark 2 ip dscp set 12
tcp flags & syn == syn tcp option maxseg size set 1300
}
chain deeper { meta l4proto icmp return
tcp dport { 2000, 3000 } drop
}
chain own { meta mark 1 return
udp dport 80 accept
meta mark != 2 jump deeper
}
chain forward { type filter hook forward priority 0
udp dport 9 accept
jump own
udp dport 80 drop
}",
            "\
chain prerouting { type filter hook prerouting priority -150
ip6 saddr 2001:2:0:88::10/126 meta mark set 1
tcp dport 443 meta mark set 2
}
chain change { type filter hook forward priority -150
meta mark 1 ip6 hoplimit set 33
meta mark 2 ip6 dscp set 12
tcp flags & syn == syn tcp option maxseg size set 1300
}
chain deeper { meta l4proto icmpv6 return
tcp dport { 2000, 3000 } drop
}
chain own { meta mark 1 return
udp dport 80 accept
meta mark != 2 jump deeper
}
chain forward { type filter hook forward priority 0
udp dport 9 accept
jump own
udp dport 80 drop
}",
        ],
    },
    Set {
        name: "translation",
        ours: [
            "\
filter add chain=forward action=drop connection-state=invalid
nat add chain=srcnat action=src-nat to-addresses=203.0.113.2 protocol=tcp dst-port=443
nat add chain=srcnat action=src-nat to-addresses=203.0.113.2 to-ports=20000-29999 protocol=tcp dst-port=80 src-port=14000
nat add chain=srcnat action=accept dst-port=53 protocol=udp
nat add chain=srcnat action=masquerade out-interface=ether1 protocol=!icmp",
            "\
filter add chain=forward action=drop connection-state=invalid
nat add chain=srcnat action=src-nat to-address=2001:2:0:1::2/128 protocol=tcp dst-port=443
nat add chain=srcnat action=src-nat to-address=2001:2:0:1::2/128 to-ports=20000-29999 protocol=tcp dst-port=80 src-port=14000
nat add chain=srcnat action=accept dst-port=53 protocol=udp
nat add chain=srcnat action=masquerade out-interface=ether1 protocol=!icmpv6",
        ],
        theirs: [
            "\
chain forward { type filter hook forward priority 0
ct state invalid drop
}
chain srcnat { type nat hook postrouting priority 100
tcp dport 443 snat to 203.0.113.2
tcp dport 80 tcp sport 14000 snat to 203.0.113.2:20000-29999
udp dport 53 accept
oifname ether1 meta l4proto != icmp masquerade
}",
            "\
chain forward { type filter hook forward priority 0
ct state invalid drop
}
chain srcnat { type nat hook postrouting priority 100
tcp dport 443 snat to 2001:2:0:1::2
tcp dport 80 tcp sport 14000 snat to [2001:2:0:1::2]:20000-29999
udp dport 53 accept
oifname ether1 meta l4proto != icmpv6 masquerade
}",
        ],
    },
    Set {
        name: "what remembers",
        ours: [
            "\
filter add chain=forward action=drop protocol=udp dst-port=53 nth=3,1
filter add chain=forward action=accept protocol=tcp dst-port=80 limit=1/1h,5:packet
filter add chain=forward action=drop protocol=tcp dst-port=80",
            "\
filter add chain=forward action=drop protocol=udp dst-port=53 nth=3,1
filter add chain=forward action=accept protocol=tcp dst-port=80 limit=1/1h,5:packet
filter add chain=forward action=drop protocol=tcp dst-port=80",
        ],
        theirs: [
            "\
chain forward { type filter hook forward priority 0
udp dport 9 accept
udp dport 53 numgen inc mod 3 == 0 drop
tcp dport 80 limit rate 1/hour burst 5 packets accept
tcp dport 80 drop
}",
            "\
chain forward { type filter hook forward priority 0
udp dport 9 accept
udp dport 53 numgen inc mod 3 == 0 drop
tcp dport 80 limit rate 1/hour burst 5 packets accept
tcp dport 80 drop
}",
        ],
    },
];

#[test]
fn the_firewall_passes_the_same_packets_as_nftables() {
    let test = "the_firewall_passes_the_same_packets_as_nftables";
    if !have(test, &["python3", "nft", "ping"]) {
        return;
    }
    let (Some(ours), Some(theirs)) = (lab(test, layout("static")), lab(test, layout("static")))
    else {
        return;
    };
    if !works(&theirs, "router", "nft add table ip tried") {
        return lab::testing::skip(test, "the kernel has no nftables");
    }
    let router = Router::start(&ours, &Start::with(PACKET, OPEN));
    kernel_routes(&theirs);
    for (lab, server) in [&ours, &theirs]
        .into_iter()
        .flat_map(|lab| SERVER.map(|to| (lab, to)))
    {
        until("packets pass", || {
            works(lab, "client", &format!("ping -q -c 1 -W 1 {server}"))
        });
    }

    let mut differing = String::new();
    for (number, set) in (1..).zip(SETS) {
        for (family, other) in [(4, 6), (6, 4)] {
            let (ours_of, theirs_of) = (set.ours[family / 6], set.theirs[family / 6]);
            router.exec(&(commands("", other) + &commands(ours_of, family)));
            let table = if family == 6 { "ip6" } else { "ip" };
            let ruleset = format!("flush ruleset\ntable {table} beside {{\n{theirs_of}\n}}");
            let put = format!("nft -f - <<'END'\n{ruleset}\nEND");
            shell(&theirs, "router", &put);

            let [here, there] = [&ours, &theirs].map(|lab| through(lab, number, family));

            let name = format!("{}, IPv{family}", set.name);
            assert!(there.len() > 20, "{name}: {there:#?}");
            differ(&name, &here, &there, &mut differing);
        }
    }
    assert!(differing.is_empty(), "{differing}");
}

const OPEN: &str = "\
/ip address
add address=203.0.113.2/24 interface=ether1
add address=192.168.88.1/24 interface=ether2
/ipv6 address
add address=2001:2:0:1::2/64 advertise=no interface=ether1
add address=2001:2:0:88::1/64 advertise=no interface=ether2
";

/// Configures the kernel of the host `router` as a router.
fn kernel_routes(lab: &Lab) {
    run(lab, "router", "ip address add 203.0.113.2/24 dev ether1");
    run(lab, "router", "ip address add 192.168.88.1/24 dev ether2");
    run(
        lab,
        "router",
        "ip address add 2001:2:0:1::2/64 dev ether1 nodad",
    );
    run(
        lab,
        "router",
        "ip address add 2001:2:0:88::1/64 dev ether2 nodad",
    );
    let settings = "cd /proc/sys/net; echo 1 > ipv4/ip_forward; \
                    echo 1 > ipv6/conf/all/forwarding; \
                    for i in all ether1 ether2; do echo 0 > ipv4/conf/$i/rp_filter; done";
    shell(lab, "router", settings);
}

/// Returns commands that replace all rules by these; the last packet is always accepted.
fn commands(rules: &str, family: usize) -> String {
    let menu = if family == 6 {
        "/ipv6 firewall"
    } else {
        "/ip firewall"
    };
    let mut text = String::new();
    for table in ["filter", "mangle", "nat"] {
        let _ = write!(text, "{menu} {table} remove [find !dynamic]; ");
    }
    let _ = write!(
        text,
        "{menu} filter add chain=forward protocol=udp dst-port=9; "
    );
    for rule in rules.lines() {
        let _ = write!(text, "{menu} {rule}; ");
    }
    text
}

/// Sends the packets of a set. Returns the descriptions of those that arrived.
fn through(lab: &Lab, set: usize, family: usize) -> Vec<String> {
    sent(lab, &["send", &set.to_string(), &family.to_string()], "")
}

/// Sends packets from the client: those of a set, or those described by `lines`. Returns the descriptions of those that
/// arrived at the server.
pub(super) fn sent(lab: &Lab, arguments: &[&str], lines: &str) -> Vec<String> {
    sent_and(lab, arguments, lines, || "")
}

/// Sends packets from the client. Before the last packet, `end` waits for other results and returns further lines to
/// send.
pub(super) fn sent_and(
    lab: &Lab,
    arguments: &[&str],
    lines: &str,
    end: impl FnOnce() -> &'static str,
) -> Vec<String> {
    let python = |host: &str| {
        let mut command = lab.command(host, "python3").expect("a host of the layout");
        command.args(["-c", PACKETS]).stdin(Stdio::piped());
        command.stdout(Stdio::piped());
        command
    };
    let mut listening = python("server").arg("listen").spawn().expect("it is there");
    let mut said = BufReader::new(listening.stdout.take().expect("asked for above"));
    let mut text = String::new();
    said.read_line(&mut text).expect("it writes text");
    assert_eq!(text, "ready\n");
    let router = run(lab, "client", "ip neighbour show 192.168.88.1");
    let words: Vec<_> = router.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "lladdr");
    let mac = words[at.expect("it was just pinged") + 1].replace(':', "");

    let mut sending = python("client").args(arguments).spawn().expect("as above");
    let mut stdin = sending.stdin.take().expect("asked for above");
    write!(stdin, "{mac}\n{lines}").expect("it reads");
    write!(stdin, "{}", end()).expect("as above");
    drop(stdin);
    assert!(sending.wait().expect("our child").success());

    text.clear();
    said.read_to_string(&mut text).expect("it writes text");
    assert!(listening.wait().expect("our child").success());
    let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

fn differ(set: &str, here: &[String], there: &[String], text: &mut String) {
    for (who, some, others) in [("ferroute", here, there), ("nftables", there, here)] {
        for line in some.iter().filter(|line| !others.contains(line)) {
            let _ = writeln!(text, "{set}: only {who}: {line}");
        }
    }
}
