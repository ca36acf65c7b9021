//! Spanning tree BPDUs: STP, RSTP and MSTP (IEEE 802.1Q-2018, clause 14).
//!
//! A BPDU follows the LLC header [`LLC`] of a frame to [`GROUP`]. Times are in units of 1/256 second.

use alloc::vec::Vec;

use crate::{Mac, bytes_at, put_at, u16_at, u32_at};

/// Destination address of BPDUs (table 8-1).
pub const GROUP: Mac = Mac([0x01, 0x80, 0xc2, 0, 0, 0]);
/// Destination address of BPDUs of provider bridges (table 8-2).
pub const PROVIDER_GROUP: Mac = Mac([0x01, 0x80, 0xc2, 0, 0, 8]);
/// LLC header of BPDUs: SAPs 0x42, unnumbered information.
pub const LLC: [u8; 3] = [0x42, 0x42, 0x03];

/// Lengths of a topology change notification, a configuration BPDU, an RST BPDU and an MST BPDU without instances.
const LENGTHS: [usize; 4] = [4, CONFIG_LEN, RAPID_LEN, MULTIPLE_LEN];
const CONFIG_LEN: usize = 35;
const RAPID_LEN: usize = 36;
const MULTIPLE_LEN: usize = 102;
/// Length of an MSTI configuration message.
const INSTANCE_LEN: usize = 16;
/// `version 3 length` without instances.
const VERSION_3_LEN: u16 = 64;
/// Maximum number of instances of a region.
pub const INSTANCES: usize = 64;

/// Bridge id: priority (4 bits), instance (12 bits), MAC address. The lower one is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BridgeId(pub u64);

impl BridgeId {
    /// Creates a bridge id; the priority is in steps of 0x1000.
    pub const fn new(priority: u16, tree: u16, address: Mac) -> Self {
        let high = (priority & 0xf000 | tree & 0xfff) as u64;
        Self(high << 48 | address.to_u64())
    }

    /// Priority, in steps of 0x1000.
    pub const fn priority(self) -> u16 {
        (self.0 >> 48) as u16 & 0xf000
    }

    /// MAC address.
    pub const fn address(self) -> Mac {
        Mac::from_u64(self.0)
    }

    /// Bridge id in another instance, with an unchanged priority.
    const fn in_tree(self, tree: u16) -> Self {
        Self::new((self.0 >> 48) as u16, tree, self.address())
    }
}

/// Port id: priority (4 bits), number (12 bits). The lower one is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortId(pub u16);

impl PortId {
    /// Creates a port id; numbers start at 1, the priority is in steps of 0x10.
    pub const fn new(priority: u8, number: u16) -> Self {
        Self((priority as u16 & 0xf0) << 8 | number & 0xfff)
    }

    /// Priority, in steps of 0x10.
    pub const fn priority(self) -> u8 {
        (self.0 >> 8) as u8 & 0xf0
    }

    /// Port number.
    pub const fn number(self) -> u16 {
        self.0 & 0xfff
    }
}

/// Flags of a BPDU or MSTI message (14.2.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    /// Topology change.
    pub const TOPOLOGY_CHANGE: Self = Self(1);
    /// Proposal: the designated port asks to forward at once.
    pub const PROPOSAL: Self = Self(1 << 1);
    /// Port role: master, or unknown.
    pub const ROLE_MASTER: Self = Self(0);
    /// Port role: alternate or backup.
    pub const ROLE_ALTERNATE: Self = Self(1 << 2);
    /// Port role: root.
    pub const ROLE_ROOT: Self = Self(2 << 2);
    /// Port role: designated.
    pub const ROLE_DESIGNATED: Self = Self(3 << 2);
    /// The port learns addresses.
    pub const LEARNING: Self = Self(1 << 4);
    /// The port forwards.
    pub const FORWARDING: Self = Self(1 << 5);
    /// Agreement: the neighbour may forward at once.
    pub const AGREEMENT: Self = Self(1 << 6);
    /// Configuration BPDU: topology change acknowledgement.
    pub const ACKNOWLEDGEMENT: Self = Self(1 << 7);
    /// Instance: a master port leads out of the region.
    pub const MASTER: Self = Self(1 << 7);

    const ROLE_MASK: u8 = 3 << 2;

    /// True if all of `flags` are set.
    pub const fn has(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// Port role.
    pub const fn role(self) -> Self {
        Self(self.0 & Self::ROLE_MASK)
    }

    /// Sets `flags` if `if_so` is true.
    #[must_use]
    pub const fn with(self, flags: Self, if_so: bool) -> Self {
        Self(self.0 | if if_so { flags.0 } else { 0 })
    }
}

