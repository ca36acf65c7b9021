//! Prefixes of addresses.

/// A prefix of IPv4 or IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// True for IPv6.
    pub ipv6: bool,
    /// The address; IPv4 in the low 32 bits.
    pub bits: u128,
    /// Length in bits: 0 to 32, or 0 to 128.
    pub len: u8,
}

impl Prefix {
    /// Returns its first address.
    #[inline]
    pub fn masked(&self) -> u128 {
        let width: u32 = if self.ipv6 { 128 } else { 32 };
        match width.saturating_sub(self.len.into()) {
            128 => 0,
            host => self.bits >> host << host,
        }
    }
}
