//! Programs that run in a lab's hosts as long as it is used: who gives addresses and names, and who takes them.

use crate::layout::Layout;

/// A program that goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Daemon {
    /// The host.
    pub host: &'static str,
    /// The program and its arguments, one of which may be [`SCRIPT`].
    pub argv: &'static [&'static str],
}

/// Stands for the path of a file with [`LEASE_SCRIPT`].
pub const SCRIPT: &str = "{script}";

/// What a DHCP client runs when it has a lease, or has none any more: the address and the route, in its host alone.
pub const LEASE_SCRIPT: &str = r#"#!/bin/sh
case $1 in
deconfig)
    ip address flush dev "$interface"
    ip link set dev "$interface" up ;;
bound | renew)
    ip address replace "$ip/$mask" dev "$interface"
    for gateway in $router; do ip route replace default via "$gateway" dev "$interface"; done ;;
esac
"#;

/// The programs that a layout wants.
pub fn daemons(layout: &Layout) -> &'static [Daemon] {
    match layout.name {
        "home" => HOME,
        _ => &[],
    }
}

const HOME: &[Daemon] = &[
    // The provider: addresses for routers, and names of the internet.
    Daemon {
        host: "server",
        argv: &[
            "dnsmasq",
            "--keep-in-foreground",
            "--conf-file=/dev/null",
            "--no-resolv",
            "--no-hosts",
            "--interface=eth0",
            "--except-interface=lo",
            "--bind-interfaces",
            "--pid-file=",
            "--dhcp-leasefile=/dev/null",
            "--leasefile-ro",
            "--dhcp-authoritative",
            // The router, by the link address of its port.
            "--dhcp-host=02:00:00:00:01:01,203.0.113.100",
            "--dhcp-range=203.0.113.100,203.0.113.199,1h",
            "--dhcp-option=option:router,203.0.113.1",
            "--dhcp-option=option:dns-server,203.0.113.1",
            "--address=/www.example.net/198.51.100.80",
        ],
    },
    taker("client"),
    taker("laptop"),
];

/// A host that takes an address, asks once a second until it has one, and keeps it.
const fn taker(host: &'static str) -> Daemon {
    Daemon {
        host,
        argv: &[
            "udhcpc", "-f", "-i", "eth0", "-t", "3", "-T", "1", "-A", "1", "-s", SCRIPT,
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn daemons_are_of_hosts_that_are_there() {
        for layout in crate::LAYOUTS {
            for daemon in daemons(layout) {
                assert!(layout.host(daemon.host).is_some(), "{daemon:?}");
            }
        }
    }
}
