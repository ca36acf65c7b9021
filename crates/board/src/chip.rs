//! Switch chips: features that a bridge may need without the processor, and sizes of tables (RouterOS, "Bridging and
//! Switching" and "Switch Chip Features").

/// Features that a bridge or a bridge port needs, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs(u32);

impl Needs {
    /// `protocol-mode=stp` or `rstp`.
    pub const STP: Self = Self(1);
    /// `protocol-mode=mstp`.
    pub const MSTP: Self = Self(1 << 1);
    /// `vlan-filtering`.
    pub const VLAN_FILTERING: Self = Self(1 << 2);
    /// `ether-type` other than 0x8100.
    pub const OTHER_TAGS: Self = Self(1 << 3);
    /// `tag-stacking` of a port.
    pub const TAG_STACKING: Self = Self(1 << 4);
    /// `igmp-snooping`.
    pub const IGMP_SNOOPING: Self = Self(1 << 5);
    /// `dhcp-snooping`.
    pub const DHCP_SNOOPING: Self = Self(1 << 6);
    /// `arp-inspection`.
    pub const ARP_INSPECTION: Self = Self(1 << 7);
    /// `ip-source-guard`.
    pub const IP_SOURCE_GUARD: Self = Self(1 << 8);
    /// `dhcpv6-snooping`.
    pub const DHCPV6_SNOOPING: Self = Self(1 << 9);
    /// `ra-guard`.
    pub const RA_GUARD: Self = Self(1 << 10);
    /// A bond as port, in a mode that chips support: `802.3ad`, `balance-xor`, `active-backup`.
    pub const BONDING: Self = Self(1 << 11);
    /// A bond as port, in another mode.
    pub const OTHER_BONDING: Self = Self(1 << 12);
    /// MLAG.
    pub const MLAG: Self = Self(1 << 13);
    /// `horizon` of a port.
    pub const HORIZON: Self = Self(1 << 14);

    const WORDS: [&str; 15] = [
        "a spanning tree",
        "MSTP",
        "vlan-filtering",
        "an ether-type other than 0x8100",
        "tag-stacking",
        "igmp-snooping",
        "dhcp-snooping",
        "arp-inspection",
        "ip-source-guard",
        "dhcpv6-snooping",
        "ra-guard",
        "bonding",
        "bonding of this mode",
        "MLAG",
        "horizon",
    ];

    /// Returns the union.
    #[must_use]
    pub const fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Returns the first feature that `others` lacks.
    pub const fn beyond(self, others: Self) -> Option<Self> {
        match self.0 & !others.0 {
            0 => None,
            beyond => Some(Self(beyond & beyond.wrapping_neg())),
        }
    }

    /// Returns the name of the first feature.
    pub fn words(self) -> &'static str {
        let at = self.0.trailing_zeros() as usize;
        Self::WORDS.get(at).copied().unwrap_or("nothing")
    }
}

/// Sizes of a chip's tables; 0 without the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Hosts.
    pub hosts: u32,
    /// VLANs.
    pub vlans: u32,
    /// Rules of `/interface/ethernet/switch/rule`.
    pub acl: u32,
}

/// A model of a switch chip.
#[derive(Debug, PartialEq, Eq)]
pub struct Chip {
    /// Its name (`type` in `/interface/ethernet/switch`).
    pub name: &'static str,
    /// Whether it switches between ports.
    pub switches: bool,
    /// Features that it supports.
    pub does: Needs,
    /// Number of bridges that it switches.
    pub bridges: usize,
    /// Sizes of its tables.
    pub tables: Rules,
    /// Whether it can mirror frames to another port.
    pub mirrors: bool,
    /// Whether it has the VLANs of the switch menu: `/interface/ethernet/switch/vlan` and `vlan-mode` of its ports.
    pub vlan_menu: bool,
}

const ALL_GUARDS: Needs = Needs::ARP_INSPECTION
    .and(Needs::IP_SOURCE_GUARD)
    .and(Needs::DHCPV6_SNOOPING)
    .and(Needs::RA_GUARD);
const TREES: Needs = Needs::STP.and(Needs::MSTP);
const PRESTERA: Needs = TREES
    .and(Needs::VLAN_FILTERING)
    .and(Needs::OTHER_TAGS)
    .and(Needs::TAG_STACKING)
    .and(Needs::IGMP_SNOOPING)
    .and(Needs::DHCP_SNOOPING)
    .and(ALL_GUARDS)
    .and(Needs::BONDING)
    .and(Needs::MLAG);
const LINK_STREET: Needs = TREES
    .and(Needs::VLAN_FILTERING)
    .and(Needs::IGMP_SNOOPING)
    .and(Needs::DHCP_SNOOPING)
    .and(Needs::BONDING);
const MEDIATEK: Needs = TREES.and(Needs::VLAN_FILTERING);
const CRS1: Needs = Needs::STP
    .and(Needs::IGMP_SNOOPING)
    .and(Needs::DHCP_SNOOPING);
const QCA: Needs = Needs::STP.and(Needs::DHCP_SNOOPING);
const NOTHING: Needs = Needs(0);

