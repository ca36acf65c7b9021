//! Clients that dial on demand. While no session is open, the interface has a placeholder address and default route,
//! and the first packet that is routed to it makes the client dial.

use core::net::Ipv4Addr;
use std::collections::BTreeMap;

use machine::Instant;
use menu::{Id, Item};

use super::Ppp;
use super::dial::Dial;
use super::objects;
use super::session::Origin;
use crate::feature::{Effect, Effects};
use crate::intent::{Address4, ItemId, Name};
use crate::object::{Made, Owner};

/// Network of placeholder addresses (RouterOS).
const PLACEHOLDERS: [u8; 3] = [10, 112, 112];

/// Client items that dial on demand.
#[derive(Debug, Default)]
pub(super) struct Demands {
    all: BTreeMap<ItemId, Demand>,
    names: BTreeMap<Name, ItemId>,
}

#[derive(Debug)]
struct Demand {
    name: Name,
    /// Distance of the default route.
    default_route: Option<u8>,
}

impl Demands {
    /// Sets or removes an item.
    fn put(&mut self, id: ItemId, item: Option<&Item>) {
        if let Some(before) = self.all.remove(&id) {
            self.names.remove(&before.name);
        }
        let item = item.filter(|item| item.is("dial-on-demand") && !item.is("disabled"));
        if let Some(dial) = item.and_then(Dial::read) {
            self.names.insert(dial.name.clone(), id);
            let demand = Demand {
                name: dial.name,
                default_route: dial.default_route,
            };
            self.all.insert(id, demand);
        }
    }
}

/// Owner of the placeholders of an item.
const fn owner(item: ItemId) -> Owner {
    Owner {
        feature: "ppp-demand",
        number: item,
    }
}

impl Ppp {
    /// Follows a client item that may dial on demand.
    pub(super) fn follow_demand(&mut self, id: ItemId, item: Option<&Item>, out: &mut Effects) {
        self.remove_placeholders(id, out);
        self.demands.put(id, item);
        if !self.has_open_session(id) {
            self.add_placeholders(id, out);
        }
    }

    /// Adds placeholders for address and default route of a client without a session.
    pub(super) fn add_placeholders(&self, id: ItemId, out: &mut Effects) {
        let Some(demand) = self.demands.all.get(&id) else {
            return;
        };
        let [a, b, c] = PLACEHOLDERS;
        let address = Ipv4Addr::new(a, b, c, (id % 254) as u8 + 1);
        let address = Address4 {
            addr: address,
            len: 32,
            network: address,
            interface: demand.name.clone(),
            disabled: false,
        };
        out.object(owner(id), Made::Address4(address));
        if let Some(distance) = demand.default_route {
            objects::add_default_route(owner(id), &demand.name, None, distance, out);
        }
    }

    /// Removes the placeholders of a client.
    pub(super) fn remove_placeholders(&self, id: ItemId, out: &mut Effects) {
        if self.demands.all.contains_key(&id) {
            out.push(Effect::Gone(owner(id)));
        }
    }

    /// Dials for a packet that was routed to the interface of a client without a session.
    pub(crate) fn demand(&mut self, interface: &str, now: Instant, out: &mut Effects) {
        let Some(id) = self.demands.names.get(interface).copied() else {
            return;
        };
        for at in 0..self.carriers.len() {
            self.of_carrier(at, now, out, |carrier, out| carrier.dial(Id(id), now, out));
        }
    }

    /// Whether a client item has an open session.
    fn has_open_session(&self, id: ItemId) -> bool {
        let serial = { self.clients.get(&id) }.and_then(|own| self.interfaces.get(&own.name));
        let session = serial.and_then(|serial| self.sessions.get(serial));
        let login = session.and_then(|session| session.login.as_deref());
        login.is_some_and(|login| {
            login.opened.is_some() && login.interface.origin == Origin::Client(id)
        })
    }
}
