//! Slaves: interfaces whose frames a master takes, such as the ports of a bridge and the links of a bond. Masters and
//! slaves are kept by name, because the configuration may contain either of them first.

use std::collections::{BTreeMap, BTreeSet};

use dataplane::interface::Above;

use super::{Intent, Name};
use crate::recompute_set::RecomputeSet;

/// Masters and slaves. Features set them by `Effect::Slave`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slaves {
    /// By slave: its bond and its bridge.
    masters: BTreeMap<Name, [Option<Name>; 2]>,
    /// By master: its slaves.
    slaves: BTreeMap<Name, BTreeSet<Name>>,
}

impl Slaves {
    /// Sets the master of an interface, in place of a master of the same kind; `None` frees the slave. Returns the
    /// previous master.
    pub fn set(&mut self, slave: &Name, above: Above, master: Option<Name>) -> Option<Name> {
        let at = place(above)?;
        let masters = self.masters.entry(slave.clone()).or_default();
        let before = core::mem::replace(&mut masters[at], master.clone());
        if masters.iter().all(Option::is_none) {
            self.masters.remove(slave);
        }
        if let Some(name) = &before
            && let Some(of) = self.slaves.get_mut(name)
        {
            of.remove(slave);
            if of.is_empty() {
                self.slaves.remove(name);
            }
        }
        if let Some(master) = master {
            self.slaves.entry(master).or_default().insert(slave.clone());
        }
        before
    }

    /// Returns the master that takes the frames of an interface. If an interface has a bond and a bridge, the bond is
    /// the master: it is nearer to the wire.
    pub fn master(&self, slave: &str) -> Option<(Above, &Name)> {
        let [bond, bridge] = self.masters.get(slave)?;
        let bond = bond.as_ref().map(|name| (Above::Bond, name));
        bond.or_else(|| bridge.as_ref().map(|name| (Above::Bridge, name)))
    }

    /// Returns the slaves of an interface, by name.
    pub fn of(&self, master: &str) -> impl Iterator<Item = &Name> {
        self.slaves.get(master).into_iter().flatten()
    }
}

const fn place(above: Above) -> Option<usize> {
    match above {
        Above::Nothing => None,
        Above::Bond => Some(0),
        Above::Bridge => Some(1),
    }
}

impl Intent {
    /// Sets the master of an interface, or frees it, and marks the dependants as changed: the slave, and the addresses
    /// of both masters if addresses are configured on the slave, because they belong to its master.
    pub(crate) fn enslave(
        &mut self,
        slave: &Name,
        above: Above,
        master: Option<Name>,
        touched: &mut RecomputeSet,
    ) {
        let before = self.slaves.set(slave, above, master.clone());
        if before == master {
            return;
        }
        touched
            .interfaces
            .extend(self.interfaces.first_named(slave));
        let has_own = |name: &Name| {
            self.addresses4.on(name).next().is_some() || self.addresses6.on(name).next().is_some()
        };
        if has_own(slave) || self.slaves.of(slave).any(has_own) {
            let masters = before.into_iter().chain(master);
            touched.addresses.extend(masters.chain([slave.clone()]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_has_one_master_of_each_kind_and_is_found_by_both_ends() {
        let name = |name: &str| Name::from(name);
        let of = |slaves: &Slaves, master: &str| slaves.of(master).cloned().collect::<Vec<_>>();
        let mut slaves = Slaves::default();
        slaves.set(&name("ether2"), Above::Bridge, Some(name("bridge1")));
        slaves.set(&name("ether3"), Above::Bridge, Some(name("bridge1")));
        let before = slaves.set(&name("ether2"), Above::Bridge, Some(name("bridge2")));

        assert_eq!(before, Some(name("bridge1")));
        assert_eq!(of(&slaves, "bridge1"), [name("ether3")]);
        assert_eq!(of(&slaves, "bridge2"), [name("ether2")]);

        slaves.set(&name("ether2"), Above::Bond, Some(name("bond1")));
        assert_eq!(
            slaves.master("ether2"),
            Some((Above::Bond, &name("bond1"))),
            "a bond is nearer to the wire"
        );
        for above in [Above::Bond, Above::Bridge] {
            slaves.set(&name("ether2"), above, None);
        }
        slaves.set(&name("ether3"), Above::Bridge, None);
        assert_eq!(slaves, Slaves::default());
    }
}
