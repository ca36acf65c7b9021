//! Leases that peers grant this router (`/ip/ipsec/mode-config responder=no`): an address on the
//! interface that leads to the peer, name servers and, if configured, a source NAT rule to that
//! address.

use core::net::IpAddr;
use std::collections::BTreeMap;

use ike::{Lease, PeerId, SaId};
use ipnet::IpNet;
use menu::{Item, Value};

use crate::feature::{Effect, Effects, NewObject};
use crate::intent::{Address4, Address6, Name};
use crate::learned::Servers;
use crate::object::{Made, Owner};
use crate::paths::PathTable;

/// Comment of the NAT rule (RouterOS).
const COMMENT: &str = "ipsec mode-config";

/// How a mode-config item uses a granted lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asks {
    /// Address list whose sources are translated.
    list: Option<Name>,
    /// Connection mark whose connections are translated, or `no-mark`.
    mark: Option<Value>,
    /// Whether the router uses the peer's name servers, and whether exclusively.
    dns: Option<Exclusive>,
}

type Exclusive = bool;

impl Asks {
    /// Reads a mode-config item with `responder=no`.
    pub(super) fn read(item: &Item) -> Self {
        let name = |property| Some(item.text(property)).filter(|name| !name.is_empty());
        Self {
            list: name("src-address-list").map(Name::from),
            mark: item.get("connection-mark").cloned(),
            dns: match item.text("use-responder-dns") {
                "no" => None,
                word => Some(word == "exclusively"),
            },
        }
    }

    /// Returns the menu and properties of the NAT rule to address `to`, or `None` if no rule is
    /// configured.
    fn rule(&self, to: IpAddr) -> Option<(&'static str, Vec<(&'static str, Value)>)> {
        if self.list.is_none() && self.mark.is_none() {
            return None;
        }
        let (menu, to) = match to {
            IpAddr::V4(_) => ("/ip/firewall/nat", ("to-addresses", Value::Address(to))),
            IpAddr::V6(_) => (
                "/ipv6/firewall/nat",
                ("to-address", Value::Prefix(IpNet::from(to))),
            ),
        };
        let mut values = vec![
            ("comment", Value::text(COMMENT)),
            ("chain", Value::text("srcnat")),
            ("action", Value::Word("src-nat")),
            to,
        ];
        if let Some(list) = &self.list {
            let name = Value::text(&**list);
            values.push(("src-address-list", name.clone()));
            values.push(("dst-address-list", Value::Not(Box::new(name))));
        }
        let mark = self.mark.clone();
        values.extend(mark.map(|mark| ("connection-mark", mark)));
        Some((menu, values))
    }
}

/// The lease that one peer granted.
#[derive(Debug)]
struct GrantedLease {
    /// Owner number of its dynamic objects.
    number: u64,
    peer: PeerId,
    remote: IpAddr,
    lease: Lease,
    /// Settings and interface from which its objects were made.
    made: Option<(Asks, Name)>,
}

/// All leases by IKE SA.
#[derive(Debug, Default)]
pub(super) struct GrantedLeases(BTreeMap<SaId, GrantedLease>);

impl GrantedLeases {
    /// Stores the lease of a peer. Removes the objects of an earlier, different lease of the SA.
    pub(super) fn store(
        &mut self,
        sa: SaId,
        peer: PeerId,
        remote: IpAddr,
        lease: Lease,
        out: &mut Effects,
    ) {
        if let Some(one) = self.0.get(&sa)
            && (one.peer, one.remote, &one.lease) == (peer, remote, &lease)
        {
            return;
        }
        self.give_back(sa, out);
        let one = GrantedLease {
            number: sa.0,
            peer,
            remote,
            lease,
            made: None,
        };
        self.0.insert(sa, one);
    }

    /// Moves the lease to an IKE SA that replaces another one.
    pub(super) fn pass_on(&mut self, before: SaId, after: SaId) {
        if let Some(one) = self.0.remove(&before) {
            self.0.insert(after, one);
        }
    }

    /// Removes the lease of an IKE SA that ended.
    pub(super) fn give_back(&mut self, sa: SaId, out: &mut Effects) {
        if let Some(one) = self.0.remove(&sa) {
            one.unmake(out);
        }
    }

    /// Updates the dynamic objects of all leases to the present settings. A lease has objects only
    /// while the path to its peer is known.
    pub(super) fn tell(
        &mut self,
        asks: &BTreeMap<PeerId, Asks>,
        paths: &PathTable,
        out: &mut Effects,
    ) {
        for one in self.0.values_mut() {
            let path = paths.get(one.remote);
            let path = path.filter(|path| path.source.is_some());
            let egress = path.and_then(|path| path.egress.as_ref());
            let interface = egress.map(|egress| egress.interface.clone());
            let wanted = asks.get(&one.peer).cloned().zip(interface);
            if one.made == wanted {
                continue;
            }
            one.unmake(out);
            one.made = wanted;
            one.make(out);
        }
    }
}

impl GrantedLease {
    const fn owner(&self) -> Owner {
        Owner {
            feature: "ipsec",
            number: self.number,
        }
    }

    fn make(&self, out: &mut Effects) {
        let Some((asks, interface)) = &self.made else {
            return;
        };
        if let Some(address) = self.lease.address {
            out.object(self.owner(), address_of(address, interface));
            let rule = asks.rule(address).map(|(menu, cells)| NewObject {
                owner: self.owner(),
                made: Made::Rule(menu),
                cells,
                removable: false,
            });
            if let Some(rule) = rule {
                out.push(Effect::Object(Box::new(rule)));
            }
        }
        if let Some(exclusive) = asks.dns {
            let servers = Servers {
                interface: interface.clone(),
                dns: self.lease.dns.clone(),
                exclusive,
                ntp: Vec::new(),
                domain: None,
            };
            out.push(Effect::Learn(self.owner(), Some(servers)));
        }
    }

    fn unmake(&self, out: &mut Effects) {
        if self.made.is_some() {
            out.push(Effect::Gone(self.owner()));
            out.push(Effect::Learn(self.owner(), None));
        }
    }
}

/// Returns a host address: policies say which networks are behind the peer.
fn address_of(address: IpAddr, interface: &Name) -> Made {
    let interface = interface.clone();
    match address {
        IpAddr::V4(addr) => Made::Address4(Address4 {
            addr,
            len: 32,
            network: addr,
            interface,
            disabled: false,
        }),
        IpAddr::V6(addr) => Made::Address6(Address6 {
            addr,
            len: 128,
            interface,
            eui64: false,
            advertise: false,
            no_dad: true,
            auto_link_local: false,
            disabled: false,
        }),
    }
}