/// BPDU type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// STP topology change notification.
    TopologyChange,
    /// STP configuration BPDU.
    Config,
    /// RSTP.
    Rapid,
    /// MSTP.
    Multiple,
}

/// Timer values of a BPDU, in units of 1/256 second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Message age.
    pub message_age: u16,
    /// Maximum age.
    pub max_age: u16,
    /// Hello time.
    pub hello: u16,
    /// Forward delay.
    pub forward_delay: u16,
}

/// MST region id (13.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Name, padded with zeros.
    pub name: [u8; 32],
    /// Revision.
    pub revision: u16,
    /// Digest of the map from VLANs to instances.
    pub digest: [u8; 16],
}

/// MSTP part of a BPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Multiple {
    /// Region of the sender.
    pub region: Region,
    /// Path cost to the regional root.
    pub internal_cost: u32,
    /// Bridge id of the sender; [`Repr::bridge`] is the regional root.
    pub bridge: BridgeId,
    /// Remaining hops within the region.
    pub hops: u8,
}

/// MSTI configuration message: data of one instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Instance {
    /// Flags.
    pub flags: Flags,
    /// Regional root; contains the instance number.
    pub root: BridgeId,
    /// Path cost to the regional root.
    pub cost: u32,
    /// Priority of the sender in the instance, in steps of 0x1000.
    pub bridge_priority: u16,
    /// Priority of the port in the instance, in steps of 0x10.
    pub port_priority: u8,
    /// Remaining hops within the region.
    pub hops: u8,
}

impl Instance {
    /// Instance number.
    pub const fn number(&self) -> u16 {
        (self.root.0 >> 48) as u16 & 0xfff
    }

    /// Bridge id of the sender in this instance.
    pub const fn bridge(&self, sender: BridgeId) -> BridgeId {
        BridgeId::new(self.bridge_priority, 0, sender.address()).in_tree(self.number())
    }

    fn parse(bytes: &[u8; INSTANCE_LEN]) -> Self {
        let [flags] = bytes_at(bytes, 0);
        let [bridge, port, hops] = bytes_at(bytes, 13);
        Self {
            flags: Flags(flags),
            root: BridgeId(u64::from_be_bytes(bytes_at(bytes, 1))),
            cost: u32_at(bytes, 9),
            bridge_priority: u16::from(bridge & 0xf0) << 8,
            port_priority: port & 0xf0,
            hops,
        }
    }

    fn to_bytes(self) -> [u8; INSTANCE_LEN] {
        let mut bytes = [0; INSTANCE_LEN];
        put_at(&mut bytes, 0, [self.flags.0]);
        put_at(&mut bytes, 1, self.root.0.to_be_bytes());
        put_at(&mut bytes, 9, self.cost.to_be_bytes());
        let priorities = [(self.bridge_priority >> 8) as u8, self.port_priority];
        put_at(&mut bytes, 13, priorities);
        put_at(&mut bytes, 15, [self.hops]);
        bytes
    }
}

/// Reason why a BPDU is malformed (14.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Shorter than its type requires.
    Truncated,
    /// Not a spanning tree protocol.
    Protocol,
    /// Unknown BPDU type.
    Kind,
    /// Invalid length of the instances of an MST BPDU.
    Instances,
}

/// A BPDU without its instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Type; for [`Kind::TopologyChange`] all other fields are meaningless.
    pub kind: Kind,
    /// Flags.
    pub flags: Flags,
    /// Root bridge.
    pub root: BridgeId,
    /// Path cost to the root.
    pub cost: u32,
    /// Bridge id of the sender; for MSTP of its regional root.
    pub bridge: BridgeId,
    /// Port id of the sender.
    pub port: PortId,
    /// Timer values.
    pub times: Times,
    /// MSTP part; `None` for other types.
    pub multiple: Option<Multiple>,
}

impl Repr {
    /// Topology change notification.
    pub const TOPOLOGY_CHANGE: Self = Self {
        kind: Kind::TopologyChange,
        flags: Flags(0),
        root: BridgeId(0),
        cost: 0,
        bridge: BridgeId(0),
        port: PortId(0),
        times: Times {
            message_age: 0,
            max_age: 0,
            hello: 0,
            forward_delay: 0,
        },
        multiple: None,
    };

