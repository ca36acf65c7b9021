//! Layouts of labs.
//!
//! Every layout has a host `router`, whose devices `ether1`, `ether2` … carry no addresses: the router takes
//! them over as ports. The other hosts run the kernel's network stack.

/// A layout: hosts and the wires between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Name for `ferroute lab up`.
    pub name: &'static str,
    /// One line for `ferroute lab list`.
    pub summary: &'static str,
    /// Hosts, each a network namespace.
    pub hosts: &'static [Host],
    /// Wires, each a veth pair.
    pub links: &'static [Link],
    /// Configuration of the router, as RouterOS commands.
    pub config: &'static str,
}

/// A host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Host {
    /// Name, unique in the layout.
    pub name: &'static str,
    /// True if the kernel forwards between the host's devices.
    pub forwards: bool,
    /// Addresses on the loopback device, `address/length`.
    pub loopback: &'static [&'static str],
    /// Static routes.
    pub routes: &'static [Route],
}

/// A static route of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// `default` or `prefix/length`, of the gateway's family.
    pub destination: &'static str,
    /// Gateway: an IPv4 or IPv6 address on a link of the host.
    pub via: &'static str,
}

/// A veth pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Layer-3 MTU of both ends, in bytes.
    pub mtu: u32,
    /// Receive and transmit queues of each end.
    pub queues: u32,
    /// Offloads of the hosts' network stacks.
    pub offloads: Offloads,
    /// The two ends.
    pub ends: [End; 2],
}

/// One end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Name of the host.
    pub host: &'static str,
    /// Name of the device, at most 15 bytes.
    pub device: &'static str,
    /// Addresses, `address/length`; none at the router.
    pub addresses: &'static [&'static str],
}

/// Offloads of a sending host, although a veth has no hardware for them.
///
/// With `On`, frames leave with unfinished checksums and up to 64 KB long. A TAP or AF_PACKET port learns this
/// per frame; an AF_XDP port on veth does not, and needs `Off`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offloads {
    /// Frames leave as on a real wire.
    Off,
    /// Default of the kernel.
    On,
}

impl Layout {
    /// Returns the devices of the host `router`, ordered by name.
    pub fn ports(&self) -> Vec<&'static str> {
        self.ports_of(ROUTER)
    }

    /// Returns the devices of a host, ordered by name.
    pub fn ports_of(&self, host: &str) -> Vec<&'static str> {
        let mut ports: Vec<_> = self
            .links
            .iter()
            .flat_map(|link| &link.ends)
            .filter(|end| end.host == host)
            .map(|end| end.device)
            .collect();
        ports.sort_unstable();
        ports
    }

    /// Returns the host with this name.
    pub fn host(&self, name: &str) -> Option<&'static Host> {
        self.hosts.iter().find(|host| host.name == name)
    }
}

/// Host whose devices a kernel bridge joins: the access network of a provider.
pub(crate) const SWITCH: &str = "switch";

/// Name of the host that runs ferroute in every layout.
pub(crate) const ROUTER: &str = "router";

pub(crate) const ROUTER_HOST: Host = Host {
    name: ROUTER,
    forwards: false,
    loopback: &[],
    routes: &[],
};

const CLIENT: Host = Host {
    name: "client",
    forwards: false,
    loopback: &[],
    routes: &[
        Route {
            destination: "default",
            via: "192.168.88.1",
        },
        Route {
            destination: "default",
            via: "2001:db8:88::1",
        },
    ],
};

// The loopback addresses represent the rest of the Internet: only a default route reaches them.
const SERVER: Host = Host {
    name: "server",
    forwards: false,
    loopback: &["198.51.100.80/32", "2001:db8:80::80/128"],
    routes: &[
        Route {
            destination: "default",
            via: "203.0.113.2",
        },
        Route {
            destination: "default",
            via: "2001:db8:1::2",
        },
    ],
};

