//! Matchers of bridge rules for link-layer fields.
//!
//! As with all matchers, a frame without the field never matches, negated or not: the VLAN of an untagged
//! frame, the opcode of a frame that is not ARP. A packet outside of bridge tables has none of these fields.

use std::sync::Arc;

use packet::link::{Arp, Bpdu, BpduConfig, Link, Llc, ethertype};
use wire::Mac;

use super::address::{Class, ClassSet};
use super::classify::Spans;

/// A frame that passes bridge rules.
#[derive(Clone, Copy, Debug)]
pub struct Bridged<'a> {
    /// The parsed link header.
    pub link: &'a Link,
    /// The whole frame.
    pub frame: &'a [u8],
    /// True if the destination is a MAC address of this router.
    pub own: bool,
    /// The class of the ingress bridge; none for frames that the router sends.
    pub ingress: Class,
    /// The class of the egress bridge; unset while unknown, and for frames to the router.
    pub egress: Class,
}

/// A link-layer matcher.
#[derive(Clone, Debug)]
pub enum LinkMatch {
    /// `in-bridge`.
    InBridge(Class),
    /// `out-bridge`.
    OutBridge(Class),
    /// `in-bridge-list`.
    InBridgeList(Arc<ClassSet>),
    /// `out-bridge-list`.
    OutBridgeList(Arc<ClassSet>),
    /// `src-mac-address`.
    Source(MacSet),
    /// `dst-mac-address`.
    Destination(MacSet),
    /// `mac-protocol`: an inclusive EtherType range.
    Kind(u16, u16),
    /// The frame contains an IP packet; implied by matchers of IP fields.
    Carries(Carries),
    /// `packet-type`.
    For(Audience),
    /// `vlan-id`, an inclusive range.
    VlanId(u16, u16),
    /// `vlan-priority`, 0 to 7.
    VlanPriority(u8),
    /// `vlan-encap`, an inclusive range.
    VlanEncap(u16, u16),
    /// `802.3-sap`: both service access points.
    Sap(u8),
    /// `802.3-type`.
    SnapType(u16),
    /// A field of ARP.
    Arp(ArpMatch),
    /// A field of the spanning tree protocol.
    Stp(StpMatch),
}

/// A set of MAC addresses given by address and mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacSet {
    /// The address; bits outside the mask are 0.
    value: u64,
    /// The bits that must be equal.
    mask: u64,
}

impl MacSet {
    /// Creates the set of addresses that equal `like` in the bits of `mask`.
    pub const fn new(like: Mac, mask: Mac) -> Self {
        let mask = mask.to_u64();
        Self {
            value: like.to_u64() & mask,
            mask,
        }
    }

    /// Returns true if the set contains the address.
    #[inline(always)]
    pub const fn has(&self, mac: Mac) -> bool {
        mac.to_u64() & self.mask == self.value
    }

    /// Returns the set as sorted inclusive ranges; `None` if there are too many.
    pub(super) fn runs(&self) -> Option<Vec<(u64, u64)>> {
        const ALL: u64 = (1 << 48) - 1;
        // The variable bits below the lowest mask bit form one range.
        let low = (1 << self.mask.trailing_zeros().min(48)) - 1;
        let vary = ALL & !self.mask & !low;
        if vary.count_ones() > 6 {
            return None;
        }
        let (mut runs, mut high) = (Vec::new(), 0_u64);
        loop {
            let first = self.value | high;
            runs.push((first, first | low));
            // Next combination of the remaining variable bits.
            high = high.wrapping_sub(vary) & vary;
            if high == 0 {
                return Some(runs);
            }
        }
    }
}

/// IP version of the packet in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carries {
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
    /// IPv4 or IPv6.
    Ip,
}

impl Carries {
    /// Returns true if the EtherType is the one of this IP version.
    #[inline(always)]
    pub(super) const fn fits(self, kind: u16) -> bool {
        match self {
            Self::Ipv4 => kind == ethertype::IPV4,
            Self::Ipv6 => kind == ethertype::IPV6,
            Self::Ip => true,
        }
    }
}

/// RouterOS: `packet-type`: addressee of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// All stations.
    Broadcast,
    /// This router.
    Host,
    /// A multicast group.
    Multicast,
    /// Another host.
    OtherHost,
}

impl Audience {
    fn of(link: &Link, own: bool) -> Self {
        let to = link.destination;
        match own {
            _ if to.is_broadcast() => Self::Broadcast,
            _ if to.is_multicast() => Self::Multicast,
            true => Self::Host,
            false => Self::OtherHost,
        }
    }
}

