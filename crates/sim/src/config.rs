//! A router's configuration for scenarios, in a few words.

use core::net::IpAddr;
use std::sync::Arc;

use machine::Duration;
use router::intent::{
    Address4, Address6, Gateway, Intent, Interface, InterfaceKind, Name, Nd, Refuse, Route,
};
use router::rib::{Check, Family, Net, V4, V6};
use service::neighbour::Mode;

/// Builds an [`Intent`]. Each call adds an item; numbers follow the order of calls.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// What was built so far.
    pub intent: Intent,
    items: u64,
}

impl Config {
    /// Nothing configured.
    pub fn new() -> Self {
        Self::default()
    }

    fn item(&mut self) -> u64 {
        self.items += 1;
        self.items
    }

    /// A port of this name, with an MTU of 1500.
    pub fn port(self, name: &str) -> Self {
        self.port_mtu(name, 1500)
    }

    /// A port with this MTU in bytes.
    pub fn port_mtu(mut self, name: &str, mtu: u32) -> Self {
        let name: Name = Arc::from(name);
        let kind = InterfaceKind::Port {
            default_name: name.clone(),
            mac: None,
            always_running: false,
        };
        self.interface(name, mtu, kind);
        self
    }

    /// A VLAN of this number on another interface.
    pub fn vlan(mut self, name: &str, parent: &str, vlan_id: u16) -> Self {
        let kind = InterfaceKind::Vlan {
            parent: Arc::from(parent),
            vlan_id,
            service_tag: false,
        };
        self.interface(Arc::from(name), 1500, kind);
        self
    }

    fn interface(&mut self, name: Name, mtu: u32, kind: InterfaceKind) {
        let item = self.item();
        let interface = Interface {
            name,
            disabled: false,
            mtu,
            arp: Mode::Enabled,
            arp_timeout: None,
            kind,
        };
        self.intent.interfaces.insert(item, interface);
    }

    /// An address with its prefix length, of either family: `10.0.0.1/24`.
    pub fn address(mut self, interface: &str, address: &str) -> Self {
        let (addr, len) = split(address);
        let item = self.item();
        let interface: Name = Arc::from(interface);
        match addr {
            IpAddr::V4(addr) => {
                let address = Address4 {
                    addr,
                    len,
                    network: Net::<V4>::new(addr, len).first(),
                    interface,
                    disabled: false,
                };
                self.intent.addresses4.insert(item, address);
            }
            IpAddr::V6(addr) => {
                let address = Address6 {
                    addr,
                    len,
                    interface,
                    eui64: false,
                    advertise: true,
                    no_dad: false,
                    auto_link_local: true,
                    disabled: false,
                };
                self.intent.addresses6.insert(item, address);
            }
        }
        self
    }

    /// A route to a network through gateways: addresses, `address%interface`, or interfaces;
    /// several are separated by commas.
    pub fn route(self, destination: &str, gateways: &str) -> Self {
        self.route_with(destination, gateways, 1, Check::None, (30, 10))
    }

    /// A route with its distance, how its gateways are checked, its scope and target-scope.
    pub fn route_with(
        mut self,
        destination: &str,
        gateways: &str,
        distance: u8,
        check: Check,
        scopes: (u8, u8),
    ) -> Self {
        let (addr, len) = split(destination);
        let item = self.item();
        let (scope, target_scope) = scopes;
        match addr {
            IpAddr::V4(addr) => {
                let route = Route::<V4> {
                    distance,
                    check,
                    scope,
                    target_scope,
                    ..plain(Net::new(addr, len), gateways)
                };
                self.intent.routes4.insert(item, route);
            }
            IpAddr::V6(addr) => {
                let route = Route::<V6> {
                    distance,
                    check,
                    scope,
                    target_scope,
                    ..plain(Net::new(addr, len), gateways)
                };
                self.intent.routes6.insert(item, route);
            }
        }
        self
    }

    /// A network that packets do not go to.
    pub fn refuse(mut self, destination: &str, refuse: Refuse) -> Self {
        let (addr, len) = split(destination);
        let item = self.item();
        match addr {
            IpAddr::V4(addr) => {
                let mut route = plain::<V4>(Net::new(addr, len), "");
                route.refuse = Some(refuse);
                self.intent.routes4.insert(item, route);
            }
            IpAddr::V6(addr) => {
                let mut route = plain::<V6>(Net::new(addr, len), "");
                route.refuse = Some(refuse);
                self.intent.routes6.insert(item, route);
            }
        }
        self
    }

    /// Router advertisements on all interfaces, every few seconds.
    pub fn advertise(mut self) -> Self {
        let item = self.item();
        let nd = Nd {
            interface: None,
            interval: (Duration::from_secs(3), Duration::from_secs(4)),
            delay: Duration::from_secs(3),
            mtu: None,
            reachable_time: None,
            retransmit: None,
            lifetime: Duration::from_secs(1800),
            preference: 0,
            hop_limit: None,
            advertise_mac: true,
            advertise_dns: false,
            managed: false,
            other: false,
            dns: Vec::new(),
            disabled: false,
        };
        self.intent.nd.insert(item, nd);
        self
    }
}

fn split(text: &str) -> (IpAddr, u8) {
    let (addr, len) = text.split_once('/').expect("an address and its length");
    (
        addr.parse().expect("an address"),
        len.parse().expect("a length"),
    )
}

fn plain<F: Family>(net: Net<F>, gateways: &str) -> Route<F> {
    let names = gateways.split(',').filter(|text| !text.is_empty());
    Route {
        net,
        table: Arc::from("main"),
        gateways: names.map(gateway).collect(),
        refuse: None,
        check: Check::None,
        distance: 1,
        scope: 30,
        target_scope: 10,
        pref_src: None,
        disabled: false,
    }
}

fn gateway<F: Family>(text: &str) -> Gateway<F> {
    let (addr, interface) = match text.split_once('%') {
        Some((addr, interface)) => (addr, Some(interface)),
        None => (text, None),
    };
    let parsed = match addr.parse() {
        Ok(IpAddr::V4(addr)) if !F::IPV6 => Some(F::addr(u128::from(u32::from(addr)))),
        Ok(IpAddr::V6(addr)) if F::IPV6 => Some(F::addr(u128::from(addr))),
        _ => None,
    };
    let interface = interface.or(parsed.is_none().then_some(addr));
    Gateway {
        addr: parsed,
        interface: interface.map(Arc::from),
        table: None,
    }
}
