//! Slaves: interfaces whose frames another one takes, as a bridge takes those of its ports and a bond those of its
//! links. Both ends are names: either may be configured before the other is there.

use std::collections::{BTreeMap, BTreeSet};

use dataplane::interface::Above;

use super::{Intent, Name};
use crate::touched::Touched;

/// See the module. Who says that an interface is a slave is a feature, by `Effect::Slave`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slaves {
    /// By the slave: the bond that takes its frames, and the bridge.
    masters: BTreeMap<Name, [Option<Name>; 2]>,
    /// By the master.
    slaves: BTreeMap<Name, BTreeSet<Name>>,
}

impl Slaves {
    /// Makes an interface the slave of another one, in place of one of the same kind; none frees it. Gives the
    /// master that it had.
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

    /// What takes the frames of an interface. Of a bond and a bridge it is the bond: it is nearer to the wire.
    pub fn master(&self, slave: &str) -> Option<(Above, &Name)> {
        let [bond, bridge] = self.masters.get(slave)?;
        let bond = bond.as_ref().map(|name| (Above::Bond, name));
        bond.or_else(|| bridge.as_ref().map(|name| (Above::Bridge, name)))
    }

    /// The slaves of an interface, by name.
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
    /// Makes an interface a slave, or frees it, and notes what hangs on that: the slave, and both masters' addresses if
    /// some are configured on the slave, which are its master's.
    pub(crate) fn enslave(
        &mut self,
        slave: &Name,
        above: Above,
        master: Option<Name>,
        touched: &mut Touched,
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
