//! Addresses whose network comes from a pool: `/ipv6/address` with `from-pool`.

use std::net::IpAddr;

use menu::{Item, Value};
use service::dhcp6::pool::{User, join};

use super::Dhcp6;
use crate::feature::{Effect, Effects};
use crate::intent::{Address6, ItemId, ItemState, Name};
use crate::read::name;

/// A configured address; only its host part is used.
#[derive(Debug)]
pub(super) struct FromPool {
    /// Name of the pool.
    pub(super) pool: Name,
    address: Address6,
}

/// Reads an item. Returns `None` without `from-pool`.
pub(super) fn read(item: &Item) -> Option<FromPool> {
    let net = item.get("address").and_then(Value::as_prefix)?;
    let IpAddr::V6(addr) = net.addr() else {
        return None;
    };
    Some(FromPool {
        pool: name(item, "from-pool")?,
        address: Address6 {
            addr,
            len: net.prefix_len(),
            interface: name(item, "interface")?,
            eui64: item.is("eui-64"),
            advertise: item.is("advertise"),
            no_dad: item.is("no-dad"),
            auto_link_local: item.is("auto-link-local"),
            disabled: item.is("disabled"),
        },
    })
}

fn user(id: ItemId) -> User {
    User {
        owner: "Address",
        key: format!("*{id:X}"),
    }
}

impl Dhcp6 {
    /// Adds, changes or removes an address; `None` also stands for an address without a pool, which
    /// another feature handles.
    pub(super) fn put_address(&mut self, id: ItemId, now: Option<FromPool>, out: &mut Effects) {
        let before = self.addresses.remove(&id);
        let is_kept = |before: &FromPool| now.as_ref().is_some_and(|now| now.pool == before.pool);
        if let Some(before) = before.filter(|before| !is_kept(before)) {
            self.pools.shared().release(&before.pool, &user(id));
        }
        if let Some(now) = now {
            self.addresses.insert(id, now);
            self.place_address(id, out);
        }
    }

    /// Makes the address from a piece of its pool, or removes it if the pool has no piece for it.
    pub(super) fn place_address(&mut self, id: ItemId, out: &mut Effects) {
        let Some(of) = self.addresses.get(&id) else {
            return;
        };
        let user = user(id);
        let piece = match of.address.disabled {
            true => {
                self.pools.shared().release(&of.pool, &user);
                None
            }
            false => {
                let pools = self.pools.shared();
                pools.allocate(&of.pool, &user, &of.address.interface, None)
            }
        };
        let made = piece.map(|(network, len)| Address6 {
            addr: join(network, len, of.address.addr),
            ..of.address.clone()
        });
        out.push(Effect::Item(id, ItemState::Address6(made)));
    }
}
