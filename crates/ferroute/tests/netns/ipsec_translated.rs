//! Tests EoIP with `ipsec-secret` through a NAT router: ESP in UDP, with datagrams longer than the link's MTU.
//!
//! ```text
//! one ── left (ferroute) ── nat (Linux, masquerades) ── right (ferroute) ── two
//! ```

use lab::Layout;

use crate::ipsec::{host, link, router};
use crate::world::{have, lab, shell, until, works};

const BEHIND: Layout = Layout {
    name: "translated",
    summary: "a site behind a translator of addresses, and one with a public address",
    hosts: &[
        host("one", &[]),
        host("two", &[]),
        host("left", &[]),
        host("nat", &[]),
        host("right", &[]),
    ],
    links: &[
        link(("one", "eth0", &["10.9.0.1/24"]), ("left", "ether1", &[])),
        link(("left", "ether2", &[]), ("nat", "in", &["192.168.1.1/24"])),
        link(("nat", "out", &["192.0.2.1/24"]), ("right", "ether2", &[])),
        link(("two", "eth0", &["10.9.0.2/24"]), ("right", "ether1", &[])),
    ],
    config: "",
};

/// Returns the configuration of a site that bridges its network into the tunnel.
fn site(outside: &str, remote: &str) -> String {
    format!(
        "/ip firewall connection tracking set enabled=no\n\
         /ip address add address={outside} interface=ether2\n\
         /interface eoip add name=t mtu=1500 remote-address={remote} tunnel-id=5 ipsec-secret=\"correct horse\" \
         allow-fast-path=no\n\
         /interface bridge add name=b protocol-mode=none\n\
         /interface bridge port add bridge=b interface=ether1\n\
         /interface bridge port add bridge=b interface=t\n"
    )
}

#[test]
fn eoip_with_a_secret_carries_full_frames_from_behind_nat() {
    let test = "eoip_with_a_secret_carries_full_frames_from_behind_nat";
    let Some(lab) = have(test, &["ping", "nft"])
        .then(|| lab(test, &BEHIND))
        .flatten()
    else {
        return;
    };
    shell(
        &lab,
        "nat",
        "echo 1 > /proc/sys/net/ipv4/ip_forward
         nft add table ip t; nft 'add chain ip t p { type nat hook postrouting priority 100; }'
         nft add rule ip t p oifname out masquerade",
    );
    let inside = site("192.168.1.2/24", "192.0.2.2") + "/ip route add gateway=192.168.1.1\n";
    let _left = router(&lab, "left", &inside);
    let right = router(&lab, "right", &site("192.0.2.2/24", "192.0.2.1"));
    let ping = |more: &str| works(&lab, "one", &format!("ping -q -c 1 -W 1{more} 10.9.0.2"));
    until("a frame gets through", || ping(""));
    let pairs = right.rows("/ip/ipsec/active-peers/print where natt-peer");
    assert!(!pairs.is_empty(), "a translator was seen");
    until("a whole frame gets through", || ping(" -s 1472 -M do"));
    let back = |more: &str| works(&lab, "two", &format!("ping -q -c 1 -W 1{more} 10.9.0.1"));
    until("a whole frame comes back", || back(" -s 1472 -M do"));
}
