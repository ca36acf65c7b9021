//! Ports of bridges: the dynamic interfaces of the server join the bridge whose port item names their list
//! (`l2tpv3-ether-interface-list`).

use menu::{Item, Store, Value};

use super::session::Origin;
use super::{L2tpEthers, LinkId};
use crate::feature::Effect;
use crate::feature::Effects;
use crate::intent::Name;
use crate::object::{DynamicBridgePort, Made, Owner};
use crate::read;

/// Menu of the ports of bridges.
pub(super) const MENU: &str = "/interface/bridge/port";

impl L2tpEthers {
    /// Reads the port item of the server's list. Moves the interfaces of all sessions if it changed.
    pub(super) fn follow_ports(&mut self, store: &Store, out: &mut Effects) {
        let list = self.server.as_ref().and_then(|server| server.list.as_ref());
        let port = list.and_then(|list| {
            let mut items = store.items(MENU);
            let item =
                items.find(|item| item.text("interface") == &**list && !item.is("disabled"))?;
            read(item)
        });
        if self.port == port {
            return;
        }
        self.port = port;
        for session in self.sessions.values() {
            if let Origin::Server { name, .. } = &session.origin {
                out.push(Effect::Gone(owner(session.link)));
                self.add_port(session.link, name, out);
            }
        }
    }

    /// Adds the interface of a session of the server to its bridge.
    pub(super) fn add_port(&self, link: LinkId, interface: &Name, out: &mut Effects) {
        let Some(port) = self.port.clone() else {
            return;
        };
        let port = DynamicBridgePort {
            interface: interface.clone(),
            ..port
        };
        out.object(owner(link), Made::BridgePort(Box::new(port)));
    }
}

/// Owner of the port of a session.
pub(super) const fn owner(link: LinkId) -> Owner {
    Owner {
        feature: "l2tp-ether-bridge",
        number: link.0,
    }
}

/// Reads an item; its interface is the list.
fn read(item: &Item) -> Option<DynamicBridgePort> {
    let number = |name| {
        item.number(name)
            .and_then(|number| u32::try_from(number).ok())
    };
    let small = |name| number(name).and_then(|number| u16::try_from(number).ok());
    let priority = item.get("priority").and_then(Value::as_number);
    Some(DynamicBridgePort {
        bridge: read::name(item, "bridge")?,
        interface: read::name(item, "interface")?,
        pvid: small("pvid"),
        priority: priority.and_then(|priority| u8::try_from(priority).ok()),
        path_cost: number("path-cost"),
        horizon: number("horizon"),
        learn: match item.text("learn") {
            "yes" => Some(true),
            "no" => Some(false),
            _ => None,
        },
        trusted: item.is("trusted"),
    })
}
