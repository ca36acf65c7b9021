//! Priority vectors and timer values in BPDUs (13.10, 13.11).

use wire::bpdu::{BridgeId, Instance, Multiple, PortId, Repr};

/// Priority vector (13.10); the lower one is better. In an instance, root and external cost are equal for all and do
/// not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Vector {
    /// Root bridge of the common tree.
    pub root: BridgeId,
    /// Path cost to the root, outside of the region.
    pub external_cost: u32,
    /// Regional root.
    pub regional_root: BridgeId,
    /// Path cost to the regional root.
    pub internal_cost: u32,
    /// Designated bridge.
    pub bridge: BridgeId,
    /// Designated port.
    pub port: PortId,
}

impl Vector {
    /// Vector of a root bridge.
    pub(super) fn of_root(bridge: BridgeId, is_common: bool) -> Self {
        Self {
            root: if is_common { bridge } else { BridgeId(0) },
            regional_root: bridge,
            bridge,
            ..Self::default()
        }
    }

    /// Vector of the common tree in a BPDU.
    pub(super) fn of_bpdu(bpdu: &Repr, internal: Option<&Multiple>) -> Self {
        let (internal_cost, bridge) = match internal {
            Some(multiple) => (multiple.internal_cost, multiple.bridge),
            // For a sender in another region, the sender counts as regional root (13.10).
            None => (0, bpdu.multiple.map_or(bpdu.bridge, |it| it.bridge)),
        };
        Self {
            root: bpdu.root,
            external_cost: bpdu.cost,
            regional_root: bpdu.bridge,
            internal_cost,
            bridge,
            port: bpdu.port,
        }
    }

    /// Vector of an instance in a BPDU from this port.
    pub(super) fn of_instance(instance: &Instance, sender: BridgeId, port: PortId) -> Self {
        Self {
            regional_root: instance.root,
            internal_cost: instance.cost,
            bridge: instance.bridge(sender),
            port: PortId::new(instance.port_priority, port.number()),
            ..Self::default()
        }
    }

    /// True if this vector replaces the port's: it is better, or comes from the same designated port (13.10).
    pub(super) fn is_superior_to(&self, known: &Self) -> bool {
        let same = self.bridge.address() == known.bridge.address()
            && self.port.number() == known.port.number();
        self < known || same
    }
}

/// Timer values in seconds, and hops (13.26.10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Age of the information.
    pub message_age: u16,
    /// Maximum age of the information.
    pub max_age: u16,
    /// Hello time.
    pub hello: u16,
    /// Forward delay.
    pub forward_delay: u16,
    /// Remaining hops within the region.
    pub hops: u8,
}

impl Times {
    /// Values of a BPDU; `hops` from its MST part or the default.
    pub(super) fn of_bpdu(bpdu: &Repr, hops: u8) -> Self {
        // Rounded up, so that information always expires; limits of table 13-5.
        let seconds = |time: u16| time.div_ceil(256);
        Self {
            message_age: seconds(bpdu.times.message_age),
            max_age: seconds(bpdu.times.max_age).clamp(6, 40),
            hello: seconds(bpdu.times.hello).clamp(1, 10),
            forward_delay: seconds(bpdu.times.forward_delay).clamp(4, 30),
            hops,
        }
    }

    /// Converts to the units of a BPDU.
    pub(super) fn to_bpdu(self) -> wire::bpdu::Times {
        wire::bpdu::Times {
            message_age: self.message_age << 8,
            max_age: self.max_age << 8,
            hello: self.hello << 8,
            forward_delay: self.forward_delay << 8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::Mac;

    #[test]
    fn a_bpdu_replaces_that_of_its_sender_or_an_inferior_one() {
        let bridge = |number| BridgeId::new(0x8000, 0, Mac([2, 0, 0, 0, 0, number]));
        let known = Vector {
            root: bridge(1),
            external_cost: 10,
            regional_root: bridge(2),
            bridge: bridge(2),
            port: PortId::new(0x80, 1),
            ..Vector::default()
        };
        let worse = Vector {
            external_cost: 20,
            ..known
        };
        assert!(
            worse.is_superior_to(&known),
            "its priorities do not tell senders apart"
        );
        let other = Vector {
            port: PortId::new(0x80, 2),
            ..worse
        };
        assert!(!other.is_superior_to(&known));
        assert!(
            Vector {
                external_cost: 5,
                ..other
            }
            .is_superior_to(&known)
        );
    }
}
