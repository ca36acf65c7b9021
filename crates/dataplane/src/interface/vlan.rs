//! VLAN tags, the keys of VLAN interfaces.

use wire::EtherType;

/// The EtherType of a tag (IEEE 802.1Q, 9.4).
pub(crate) const CUSTOMER: u16 = EtherType::VLAN.0;
/// The EtherType of a service tag, with `use-service-tag` (IEEE 802.1Q, 9.5).
pub(crate) const SERVICE: u16 = EtherType::QINQ.0;

/// A VLAN tag without its priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tag {
    /// 0x8100, or 0x88a8 with `use-service-tag`.
    pub ethertype: u16,
    /// The VLAN id, 1 to 4094.
    pub vlan_id: u16,
}
