//! Gateways and sets of gateways: each distinct one is stored once, however many routes use it.

use std::collections::{BTreeMap, BTreeSet};

use super::family::Family;
use super::line::{LineId, Target};
use super::route::{Check, Gateway, NIL};

/// Identity of a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct HopKey<F: Family> {
    /// The first field, so that the gateways of a network are adjacent: table and address of gateways that need
    /// resolution.
    pub(super) resolved: Option<(u16, F::Addr)>,
    pub(super) gateway: Gateway<F>,
    pub(super) target_scope: u8,
    pub(super) check: Check,
}

impl<F: Family> HopKey<F> {
    pub(super) fn new(gateway: Gateway<F>, target_scope: u8, check: Check) -> Self {
        let resolved = match gateway {
            Gateway::Address { addr, table } => Some((table, addr)),
            _ => None,
        };
        Self {
            resolved,
            gateway,
            target_scope: if resolved.is_some() { target_scope } else { 0 },
            check,
        }
    }
}

/// One gateway.
#[derive(Debug)]
pub(super) struct Hop<F: Family> {
    pub(super) key: HopKey<F>,
    pub(super) line: LineId,
    /// Resolved targets, at most [`dataplane::table::adjacency::GROUP_MEMBERS`]; empty if the gateway cannot be
    /// resolved or is down.
    pub(super) paths: Vec<Target<F>>,
    /// Result of the gateway check.
    pub(super) alive: bool,
    /// Targets of probes without duplicates, whether or not the gateway is alive. For pings, the targets have shared
    /// lines.
    pub(super) ways: Vec<Target<F>>,
    /// Gateway set of the route that resolved it, and prefix length of that route.
    pub(super) via: u32,
    pub(super) via_len: u8,
    /// Sets that contain it.
    pub(super) sets: Vec<u32>,
    /// Number of changes while the table settles: gateways in a loop never settle.
    pub(super) flips: u8,
}

/// A list of gateways, shared by routes.
#[derive(Debug)]
pub(super) struct Set {
    pub(super) hops: Box<[u32]>,
    /// Its next-hop line; a set of one gateway uses the gateway's line.
    pub(super) line: LineId,
    pub(super) usable: bool,
    /// Number of routes and prefixes that use it.
    pub(super) users: u32,
    /// First route that uses it.
    pub(super) routes: u32,
    /// Gateways that were resolved through it.
    pub(super) dependants: Vec<u32>,
}

/// All gateways and gateway sets.
#[derive(Debug)]
pub(super) struct Hops<F: Family> {
    pub(super) hops: Vec<Option<Hop<F>>>,
    pub(super) by_key: BTreeMap<HopKey<F>, u32>,
    /// Gateways that need checks.
    checked: BTreeSet<HopKey<F>>,
    /// Gateways whose need for a check may have changed.
    check_changes: BTreeSet<(Gateway<F>, Check)>,
    pub(super) sets: Vec<Option<Set>>,
    pub(super) by_hops: BTreeMap<Box<[u32]>, u32>,
    free_hops: Vec<u32>,
    free_sets: Vec<u32>,
}

impl<F: Family> Default for Hops<F> {
    fn default() -> Self {
        Self {
            hops: Vec::new(),
            by_key: BTreeMap::new(),
            checked: BTreeSet::new(),
            check_changes: BTreeSet::new(),
            sets: Vec::new(),
            by_hops: BTreeMap::new(),
            free_hops: Vec::new(),
            free_sets: Vec::new(),
        }
    }
}

impl<F: Family> Hops<F> {
    pub(super) fn hop(&self, id: u32) -> Option<&Hop<F>> {
        self.hops.get(id as usize)?.as_ref()
    }

    pub(super) fn hop_mut(&mut self, id: u32) -> Option<&mut Hop<F>> {
        self.hops.get_mut(id as usize)?.as_mut()
    }

    pub(super) fn set(&self, id: u32) -> Option<&Set> {
        self.sets.get(id as usize)?.as_ref()
    }

    pub(super) fn set_mut(&mut self, id: u32) -> Option<&mut Set> {
        self.sets.get_mut(id as usize)?.as_mut()
    }

