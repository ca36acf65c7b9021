//! The selection logic (6.4.14): which ports belong together, and which of these sets carries frames.
//!
//! The set that carries frames is kept as long as it has a port, whatever others come, unless nobody speaks LACP in it
//! and somebody does in another.

use core::cmp::Reverse;

use super::Lacp;
use super::port::{Group, Mux, Port, Receive, Selected};

impl Lacp {
    /// Runs the selection; says whether it did anything.
    pub(super) fn select(&mut self) -> bool {
        let mut busy = false;
        for port in &mut self.ports {
            if port.selected != Selected::Unselected {
                continue;
            }
            busy |= port.group.take().is_some();
            // A port leaves its aggregator before it joins another.
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

    /// The set of ports that shall carry frames.
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
    /// Whether it is known what the port belongs to. One whose partner has just become silent stays where it is, and
    /// one whose link has just come waits until somebody speaks, or nobody does.
    fn may_be_selected(&self) -> bool {
        let known = matches!(self.receive, Receive::Current | Receive::Defaulted);
        self.link.up && self.looped_until.is_none() && known
    }
}
