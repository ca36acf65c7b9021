//! Multicast groups of a bridge with IGMP and MLD snooping (RFC 4541): the ports that joined a
//! group, the VLANs with a querier, and the ports with multicast routers. Control writes and
//! workers read without locks.
//!
//! ```text
//! seed, VLAN, group ─▶ one of 256 shards ─▶ the group's ports, sorted
//! ```
//! A change replaces one shard, which stays small for any number of groups. Ports are named by
//! their interfaces, because port numbers change with the bridge.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use frame::InterfaceId;

/// Shards of a table. With the maximum of 16,384 members per bridge a shard has 64 groups.
const SHARDS: usize = 256;

/// A VLAN (0 where the bridge does not distinguish VLANs) and a group. IPv4 groups are mapped into
/// IPv6.
type Key = (u16, u128);

/// The part of a table that one change replaces.
#[derive(Debug, Default)]
pub struct Shard(Vec<(Key, Arc<[InterfaceId]>)>);

/// The queriers and multicast routers. Replaced as a whole, because they change rarely.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asking {
    asked: Vec<(u16, bool)>,
    routers: Vec<(u16, bool, InterfaceId)>,
    permanent: Vec<InterfaceId>,
}

impl Asking {
    /// Creates the value from: VLANs and families (true: IPv6) with a querier; ports with a router
    /// of these; ports that are configured as router ports for all of them.
    pub fn new(
        asked: impl IntoIterator<Item = (u16, bool)>,
        routers: impl IntoIterator<Item = (u16, bool, InterfaceId)>,
        permanent: impl IntoIterator<Item = InterfaceId>,
    ) -> Self {
        fn sorted<T: Ord>(all: impl IntoIterator<Item = T>) -> Vec<T> {
            let mut all: Vec<_> = all.into_iter().collect();
            all.sort_unstable();
            all
        }
        Self {
            asked: sorted(asked),
            routers: sorted(routers),
            permanent: sorted(permanent),
        }
    }

    fn is_asked(&self, vid: u16, ipv6: bool) -> bool {
        self.asked.binary_search(&(vid, ipv6)).is_ok()
    }

    fn is_router(&self, vid: u16, ipv6: bool, port: InterfaceId) -> bool {
        self.routers.binary_search(&(vid, ipv6, port)).is_ok()
            || self.permanent.binary_search(&port).is_ok()
    }
}

/// The multicast groups of a bridge.
#[derive(Debug)]
pub struct Groups {
    shards: Box<[ArcSwap<Shard>]>,
    asking: ArcSwap<Asking>,
    seed: u64,
}

/// Two tables are equal only if they are the same table, because a table changes in use.
impl PartialEq for Groups {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self, other)
    }
}

impl Eq for Groups {}

impl Groups {
    /// Creates a table without groups and queriers. `seed` is random, so that attackers cannot
    /// choose groups that fall into one shard.
    pub fn new(seed: u64) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| ArcSwap::default()).collect(),
            asking: ArcSwap::default(),
            seed,
        }
    }

    fn shard(&self, vid: u16, group: u128) -> &ArcSwap<Shard> {
        let word = group as u64 ^ (group >> 64) as u64 ^ u64::from(vid) << 48 ^ self.seed;
        let product = u128::from(word) * 0x9e37_79b9_7f4a_7c15;
        let hash = (product >> 64) as u64 ^ product as u64;
        &self.shards[(hash >> 56) as usize % SHARDS]
    }

    /// Sets the ports that joined a group, sorted by interface; an empty slice removes the group.
    /// Returns the previous shard: the caller holds it until no worker can be reading it. Only
    /// control calls this.
    pub fn set(&self, vid: u16, group: IpAddr, ports: &[InterfaceId]) -> Arc<Shard> {
        let key = key(vid, group);
        let shard = self.shard(key.0, key.1);
        let mut groups = shard.load().0.clone();
        match groups.binary_search_by_key(&key, |(of, _)| *of) {
            Ok(at) if ports.is_empty() => drop(groups.remove(at)),
            Ok(at) => groups[at].1 = ports.into(),
            Err(_) if ports.is_empty() => {}
            Err(at) => groups.insert(at, (key, ports.into())),
        }
        shard.swap(Arc::new(Shard(groups)))
    }

    /// Sets the queriers. Returns the previous value: the caller holds it until no worker can be
    /// reading it.
    pub fn set_asking(&self, asking: Asking) -> Arc<Asking> {
        self.asking.swap(Arc::new(asking))
    }

    /// Returns the receivers of a multicast packet in a VLAN.
    pub(super) fn receivers(&self, vid: u16, sent: MulticastPacket) -> Receivers {
        let MulticastPacket { ipv6, to } = sent;
        let asking = self.asking.load();
        let group = match to {
            GroupTarget::Group(group) => Some(self.shard(vid, group).load()),
            GroupTarget::Routers => None,
        };
        let at = group.as_ref().and_then(|shard| {
            let key = (vid, group_of(to));
            let at = shard.0.binary_search_by_key(&key, |(of, _)| *of);
            at.ok()
        });
        Receivers {
            is_asked: asking.is_asked(vid, ipv6),
            vid,
            ipv6,
            only_routers: to == GroupTarget::Routers,
            asking,
            group: group.zip(at),
        }
    }
}

