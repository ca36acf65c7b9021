//! Layout of a router and one other host, for tests of protocols between the two.

use lab::{End, Host, Lab, Layout, Link, Offloads};

use crate::world::{PACKET, Router, Start};

/// The router's address on the link.
pub(crate) const ROUTER: &str = "192.0.2.11";
/// Address of the other host.
pub(crate) const PEER: &str = "192.0.2.12";

const fn host(name: &'static str) -> Host {
    Host {
        name,
        forwards: false,
        loopback: &[],
        routes: &[],
    }
}

/// The layout.
pub(crate) const PAIR: Layout = Layout {
    name: "pair",
    summary: "a router and a host beside it",
    hosts: &[host("router"), host("peer")],
    links: &[Link {
        mtu: 1500,
        queues: 1,
        offloads: Offloads::On,
        ends: [
            End {
                host: "router",
                device: "ether1",
                addresses: &[],
            },
            End {
                host: "peer",
                device: "eth0",
                addresses: &["192.0.2.12/24", "2001:db8:2::12/64"],
            },
        ],
    }],
    config: "",
};

/// Starts the router with the link's addresses and this configuration.
pub(crate) fn start(lab: &Lab, config: &str) -> Router {
    let config = format!(
        "/ip address add address={ROUTER}/24 interface=ether1\n\
         /ipv6 address add address=2001:db8:2::11/64 interface=ether1 advertise=no\n{config}"
    );
    let start = Start {
        ports: vec![format!("ether1={PACKET}:ether1")],
        ..Start::with(PACKET, &config)
    };
    Router::start(lab, &start)
}