    /// Parses a BPDU and its instances; following bytes are padding. Newer protocol versions are parsed as MSTP, and
    /// MST BPDUs that are too short as RSTP.
    ///
    /// # Errors
    /// Returns [`Malformed`] for invalid BPDUs (14.4).
    pub fn parse(bytes: &[u8]) -> Result<(Self, Instances<'_>), Malformed> {
        let head: &[u8; 4] = bytes.first_chunk().ok_or(Malformed::Truncated)?;
        let [version, kind] = bytes_at(head, 2);
        if u16_at(head, 0) != 0 {
            return Err(Malformed::Protocol);
        }
        match (kind, version) {
            (0x80, _) => Ok((Self::TOPOLOGY_CHANGE, Instances(&[]))),
            (0x00, _) => Self::config(Kind::Config, bytes),
            (0x02, 3..) if bytes.len() >= MULTIPLE_LEN => Self::multiple(bytes),
            (0x02, 2..) => Self::config(Kind::Rapid, bytes),
            _ => Err(Malformed::Kind),
        }
    }

    fn config(kind: Kind, bytes: &[u8]) -> Result<(Self, Instances<'_>), Malformed> {
        if bytes.len() < LENGTHS[kind as usize] {
            return Err(Malformed::Truncated);
        }
        let body: &[u8; CONFIG_LEN] = bytes.first_chunk().ok_or(Malformed::Truncated)?;
        let [flags] = bytes_at(body, 4);
        let repr = Self {
            kind,
            flags: Flags(flags),
            root: BridgeId(u64::from_be_bytes(bytes_at(body, 5))),
            cost: u32_at(body, 13),
            bridge: BridgeId(u64::from_be_bytes(bytes_at(body, 17))),
            port: PortId(u16_at(body, 25)),
            times: Times {
                message_age: u16_at(body, 27),
                max_age: u16_at(body, 29),
                hello: u16_at(body, 31),
                forward_delay: u16_at(body, 33),
            },
            multiple: None,
        };
        Ok((repr, Instances(&[])))
    }

    fn multiple(bytes: &[u8]) -> Result<(Self, Instances<'_>), Malformed> {
        let (body, rest) = bytes
            .split_first_chunk::<MULTIPLE_LEN>()
            .ok_or(Malformed::Truncated)?;
        let (mut repr, _) = Self::config(Kind::Multiple, bytes)?;
        let more = u16_at(body, 36).checked_sub(VERSION_3_LEN);
        let more = more.ok_or(Malformed::Instances).map(usize::from)?;
        let (records, odd) = rest
            .get(..more)
            .ok_or(Malformed::Instances)?
            .as_chunks::<INSTANCE_LEN>();
        if !odd.is_empty() || records.len() > INSTANCES {
            return Err(Malformed::Instances);
        }
        let [hops] = bytes_at(body, 101);
        repr.multiple = Some(Multiple {
            region: Region {
                name: bytes_at(body, 39),
                revision: u16_at(body, 71),
                digest: bytes_at(body, 73),
            },
            internal_cost: u32_at(body, 89),
            bridge: BridgeId(u64::from_be_bytes(bytes_at(body, 93))),
            hops,
        });
        Ok((repr, Instances(records)))
    }

    /// Encodes the BPDU, with these instances if it is an MST BPDU.
    pub fn to_bytes(&self, instances: &[Instance]) -> Vec<u8> {
        let mut bytes = [0; MULTIPLE_LEN];
        let (version, kind) = match self.kind {
            Kind::TopologyChange => (0, 0x80),
            Kind::Config => (0, 0x00),
            Kind::Rapid => (2, 0x02),
            Kind::Multiple => (3, 0x02),
        };
        put_at(&mut bytes, 2, [version, kind, self.flags.0]);
        put_at(&mut bytes, 5, self.root.0.to_be_bytes());
        put_at(&mut bytes, 13, self.cost.to_be_bytes());
        put_at(&mut bytes, 17, self.bridge.0.to_be_bytes());
        put_at(&mut bytes, 25, self.port.0.to_be_bytes());
        put_at(&mut bytes, 27, self.times.message_age.to_be_bytes());
        put_at(&mut bytes, 29, self.times.max_age.to_be_bytes());
        put_at(&mut bytes, 31, self.times.hello.to_be_bytes());
        put_at(&mut bytes, 33, self.times.forward_delay.to_be_bytes());
        let mut out = bytes[..LENGTHS[self.kind as usize]].to_vec();
        if let (Kind::Multiple, Some(multiple)) = (self.kind, &self.multiple) {
            let instances = &instances[..instances.len().min(INSTANCES)];
            out.truncate(RAPID_LEN);
            multiple.append(&mut out, instances);
        }
        out
    }
}