fn key(vid: u16, group: IpAddr) -> Key {
    let group = match group {
        IpAddr::V4(group) => group.to_ipv6_mapped(),
        IpAddr::V6(group) => group,
    };
    (vid, group.to_bits())
}

fn group_of(to: GroupTarget) -> u128 {
    match to {
        GroupTarget::Group(group) => group,
        GroupTarget::Routers => 0,
    }
}

/// The receivers of a packet, held while it is flooded.
pub(super) struct Receivers {
    vid: u16,
    ipv6: bool,
    is_asked: bool,
    only_routers: bool,
    asking: Guard<Arc<Asking>>,
    /// The shard of a group with members, and the group's position in it.
    group: Option<(Guard<Arc<Shard>>, usize)>,
}

impl Receivers {
    /// Returns true if the packet leaves by a port. `floods` is the port's
    /// `unknown-multicast-flood`.
    ///
    /// RouterOS: a port without flooding gets only the groups that it joined. Ports with flooding
    /// also get groups without members as long as there is no querier; with a querier such groups
    /// go to multicast routers only (RFC 4541, 2.1.2).
    pub(super) fn has(&self, port: InterfaceId, floods: bool) -> bool {
        if let Some((shard, at)) = &self.group {
            let listens = shard.0[*at].1.binary_search(&port).is_ok();
            let all = !self.is_asked && floods;
            return listens || all || self.asking.is_router(self.vid, self.ipv6, port);
        }
        let is_router = || self.asking.is_router(self.vid, self.ipv6, port);
        match (self.is_asked, self.only_routers) {
            // A host must not see the reports of other hosts, or it would suppress its own (RFC
            // 4541, 2.1.1).
            (true, true) => is_router(),
            (false, true) => floods || is_router(),
            (asked, false) => floods && (!asked || is_router()),
        }
    }
}

/// A multicast packet that snooping restricts to some ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MulticastPacket {
    ipv6: bool,
    to: GroupTarget,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GroupTarget {
    /// A packet to this group; IPv4 groups are mapped into IPv6.
    Group(u128),
    /// An IGMP or MLD report or leave, which goes to routers.
    Routers,
}

/// The snooping decision about a multicast frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Multicast {
    /// Flooded in its VLAN: no IP packet, or a group that is never restricted.
    All,
    /// Restricted to the receivers of this packet.
    Some(MulticastPacket),
    /// An IGMP or MLD message, which control receives as well: a query, which is flooded, or a
    /// report.
    Heard(Option<MulticastPacket>),
}

/// Classifies the packet behind a link header, from its network header on. Malformed packets are
/// flooded.
pub(super) fn multicast(ethertype: u16, packet: &[u8]) -> Multicast {
    let found = match ethertype {
        0x0800 => multicast4(packet),
        0x86dd => multicast6(packet),
        _ => None,
    };
    found.unwrap_or(Multicast::All)
}

fn multicast4(packet: &[u8]) -> Option<Multicast> {
    const IGMP: u8 = 2;
    const QUERY: u8 = 0x11;
    let header = packet.first_chunk::<20>()?;
    let to = Ipv4Addr::new(header[16], header[17], header[18], header[19]);
    if header[0] >> 4 != 4 || !to.is_multicast() {
        return None;
    }
    let of = |to| MulticastPacket { ipv6: false, to };
    if header[9] == IGMP {
        let kind = *packet.get(usize::from(header[0] & 0xf) * 4)?;
        // Version 1 and 2 reports, leaves and version 3 reports; other types are unknown (RFC 4541,
        // 2.1.1).
        return Some(match kind {
            QUERY => Multicast::Heard(None),
            0x12 | 0x16 | 0x17 | 0x22 => Multicast::Heard(Some(of(GroupTarget::Routers))),
            _ => Multicast::All,
        });
    }
    let [_, _, third, _] = to.octets();
    let is_local = to.octets()[..2] == [224, 0] && third == 0;
    let group = GroupTarget::Group(to.to_ipv6_mapped().to_bits());
    Some(match is_local {
        true => Multicast::All,
        false => Multicast::Some(of(group)),
    })
}

