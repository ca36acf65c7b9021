//! `/ip/dhcp-server/lease/make-static`: adds dynamic leases to the configuration.

use menu::{Reason, Reply, Value};

use super::CommandContext;

/// RouterOS: this text.
const IS_STATIC: &str = "can not make static lease static";

impl CommandContext<'_> {
    pub(super) fn make_static(&mut self) -> Result<Reply, Reason> {
        let path = crate::feature::dhcp_server::LEASES;
        let menu = self.store.menu(path).ok_or(Reason::NoItem)?;
        let servers = &self.control.features.dhcp_servers;
        let mut all = Vec::new();
        for id in self.call.items {
            if self.store.item(path, *id).is_some() {
                return Err(Reason::failure(IS_STATIC));
            }
            all.push(servers.as_static(*id).ok_or(Reason::NoItem)?);
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
        let changes = self.store.commit_by(mark, self.by("lease made static"))?;
        self.control.follow(self.store, changes);
        Ok(Reply::default())
    }
}
