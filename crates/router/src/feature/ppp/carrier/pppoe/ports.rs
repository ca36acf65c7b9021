//! Interfaces that can carry sessions, by name.

use std::collections::{BTreeMap, BTreeSet};

use frame::InterfaceId;
use wire::pppoe::MRU;

use crate::intent::Name;
use crate::kind::pppoe::{OVERHEAD, is_carrier};
use crate::object::DYNAMIC;
use crate::running::Running;

/// An interface that can carry sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Port {
    pub(super) id: InterfaceId,
    pub(super) runs: bool,
    /// The layer-3 MTU in bytes.
    mtu: u32,
    /// The interface is a dynamic object of a feature and has no configuration item.
    pub(super) is_dynamic: bool,
}

impl Port {
    /// Largest PPP payload that a session on the interface can carry, in bytes.
    pub(super) fn payload(&self) -> u16 {
        // The overhead counts the PPP protocol, as the limits of RFC 2516, 7 do.
        u16::try_from(self.mtu.saturating_sub(OVERHEAD)).unwrap_or(u16::MAX)
    }

    /// Returns PPP-Max-Payload for a wanted packet size; `None` if 1,492 bytes suffice or are all (RFC 4638).
    pub(super) fn max_payload(&self, wanted: u16) -> Option<u16> {
        let most = wanted.min(self.payload());
        (most > MRU).then_some(most)
    }
}

/// All interfaces that can carry sessions.
#[derive(Debug, Default)]
pub(super) struct Ports {
    by_name: BTreeMap<Name, Port>,
    names: BTreeMap<InterfaceId, Name>,
}

impl Ports {
    /// Applies changes of interfaces. Returns the names whose interface changed.
    pub(super) fn update(
        &mut self,
        interfaces: &BTreeSet<InterfaceId>,
        running: &Running<'_>,
    ) -> BTreeSet<Name> {
        let mut changed = BTreeSet::new();
        for id in interfaces {
            let laid = running.layout.interfaces.get(id);
            let now = laid
                .filter(|laid| !laid.invalid && is_carrier(laid))
                .map(|laid| {
                    let port = Port {
                        id: *id,
                        runs: laid.link.running && !laid.is_slave(),
                        mtu: laid.link.mtu,
                        is_dynamic: laid.item >= DYNAMIC,
                    };
                    (laid.name.clone(), port)
                });
            let name = now.as_ref().map(|(name, _)| name);
            if let Some(before) = self.names.get(id).filter(|before| Some(*before) != name) {
                let before = before.clone();
                self.names.remove(id);
                if self.by_name.get(&before).is_some_and(|port| port.id == *id) {
                    self.by_name.remove(&before);
                }
                changed.insert(before);
            }
            if let Some((name, port)) = now {
                self.names.insert(*id, name.clone());
                if self.by_name.insert(name.clone(), port) != Some(port) {
                    changed.insert(name);
                }
            }
        }
        changed
    }

    /// Returns the interface with this name.
    pub(super) fn get(&self, name: &str) -> Option<Port> {
        self.by_name.get(name).copied()
    }

    /// Returns the running interface with this name.
    pub(super) fn running(&self, name: &str) -> Option<Port> {
        self.get(name).filter(|port| port.runs)
    }

    /// Returns the name of an interface.
    pub(super) fn name(&self, id: InterfaceId) -> Option<&Name> {
        self.names.get(&id)
    }

    /// Returns all interfaces.
    pub(super) fn all(&self) -> impl Iterator<Item = (&Name, &Port)> {
        self.by_name.iter()
    }
}