const INTERNET: Link = Link {
    mtu: 1500,
    queues: 1,
    offloads: Offloads::Off,
    ends: [
        End {
            host: ROUTER,
            device: "ether1",
            addresses: &[],
        },
        End {
            host: "server",
            device: "eth0",
            addresses: &["203.0.113.1/24", "2001:db8:1::1/64"],
        },
    ],
};

pub(crate) const LAN: Link = Link {
    mtu: 1500,
    queues: 1,
    offloads: Offloads::Off,
    ends: [
        End {
            host: ROUTER,
            device: "ether2",
            addresses: &[],
        },
        End {
            host: "client",
            device: "eth0",
            addresses: &["192.168.88.10/24", "2001:db8:88::10/64"],
        },
    ],
};

/// A host that gets address and route by DHCP.
const fn taker(name: &'static str) -> Host {
    Host {
        name,
        forwards: false,
        loopback: &[],
        routes: &[],
    }
}

pub(crate) const HOME: Layout = Layout {
    name: "home",
    summary: "two hosts on the LAN, a router with RouterOS's default configuration, a provider and a server",
    hosts: &[
        taker("client"),
        taker("laptop"),
        ROUTER_HOST,
        Host {
            loopback: &["198.51.100.80/32"],
            // Has a route to the LAN, so that only the router's firewall keeps it out.
            routes: &[Route {
                destination: "192.168.88.0/24",
                via: "203.0.113.100",
            }],
            ..SERVER
        },
    ],
    links: &[
        Link {
            ends: [
                INTERNET.ends[0],
                End {
                    addresses: &["203.0.113.1/24"],
                    ..INTERNET.ends[1]
                },
            ],
            ..INTERNET
        },
        Link {
            ends: [
                LAN.ends[0],
                End {
                    addresses: &[],
                    ..LAN.ends[1]
                },
            ],
            ..LAN
        },
        Link {
            ends: [
                End {
                    device: "ether3",
                    ..LAN.ends[0]
                },
                End {
                    host: "laptop",
                    addresses: &[],
                    ..LAN.ends[1]
                },
            ],
            ..LAN
        },
    ],
    config: include_str!("../configs/home.rsc"),
};

// The default firewall drops documentation addresses; RFC 5180 has prefixes for labs.
pub(crate) const STATIC: Layout = Layout {
    name: "static",
    summary: "home, on static addresses, in IPv6 too",
    hosts: &[
        Host {
            routes: &[
                Route {
                    destination: "default",
                    via: "192.168.88.1",
                },
                Route {
                    destination: "default",
                    via: "2001:2:0:88::1",
                },
            ],
            ..CLIENT
        },
        Host {
            name: "laptop",
            routes: &[
                Route {
                    destination: "default",
                    via: "192.168.88.1",
                },
                Route {
                    destination: "default",
                    via: "2001:2:0:88::1",
                },
            ],
            ..CLIENT
        },
        ROUTER_HOST,
        Host {
            loopback: &["198.51.100.80/32", "2001:2:0:80::80/128"],
            // Has a route to the LAN, so that only the router's firewall keeps it out.
            routes: &[
                Route {
                    destination: "default",
                    via: "203.0.113.2",
                },
                Route {
                    destination: "default",
                    via: "2001:2:0:1::2",
                },
            ],
            ..SERVER
        },
    ],
    links: &[
        Link {
            ends: [
                INTERNET.ends[0],
                End {
                    addresses: &["203.0.113.1/24", "2001:2:0:1::1/64"],
                    ..INTERNET.ends[1]
                },
            ],
            ..INTERNET
        },
        Link {
            ends: [
                LAN.ends[0],
                End {
                    addresses: &["192.168.88.10/24", "2001:2:0:88::10/64"],
                    ..LAN.ends[1]
                },
            ],
            ..LAN
        },
        Link {
            ends: [
                End {
                    device: "ether3",
                    ..LAN.ends[0]
                },
                End {
                    host: "laptop",
                    addresses: &["192.168.88.11/24", "2001:2:0:88::11/64"],
                    ..LAN.ends[1]
                },
            ],
            ..LAN
        },
    ],
    config: include_str!("../configs/static.rsc"),
};

