//! Objects of a binding: the route of a delegated prefix, log line and script.

use core::fmt::Write as _;

use menu::Value;
use service::dhcp6::server::{Binding, DYNAMIC, hex};

use super::super::pools::prefix;
use super::super::results::route_without_gateway;
use super::Dhcp6Servers;
use crate::feature::{Effect, Effects, NewObject};
use crate::intent::{Gateway, Route};
use crate::object::{Made, Owner};
use crate::rib::{Net, V6};

/// Returns the owner of a binding's objects.
const fn owner(id: u64) -> Owner {
    Owner {
        feature: "dhcp6-server",
        number: id,
    }
}

impl Dhcp6Servers {
    /// Handles a binding that got a subnet.
    pub(super) fn bound(&mut self, id: u64, out: &mut Effects) {
        self.make_objects(id, out);
        if let Some(binding) = self.machine.binding(id) {
            self.log(binding, "assigned", "to", out);
            self.run_script(binding, true, out);
        }
    }

    /// Handles the end of a binding.
    pub(super) fn unbound(&mut self, binding: &Binding, out: &mut Effects) {
        out.push(Effect::Gone(owner(binding.id)));
        self.log(binding, "deassigned", "from", out);
        self.run_script(binding, false, out);
    }

    /// Makes the route of a delegated prefix, in place of an earlier one.
    pub(super) fn make_objects(&self, id: u64, out: &mut Effects) {
        out.push(Effect::Gone(owner(id)));
        let binding = self.machine.binding(id).filter(|of| of.identity.is_prefix);
        if let Some(route) = binding.and_then(|binding| self.route(binding)) {
            out.push(Effect::Object(Box::new(NewObject {
                owner: owner(id),
                made: Made::Route6(route),
                cells: vec![("dhcp", Value::Bool(true))],
                removable: false,
            })));
        }
    }

    fn route(&self, binding: &Binding) -> Option<Route<V6>> {
        let id = binding.active_server?;
        let server = self.all.get(&id)?;
        let (address, len) = binding.subnet?;
        // A session has one neighbour, which needs no address.
        let is_session = id & DYNAMIC != 0;
        let net = Net::new(address, len);
        Some(Route {
            gateways: vec![Gateway {
                addr: (!is_session).then_some(binding.client),
                interface: Some(server.interface.clone()),
                table: None,
            }],
            ..route_without_gateway(net, "main".into(), server.distance)
        })
    }

    fn log(&self, binding: &Binding, what: &str, towards: &str, out: &mut Effects) {
        let server = binding.active_server.and_then(|id| self.all.get(&id));
        if let (Some(server), Some((address, len))) = (server, binding.subnet) {
            let (name, duid) = (&server.name, hex(&binding.identity.duid));
            out.log(
                "dhcp,info",
                format!("{name} {what} {address}/{len} {towards} 0x{duid}"),
            );
        }
    }

    /// Runs the binding script of a server. RouterOS: the script reads the binding in variables of these names.
    fn run_script(&self, binding: &Binding, is_bound: bool, out: &mut Effects) {
        let server = binding.active_server.and_then(|id| self.all.get(&id));
        let Some(server) = server.filter(|server| !server.script.is_empty()) else {
            return;
        };
        let (mut of_address, mut of_prefix) = (String::new(), String::new());
        if let Some((address, len)) = binding.subnet {
            match binding.identity.is_prefix {
                true => of_prefix = prefix(address, len).to_string(),
                false => of_address = address.to_string(),
            }
        }
        let variables = [
            ("bindingBound", if is_bound { "1" } else { "0" }.to_owned()),
            ("bindingServerName", server.name.to_string()),
            ("bindingDUID", format!("0x{}", hex(&binding.identity.duid))),
            ("bindingAddress", of_address),
            ("bindingPrefix", of_prefix),
        ];
        let mut before = String::new();
        for (name, value) in variables {
            // Writing to a string never fails.
            let _ = write!(before, ":local \"{name}\" {};", menu::quote_always(&value));
        }
        out.push(Effect::Script {
            kind: "dhcp-server",
            source: server.script.clone(),
            before,
        });
    }
}
