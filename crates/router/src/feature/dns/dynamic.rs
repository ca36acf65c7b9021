//! Dynamic names in `/ip/dns/static`, which features create as objects: of DHCP clients (`add-dns-entries`).

use machine::Instant;
use menu::{Row, Value};
use service::dns::{Data, Entry, Event, Names};

use super::{Dns, read};
use crate::feature::Effects;
use crate::intent::ItemId;
use crate::object::DynamicName;

/// TTL of dynamic names in seconds.
const TTL: u32 = 60;

impl Dns {
    /// Adds or removes the dynamic name with this object id. Names with invalid DNS labels get no record.
    pub(crate) fn set_dynamic(
        &mut self,
        id: ItemId,
        name: Option<DynamicName>,
        now: Instant,
        out: &mut Effects,
    ) {
        let entry = name.as_ref().and_then(|dynamic| {
            Some(Entry {
                names: Names::One(read::wire(&dynamic.name)?),
                data: Data::Address(dynamic.address),
                ttl: TTL,
                list: None,
            })
        });
        match name {
            Some(name) => _ = self.dynamic_names.insert(id, name),
            None => _ = self.dynamic_names.remove(&id),
        }
        self.feed(Event::Static(id, entry.map(Box::new)), now, out);
    }

    /// Fills in the row of a dynamic name; returns `None` for another object.
    pub(crate) fn dynamic_row(&self, id: ItemId, row: &mut Row) -> Option<()> {
        let dynamic = self.dynamic_names.get(&id)?;
        row.set("name", Value::text(&*dynamic.name));
        let kind = if dynamic.address.is_ipv4() {
            "A"
        } else {
            "AAAA"
        };
        row.set("type", Value::Word(kind));
        row.set("address", Value::Address(dynamic.address));
        row.set("ttl", Value::Time(i64::from(TTL) * 1_000_000_000));
        row.flag("disabled", false);
        Some(())
    }
}