/// A matcher of an ARP field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArpMatch {
    /// `arp-opcode`.
    Opcode(u16),
    /// `arp-hardware-type`.
    Hardware(u16),
    /// `arp-packet-type`, an inclusive range.
    Protocol(u16, u16),
    /// `arp-gratuitous`.
    Gratuitous(bool),
    /// `arp-src-address`: first and last address.
    Source(u32, u32),
    /// `arp-dst-address`.
    Destination(u32, u32),
    /// `arp-src-mac-address`.
    SourceMac(MacSet),
    /// `arp-dst-mac-address`.
    DestinationMac(MacSet),
}

impl ArpMatch {
    fn matches(&self, arp: &Arp) -> Option<bool> {
        Some(match self {
            Self::Opcode(opcode) => arp.opcode == *opcode,
            Self::Hardware(number) => arp.hardware == *number,
            Self::Protocol(first, last) => (*first..=*last).contains(&arp.protocol),
            Self::Gratuitous(yes) => arp.is_gratuitous()? == *yes,
            Self::Source(first, last) => (*first..=*last).contains(&arp.sender?),
            Self::Destination(first, last) => (*first..=*last).contains(&arp.target?),
            Self::SourceMac(set) => set.has(arp.sender_mac?),
            Self::DestinationMac(set) => set.has(arp.target_mac?),
        })
    }
}

/// A matcher of a spanning tree field; ranges are inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StpMatch {
    /// `stp-type`: 0 for a configuration message, 0x80 for a topology change.
    Kind(u8),
    /// `stp-flags`: all of these bits must be set.
    Flags(u8),
    /// `stp-root-priority`.
    RootPriority(u16, u16),
    /// `stp-root-address`.
    Root(MacSet),
    /// `stp-root-cost`.
    RootCost(u32, u32),
    /// `stp-sender-priority`.
    SenderPriority(u16, u16),
    /// `stp-sender-address`.
    Sender(MacSet),
    /// `stp-port`.
    Port(u16, u16),
    /// `stp-msg-age`, `stp-max-age`, `stp-hello-time`, `stp-forward-delay`: field number, and range in the
    /// message's units.
    Time(u8, u16, u16),
}

impl StpMatch {
    fn matches(&self, bpdu: &Bpdu) -> Option<bool> {
        let within = |first: u16, last: u16, value: u16| (first..=last).contains(&value);
        if let Self::Kind(kind) = self {
            return Some(bpdu.kind == *kind);
        }
        let says: &BpduConfig = bpdu.says.as_ref()?;
        Some(match *self {
            Self::Kind(_) => return None,
            Self::Flags(flags) => says.flags & flags == flags,
            Self::RootPriority(first, last) => within(first, last, says.root_priority),
            Self::Root(set) => set.has(says.root),
            Self::RootCost(first, last) => (first..=last).contains(&says.root_cost),
            Self::SenderPriority(first, last) => within(first, last, says.sender_priority),
            Self::Sender(set) => set.has(says.sender),
            Self::Port(first, last) => within(first, last, says.port),
            Self::Time(which, first, last) => {
                within(first, last, *says.times.get(usize::from(which))?)
            }
        })
    }
}

impl LinkMatch {
    /// Returns the position of the matcher within a rule, in the order of RouterOS's manual.
    pub(super) const fn order(&self) -> u8 {
        match self {
            Self::InBridge(_) => 2,
            Self::OutBridge(_) => 3,
            Self::InBridgeList(_) => 4,
            Self::OutBridgeList(_) => 5,
            _ => 1,
        }
    }

    /// Returns true if a frame matches; `None` if it lacks the field.
    pub(super) fn matches(&self, of: &Bridged<'_>) -> Option<bool> {
        let link = of.link;
        let within = |first: u16, last: u16, value: u16| Some((first..=last).contains(&value));
        match self {
            Self::InBridge(class) => Some(of.ingress == *class),
            Self::OutBridge(class) => Some(of.egress == *class),
            Self::InBridgeList(set) => Some(set.has(of.ingress)),
            Self::OutBridgeList(set) => Some(set.has(of.egress)),
            Self::Source(set) => Some(set.has(link.source)),
            Self::Destination(set) => Some(set.has(link.destination)),
            Self::Kind(first, last) => within(*first, *last, link.kind),
            Self::Carries(carries) => Some(link.has_ip && carries.fits(link.kind)),
            Self::For(audience) => Some(Audience::of(link, of.own) == *audience),
            Self::VlanId(first, last) => within(*first, *last, link.tag?.tci.vid()),
            Self::VlanPriority(priority) => Some(link.tag?.tci.pcp() == *priority),
            Self::VlanEncap(first, last) => within(*first, *last, link.tag?.kind),
            Self::Sap(sap) => {
                let llc = Llc::of(link, of.frame)?;
                Some(llc.destination == *sap && llc.source == *sap)
            }
            Self::SnapType(kind) => Some(Llc::of(link, of.frame)?.snap? == *kind),
            Self::Arp(what) => what.matches(&Arp::of(link, of.frame)?),
            Self::Stp(what) => what.matches(&Bpdu::of(link, of.frame)?),
        }
    }
}