pub(crate) const PLAIN: Layout = Layout {
    name: "plain",
    summary: "a client on the LAN, a router that filters nothing, a server on the internet",
    hosts: &[CLIENT, ROUTER_HOST, SERVER],
    links: &[INTERNET, LAN],
    config: include_str!("../configs/plain.rsc"),
};

pub(crate) const SEGMENTS: Layout = Layout {
    name: "segments",
    summary: "plain, with hosts that send whole segments and unfinished checksums",
    links: &[
        Link {
            offloads: Offloads::On,
            ..INTERNET
        },
        Link {
            offloads: Offloads::On,
            ..LAN
        },
    ],
    ..PLAIN
};

pub(crate) const JUMBO: Layout = Layout {
    name: "jumbo",
    summary: "plain, with links of 9,000 bytes",
    links: &[
        Link {
            mtu: 9000,
            ..INTERNET
        },
        Link { mtu: 9000, ..LAN },
    ],
    config: include_str!("../configs/jumbo.rsc"),
    ..PLAIN
};

pub(crate) const TWO_QUEUES: Layout = Layout {
    name: "two-queues",
    summary: "plain, with two queues at every device",
    links: &[
        Link {
            queues: 2,
            ..INTERNET
        },
        Link { queues: 2, ..LAN },
    ],
    ..PLAIN
};

pub(crate) const PMTU: Layout = Layout {
    name: "pmtu",
    summary: "a hop of 1,400 bytes between the router and a second one, `far`, before the server",
    hosts: &[
        CLIENT,
        ROUTER_HOST,
        Host {
            name: "far",
            forwards: true,
            loopback: &[],
            routes: &[
                Route {
                    destination: "192.168.88.0/24",
                    via: "203.0.113.2",
                },
                Route {
                    destination: "2001:db8:88::/64",
                    via: "2001:db8:1::2",
                },
            ],
        },
        Host {
            name: "server",
            forwards: false,
            loopback: &[],
            routes: &[
                Route {
                    destination: "default",
                    via: "198.51.100.1",
                },
                Route {
                    destination: "default",
                    via: "2001:db8:80::1",
                },
            ],
        },
    ],
    links: &[
        Link {
            mtu: 1400,
            ends: [
                End {
                    host: ROUTER,
                    device: "ether1",
                    addresses: &[],
                },
                End {
                    host: "far",
                    device: "eth0",
                    addresses: &["203.0.113.1/24", "2001:db8:1::1/64"],
                },
            ],
            ..INTERNET
        },
        LAN,
        Link {
            ends: [
                End {
                    host: "far",
                    device: "eth1",
                    addresses: &["198.51.100.1/24", "2001:db8:80::1/64"],
                },
                End {
                    host: "server",
                    device: "eth0",
                    addresses: &["198.51.100.80/24", "2001:db8:80::80/64"],
                },
            ],
            ..INTERNET
        },
    ],
    config: include_str!("../configs/pmtu.rsc"),
};

/// Returns a host without forwarding.
pub(crate) const fn host(name: &'static str, routes: &'static [Route]) -> Host {
    Host {
        name,
        forwards: false,
        loopback: &[],
        routes,
    }
}

/// Returns an end of a link.
pub(crate) const fn end(
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

/// Returns a link with the standard MTU, one queue and without offloads.
pub(crate) const fn wire(one: End, other: End) -> Link {
    Link {
        mtu: 1500,
        queues: 1,
        offloads: Offloads::Off,
        ends: [one, other],
    }
}

/// Returns a default route.
pub(crate) const fn by(via: &'static str) -> Route {
    Route {
        destination: "default",
        via,
    }
}