const fn tables(hosts: u32, vlans: u32, acl: u32) -> Rules {
    Rules { hosts, vlans, acl }
}

const fn chip(name: &'static str, does: Needs, tables: Rules) -> Chip {
    Chip {
        name,
        switches: true,
        does,
        bridges: 1,
        tables,
        mirrors: true,
        vlan_menu: false,
    }
}

const fn with_vlan_menu(name: &'static str, does: Needs, tables: Rules) -> Chip {
    Chip {
        vlan_menu: true,
        ..chip(name, does, tables)
    }
}

/// The kernel, by the XDP program. It switches only known unicast: group snooping stays with the workers. It does not
/// inspect packets, so it cannot guard against forged ones.
///
/// Workers handle requests of the switch menu: the kernel does not switch the ports concerned.
pub(super) static KERNEL: Chip = Chip {
    bridges: frame::switch::Group::MOST,
    vlan_menu: true,
    ..chip(
        "Linux-XDP",
        TREES.and(Needs::VLAN_FILTERING).and(Needs::IGMP_SNOOPING),
        tables(262_144, 4_096, 1_024),
    )
};

pub(super) static DX3236: Chip = chip("Marvell-98DX3236", PRESTERA, tables(16_384, 4_096, 128));
pub(super) static DX8208: Chip = chip("Marvell-98DX8208", PRESTERA, tables(32_768, 4_096, 1_024));
pub(super) static DX3255: Chip = chip("Marvell-98DX3255", PRESTERA, tables(32_768, 4_096, 512));
pub(super) static E6393X: Chip = chip("Marvell-88E6393X", LINK_STREET, tables(16_384, 4_096, 256));
pub(super) static E6191X: Chip = chip("Marvell-88E6191X", LINK_STREET, tables(16_384, 4_096, 0));
pub(super) static E6190: Chip = chip("Marvell-88E6190", LINK_STREET, tables(16_384, 4_096, 0));
pub(super) static MT7621: Chip = chip("MediaTek-MT7621", MEDIATEK, tables(2_048, 4_096, 0));
pub(super) static MT7531: Chip = chip("MediaTek-MT7531", MEDIATEK, tables(2_048, 4_096, 0));
pub(super) static EN7523: Chip = chip("Airoha-EN7523", MEDIATEK, tables(1_024, 4_096, 0));
pub(super) static RTL8367: Chip = chip("Realtek-RTL8367", MEDIATEK, tables(2_048, 4_096, 0));
pub(super) static QCA8519: Chip = Chip {
    // RouterOS: CRS1xx and CRS2xx switch for seven bridges.
    bridges: 7,
    ..chip("QCA-8519", CRS1, tables(16_384, 4_096, 128))
};
pub(super) static QCA8337: Chip = with_vlan_menu("QCA-8337", QCA, tables(2_048, 4_096, 92));
pub(super) static AR8327: Chip = with_vlan_menu("Atheros-8327", QCA, tables(2_048, 4_096, 92));
pub(super) static AR8316: Chip = with_vlan_menu("Atheros-8316", QCA, tables(2_048, 4_096, 32));
pub(super) static AR8227: Chip =
    with_vlan_menu("Atheros-8227", Needs::STP, tables(1_024, 4_096, 0));
pub(super) static AR7240: Chip = with_vlan_menu("Atheros-7240", Needs::STP, tables(2_048, 16, 0));
/// RouterOS: it switches only with `protocol-mode=none`.
pub(super) static IPQ_PPE: Chip = Chip {
    mirrors: false,
    ..chip("IPQ-PPE", NOTHING, tables(2_048, 0, 0))
};
pub(super) static PX1012: Chip = Chip {
    switches: false,
    mirrors: false,
    ..chip("Marvell-98PX1012", NOTHING, tables(0, 0, 0))
};
#[cfg(test)]
pub(super) static ALL: &[&Chip] = &[
    &KERNEL, &DX3236, &DX8208, &DX3255, &E6393X, &E6191X, &E6190, &MT7621, &MT7531, &EN7523,
    &RTL8367, &QCA8519, &QCA8337, &AR8327, &AR8316, &AR8227, &AR7240, &IPQ_PPE, &PX1012,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needs_beyond_a_set_are_returned_one_at_a_time() {
        let wants = Needs::STP.and(Needs::HORIZON).and(Needs::RA_GUARD);
        let first = wants.beyond(Needs::STP).expect("two are left");
        assert_eq!(first.words(), "ra-guard");
        let second = wants.beyond(Needs::STP.and(first)).expect("one is left");
        assert_eq!(second.words(), "horizon");
        assert_eq!(wants.beyond(wants), None);
        assert_eq!(
            Needs::WORDS.len() as u32,
            Needs::HORIZON.0.trailing_zeros() + 1
        );
    }

    #[test]
    fn no_chip_supports_horizon_and_switching_chips_have_host_tables() {
        for chip in ALL {
            assert!(Needs::HORIZON.beyond(chip.does).is_some(), "{}", chip.name);
            assert_eq!(chip.switches, chip.tables.hosts > 0, "{}", chip.name);
            assert!(chip.bridges >= 1);
        }
    }
}
