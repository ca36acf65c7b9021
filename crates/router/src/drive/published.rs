//! The interfaces as the workers know them: compares what was compiled with what was published, and writes only the
//! difference into the table that the workers read.

use std::collections::BTreeMap;
use std::sync::Arc;

use dataplane::interface::InterfaceTable;
use frame::InterfaceId;

use super::retired::Retired;
use crate::compile::Compiled;
use crate::plan::{Step, plan};

/// See the module.
#[derive(Debug)]
pub(crate) struct Published {
    table: Arc<InterfaceTable>,
    interfaces: BTreeMap<InterfaceId, Compiled>,
}

impl Published {
    pub(super) fn new(table: Arc<InterfaceTable>) -> Self {
        Self {
            table,
            interfaces: BTreeMap::new(),
        }
    }

    /// The table that the workers read.
    pub(crate) fn table(&self) -> &Arc<InterfaceTable> {
        &self.table
    }

    /// An interface, as the workers know it.
    pub(crate) fn get(&self, id: InterfaceId) -> Option<&Compiled> {
        self.interfaces.get(&id)
    }

    /// All of them.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Compiled> {
        self.interfaces.values()
    }

    /// Makes these the interfaces that the workers know of. Says whether one is other or gone that was
    /// there before.
    pub(super) fn become_these(
        &mut self,
        wanted: BTreeMap<InterfaceId, Compiled>,
        retired: &mut Retired,
    ) -> bool {
        let mut others = false;
        let before = core::mem::replace(&mut self.interfaces, wanted);
        let steps = plan(&before, &self.interfaces);
        // A tag that one interface gives up may be another's from now on.
        for step in &steps {
            if let Step::Remove(_, old) | Step::Change(_, old, _) = step
                && let Some((on, tag)) = old.vlan
            {
                self.table.set_vlan(on, tag, None);
            }
        }
        for step in steps {
            let replaced = match step {
                Step::Remove(id, _) => {
                    others = true;
                    self.table.remove(*id)
                }
                Step::Add(id, new) => self.tell(*id, new),
                Step::Change(id, _, new) => {
                    others = true;
                    self.tell(*id, new)
                }
            };
            retired.push_details(replaced);
        }
        others
    }

    fn tell(&self, id: InterfaceId, new: &Compiled) -> Option<Arc<dataplane::interface::Details>> {
        let replaced = self.table.set_details(id, Arc::new(new.details.clone()));
        self.table.set(id, &new.line);
        if let Some((on, tag)) = new.vlan {
            self.table.set_vlan(on, tag, Some(id));
        }
        replaced
    }
}
