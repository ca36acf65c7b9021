//! Port mirroring of switch chips.

use dataplane::tap::Direction;

use super::{End, Switches};
use crate::intent::Name;

/// A mirrored interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Copied {
    /// Name of the mirrored interface.
    pub(crate) of: Name,
    /// Whether received or transmitted frames are copied.
    pub(crate) direction: Direction,
    /// Port that the copies leave by.
    pub(crate) to: Name,
}

impl Switches {
    /// Returns the mirrored interfaces. A mirror target is never mirrored itself, so that no copy
    /// is copied again.
    pub(crate) fn copied(&self) -> Vec<Copied> {
        let mut found = Vec::new();
        for (number, chip) in &self.chips {
            if !self.chip(*number).is_some_and(|chip| chip.mirrors) {
                continue;
            }
            let mut add = |of: &End, direction, to: Option<&End>| {
                if let (End::Port(of), Some(End::Port(to))) = (of, to)
                    && self.homes.get(of) == Some(number)
                    && self.homes.get(to) == Some(number)
                {
                    let (of, to) = (of.clone(), to.clone());
                    found.push(Copied { of, direction, to });
                }
            };
            let egress_target = chip.egress_target.as_ref().or(chip.target.as_ref());
            if let Some(source) = &chip.source {
                add(source, Direction::Received, chip.target.as_ref());
                add(source, Direction::Transmitted, chip.target.as_ref());
            }
            let ports = self.ports.iter().filter(|((on, _), _)| on == number);
            for ((_, end), port) in ports {
                let target = port.mirror_in_to.as_ref();
                // RouterOS: a target of the port suffices; `mirror-ingress` copies to the chip's
                // target.
                if target.is_some() || port.mirror_in {
                    add(end, Direction::Received, target.or(chip.target.as_ref()));
                }
                if port.mirror_out {
                    add(end, Direction::Transmitted, egress_target);
                }
            }
        }
        let targets: Vec<Name> = found.iter().map(|copied| copied.to.clone()).collect();
        found.retain(|copied| !targets.contains(&copied.of));
        found.dedup();
        found
    }
}
