//! Names of DHCP clients: entries of `/ip/dns/static` that exist while their leases do
//! (`add-dns-entries`).

use core::net::{IpAddr, Ipv4Addr};
use core::ops::ControlFlow;
use std::sync::Arc;

use machine::Instant;
use menu::{Id, Row, RowFilter, Value};
use service::dns::{Data, Entry, Event, Names};

use super::{Dns, read};
use crate::feature::Effects;
use crate::live::{DYNAMIC, give};

/// TTL of client addresses in seconds.
const TTL: u32 = 60;
/// Flags in entry ids: of leases, and of static leases.
const OF_LEASES: u64 = 1 << 62;
const OF_STATIC: u64 = 1 << 61;

impl Dns {
    /// Adds, changes or removes the name of a lease's client.
    pub(crate) fn set_of_lease(
        &mut self,
        lease: u64,
        client: Option<(Arc<str>, Ipv4Addr)>,
        now: Instant,
        out: &mut Effects,
    ) {
        let is_static = if lease & DYNAMIC == 0 { OF_STATIC } else { 0 };
        let id = DYNAMIC | OF_LEASES | is_static | lease;
        let entry = client.as_ref().and_then(|(name, address)| {
            Some(Entry {
                names: Names::One(read::wire(name)?),
                data: Data::Address(IpAddr::V4(*address)),
                ttl: TTL,
                list: None,
            })
        });
        match client.filter(|_| entry.is_some()) {
            Some(client) => _ = self.leases.insert(id, client),
            None => _ = self.leases.remove(&id),
        }
        self.feed(Event::Static(id, entry.map(Box::new)), now, out);
    }

    /// Passes the rows of leases' names in `/ip/dns/static` to `each`.
    pub(super) fn lease_rows(
        &self,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for (id, (name, address)) in &self.leases {
            let mut row = Row {
                id: Some(Id(*id)),
                ..Row::default()
            };
            row.set("name", Value::text(&**name));
            row.set("type", Value::Word("A"));
            row.set("address", Value::Address(IpAddr::V4(*address)));
            row.set("ttl", Value::Time(i64::from(TTL) * 1_000_000_000));
            row.flag("disabled", false);
            row.flag("dynamic", true);
            give(row, filter, each)?;
        }
        ControlFlow::Continue(())
    }
}
