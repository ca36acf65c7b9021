//! Lab `everyday`: lab `home` with the additions of a typical household, and a second router at the far end of
//! its tunnels. Tests of a feature run here beside all other features.
//!
//! ```text
//!   client ── ether2 ┐                                          ┌ ether2 ── office (LAN of the home, by EoIP)
//!   laptop ── ether3 ┤ router ether1 ── server ── ether1 far ───┤
//!   guest ─── ether4 ┘ (VLAN 20)     (the provider)             └ ether3 ── branch (by IKEv2)
//! ```
//!
//! The provider assigns 203.0.113.100, 2001:2:0:1::100 and the prefix 2001:2:0:100::/56 to the router.

use crate::daemons::{Daemon, File, PROVIDER, taker};
use crate::layout::{End, Host, Layout, Link, Offloads, ROUTER, ROUTER_HOST, Route};
use crate::site::Site;

pub(crate) const EVERYDAY: Layout = Layout {
    name: "everyday",
    summary: "home with IPv6, a VLAN, queues, and tunnels to a second router, `far`",
    hosts: &[
        host("client"),
        host("laptop"),
        host("guest"),
        ROUTER_HOST,
        SERVER,
        host(FAR),
        host("office"),
        Host {
            routes: &[Route {
                destination: "default",
                via: "10.20.0.1",
            }],
            ..host("branch")
        },
    ],
    links: &[
        wire(
            port(ROUTER, "ether1"),
            device("server", "eth0", &["203.0.113.1/24", "2001:2:0:1::1/64"]),
        ),
        wire(port(ROUTER, "ether2"), device("client", "eth0", &[])),
        wire(port(ROUTER, "ether3"), device("laptop", "eth0", &[])),
        wire(port(ROUTER, "ether4"), device("guest", "eth0", &[])),
        wire(
            port(FAR, "ether1"),
            device("server", "eth1", &["192.0.2.1/24"]),
        ),
        wire(port(FAR, "ether2"), device("office", "eth0", &[])),
        wire(
            port(FAR, "ether3"),
            device("branch", "eth0", &["10.20.0.10/24"]),
        ),
    ],
    config: include_str!("../configs/everyday.rsc"),
};

/// Host of the second router.
const FAR: &str = "far";

/// The provider and the Internet behind it.
const SERVER: Host = Host {
    name: "server",
    forwards: true,
    loopback: &["198.51.100.80/32", "2001:2:0:80::80/128"],
    routes: &[
        // The provider has a route to the LAN, so that only the router's firewall keeps it out.
        Route {
            destination: "192.168.88.0/24",
            via: "203.0.113.100",
        },
        Route {
            destination: "2001:2:0:100::/56",
            via: "2001:2:0:1::100",
        },
    ],
};

pub(crate) const SITES: &[Site] = &[Site {
    host: FAR,
    config: include_str!("../configs/everyday-far.rsc"),
}];

pub(crate) const DAEMONS: &[Daemon] = &[
    PROVIDER,
    // The provider's DHCPv6: one address and one prefix.
    Daemon {
        host: "server",
        argv: &[
            "dhcpd",
            "-6",
            "-f",
            "-q",
            "-user",
            "root",
            "-group",
            "root",
            "-cf",
            "{folder}/dhcpd6.conf",
            "-lf",
            "{folder}/dhcpd6.leases",
            "-pf",
            "{folder}/dhcpd6.pid",
            "eth0",
        ],
        needs: "dhcpd",
    },
    taker("client"),
    taker("laptop"),
    taker("guest"),
    taker("office"),
];

pub(crate) const FILES: &[File] = &[
    File {
        name: "dhcpd6.conf",
        text: "default-lease-time 3600;\npreferred-lifetime 1800;\nauthoritative;\n\
               option dhcp6.name-servers 2001:2:0:1::1;\n\
               subnet6 2001:2:0:1::/64 {\n range6 2001:2:0:1::100 2001:2:0:1::100;\n \
               prefix6 2001:2:0:100:: 2001:2:0:100:: /56;\n}\n",
    },
    // dhcpd does not start without its lease file.
    File {
        name: "dhcpd6.leases",
        text: "",
    },
];

const AUTHORITY: &str = include_str!("../certificates/authority.pem");
const HOME_PEM: &str = include_str!("../certificates/home.pem");
const FAR_PEM: &str = include_str!("../certificates/far.pem");

/// Returns the commands that import a router's certificate and make the IPsec identity that uses it.
pub(crate) fn setup(host: &str) -> Vec<String> {
    match host {
        ROUTER => identity("home", HOME_PEM, "branch", "far.example"),
        FAR => identity("far", FAR_PEM, "home", "home.example"),
        _ => Vec::new(),
    }
}

fn identity(name: &str, pem: &str, peer: &str, remote: &str) -> Vec<String> {
    let file = |name: &str, pem: &str| {
        let contents = pem.replace('\n', "\\n");
        format!("/file/add name={name}.pem contents=\"{contents}\"")
    };
    let import = |name: &str| {
        format!("/certificate/import file-name={name}.pem name={name} passphrase=\"\"")
    };
    vec![
        file("authority", AUTHORITY),
        import("authority"),
        file(name, pem),
        import(name),
        format!(
            "/ip/ipsec/identity/add auth-method=digital-signature certificate={name} \
             my-id=fqdn:{name}.example peer={peer} remote-id=fqdn:{remote}"
        ),
    ]
}

const fn host(name: &'static str) -> Host {
    Host {
        name,
        forwards: false,
        loopback: &[],
        routes: &[],
    }
}

const fn device(
    host: &'static str,
    device: &'static str,
    addresses: &'static [&'static str],
) -> End {
    End {
        host,
        device,
        addresses,
    }
}

const fn port(host: &'static str, name: &'static str) -> End {
    device(host, name, &[])
}

const fn wire(near: End, far: End) -> Link {
    Link {
        mtu: 1500,
        queues: 2,
        offloads: Offloads::Off,
        ends: [near, far],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_is_that_of_home_with_additions() {
        let home = crate::layout("home").expect("built in").config;
        let mut everyday = EVERYDAY.config.lines();
        for line in home.lines().filter(|line| !line.starts_with('#')) {
            assert!(
                everyday.any(|own| own == line || own == format!("{line} vlan-filtering=yes")),
                "{line}: missing, or in another place"
            );
        }
    }

    #[test]
    fn both_ends_get_their_certificate_and_the_authority() {
        for (host, name) in [(ROUTER, "home"), (FAR, "far")] {
            let commands = setup(host);
            let imports = commands
                .iter()
                .filter(|command| command.contains("/import "));
            assert_eq!(imports.count(), 2, "{commands:?}");
            assert!(
                commands.last().is_some_and(|last| last.contains(name)),
                "{commands:?}"
            );
        }
        assert!(setup("server").is_empty());
    }
}
