//! VLANs: from the tag of a frame to the interface.

use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::OnceLock;

use frame::InterfaceId;
use wire::EtherType;

/// The EtherType of a tag (IEEE 802.1Q, 9.4).
pub(crate) const CUSTOMER: u16 = EtherType::VLAN.0;
/// The EtherType of a service tag, with `use-service-tag` (IEEE 802.1Q, 9.5).
pub(crate) const SERVICE: u16 = EtherType::QINQ.0;
/// VLAN ids have 12 bits.
const IDS: usize = 1 << 12;

/// A VLAN tag without its priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tag {
    /// 0x8100, or 0x88a8 with `use-service-tag`.
    pub ethertype: u16,
    /// The VLAN id, 1 to 4094.
    pub vlan_id: u16,
}

/// The VLAN interfaces on one interface, by tag.
#[derive(Debug, Default)]
pub(super) struct Vlans {
    /// Customer tags, service tags: 16 KB each, made with the first VLAN.
    by_id: [OnceLock<Box<[AtomicU32]>>; 2],
}

impl Vlans {
    /// The interface of a tag.
    #[inline]
    pub(super) fn get(&self, tag: Tag) -> Option<InterfaceId> {
        let ids = self.by_id[place(tag.ethertype)].get()?;
        let id = ids[usize::from(tag.vlan_id) % IDS].load(Ordering::Acquire);
        (id != 0).then_some(InterfaceId(id))
    }

    /// Names the interface of a tag; none takes it away.
    pub(super) fn set(&self, tag: Tag, interface: Option<InterfaceId>) {
        let ids = self.by_id[place(tag.ethertype)]
            .get_or_init(|| (0..IDS).map(|_| AtomicU32::new(0)).collect());
        let id = interface.unwrap_or_default();
        ids[usize::from(tag.vlan_id) % IDS].store(id.0, Ordering::Release);
    }

    /// Whether no tag names an interface.
    pub(super) fn is_empty(&self) -> bool {
        let ids = self.by_id.iter().filter_map(OnceLock::get);
        let mut ids = ids.flat_map(|ids| ids.iter());
        ids.all(|id| id.load(Ordering::Relaxed) == 0)
    }
}

const fn place(ethertype: u16) -> usize {
    (ethertype == SERVICE) as usize
}
