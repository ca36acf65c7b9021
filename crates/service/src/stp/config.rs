//! Configuration of a bridge's spanning tree, and properties of its links.

use std::collections::BTreeMap;

use wire::Mac;
use wire::bpdu::Region;

/// Spanning tree protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// None: all ports forward.
    None,
    /// STP (IEEE 802.1D-1998).
    Stp,
    /// RSTP (IEEE 802.1D-2004).
    #[default]
    Rstp,
    /// MSTP (IEEE 802.1Q, clause 13).
    Mstp,
}

/// Path cost by speed (`port-cost-mode`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CostMode {
    /// 32 bits (IEEE 802.1Q, table 13-4).
    #[default]
    Long,
    /// 16 bits (IEEE 802.1D-1998, table 8-5).
    Short,
}

impl CostMode {
    /// Path cost of a speed in Mbit/s; 0 is unknown.
    pub const fn cost(self, megabits: u32) -> u32 {
        match (self, megabits) {
            // RouterOS: a port of unknown speed has the cost of 1 Gbit/s.
            (Self::Long, 0) => 20_000,
            (Self::Long, speed) => match 20_000_000 / speed {
                0 => 1,
                cost => cost,
            },
            (Self::Short, 0 | 1_000..10_000) => 4,
            (Self::Short, ..100) => 100,
            (Self::Short, 100..1_000) => 19,
            (Self::Short, 10_000..25_000) => 2,
            (Self::Short, _) => 1,
        }
    }
}

/// Bridge settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Protocol.
    pub protocol: Protocol,
    /// MAC address of the bridge id.
    pub address: Mac,
    /// Bridge priority, in steps of 0x1000.
    pub priority: u16,
    /// Maximum message age in seconds (6 to 40).
    pub max_age: u16,
    /// Forward delay in seconds (4 to 30).
    pub forward_delay: u16,
    /// Maximum number of BPDUs per second and port (1 to 10).
    pub transmit_hold_count: u16,
    /// Maximum number of hops within the region (6 to 40).
    pub max_hops: u8,
    /// Path cost mode.
    pub cost_mode: CostMode,
    /// Region name; the first 32 bytes count.
    pub region_name: String,
    /// Region revision.
    pub region_revision: u16,
    /// MST instances by number, 1 to 4094.
    pub instances: BTreeMap<u16, Instance>,
}

/// MST instance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instance {
    /// Bridge priority in the instance, in steps of 0x1000.
    pub priority: u16,
    /// Ranges of VLAN ids.
    pub vlans: Vec<(u16, u16)>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            protocol: Protocol::default(),
            address: Mac::ZERO,
            priority: 0x8000,
            max_age: 20,
            forward_delay: 15,
            transmit_hold_count: 6,
            max_hops: 20,
            cost_mode: CostMode::default(),
            region_name: String::new(),
            region_revision: 0,
            instances: BTreeMap::new(),
        }
    }
}

/// Key of the configuration digest (IEEE 802.1Q, table 13-1).
const DIGEST_KEY: [u8; 16] = [
    0x13, 0xac, 0x06, 0xa6, 0x2e, 0x47, 0xfd, 0x51, 0xf9, 0x5d, 0x2b, 0xa2, 0x43, 0xcd, 0x03, 0x46,
];

impl Config {
    /// Instance of a VLAN; 0 is the common tree.
    pub fn tree_of(&self, vlan: u16) -> u16 {
        let mut instances = self.instances.iter();
        let found = instances.find(|(_, instance)| {
            let mut vlans = instance.vlans.iter();
            vlans.any(|(first, last)| (*first..=*last).contains(&vlan))
        });
        found.map_or(0, |(number, _)| *number)
    }

    /// MST region id of the bridge (13.8).
    pub fn region(&self) -> Region {
        let mut name = [0; 32];
        for (at, byte) in name.iter_mut().zip(self.region_name.bytes()) {
            *at = byte;
        }
        // Instance of each VLAN id from 0 to 4095, two bytes each; 0 and 4095 are in none.
        let mut table = vec![0; 4096 * 2];
        for (number, instance) in self.instances.iter().rev() {
            for (first, last) in &instance.vlans {
                for vlan in (*first).max(1)..=(*last).min(4094) {
                    table[usize::from(vlan) * 2..][..2].copy_from_slice(&number.to_be_bytes());
                }
            }
        }
        Region {
            name,
            revision: self.region_revision,
            digest: hmac_md5(DIGEST_KEY, &table),
        }
    }
}