/// Key of a packet outside of bridge tables, in place of an EtherType or a bridge class.
pub(super) const NONE: u32 = 1 << 17;

/// Returns the key of a VLAN tag; 0 without a tag.
#[inline(always)]
pub(super) fn tag_number(link: &Link) -> u32 {
    let tag = link.tag.unwrap_or_default();
    let number = u32::from(tag.tci.vid()) | u32::from(tag.tci.pcp()) << 12 | TAGGED;
    number & u32::from(link.tag.is_some()).wrapping_neg()
}

const TAGGED: u32 = 1 << 16;

/// Returns the key of a MAC address: the address in the upper 64 bits.
#[inline(always)]
pub(super) fn mac_number(mac: Mac) -> u128 {
    u128::from(mac.to_u64()) << 64
}

/// Key of a packet outside of bridge tables, in place of a MAC address.
pub(super) const NO_MAC: u128 = u128::MAX;

/// Returns the keys of an inclusive EtherType range.
pub(super) fn kinds(first: u16, last: u16) -> Spans {
    let span = |base: u128| (base + u128::from(first), base + u128::from(last));
    let some = first <= last;
    some.then(|| [span(0), span(1 << 16)])
        .into_iter()
        .flatten()
        .collect()
}

/// Returns the keys of frames that contain such an IP packet.
pub(super) fn carrying(carries: Carries) -> Spans {
    let kinds = [ethertype::IPV4, ethertype::IPV6];
    let kinds = kinds.into_iter().filter(|kind| carries.fits(*kind));
    let number = |kind: u16| u128::from(kind) | 1 << 16;
    kinds.map(|kind| (number(kind), number(kind))).collect()
}

/// Returns the keys of all EtherTypes and of all classes.
pub(super) fn all() -> Spans {
    vec![(0, u128::from(NONE) - 1)]
}

pub(super) fn all_tags() -> Spans {
    let first = u128::from(TAGGED);
    vec![(first, first | 0x7fff)]
}

pub(super) fn all_macs() -> Spans {
    vec![(0, (1 << 112) - 1)]
}

/// Returns the keys of tags with a VLAN id in the range and one of the priorities.
pub(super) fn tags(first: u16, last: u16, priorities: core::ops::Range<u8>) -> Spans {
    let last = last.min(0xfff);
    let span = |priority: u8| {
        let base = u128::from(TAGGED) | u128::from(priority & 7) << 12;
        (base | u128::from(first), base | u128::from(last))
    };
    let some = first <= last;
    priorities.filter(|_| some).map(span).collect()
}

/// Returns the keys of a set of addresses; `None` if there are too many ranges.
pub(super) fn macs(set: &MacSet) -> Option<Spans> {
    let span = |(first, last): (u64, u64)| {
        let end = (u128::from(last) + 1) << 64;
        (u128::from(first) << 64, end - 1)
    };
    Some(set.runs()?.into_iter().map(span).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_expands_to_ranges() {
        let set = |value: u64, mask: u64| MacSet::new(Mac::from_u64(value), Mac::from_u64(mask));
        let all = (1 << 48) - 1;

        assert_eq!(set(5, all).runs(), Some(vec![(5, 5)]));
        assert_eq!(set(5, 0).runs(), Some(vec![(0, all)]));
        let maker = set(0x0c42_0000_0000, 0xffff_ff00_0000).runs();
        assert_eq!(maker, Some(vec![(0x0c42_0000_0000, 0x0c42_00ff_ffff)]));
        assert_eq!(
            set(8, all & !6).runs(),
            Some(vec![(8, 8), (10, 10), (12, 12), (14, 14)])
        );
        // Without the group bit 64 values of the upper bits remain; one more variable bit is too many.
        assert_eq!(set(1 << 40, 1 << 40).runs(), None);
        for mac in 0..32 {
            let runs = set(8, all & !6).runs().unwrap_or_default();
            let within = runs
                .iter()
                .any(|(first, last)| (*first..=*last).contains(&mac));
            assert_eq!(within, set(8, all & !6).has(Mac::from_u64(mac)), "{mac}");
        }
    }
}
