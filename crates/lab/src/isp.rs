//! Lab `isp`: a provider with two routers that terminate the same subscribers.
//!
//! ```text
//!                              ┌ ether1 router ether2 ┐
//!   subscribers ether1 ─ switch                         core: FreeRADIUS with SQL, and the Internet
//!                              └ ether1 bras2  ether2 ┘
//! ```
//!
//! Accounts, sessions and addresses are in the database behind FreeRADIUS, so that either router serves every
//! subscriber. Each router offers PPPoE at once on one of two access VLANs, and after `pado-delay` on the other one:
//! that spreads the subscribers, and if one router fails, they find the other.

use crate::daemons::{Daemon, File};
use crate::layout::{End, Host, LAN, Layout, Link, ROUTER, ROUTER_HOST, SWITCH};
use crate::site::Site;

pub(crate) const ISP: Layout = Layout {
    name: "isp",
    summary: "two routers terminate PPPoE subscribers; accounts in FreeRADIUS with SQL",
    hosts: &[
        Host {
            loopback: &["198.51.100.18/32", "198.51.100.80/32"],
            ..idle("core")
        },
        ROUTER_HOST,
        idle("bras2"),
        idle(SWITCH),
        idle("subscribers"),
    ],
    links: &[
        access("p1", "subscribers"),
        access("p2", ROUTER),
        access("p3", "bras2"),
        uplink("eth0", &["203.0.113.1/24"], ROUTER),
        uplink("eth1", &["192.0.2.1/24"], "bras2"),
    ],
    config: include_str!("../configs/isp.rsc"),
};

const fn idle(name: &'static str) -> Host {
    Host {
        name,
        ..ROUTER_HOST
    }
}

/// Returns a wire from a port of the switch to a router.
const fn access(port: &'static str, router: &'static str) -> Link {
    Link {
        queues: 1,
        ends: [
            End {
                host: SWITCH,
                device: port,
                addresses: &[],
            },
            End {
                host: router,
                device: "ether1",
                addresses: &[],
            },
        ],
        ..LAN
    }
}

/// Returns a wire from the core of a provider to a router.
const fn uplink(
    device: &'static str,
    addresses: &'static [&'static str],
    router: &'static str,
) -> Link {
    Link {
        queues: 1,
        ends: [
            End {
                host: "core",
                device,
                addresses,
            },
            End {
                host: router,
                device: "ether2",
                addresses: &[],
            },
        ],
        ..LAN
    }
}

/// The second router of the provider, and its subscribers.
pub(crate) const SITES: &[Site] = &[
    Site {
        host: "bras2",
        config: include_str!("../configs/isp-bras2.rsc"),
    },
    Site {
        host: "subscribers",
        config: include_str!("../configs/isp-subscribers.rsc"),
    },
];

/// FreeRADIUS with the accounts of the subscribers.
pub(crate) const DAEMONS: &[Daemon] = &[Daemon {
    host: "core",
    argv: &["sh", "{folder}/radius.sh", "{folder}"],
    needs: "freeradius",
}];

pub(crate) const FILES: &[File] = &[
    File {
        name: "radius.sh",
        text: include_str!("../isp/radius.sh"),
    },
    File {
        name: "accounts.sql",
        text: include_str!("../isp/accounts.sql"),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_subscriber_has_an_account_and_each_vlan_a_first_router() {
        let [second, subscribers] = SITES else {
            panic!("{SITES:?}");
        };
        let accounts = include_str!("../isp/accounts.sql");
        let clients: Vec<_> = { subscribers.config.lines() }
            .filter_map(|line| line.split_once(" user=")?.1.split(' ').next())
            .collect();
        assert_eq!(clients.len(), 8);
        for user in clients {
            assert!(accounts.contains(&format!("('{user}', 'Cleartext-Password'")));
        }
        for vlan in ["interface=access10 ", "interface=access20 "] {
            let delayed = [ISP.config, second.config].map(|config| {
                let mut lines = config.lines();
                let server =
                    lines.find(|line| line.contains(vlan) && line.contains("service-name"));
                server
                    .expect("a server for each VLAN")
                    .contains("pado-delay")
            });
            assert_ne!(delayed[0], delayed[1], "{vlan}");
        }
    }
}