/// HMAC-MD5 (RFC 2104), as the standard requires; it authenticates nothing here.
fn hmac_md5(key: [u8; 16], data: &[u8]) -> [u8; 16] {
    let padded = |pad: u8| {
        let mut block = [pad; 64];
        for (byte, key) in block.iter_mut().zip(key) {
            *byte ^= key;
        }
        block.to_vec()
    };
    let inner = md5::compute([padded(0x36), data.to_vec()].concat());
    md5::compute([padded(0x5c), inner.0.to_vec()].concat()).0
}

/// Edge port mode (`edge`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Edge {
    /// Not an edge port, unless no BPDU is received.
    #[default]
    Auto,
    /// Edge port until a BPDU is received.
    Yes,
    /// Never an edge port.
    No,
    /// Edge port initially, and again when no more BPDUs are received.
    YesDiscover,
    /// Behaves as [`Self::Auto`].
    NoDiscover,
}

impl Edge {
    /// `AdminEdge` (13.27.1).
    pub(super) const fn is_admin(self) -> bool {
        matches!(self, Self::Yes | Self::YesDiscover)
    }

    /// `AutoEdge` (13.27.18).
    pub(super) const fn is_found(self) -> bool {
        matches!(self, Self::Auto | Self::YesDiscover | Self::NoDiscover)
    }
}

/// Port settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortConfig {
    /// Port priority, in steps of 0x10.
    pub priority: u8,
    /// Path cost; `None` derives it from the speed.
    pub path_cost: Option<u32>,
    /// Internal path cost; `None` derives it from the speed.
    pub internal_path_cost: Option<u32>,
    /// Edge port mode.
    pub edge: Edge,
    /// Point-to-point link; `None`: if the link is full duplex.
    pub point_to_point: Option<bool>,
    /// Disable the port when it receives a BPDU.
    pub bpdu_guard: bool,
    /// The port never becomes a root port.
    pub restricted_role: bool,
    /// Do not propagate topology changes received on the port.
    pub restricted_tcn: bool,
    /// Priority and internal path cost in single instances, where different.
    pub overrides: BTreeMap<u16, (Option<u8>, Option<u32>)>,
}

/// Link of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// The link is up.
    pub up: bool,
    /// Speed in Mbit/s; 0 is unknown.
    pub megabits: u32,
    /// Full duplex.
    pub full_duplex: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hmac_md5_gives_the_vector_of_rfc_2202() {
        let digest = hmac_md5([0x0b; 16], b"Hi There");
        assert_eq!(
            u128::from_be_bytes(digest),
            0x9294_727a_3638_bb1c_13f4_8ef8_158b_fc9d
        );
    }

    #[test]
    fn digests_are_those_of_the_standard() {
        let all_in = |number: Option<u16>| {
            let vlans = vec![(1, 4094)];
            let instance = Instance {
                priority: 0x8000,
                vlans,
            };
            let instances = number
                .map(|number| (number, instance))
                .into_iter()
                .collect();
            let config = Config {
                instances,
                ..Config::default()
            };
            u128::from_be_bytes(config.region().digest)
        };
        // IEEE 802.1Q-2018, table 13-2.
        assert_eq!(all_in(None), 0xac36_177f_5028_3cd4_b838_21d8_ab26_de62);
        assert_eq!(all_in(Some(1)), 0xe13a_80f1_1ed0_856a_cd4e_e347_6941_c73b);

        let mut config = Config::default();
        for number in 1..=32 {
            let vlans = (1..=4094).filter(|vlan| vlan % 32 + 1 == number);
            let vlans = vlans.map(|vlan| (vlan, vlan)).collect();
            let instance = Instance {
                priority: 0x8000,
                vlans,
            };
            config.instances.insert(number, instance);
        }
        let digest = u128::from_be_bytes(config.region().digest);
        assert_eq!(digest, 0x9d14_5c26_7dbe_9fb5_d893_441b_e3ba_08ce);
    }

    #[test]
    fn path_costs_equal_those_of_routeros() {
        let costs = |mode: CostMode| [10, 100, 1_000, 10_000].map(|speed| mode.cost(speed));
        assert_eq!(costs(CostMode::Long), [2_000_000, 200_000, 20_000, 2_000]);
        assert_eq!(costs(CostMode::Short), [100, 19, 4, 2]);
        assert_eq!(CostMode::Long.cost(100_000), 200);
        assert_eq!(CostMode::Short.cost(25_000), 1);
    }
}
