//! Frame filter of an instrument (RouterOS: `/tool/sniffer`, `filter-*`).

use core::ops::RangeInclusive;

use ipnet::IpNet;
use wire::Mac;

use crate::{Ip, ObservedFrame};

/// Values to match, each with a flag for negation. An empty list matches everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List<T>(pub Vec<(bool, T)>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> List<T> {
    /// Returns true if any entry matches; with `all`, if all entries match.
    fn matches(&self, all: bool, is: impl Fn(&T) -> bool) -> bool {
        let mut entries = self.0.iter();
        let mut fits = |(not, entry): &(bool, T)| is(entry) != *not;
        match (self.0.is_empty(), all) {
            (true, _) => true,
            (false, true) => entries.all(fits),
            (false, false) => entries.any(&mut fits),
        }
    }
}

/// A frame filter. All lists must match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Whether all entries of a list must match, instead of any.
    pub all: bool,
    /// If set, only transmitted (true) or only received (false) frames match.
    pub sent: Option<bool>,
    /// MAC address of sender or receiver.
    pub macs: List<Mac>,
    /// MAC address of the sender.
    pub src_macs: List<Mac>,
    /// MAC address of the receiver.
    pub dst_macs: List<Mac>,
    /// EtherType of a VLAN tag, or of the payload after the tags.
    pub kinds: List<RangeInclusive<u16>>,
    /// Address of sender or receiver, IPv4 or IPv6.
    pub addresses: List<IpNet>,
    /// Address of the sender.
    pub src_addresses: List<IpNet>,
    /// Address of the receiver.
    pub dst_addresses: List<IpNet>,
    /// IP protocol.
    pub protocols: List<u8>,
    /// Port of sender or receiver.
    pub ports: List<u16>,
    /// Port of the sender.
    pub src_ports: List<u16>,
    /// Port of the receiver.
    pub dst_ports: List<u16>,
    /// VLAN ID of the outermost tag.
    pub vlans: List<u16>,
    /// The DSCP.
    pub dscps: List<u8>,
    /// The worker.
    pub cpus: List<u16>,
    /// Frame length in bytes.
    pub sizes: List<RangeInclusive<usize>>,
}

impl Filter {
    /// Returns true if a frame matches.
    pub fn passes(&self, seen: &ObservedFrame) -> bool {
        self.sent.is_none_or(|sent| sent == seen.sent)
            && self.cpus.matches(self.all, |cpu| *cpu == seen.cpu)
            && self
                .sizes
                .matches(self.all, |size| size.contains(&seen.len))
            && self.passes_link(seen)
            && self.passes_ip(seen.head.ip.as_ref())
    }

    fn passes_link(&self, seen: &ObservedFrame) -> bool {
        let (head, all) = (&seen.head, self.all);
        let kinds = head.kinds.iter().enumerate();
        // The value 0 means no type, except as the length field of a frame without tags (IEEE 802.3).
        let kinds = kinds.filter(|(place, kind)| *place == 0 || **kind != 0);
        let kinds: Vec<_> = kinds.map(|(_, kind)| *kind).collect();
        self.macs
            .matches(all, |mac| *mac == head.src_mac || *mac == head.dst_mac)
            && self.src_macs.matches(all, |mac| *mac == head.src_mac)
            && self.dst_macs.matches(all, |mac| *mac == head.dst_mac)
            && { &self.kinds }.matches(all, |own| kinds.iter().any(|kind| own.contains(kind)))
            && self.vlans.matches(all, |vlan| head.vlan == Some(*vlan))
    }

    fn passes_ip(&self, ip: Option<&Ip>) -> bool {
        let all = self.all;
        let src = |net: &IpNet| ip.is_some_and(|ip| net.contains(&ip.src));
        let dst = |net: &IpNet| ip.is_some_and(|ip| net.contains(&ip.dst));
        let ports = ip.and_then(|ip| ip.ports);
        let from = |port: &u16| ports.is_some_and(|(from, _)| from == *port);
        let to = |port: &u16| ports.is_some_and(|(_, to)| to == *port);
        self.addresses.matches(all, |net| src(net) || dst(net))
            && self.src_addresses.matches(all, src)
            && self.dst_addresses.matches(all, dst)
            && { &self.protocols }.matches(all, |own| ip.is_some_and(|ip| ip.protocol == *own))
            && { &self.dscps }.matches(all, |own| ip.is_some_and(|ip| ip.dscp == *own))
            && self.ports.matches(all, |port| from(port) || to(port))
            && self.src_ports.matches(all, from)
            && self.dst_ports.matches(all, to)
    }
}
