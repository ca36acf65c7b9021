//! Commands without a configuration change.

use core::net::{Ipv4Addr, Ipv6Addr};

use frame::InterfaceId;
use menu::{Call, Id, Reason, Reply, Row, Store, Value};
use service::neighbour::Event;

use super::DYNAMIC;
use crate::compile::PortState;
use crate::drive::Control;
use crate::feature::View;
use crate::firewall::is_about;
use crate::link_modes;
use crate::probe::argument;

/// Error for changes of dynamic rows.
pub(super) const UNCHANGEABLE: &str = "can not change dynamic";

impl Control {
    pub(super) fn act(&mut self, store: &Store, call: &Call<'_>) -> Result<Reply, Reason> {
        let view = View {
            store,
            asking: &self.asking,
            interfaces: &self.intent.interfaces,
            now: self.now,
            clock: self.clock.now(),
        };
        if let Some(done) = self.features.act(&view, call) {
            return done;
        }
        match (call.menu.path, call.command) {
            ("/ip/arp", "remove") => self.forget_rows(call.items, Self::forget4),
            ("/ipv6/neighbor", "remove") => self.forget_rows(call.items, Self::forget6),
            ("/ip/firewall/connection" | "/ipv6/firewall/connection", "remove") => {
                self.forget_connections(call.items)
            }
            ("/ip/firewall/address-list", "remove") => self
                .forget_rows(call.items, |control, items| {
                    control.forget_addresses(false, items)
                }),
            ("/ipv6/firewall/address-list", "remove") => self
                .forget_rows(call.items, |control, items| {
                    control.forget_addresses(true, items)
                }),
            (_, "set") if call.items.iter().any(|id| self.objects.get(id.0).is_some()) => {
                Err(Reason::failure(UNCHANGEABLE))
            }
            ("/ip/firewall/address-list", "set") => self.change_timeouts(false, call),
            ("/ipv6/firewall/address-list", "set") => self.change_timeouts(true, call),
            (path, "reset-counters" | "reset-counters-all") if is_about(path) => {
                self.reset_rules(call)
            }
            (path, "reset-counters") if path.starts_with("/interface") => {
                self.reset_counters(call.items);
                Ok(Reply::default())
            }
            (_, "monitor") => Ok(self.monitor(store, call.items)),
            ("/tool", "trace") => self.trace(store, call),
            ("/system/package/update", "check-for-updates") => {
                let mut row = Row::default();
                self.annotate_update(&mut row);
                let rows = vec![row];
                Ok(Reply { rows, made: None })
            }
            ("/tool/sniffer", _) => self.act_sniffer(store, call),
            ("/tool/traffic-generator", _) => self.act_generator(store, call),
            ("/ip/route", "check") => {
                let to = argument(call, "dst-ip").and_then(Value::as_address);
                let to = to.ok_or_else(|| Reason::no_match("dst-ip"))?;
                let rows = vec![self.route_of(to)];
                Ok(Reply { rows, made: None })
            }
            (_, "remove") if is_dynamic(call) => self.remove_objects(call.items),
            // RouterOS: dynamic rows cannot be changed.
            (_, "comment" | "disable" | "enable" | "set" | "unset") if is_dynamic(call) => {
                Err(Reason::failure(UNCHANGEABLE))
            }
            _ => Err(Reason::failure(format!(
                "{} is not supported here",
                call.command
            ))),
        }
    }

    /// The router is a package of the host: `/system/package` never knows a newer version. The status text is
    /// RouterOS's, because scripts compare it.
    pub(super) fn annotate_update(&self, row: &mut Row) {
        row.set("installed-version", self.version());
        row.set("latest-version", self.version());
        row.set("status", Value::text("System is already up to date"));
    }

    /// Removes dynamic rows of a menu that has learnt rows besides objects. `forget` removes the learnt ones.
    ///
    /// # Errors
    /// Fails if an object is not removable; the other rows are removed nevertheless.
    fn forget_rows(
        &mut self,
        items: &[Id],
        forget: impl FnOnce(&mut Self, &[Id]) -> Result<Reply, Reason>,
    ) -> Result<Reply, Reason> {
        let is_object = |id: &&Id| self.objects.get(id.0).is_some();
        let (objects, learnt): (Vec<Id>, Vec<Id>) = { items.iter() }.partition(is_object);
        forget(self, &learnt)?;
        self.remove_objects(&objects)
    }

