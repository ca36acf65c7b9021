//! Tests bridge filter and NAT rules between two hosts on one bridge.

use lab::{End, Host, Layout, Link, Offloads};

use crate::world::{PACKET, Router, Start, lab, run, until, works};

const fn host(name: &'static str) -> Host {
    Host {
        name,
        forwards: false,
        loopback: &[],
        routes: &[],
    }
}

const fn wire(port: &'static str, host: &'static str, addresses: &'static [&'static str]) -> Link {
    Link {
        mtu: 1500,
        queues: 1,
        offloads: Offloads::Off,
        ends: [
            End {
                host: "router",
                device: port,
                addresses: &[],
            },
            End {
                host,
                device: "eth0",
                addresses,
            },
        ],
    }
}

pub(crate) const LAYOUT: Layout = Layout {
    name: "bridge-rules",
    summary: "two hosts on one bridge",
    hosts: &[host("one"), host("router"), host("two")],
    links: &[
        wire("ether1", "one", &["10.1.0.1/24"]),
        wire("ether2", "two", &["10.1.0.2/24", "10.1.0.77/32"]),
    ],
    config: "",
};

const CONFIG: &str = "\
/interface bridge add name=bridge protocol-mode=none
/interface bridge port add bridge=bridge interface=ether1
/interface bridge port add bridge=bridge interface=ether2
";

/// A MAC address that no host has.
const NOWHERE: &str = "02:00:00:00:77:77";

#[test]
fn bridge_rules_drop_answer_and_redirect_frames_between_hosts() {
    let test = "bridge_rules_drop_answer_and_redirect_frames_between_hosts";
    let Some(lab) = lab(test, &LAYOUT) else {
        return;
    };
    let router = Router::start(&lab, &Start::with(PACKET, CONFIG));
    let ping = |address: &str| works(&lab, "one", &format!("ping -q -c 1 -W 1 {address}"));
    let two = run(&lab, "two", "ip -br link show dev eth0");
    let two = two.split_whitespace().nth(2).expect("a link address");
    until("the bridge joins both", || ping("10.1.0.2"));

    // A rule drops frames of a MAC address, and counts them.
    let rule = format!("chain=forward src-mac-address={two} action=drop");
    router.exec(&format!("/interface/bridge/filter/add {rule}"));
    assert!(!ping("10.1.0.2"));
    let counted = "/interface/bridge/filter/print count-only where packets>0";
    assert_eq!(router.exec(counted).trim(), "1");
    router.exec("/interface/bridge/filter/remove [find]");
    until("it is let in again", || ping("10.1.0.2"));

    // A rule answers ARP requests in place of the owner of the address.
    let rule = format!(
        "chain=dstnat mac-protocol=arp arp-dst-address=10.1.0.77/32 action=arp-reply \
         to-arp-reply-mac-address={NOWHERE}"
    );
    router.exec(&format!("/interface/bridge/nat/add {rule}"));
    assert!(!ping("10.1.0.77"));
    let known = run(&lab, "one", "ip neighbour show 10.1.0.77");
    assert!(known.contains(NOWHERE), "{known}");

    // A rule rewrites the destination MAC address to that of the host `two`.
    let rule = format!(
        "chain=dstnat dst-mac-address={NOWHERE}/FF:FF:FF:FF:FF:FF action=dst-nat \
         to-dst-mac-address={two}"
    );
    router.exec(&format!("/interface/bridge/nat/add {rule}"));
    until("it is reached there", || ping("10.1.0.77"));

    // With `use-ip-firewall`, IP rules see bridged packets with their ingress port.
    router.exec("/interface/bridge/settings/set use-ip-firewall=yes");
    let rule = "chain=forward in-bridge-port=ether1 protocol=icmp action=drop";
    router.exec(&format!("/ip/firewall/filter/add {rule}"));
    until("it is dropped", || !ping("10.1.0.2"));
    router.exec("/interface/bridge/settings/set use-ip-firewall=no");
    until("the detour is over", || ping("10.1.0.2"));
    assert!(router.stop().success());
}