impl Multiple {
    fn append(&self, out: &mut Vec<u8>, instances: &[Instance]) {
        let more = (instances.len() * INSTANCE_LEN) as u16;
        out.extend((VERSION_3_LEN + more).to_be_bytes());
        // The configuration identifier format selector is always 0 (13.8).
        out.push(0);
        out.extend(self.region.name);
        out.extend(self.region.revision.to_be_bytes());
        out.extend(self.region.digest);
        out.extend(self.internal_cost.to_be_bytes());
        out.extend(self.bridge.0.to_be_bytes());
        out.push(self.hops);
        for instance in instances {
            out.extend(instance.to_bytes());
        }
    }
}

/// Instances of an MST BPDU.
#[derive(Clone, Copy, Debug)]
pub struct Instances<'a>(&'a [[u8; INSTANCE_LEN]]);

impl Instances<'_> {
    /// Iterates over the instances, in the order of the BPDU.
    pub fn iter(&self) -> impl Iterator<Item = Instance> {
        self.0.iter().map(Instance::parse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(kind: Kind) -> Repr {
        let multiple = Multiple {
            region: Region {
                name: *b"region\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
                revision: 7,
                digest: [9; 16],
            },
            internal_cost: 20_000,
            bridge: BridgeId::new(0x8000, 0, Mac([2, 0, 0, 0, 0, 3])),
            hops: 19,
        };
        Repr {
            kind,
            flags: Flags::ROLE_DESIGNATED.with(Flags::PROPOSAL, true),
            root: BridgeId::new(0x1000, 0, Mac([2, 0, 0, 0, 0, 1])),
            cost: 200_000,
            bridge: BridgeId::new(0x8000, 0, Mac([2, 0, 0, 0, 0, 2])),
            port: PortId::new(0x80, 5),
            times: Times {
                message_age: 256,
                max_age: 20 << 8,
                hello: 2 << 8,
                forward_delay: 15 << 8,
            },
            multiple: (kind == Kind::Multiple).then_some(multiple),
        }
    }

    #[test]
    fn bpdus_round_trip_and_truncated_ones_are_refused() {
        let instance = Instance {
            flags: Flags::ROLE_ROOT.with(Flags::AGREEMENT, true),
            root: BridgeId::new(0x4000, 12, Mac([2, 0, 0, 0, 0, 4])),
            cost: 10,
            bridge_priority: 0x7000,
            port_priority: 0x40,
            hops: 3,
        };
        for kind in [Kind::Config, Kind::Rapid, Kind::Multiple] {
            let (repr, instances) = (example(kind), [instance, Instance::default()]);
            let of_it = if kind == Kind::Multiple { 2 } else { 0 };
            let bytes = repr.to_bytes(&instances);
            let (read, its) = Repr::parse(&bytes).expect("a BPDU");

            assert_eq!(bytes.len(), LENGTHS[kind as usize] + 16 * of_it);
            assert_eq!(read, repr);
            assert!(its.iter().eq(instances[..of_it].iter().copied()));
            for len in 0..bytes.len() {
                // An MST BPDU that is too short is parsed as RSTP.
                let short = Repr::parse(&bytes[..len]);
                let is_rapid = short.is_ok_and(|(read, _)| read.kind == Kind::Rapid);
                let may = kind == Kind::Multiple && (RAPID_LEN..MULTIPLE_LEN).contains(&len);
                assert_eq!(is_rapid, may, "{kind:?} {len}");
                assert!(may || short.is_err(), "{kind:?} {len}");
            }
        }
        assert_eq!(instance.number(), 12);
        let sender = instance.bridge(example(Kind::Rapid).bridge);
        assert_eq!(sender, BridgeId::new(0x7000, 12, Mac([2, 0, 0, 0, 0, 2])));
    }

    #[test]
    fn invalid_bpdus_are_refused_by_fault() {
        let notification = Repr::TOPOLOGY_CHANGE.to_bytes(&[]);
        assert_eq!(notification, [0, 0, 0, 0x80]);
        let fault = |bytes: &[u8]| Repr::parse(bytes).map(|_| ()).unwrap_err();
        assert_eq!(fault(&[0, 0, 0]), Malformed::Truncated);
        assert_eq!(fault(&[0, 1, 0, 0x80]), Malformed::Protocol);
        assert_eq!(fault(&[0, 0, 0, 0x81]), Malformed::Kind);
        assert_eq!(fault(&[0, 0, 1, 2]), Malformed::Kind);

        let mut bytes = example(Kind::Multiple).to_bytes(&[Instance::default()]);
        for wrong in [63, 65, 64 + 32] {
            bytes[37] = wrong;
            assert_eq!(fault(&bytes), Malformed::Instances, "{wrong}");
        }
    }
}