    fn forget4(&mut self, items: &[Id]) -> Result<Reply, Reason> {
        for Id(key) in items {
            let id = InterfaceId((key & !DYNAMIC).checked_shr(32).unwrap_or(0) as u32);
            let address = Ipv4Addr::from(*key as u32);
            self.feed4(id, Event::Forget { address });
        }
        Ok(Reply::default())
    }

    fn forget6(&mut self, items: &[Id]) -> Result<Reply, Reason> {
        for item in items {
            let found = self.v6.machines.iter().find_map(|(id, machine)| {
                let row = machine
                    .rows(None)
                    .find(|row| Self::key6(*id, row.address) == item.0)?;
                Some((*id, row.address))
            });
            let (id, address) = found.ok_or(Reason::NoItem)?;
            self.feed6(id, Event::Forget { address });
        }
        Ok(Reply::default())
    }

    /// Returns the row id of a learnt IPv6 neighbour.
    pub(super) fn key6(id: InterfaceId, address: Ipv6Addr) -> u64 {
        let bits = u128::from(address);
        // A hash: two neighbours are very unlikely to get one id.
        DYNAMIC | ((bits >> 64) as u64).rotate_left(17) ^ bits as u64 ^ (u64::from(id.0) << 48)
    }

    fn reset_counters(&mut self, items: &[Id]) {
        let ids: Vec<_> = items
            .iter()
            .filter_map(|item| self.numbers.known(item.0))
            .collect();
        for id in ids {
            let counted = self.workers.traffic(id, self.now);
            self.reset.insert(id, counted);
        }
    }

    fn monitor(&self, store: &Store, items: &[Id]) -> Reply {
        let rows = items.iter().filter_map(|item| {
            let name = store.item("/interface", *item)?.name()?;
            let (_, laid) = self.layout.named(name)?;
            let mut row = Row::default();
            let status = if laid.link.running {
                "link-ok"
            } else {
                "no-link"
            };
            row.set("name", Value::text(name));
            row.set("status", Value::Word(status));
            let port = laid.port_name.as_ref();
            if let Some(port) = port.and_then(|port| self.ports.get(port)) {
                tell_link(port, &mut row);
            }
            Some(row)
        });
        Reply {
            rows: rows.collect(),
            made: None,
        }
    }
}

/// Adds the state and abilities of a port's link to a row.
fn tell_link(port: &PortState, row: &mut Row) {
    let yes_no = |is| Value::Word(if is { "yes" } else { "no" });
    let link = &port.link;
    if let Some(negotiates) = link.negotiates {
        let state = match (negotiates, port.up) {
            (false, _) => "disabled",
            (true, true) => "done",
            (true, false) => "incomplete",
        };
        row.set("auto-negotiation", Value::Word(state));
    }
    if port.up && port.speed_mbps > 0 {
        row.set("rate", Value::text(link_modes::rate(port.speed_mbps)));
    }
    if let Some(full) = link.full_duplex.filter(|_| port.up) {
        row.set("full-duplex", yes_no(full));
    }
    if let Some((obeys, sends)) = link.pause {
        row.set("tx-flow-control", yes_no(sends));
        row.set("rx-flow-control", yes_no(obeys));
    }
    let names = ["advertising", "supported", "link-partner-advertising"];
    for (name, modes) in names.into_iter().zip(link.modes) {
        if link.negotiates.is_some() {
            row.set(name, link_modes::words(modes));
        }
    }
}

/// Whether a command names dynamic rows.
fn is_dynamic(call: &Call<'_>) -> bool {
    call.items.iter().any(|Id(bits)| bits & DYNAMIC != 0)
}

pub(crate) fn text(call: &Call<'_>, name: &str) -> String {
    argument(call, name)
        .map(ToString::to_string)
        .unwrap_or_default()
}