    pub(super) fn insert_hop(&mut self, key: HopKey<F>, line: LineId) -> u32 {
        let hop = Hop {
            key,
            line,
            paths: Vec::new(),
            alive: true,
            ways: Vec::new(),
            via: NIL,
            via_len: 0,
            sets: Vec::new(),
            flips: 0,
        };
        let id = place(&mut self.hops, &mut self.free_hops, hop);
        self.by_key.insert(key, id);
        if key.check != Check::None {
            self.checked.insert(key);
            self.check_changes.insert((key.gateway, key.check));
        }
        id
    }

    pub(super) fn insert_set(&mut self, hops: Box<[u32]>, line: LineId) -> u32 {
        let set = Set {
            hops: hops.clone(),
            line,
            usable: false,
            users: 0,
            routes: NIL,
            dependants: Vec::new(),
        };
        let id = place(&mut self.sets, &mut self.free_sets, set);
        for hop in &hops {
            if let Some(hop) = self.hop_mut(*hop)
                && !hop.sets.contains(&id)
            {
                hop.sets.push(id);
            }
        }
        self.by_hops.insert(hops, id);
        id
    }

    pub(super) fn remove_set(&mut self, id: u32) -> Option<Set> {
        let set = self.sets.get_mut(id as usize)?.take()?;
        self.by_hops.remove(&set.hops);
        self.free_sets.push(id);
        for hop in &set.hops {
            if let Some(hop) = self.hop_mut(*hop) {
                hop.sets.retain(|of| *of != id);
            }
        }
        Some(set)
    }

    pub(super) fn remove_hop(&mut self, id: u32) -> Option<Hop<F>> {
        let hop = self.hops.get_mut(id as usize)?.take()?;
        self.by_key.remove(&hop.key);
        if self.checked.remove(&hop.key) {
            self.check_changes.insert((hop.key.gateway, hop.key.check));
        }
        self.free_hops.push(id);
        Some(hop)
    }

    /// Returns the gateways whose need for a check may have changed since the last call, with the method, and whether
    /// the check is needed now.
    pub(super) fn take_check_changes(&mut self) -> Vec<(Gateway<F>, Check, bool)> {
        let changes = core::mem::take(&mut self.check_changes);
        let is_needed = |gateway: Gateway<F>, check: Check| {
            let first = HopKey::new(gateway, 0, Check::None);
            let keys = self.checked.range(first..);
            let mut keys = keys.take_while(|key| key.gateway == gateway);
            keys.any(|key| key.check == check)
        };
        let changes = changes.into_iter();
        changes
            .map(|(gateway, check)| (gateway, check, is_needed(gateway, check)))
            .collect()
    }

    /// Records that `hop` is resolved through `set`, in place of its previous set.
    pub(super) fn set_via(&mut self, hop: u32, set: u32, len: u8) {
        let Some(entry) = self.hop_mut(hop) else {
            return;
        };
        let before = core::mem::replace(&mut entry.via, set);
        entry.via_len = len;
        if before == set {
            return;
        }
        if let Some(before) = self.set_mut(before) {
            before.dependants.retain(|dependant| *dependant != hop);
        }
        if let Some(after) = self.set_mut(set) {
            after.dependants.push(hop);
        }
    }

    /// Whether the resolution through `set` leads back to `hop`.
    pub(super) fn leads_back(&self, set: u32, hop: u32) -> bool {
        let mut seen = vec![set];
        let mut at = 0;
        while let Some(entry) = seen.get(at).map(|id| self.set(*id)) {
            at += 1;
            for member in entry.map_or(&[][..], |entry| &entry.hops) {
                if *member == hop {
                    return true;
                }
                let via = self.hop(*member).map_or(NIL, |member| member.via);
                if via != NIL && !seen.contains(&via) {
                    seen.push(via);
                }
            }
        }
        false
    }
}

fn place<T>(slots: &mut Vec<Option<T>>, free: &mut Vec<u32>, value: T) -> u32 {
    if let Some(id) = free.pop() {
        slots[id as usize] = Some(value);
        return id;
    }
    slots.push(Some(value));
    (slots.len() - 1) as u32
}
