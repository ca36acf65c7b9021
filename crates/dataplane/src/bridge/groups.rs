//! Multicast groups of a bridge that snoops IGMP and MLD (RFC 4541): which ports listen to a group, in which VLANs
//! somebody asks who listens, and behind which ports there are multicast routers. Control writes, workers read, and
//! nobody waits.
//!
//! ```text
//! seed, VLAN, group ─▶ one of 256 shards ─▶ the group's ports, sorted
//! ```
//! A change replaces one shard, which is small however many groups there are. Ports are named by their interfaces, as
//! their numbers change with the bridge.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use frame::InterfaceId;

/// Shards of a table. With all the members that a bridge remembers (16,384) a shard has 64 groups.
const SHARDS: usize = 256;

/// A group in a VLAN, 0 where a bridge does not tell VLANs apart. IPv4 groups are mapped into IPv6.
type Key = (u16, u128);

/// What of a table is replaced at once.
#[derive(Debug, Default)]
pub struct Shard(Vec<(Key, Arc<[InterfaceId]>)>);

/// What is known of those who ask: replaced as a whole, as it seldom changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asking {
    asked: Vec<(u16, bool)>,
    routers: Vec<(u16, bool, InterfaceId)>,
    permanent: Vec<InterfaceId>,
}

impl Asking {
    /// VLANs and families (true: IPv6) in which somebody asks; the ports behind which routers of them are; the ports
    /// behind which there are routers of all of them, as is configured.
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

    fn is_router(&self, (vid, ipv6): (u16, bool), port: InterfaceId) -> bool {
        self.routers.binary_search(&(vid, ipv6, port)).is_ok()
            || self.permanent.binary_search(&port).is_ok()
    }
}

/// See the module.
#[derive(Debug)]
pub struct Groups {
    shards: Box<[ArcSwap<Shard>]>,
    asking: ArcSwap<Asking>,
    seed: u64,
}

/// A table is like itself alone: it changes while bridges have it.
impl PartialEq for Groups {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self, other)
    }
}

impl Eq for Groups {}

