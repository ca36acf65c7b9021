//! `make-static` in `/ip/dhcp-server/lease` and `/ipv6/dhcp-server/binding`: adds dynamic leases and bindings to the
//! configuration.

use menu::{Reason, Reply, Value};

use super::CommandContext;

/// RouterOS: this text.
const IS_STATIC: &str = "can not make static lease static";

impl CommandContext<'_> {
    pub(super) fn make_static(&mut self) -> Result<Reply, Reason> {
        let path = self.call.menu.path;
        let menu = self.store.menu(path).ok_or(Reason::NoItem)?;
        let features = &self.control.features;
        let is_lease = path == crate::feature::dhcp_server::LEASES;
        let mut all = Vec::new();
        for id in self.call.items {
            if self.store.item(path, *id).is_some() {
                return Err(Reason::failure(IS_STATIC));
            }
            let values = match is_lease {
                true => features.dhcp_servers.as_static(*id),
                false => features.dhcp6.servers.as_static(*id),
            };
            all.push(values.ok_or(Reason::NoItem)?);
        }
        let mark = self.store.begin();
        for values in all {
            let values = values.into_iter().map(|(name, value)| (name, Some(value)));
            let values: Vec<(&'static str, Option<Value>)> = values.collect();
            if let Err(reason) = self.store.add(menu, &values, None) {
                self.store.rollback(mark);
                return Err(reason);
            }
        }
        let action = match is_lease {
            true => "lease made static",
            false => "binding made static",
        };
        let changes = self.store.commit_by(mark, self.by(action))?;
        self.control.follow(self.store, changes);
        Ok(Reply::default())
    }
}
