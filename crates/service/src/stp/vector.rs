//! Priority vectors and times: what bridges tell each other of the way to the root (13.10, 13.11).

use wire::bpdu::{BridgeId, Instance, Multiple, PortId, Repr};

/// Where a message or port stands in a tree: the lower is the better (13.10). In an instance, root and
/// external cost are the same for all and count for nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Vector {
    /// The root of the common tree.
    pub root: BridgeId,
    /// What the way to it costs, outside of the region.
    pub external_cost: u32,
    /// The root of the region.
    pub regional_root: BridgeId,
    /// What the way to it costs.
    pub internal_cost: u32,
    /// The bridge that says so.
    pub bridge: BridgeId,
    /// The port by which it does.
    pub port: PortId,
}

impl Vector {
    /// That of a bridge that is its own root.
    pub(super) fn of_root(bridge: BridgeId, is_common: bool) -> Self {
        Self {
            root: if is_common { bridge } else { BridgeId(0) },
            regional_root: bridge,
            bridge,
            ..Self::default()
        }
    }

    /// What a BPDU says of the common tree.
    pub(super) fn of_bpdu(bpdu: &Repr, internal: Option<&Multiple>) -> Self {
        let (internal_cost, bridge) = match internal {
            Some(multiple) => (multiple.internal_cost, multiple.bridge),
            // Of another region the sender is as good as its root (13.10).
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

    /// What a BPDU from this port says of an instance.
    pub(super) fn of_instance(instance: &Instance, sender: BridgeId, port: PortId) -> Self {
        Self {
            regional_root: instance.root,
            internal_cost: instance.cost,
            bridge: instance.bridge(sender),
            port: PortId::new(instance.port_priority, port.number()),
            ..Self::default()
        }
    }

    /// Whether it takes the place of what a port knows: it is better, or of the same sender (13.10).
    pub(super) fn is_superior_to(&self, known: &Self) -> bool {
        let same = self.bridge.address() == known.bridge.address()
            && self.port.number() == known.port.number();
        self < known || same
    }
}

/// Times in seconds, and hops (13.26.10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// How old what is said is.
    pub message_age: u16,
    /// When that is too old.
    pub max_age: u16,
    /// How often it is said.
    pub hello: u16,
    /// How long ports listen, and how long they learn.
    pub forward_delay: u16,
    /// How many bridges of the region it may still pass.
    pub hops: u8,
}

impl Times {
    /// Those of a BPDU; what it says of hops, or these.
    pub(super) fn of_bpdu(bpdu: &Repr, hops: u8) -> Self {
        // Rounded up, so that nothing lives for ever; bounds of table 13-5.
        let seconds = |time: u16| time.div_ceil(256);
        Self {
            message_age: seconds(bpdu.times.message_age),
            max_age: seconds(bpdu.times.max_age).clamp(6, 40),
            hello: seconds(bpdu.times.hello).clamp(1, 10),
            forward_delay: seconds(bpdu.times.forward_delay).clamp(4, 30),
            hops,
        }
    }

    /// As a BPDU says them.
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
    fn the_same_sender_replaces_what_it_said_and_others_only_if_better() {
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