fn multicast6(packet: &[u8]) -> Option<Multicast> {
    const HOP_BY_HOP: u8 = 0;
    const ICMP: u8 = 58;
    let header = packet.first_chunk::<40>()?;
    let to = Ipv6Addr::from_bits(u128::from_be_bytes(*header[24..].first_chunk()?));
    if header[0] >> 4 != 6 || !to.is_multicast() {
        return None;
    }
    let of = |to| MulticastPacket { ipv6: true, to };
    // MLD messages have a hop-by-hop header (RFC 3810, 5).
    if let (HOP_BY_HOP, Some([ICMP, words])) = (header[6], packet.get(40..42)) {
        let kind = *packet.get(48 + usize::from(*words) * 8)?;
        match kind {
            130 => return Some(Multicast::Heard(None)),
            131 | 132 | 143 => return Some(Multicast::Heard(Some(of(GroupTarget::Routers)))),
            _ => {}
        }
    }
    let all_nodes = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
    Some(match to == all_nodes {
        true => Multicast::All,
        false => Multicast::Some(of(GroupTarget::Group(to.to_bits()))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: InterfaceId = InterfaceId(1);
    const TWO: InterfaceId = InterfaceId(2);
    const THREE: InterfaceId = InterfaceId(3);

    fn packet4(to: [u8; 4], protocol: u8, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 1, protocol, 0, 0, 10, 0, 0, 9];
        packet.extend(to);
        packet.extend(payload);
        packet
    }

    fn packet6(to: Ipv6Addr, next: u8, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x60, 0, 0, 0, 0, 0, next, 1];
        packet.extend([0; 16]);
        packet.extend(to.octets());
        packet.extend(payload);
        packet
    }

    fn group4(to: [u8; 4]) -> MulticastPacket {
        match multicast(0x0800, &packet4(to, 17, &[0; 8])) {
            Multicast::Some(sent) => sent,
            other => panic!("{other:?}"),
        }
    }

    /// Returns which of three ports a packet leaves by; the last port has flooding off.
    fn reached(groups: &Groups, vid: u16, sent: MulticastPacket) -> [bool; 3] {
        let receivers = groups.receivers(vid, sent);
        [(ONE, true), (TWO, true), (THREE, false)].map(|(port, floods)| receivers.has(port, floods))
    }

    #[test]
    fn what_everybody_listens_to_goes_everywhere() {
        for to in [[224, 0, 0, 1], [224, 0, 0, 251]] {
            let packet = packet4(to, 17, &[0; 8]);
            assert_eq!(multicast(0x0800, &packet), Multicast::All);
        }
        let all_nodes = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
        assert_eq!(
            multicast(0x86dd, &packet6(all_nodes, 58, &[134])),
            Multicast::All
        );
        assert_eq!(multicast(0x88f7, &[0; 60]), Multicast::All);
        // The MAC address alone is ambiguous: 224.128.0.1 has that of 224.0.0.1, so the IP address
        // decides.
        let other = multicast(0x0800, &packet4([224, 128, 0, 1], 17, &[0; 8]));
        assert!(matches!(other, Multicast::Some(_)));
    }

    #[test]
    fn queries_go_everywhere_and_reports_to_routers() {
        let query = packet4([224, 0, 0, 1], 2, &[0x11, 0, 0, 0, 0, 0, 0, 0]);
        let report = packet4([239, 1, 1, 1], 2, &[0x16, 0, 0, 0, 239, 1, 1, 1]);
        let with_option = {
            let mut packet = packet4([224, 0, 0, 22], 2, &[0x94, 4, 0, 0, 0x22, 0, 0, 0]);
            packet[0] = 0x46;
            packet
        };
        assert_eq!(multicast(0x0800, &query), Multicast::Heard(None));
        let routers = |ipv6| {
            let to = GroupTarget::Routers;
            Multicast::Heard(Some(MulticastPacket { ipv6, to }))
        };
        assert_eq!(multicast(0x0800, &report), routers(false));
        assert_eq!(multicast(0x0800, &with_option), routers(false));

        let to = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x16);
        let mld = |kind| packet6(to, 0, &[58, 0, 5, 2, 0, 0, 1, 0, kind, 0]);
        assert_eq!(multicast(0x86dd, &mld(130)), Multicast::Heard(None));
        assert_eq!(multicast(0x86dd, &mld(143)), routers(true));
    }

    #[test]
    fn no_truncation_is_read_beyond_its_end() {
        let to = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x16);
        let long = packet6(to, 0, &[58, 255, 5, 2, 0, 0, 1, 0, 143, 0]);
        let short = packet4([239, 1, 1, 1], 2, &[0x16]);
        for len in 0..=long.len() {
            multicast(0x86dd, &long[..len]);
        }
        for len in 0..=short.len() {
            multicast(0x0800, &short[..len]);
        }
    }

    #[test]
    fn all_is_flooded_until_somebody_asks() {
        let groups = Groups::new(7);
        let (known, unknown) = (group4([239, 1, 1, 1]), group4([239, 1, 1, 2]));
        groups.set(0, IpAddr::from([239, 1, 1, 1]), &[THREE]);
        assert_eq!(reached(&groups, 0, known), [true; 3]);
        assert_eq!(reached(&groups, 0, unknown), [true, true, false]);

        groups.set_asking(Asking::new([(0, false)], [(0, false, TWO)], []));
        assert_eq!(reached(&groups, 0, known), [false, true, true]);
        assert_eq!(reached(&groups, 0, unknown), [false, true, false]);
        // IPv6 has no querier.
        let to = Ipv6Addr::new(0xff05, 0, 0, 0, 0, 0, 0, 9);
        let Multicast::Some(of6) = multicast(0x86dd, &packet6(to, 17, &[0; 8])) else {
            panic!("it is a group");
        };
        assert_eq!(reached(&groups, 0, of6), [true, true, false]);
    }

    #[test]
    fn reports_reach_routers_alone_those_that_are_configured_too() {
        let groups = Groups::new(7);
        let report = MulticastPacket {
            ipv6: false,
            to: GroupTarget::Routers,
        };
        assert_eq!(reached(&groups, 5, report), [true, true, false]);

        let asked = [(5, false), (6, false)];
        groups.set_asking(Asking::new(
            asked,
            [(5, false, ONE), (6, false, TWO)],
            [THREE],
        ));
        assert_eq!(reached(&groups, 5, report), [true, false, true]);
        assert_eq!(reached(&groups, 6, report), [false, true, true]);
    }

    #[test]
    fn vlans_have_groups_of_their_own() {
        let groups = Groups::new(7);
        let asked = [(5, false), (6, false)];
        groups.set_asking(Asking::new(asked, [], []));
        let to = group4([239, 1, 1, 1]);
        groups.set(5, IpAddr::from([239, 1, 1, 1]), &[ONE, THREE]);

        assert_eq!(reached(&groups, 5, to), [true, false, true]);
        assert_eq!(reached(&groups, 6, to), [false; 3]);
        groups.set(5, IpAddr::from([239, 1, 1, 1]), &[]);
        assert_eq!(reached(&groups, 5, to), [false; 3]);
    }

    /// Property test against a plain map.
    #[test]
    fn groups_are_what_was_said_of_them_last() {
        use std::collections::BTreeMap;
        let mut rng = machine::Rng::seeded(3);
        let groups = Groups::new(rng.next_u64());
        groups.set_asking(Asking::new([(0, false), (1, false)], [], []));
        let mut plain: BTreeMap<(u16, [u8; 4]), Vec<InterfaceId>> = BTreeMap::new();
        for _ in 0..20_000 {
            let (vid, low) = (rng.below(2) as u16, rng.below(700) as u16);
            let to = [239, 1, (low >> 8) as u8, low as u8];
            let ports: Vec<_> = [ONE, TWO]
                .into_iter()
                .filter(|_| rng.below(2) == 0)
                .collect();
            groups.set(vid, IpAddr::from(to), &ports);
            plain.insert((vid, to), ports);
        }
        for ((vid, to), ports) in plain {
            let [one, two, three] = reached(&groups, vid, group4(to));
            let are = (ports.contains(&ONE), ports.contains(&TWO));
            assert_eq!(((one, two), three), (are, false), "{vid} {to:?}");
        }
    }
}
