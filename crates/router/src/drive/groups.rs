//! Multicast groups that features receive on interfaces. Workers and the membership reports of the interface follow
//! them.

use core::net::IpAddr;
use std::collections::BTreeMap;

use dataplane::interface::Details;
use frame::InterfaceId;

use super::Control;
use crate::feature::Effects;

/// Number of features that joined each group, by interface.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups(BTreeMap<(InterfaceId, IpAddr), u32>);

impl Groups {
    /// Adds the groups of an interface to the details for workers.
    pub(super) fn add_to(&self, id: InterfaceId, details: &mut Details) {
        let first = (id, IpAddr::from([0; 4]));
        let of = self.0.range(first..).take_while(|((of, _), _)| *of == id);
        for ((_, group), _) in of {
            match group {
                IpAddr::V4(group) => details.groups4.push(group.to_bits()),
                IpAddr::V6(group) => details.groups6.push(group.to_bits()),
            }
        }
    }

    /// Counts a join or a leave of a group. Returns true if reception of the group starts or stops.
    fn count(&mut self, at: (InterfaceId, IpAddr), joins: bool) -> bool {
        let wanted = self.0.entry(at).or_insert(0);
        let before = *wanted;
        *wanted = match joins {
            true => before + 1,
            false => before.saturating_sub(1),
        };
        let after = *wanted;
        if after == 0 {
            self.0.remove(&at);
        }
        (before > 0) != (after > 0)
    }
}

impl Control {
    /// Joins a group on an interface for a feature, or leaves it.
    pub(super) fn join(&mut self, id: InterfaceId, group: IpAddr, joins: bool) {
        if !self.wanted.groups.count((id, group), joins)
            || !self.layout.interfaces.contains_key(&id)
        {
            return;
        }
        self.publish_interface(id);
        match group {
            IpAddr::V6(group) => self.report_group(id, group, joins),
            IpAddr::V4(group) => {
                let mut out = Effects::default();
                let (features, _, running) = self.features();
                features.links4.join(id, group, joins, &running, &mut out);
                self.carry_out(out);
            }
        }
    }
}
