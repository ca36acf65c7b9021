//! What peers have given this router (`/ip/ipsec/mode-config responder=no`): an address of the interface that leads to
//! the peer, name servers and, where an administrator says whose, a rule that translates sources to that address.

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

/// The comment of the rule, as RouterOS has it.
const COMMENT: &str = "ipsec mode-config";

/// What a configuration does with what a peer gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asks {
    /// Sources of this list are translated.
    list: Option<Name>,
    /// Connections with this mark are, or with none (`no-mark`).
    mark: Option<Value>,
    /// Whether the peer's name servers are asked, and whether alone.
    dns: Option<Exclusive>,
}

type Exclusive = bool;

impl Asks {
    /// Reads an item of mode-config that asks.
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

    /// The properties of the rule that translates to an address, if something is to be.
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

/// What one peer has given.
#[derive(Debug)]
struct One {
    /// The number of its objects.
    number: u64,
    peer: PeerId,
    remote: IpAddr,
    lease: Lease,
    /// What its objects were made by.
    made: Option<(Asks, Name)>,
}

/// All of it, by IKE SA.
#[derive(Debug, Default)]
pub(super) struct Given(BTreeMap<SaId, One>);

impl Given {
    /// A peer at an address gives something: what it gave before goes, unless that is the same.
    pub(super) fn take(
        &mut self,
        sa: SaId,
        (peer, remote): (PeerId, IpAddr),
        lease: Lease,
        out: &mut Effects,
    ) {
        if let Some(one) = self.0.get(&sa)
            && (one.peer, one.remote, &one.lease) == (peer, remote, &lease)
        {
            return;
        }
        self.give_back(sa, out);
        let one = One {
            number: sa.0,
            peer,
            remote,
            lease,
            made: None,
        };
        self.0.insert(sa, one);
    }

    /// An IKE SA has taken the place of another one.
    pub(super) fn pass_on(&mut self, before: SaId, after: SaId) {
        if let Some(one) = self.0.remove(&before) {
            self.0.insert(after, one);
        }
    }

    /// An IKE SA is over.
    pub(super) fn give_back(&mut self, sa: SaId, out: &mut Effects) {
        if let Some(one) = self.0.remove(&sa) {
            one.unmake(out);
        }
    }

    /// Makes objects of what is given, as it is configured now, where the way to the peer is known.
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

impl One {
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

/// An address alone: what is behind the peer, policies say.
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
