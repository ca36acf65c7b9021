//! Bridges by the slots of their interfaces: written by control, read by workers without a lock.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use arc_swap::{ArcSwapOption, Guard};
use frame::InterfaceId;
use frame::switch::BridgeOffload;

use super::Bridge;
use super::offload::{self, Switched};
use crate::interface::INTERFACES;
use crate::table::{BridgeHosts, Host, HostKey, HostKind};

/// Slots that are allocated together.
const PAGE: usize = 256;
/// Maximum number of hosts of all bridges together: as many as RouterOS learns for one bridge by default
/// (`max-learned-entries=auto`).
const HOSTS: u32 = 131_072;

/// The table of all bridges, and their hosts.
#[derive(Debug)]
pub struct Bridges {
    pages: Box<[OnceLock<Box<[Slot]>>]>,
    hosts: OnceLock<BridgeHosts>,
    switch: OnceLock<Arc<dyn BridgeOffload>>,
    /// Switch ports by interface, used by control only.
    places: Mutex<BTreeMap<InterfaceId, Switched>>,
}

type Slot = ArcSwapOption<Bridge>;

impl Default for Bridges {
    fn default() -> Self {
        Self {
            pages: (0..INTERFACES / PAGE).map(|_| OnceLock::new()).collect(),
            hosts: OnceLock::new(),
            switch: OnceLock::new(),
            places: Mutex::default(),
        }
    }
}

impl Bridges {
    /// Allocates room for `hosts` hosts of all bridges. Effective before the first bridge is set;
    /// later calls change nothing. `seed` is random, as for [`BridgeHosts::new`].
    ///
    /// # Errors
    /// The kernel's error, if there is not that much address space.
    pub fn make_room(&self, hosts: u32, seed: u64) -> std::io::Result<()> {
        if self.hosts.get().is_none() {
            let hosts = BridgeHosts::new(hosts, seed)?;
            self.hosts.get_or_init(|| hosts);
        }
        Ok(())
    }

    /// Returns the hosts of all bridges.
    ///
    /// # Panics
    /// Panics if no room was allocated before and the kernel has less than 12 MB of address space
    /// left.
    #[inline]
    pub fn hosts(&self) -> &BridgeHosts {
        self.hosts.get_or_init(|| {
            BridgeHosts::new(HOSTS, 0).expect("a process has address space for its hosts")
        })
    }

    /// Sets the switch that forwards below the workers for bridges with offload. Only the first call has an effect.
    pub fn set_switch(&self, switch: Arc<dyn BridgeOffload>) {
        let _ = self.switch.set(switch);
    }

    /// Returns the switch below the workers, if one was set.
    #[inline(always)]
    pub fn switch(&self) -> Option<&dyn BridgeOffload> {
        self.switch.get().map(|switch| &**switch)
    }

    /// Sets the switch ports of interfaces. Only control calls this and the functions below.
    pub fn set_places(&self, places: BTreeMap<InterfaceId, Switched>) {
        *self.places() = places;
    }

    fn places(&self) -> MutexGuard<'_, BTreeMap<InterfaceId, Switched>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the switch of a port, and its port there.
    fn place(&self, port: InterfaceId) -> Option<(&dyn BridgeOffload, Switched)> {
        self.switch().zip(self.places().get(&port).copied())
    }

    /// Forgets learned hosts of a port in the VLANs that `vids` selects, as [`BridgeHosts::flush`]
    /// does, and all hosts of the port in the switch.
    pub fn flush(&self, port: InterfaceId, vids: impl Fn(u16) -> bool) {
        self.hosts().flush(port, vids);
        if let Some((switch, at)) = self.place(port) {
            switch.flush(at.seat);
        }
    }

    /// Forgets all learned hosts of a bridge, here and in the switch.
    pub fn flush_all(&self, bridge: InterfaceId) {
        self.walk(0, u32::MAX, |key, host| {
            key.bridge != bridge || matches!(host.kind, HostKind::Static | HostKind::Local)
        });
    }

    /// Removes a host, as [`BridgeHosts::remove`] does, here and in the switch.
    pub fn forget(&self, key: &HostKey) -> Option<Host> {
        let host = self.hosts().remove(key)?;
        if let Some((switch, at)) = self.place(host.port) {
            switch.forget(&offload::key(at.group, key));
        }
        Some(host)
    }

    /// Visits hosts as [`BridgeHosts::walk`] does, and forgets removed hosts in the switch too.
    pub fn walk(
        &self,
        from: u32,
        count: u32,
        mut keep: impl FnMut(&HostKey, &Host) -> bool,
    ) -> u32 {
        self.hosts().walk(from, count, |key, host| {
            let stays = keep(key, host);
            if !stays && let Some((switch, at)) = self.place(host.port) {
                switch.forget(&offload::key(at.group, key));
            }
            stays
        })
    }

    /// Ages hosts as [`BridgeHosts::age`] does. Hosts whose frames the switch forwarded count as
    /// seen.
    pub fn age(
        &self,
        from: u32,
        count: u32,
        now: u32,
        ageing: impl Fn(InterfaceId) -> Option<u32>,
        mut gone: impl FnMut(&HostKey, &Host),
    ) -> u32 {
        self.hosts().walk(from, count, |key, host| {
            let most = ageing(key.bridge).filter(|_| host.kind == HostKind::Learned);
            let Some(most) = most.filter(|most| now.saturating_sub(host.seen) >= *most) else {
                return true;
            };
            if let Some((switch, at)) = self.place(host.port) {
                let known = offload::key(at.group, key);
                if let Some(ago) = switch.seen(&known).filter(|ago| *ago < most) {
                    let seen = now.saturating_sub(ago);
                    self.hosts().learn(key, host.port, seen, u32::MAX);
                    return true;
                }
                switch.forget(&known);
            }
            gone(key, host);
            false
        })
    }

    /// Returns the current bridge in this slot. Hold it for one vector at most.
    #[inline]
    pub fn get(&self, slot: usize) -> Option<Guard<Option<Arc<Bridge>>>> {
        let page = self.pages.get(slot / PAGE)?.get()?;
        Some(page[slot % PAGE].load())
    }

    /// Sets or replaces a bridge; `None` removes it. Interfaces of ports say [`Above::Bridge`] only
    /// while the bridge exists. Returns the previous bridge: the caller holds it until no worker
    /// can be reading it, so that no worker frees it. Only control calls this.
    ///
    /// [`Above::Bridge`]: crate::interface::Above::Bridge
    pub fn set(&self, id: InterfaceId, bridge: Option<Arc<Bridge>>) -> Option<Arc<Bridge>> {
        // Allocates the host table now, so that no worker has to.
        self.hosts();
        let page = self.pages.get(id.slot() / PAGE)?;
        let page = page.get_or_init(|| (0..PAGE).map(|_| Slot::default()).collect());
        page[id.slot() % PAGE].swap(bridge)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bridge_is_found_in_its_slot_until_it_is_taken_away() {
        let bridges = Bridges::default();
        let id = InterfaceId::new(70_000, 3);
        assert!(bridges.get(id.slot()).is_none());

        assert!(
            bridges
                .set(id, Some(Arc::new(Bridge::new(id, []))))
                .is_none()
        );
        let found = bridges.get(id.slot()).expect("a page");
        assert_eq!(found.as_ref().map(|bridge| bridge.id), Some(id));
        drop(found);

        let replaced = bridges.set(id, None);
        assert_eq!(replaced.map(|bridge| bridge.id), Some(id));
        assert!(bridges.get(id.slot()).is_some_and(|none| none.is_none()));
    }
}
