//! Selection logic (6.4.14): groups ports by partner and key, and selects the group that carries frames.
//!
//! The selected group stays selected as long as it has a port, unless it has no LACP partner and another group has
//! one.

use core::cmp::Reverse;

use super::Lacp;
use super::port::{Group, Mux, Port, Receive, Selected};

impl Lacp {
    /// Runs the selection; returns true if any port changed.
    pub(super) fn select(&mut self) -> bool {
        let mut busy = false;
        for port in &mut self.ports {
            if port.selected != Selected::Unselected {
                continue;
            }
            busy |= port.group.take().is_some();
            // A port leaves its aggregator before it joins another one.
            if port.mux == Mux::Detached && port.may_be_selected() {
                port.group = Some(port.common(&self.config));
                port.selected = Selected::Standby;
                busy = true;
            }
        }
        let active = self.best();
        busy |= core::mem::replace(&mut self.active, active) != active;
        for port in &mut self.ports {
            let wanted = match port.group {
                None => Selected::Unselected,
                group if group == active => Selected::Selected,
                Some(_) => Selected::Standby,
            };
            busy |= core::mem::replace(&mut port.selected, wanted) != wanted;
        }
        busy
    }

    /// Group to select.
    fn best(&self) -> Option<Group> {
        let worth = |group: Group| {
            let of_it = self.ports.iter().filter(|port| port.group == Some(group));
            let sum = of_it.fold((0, 0), |(ports, megabits), port| {
                (ports + 1, megabits + u64::from(port.link.megabits))
            });
            (group.partner().is_some(), sum)
        };
        let kept = { self.active }.filter(|active| worth(*active).1.0 > 0);
        let groups = self.ports.iter().filter_map(|port| port.group).enumerate();
        let best = groups.max_by_key(|(at, group)| {
            let kept = Some(*group) == kept;
            let (spoken, sum) = worth(*group);
            (spoken, kept, sum, Reverse(*at))
        });
        best.map(|(_, group)| group)
    }
}

impl Port {
    /// True if the port's group is known. A port whose partner just expired keeps its group; a port whose link just
    /// came up waits until a partner is found or the timeout passes.
    fn may_be_selected(&self) -> bool {
        let known = matches!(self.receive, Receive::Current | Receive::Defaulted);
        self.link.up && self.looped_until.is_none() && known
    }
}
