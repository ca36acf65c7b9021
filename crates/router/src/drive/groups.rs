//! Groups that features want received on interfaces: workers are told of them, and whoever leads groups there.

use core::net::IpAddr;
use std::collections::BTreeMap;

use dataplane::interface::Details;
use frame::InterfaceId;

use super::Control;
use crate::feature::Effects;

/// The groups of each interface, and how many want each.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups(BTreeMap<(InterfaceId, IpAddr), u32>);

impl Groups {
    /// Adds those of an interface to what workers know of it.
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

    /// One more wants a group, or one less. Says whether it is received now and was not before, or the reverse.
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
    /// A feature wants a group received on an interface, or no more.
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
                features.links4.join((id, group), joins, &running, &mut out);
                self.carry_out(out);
            }
        }
    }
}