impl Groups {
    /// A table without groups, in whose VLANs nobody asks. `seed` is random, so that nobody chooses groups that meet
    /// in one shard.
    pub fn new(seed: u64) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| ArcSwap::default()).collect(),
            asking: ArcSwap::default(),
            seed,
        }
    }

    fn shard(&self, (vid, group): Key) -> &ArcSwap<Shard> {
        let word = group as u64 ^ (group >> 64) as u64 ^ u64::from(vid) << 48 ^ self.seed;
        let product = u128::from(word) * 0x9e37_79b9_7f4a_7c15;
        let hash = (product >> 64) as u64 ^ product as u64;
        &self.shards[(hash >> 56) as usize % SHARDS]
    }

    /// Says which ports listen to a group, in order of their interfaces; none forgets it. Returns what was replaced:
    /// hold it until no worker can be reading it. Only control calls this.
    pub fn set(&self, vid: u16, group: IpAddr, ports: &[InterfaceId]) -> Arc<Shard> {
        let key = key(vid, group);
        let shard = self.shard(key);
        let mut groups = shard.load().0.clone();
        match groups.binary_search_by_key(&key, |(of, _)| *of) {
            Ok(at) if ports.is_empty() => drop(groups.remove(at)),
            Ok(at) => groups[at].1 = ports.into(),
            Err(_) if ports.is_empty() => {}
            Err(at) => groups.insert(at, (key, ports.into())),
        }
        shard.swap(Arc::new(Shard(groups)))
    }

    /// Says who asks. Returns what was replaced, as [`Self::set`] does.
    pub fn set_asking(&self, asking: Asking) -> Arc<Asking> {
        self.asking.swap(Arc::new(asking))
    }

    /// What is known of the receivers of a multicast packet in a VLAN.
    pub(super) fn receivers(&self, vid: u16, sent: Sent) -> Receivers {
        let Sent { ipv6, to } = sent;
        let asking = self.asking.load();
        let group = match to {
            To::Group(group) => Some(self.shard((vid, group)).load()),
            To::Routers => None,
        };
        let at = group.as_ref().and_then(|shard| {
            let key = (vid, group_of(to));
            let at = shard.0.binary_search_by_key(&key, |(of, _)| *of);
            at.ok()
        });
        Receivers {
            is_asked: asking.is_asked(vid, ipv6),
            of: (vid, ipv6),
            only_routers: to == To::Routers,
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

fn group_of(to: To) -> u128 {
    match to {
        To::Group(group) => group,
        To::Routers => 0,
    }
}

/// Who receives a packet, held for as long as it is flooded.
pub(super) struct Receivers {
    of: (u16, bool),
    is_asked: bool,
    only_routers: bool,
    asking: Guard<Arc<Asking>>,
    /// The shard of a group that somebody listens to, and its place there.
    group: Option<(Guard<Arc<Shard>>, usize)>,
}

impl Receivers {
    /// Whether the packet leaves by a port. `floods` is its `unknown-multicast-flood`.
    ///
    /// RouterOS: a port that is not flooded to gets what it listens to alone. To others goes what nobody is known to
    /// listen to as long as nobody asks; then it goes to multicast routers alone (RFC 4541, 2.1.2).
    pub(super) fn has(&self, port: InterfaceId, floods: bool) -> bool {
        if let Some((shard, at)) = &self.group {
            let listens = shard.0[*at].1.binary_search(&port).is_ok();
            let all = !self.is_asked && floods;
            return listens || all || self.asking.is_router(self.of, port);
        }
        let is_router = || self.asking.is_router(self.of, port);
        match (self.is_asked, self.only_routers) {
            // Who reports hears no reports of others, or it would not report itself (RFC 4541, 2.1.1).
            (true, true) => is_router(),
            (false, true) => floods || is_router(),
            (asked, false) => floods && (!asked || is_router()),
        }
    }
}

/// A multicast packet that does not go to everybody on its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sent {
    ipv6: bool,
    to: To,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum To {
    /// A group, one of IPv4 mapped into IPv6.
    Group(u128),
    /// Those who want to know who listens: it is a report of IGMP or MLD, or a leave.
    Routers,
}

/// What a frame to a group of the link layer means to a bridge that snoops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Multicast {
    /// It goes wherever its VLAN goes: it is no IP, or of a group that everybody listens to.
    All,
    /// It goes to those who listen.
    Some(Sent),
    /// It is of IGMP or MLD, and control hears it, too: a query (which goes everywhere) or a report.
    Heard(Option<Sent>),
}

/// Looks at the packet behind a link header, from its network header on. Reads no further than the packet is, and
/// what is malformed goes everywhere.
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
    let of = |to| Sent { ipv6: false, to };
    if header[9] == IGMP {
        let kind = *packet.get(usize::from(header[0] & 0xf) * 4)?;
        // Version 1 and 2 reports, leaves, version 3 reports; others are unknown (RFC 4541, 2.1.1).
        return Some(match kind {
            QUERY => Multicast::Heard(None),
            0x12 | 0x16 | 0x17 | 0x22 => Multicast::Heard(Some(of(To::Routers))),
            _ => Multicast::All,
        });
    }
    let [_, _, third, _] = to.octets();
    let is_local = to.octets()[..2] == [224, 0] && third == 0;
    let group = To::Group(to.to_ipv6_mapped().to_bits());
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
    let of = |to| Sent { ipv6: true, to };
    // Messages of MLD have a hop-by-hop header (RFC 3810, 5).
    if let (HOP_BY_HOP, Some([ICMP, words])) = (header[6], packet.get(40..42)) {
        let kind = *packet.get(48 + usize::from(*words) * 8)?;
        match kind {
            130 => return Some(Multicast::Heard(None)),
            131 | 132 | 143 => return Some(Multicast::Heard(Some(of(To::Routers)))),
            _ => {}
        }
    }
    let all_nodes = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
    Some(match to == all_nodes {
        true => Multicast::All,
        false => Multicast::Some(of(To::Group(to.to_bits()))),
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

    fn group4(to: [u8; 4]) -> Sent {
        match multicast(0x0800, &packet4(to, 17, &[0; 8])) {
            Multicast::Some(sent) => sent,
            other => panic!("{other:?}"),
        }
    }

    /// Which of three ports a packet leaves by; the last one is not flooded to.
    fn reached(groups: &Groups, vid: u16, sent: Sent) -> [bool; 3] {
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
        // The low bits of the link-layer group are those of 224.0.0.1: the address counts.
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
            let to = To::Routers;
            Multicast::Heard(Some(Sent { ipv6, to }))
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
        // Nobody asks for IPv6.
        let to = Ipv6Addr::new(0xff05, 0, 0, 0, 0, 0, 0, 9);
        let Multicast::Some(of6) = multicast(0x86dd, &packet6(to, 17, &[0; 8])) else {
            panic!("it is a group");
        };
        assert_eq!(reached(&groups, 0, of6), [true, true, false]);
    }

    #[test]
    fn reports_reach_routers_alone_those_that_are_configured_too() {
        let groups = Groups::new(7);
        let report = Sent {
            ipv6: false,
            to: To::Routers,
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

    /// A property against a plain map.
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
