//! `monitor` of clients and server interfaces: a page for each item.

use core::net::Ipv6Addr;

use menu::{Call, Reply, Row, Value};

use super::Ppp;
use super::active::uptime;
use super::session::Login;
use crate::feature::View;

impl Ppp {
    /// Returns the pages of the items of a `monitor` command.
    pub(super) fn monitor(&self, view: &View<'_>, call: &Call<'_>) -> Reply {
        let mut carriers = self.carriers.iter();
        let carrier = carriers.find(|of| of.menus().contains(&call.menu.path));
        let rows = call.items.iter().filter_map(|id| {
            let item = view.store.item(call.menu.path, *id);
            let dynamic = || view.interfaces.get(&id.0).map(|of| &*of.name);
            let name = item.and_then(|item| item.name()).or_else(dynamic)?;
            let mut row = Row::default();
            row.set("name", Value::text(name));
            let serial = self.interfaces.get(name);
            let session = serial.and_then(|serial| self.sessions.get(serial));
            match session {
                Some(session) => {
                    if let Some(login) = &session.login {
                        login.show(view, &mut row);
                        if login.opened.is_some() {
                            let encoding = self.encoding(session, login);
                            row.set("encoding", Value::text(encoding));
                        }
                    }
                    if let Some(carrier) = carrier {
                        carrier.monitor(*id, &mut row);
                    }
                }
                None => {
                    let status = carrier.and_then(|carrier| carrier.client_status(*id));
                    row.set("status", Value::Word(status.unwrap_or("disconnected")));
                }
            }
            Some(row)
        });
        Reply {
            rows: rows.collect(),
            made: None,
        }
    }
}

impl Login {
    /// Adds state, sizes and addresses to a page.
    fn show(&self, view: &View<'_>, row: &mut Row) {
        let is_open = self.opened.is_some();
        let status = if is_open {
            "connected"
        } else {
            "authenticated"
        };
        row.set("status", Value::Word(status));
        if is_open {
            row.set("uptime", uptime(self, view.now));
            row.set("active-links", Value::Number(1));
        }
        if let Some(link) = &self.link {
            row.set("mtu", Value::Number(link.mtu.into()));
            row.set("mru", Value::Number(link.mru.into()));
        }
        if let Some(ipv4) = &self.ipv4 {
            row.set("local-address", Value::Address(ipv4.local.into()));
            if let Some(remote) = ipv4.remote {
                row.set("remote-address", Value::Address(remote.into()));
            }
        }
        if let Some(ipv6) = &self.ipv6 {
            let ends = [
                ("local-ipv6-address", ipv6.local),
                ("remote-ipv6-address", ipv6.remote),
            ];
            for (cell, identifier) in ends {
                let address = u64::from_be_bytes(identifier);
                let address = u128::from(address) | 0xfe80 << 112;
                row.set(cell, Value::Address(Ipv6Addr::from_bits(address).into()));
            }
        }
    }
}
