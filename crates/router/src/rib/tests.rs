use core::net::Ipv4Addr;
use std::collections::{BTreeMap, BTreeSet};

use dataplane::out::OutId;
use dataplane::table::adjacency::{Adjacency, Kind};
use machine::Rng;

use super::*;

/// A FIB as a plain map, and the lines that it refers to.
#[derive(Default)]
struct Model {
    routes: BTreeMap<(u16, Net<V4>), NextHopId>,
    lines: BTreeMap<NextHopId, Adjacency>,
    writes: usize,
    taken: u32,
    free: Vec<NextHopId>,
}

impl LineSink for Model {
    fn take_line(&mut self) -> Option<NextHopId> {
        self.free.pop().or_else(|| {
            self.taken += 1;
            Some(NextHopId(self.taken))
        })
    }

    fn return_line(&mut self, id: NextHopId) {
        assert!(self.routes.values().all(|used| *used != id), "in use");
        self.lines.remove(&id).expect("written once");
        self.free.push(id);
    }

    fn write_line(&mut self, id: NextHopId, adjacency: &Adjacency, _: Option<Ipv4Addr>) {
        self.lines.insert(id, *adjacency);
    }
}

impl RouteSink<V4> for Model {
    fn write_routes(&mut self, table: u16, changes: &[(Net<V4>, NextHopId)]) {
        self.writes += changes.len();
        for (net, hop) in changes {
            match *hop {
                NextHopId::NO_ROUTE => self.routes.remove(&(table, *net)),
                hop => self.routes.insert((table, *net), hop),
            };
        }
    }
}

impl Model {
    fn at(&self, net: &str) -> Adjacency {
        let id = self.routes.get(&(MAIN, parse(net)));
        id.and_then(|id| self.lines.get(id))
            .copied()
            .unwrap_or_default()
    }

    /// Returns the adjacencies of each prefix, independently of line numbers.
    fn meaning(&self) -> BTreeMap<(u16, Net<V4>), Vec<Adjacency>> {
        let members = |line: &Adjacency| match line.kind {
            Kind::Group => line.members().map(|id| self.lines[&id]).collect(),
            _ => vec![*line],
        };
        self.routes
            .iter()
            .map(|(key, id)| (*key, members(&self.lines[id])))
            .collect()
    }
}

const ETHER1: InterfaceId = InterfaceId(1);
const ETHER2: InterfaceId = InterfaceId(2);

fn ip(text: &str) -> Ipv4Addr {
    text.parse().expect("an address")
}

fn parse(text: &str) -> Net<V4> {
    let (addr, len) = text.split_once('/').expect("a prefix");
    Net::new(ip(addr), len.parse().expect("a length"))
}

fn via(addr: &str) -> Gateway<V4> {
    Gateway::Address {
        addr: ip(addr),
        table: MAIN,
    }
}

fn link(port: u16) -> Link {
    Link {
        running: true,
        out: OutId::port(port),
        mtu: 1500,
        mac: Mac([2, 0, 0, 0, 0, port as u8]),
        tags: Vec::new(),
        ethernet: true,
        session: None,
        awaits_session: false,
    }
}

fn route(net: &str, gateways: Vec<Gateway<V4>>) -> Offer<V4> {
    Offer {
        table: MAIN,
        net: parse(net),
        gateways,
        distance: 1,
        scope: 30,
        target_scope: 10,
        check: Check::None,
        protocol: Protocol::Static,
        pref_src: None,
        owner: 0,
    }
}

fn connected(net: &str, interface: InterfaceId) -> Offer<V4> {
    Offer {
        distance: 0,
        scope: 10,
        protocol: Protocol::Connected,
        ..route(net, vec![Gateway::Interface(interface)])
    }
}

/// Connected networks: 10.1.0.0/24 on ether1, 10.2.0.0/24 on ether2.
fn two_networks() -> (Rib<V4>, Model) {
    let mut rib = Rib::default();
    rib.set_link(ETHER1, Some(link(1)));
    rib.set_link(ETHER2, Some(link(2)));
    rib.add(&connected("10.1.0.0/24", ETHER1));
    rib.add(&connected("10.2.0.0/24", ETHER2));
    let mut fib = Model::default();
    rib.settle(&mut fib);
    (rib, fib)
}

#[test]
fn a_gateway_is_resolved_through_the_connected_network() {
    let (mut rib, mut fib) = two_networks();
    let id = rib.add(&route("0.0.0.0/0", vec![via("10.1.0.1")]));
    rib.settle(&mut fib);

    assert_eq!(fib.at("10.1.0.0/24").kind, Kind::Glean);
    let default = fib.at("0.0.0.0/0");
    assert_eq!((default.kind, default.egress), (Kind::Incomplete, ETHER1));
    assert!(rib.get(id).is_some_and(|route| route.active));

    let writes = fib.writes;
    rib.set_neighbour(ETHER1, ip("10.1.0.1"), Some(Mac([2, 9, 9, 9, 9, 9])));
    rib.settle(&mut fib);

    let default = fib.at("0.0.0.0/0");
    assert_eq!((default.kind, default.header_len), (Kind::Forward, 14));
    assert_eq!(default.header[..6], [2, 9, 9, 9, 9, 9]);
    assert_eq!(default.header[12..14], [8, 0]);
    // The gateway's own host route is the only one written.
    assert_eq!(fib.writes, writes + 1);
    assert_eq!(fib.at("10.1.0.1/32").kind, Kind::Forward);
}

#[test]
fn a_route_without_a_reachable_gateway_is_inactive() {
    let (mut rib, mut fib) = two_networks();
    let id = rib.add(&route("0.0.0.0/0", vec![via("172.16.0.1")]));
    rib.settle(&mut fib);

    assert!(!rib.get(id).expect("a route").active);
    assert_eq!(fib.at("0.0.0.0/0").kind, Kind::NoRoute);

    rib.add(&connected("172.16.0.0/16", ETHER2));
    rib.settle(&mut fib);

    assert_eq!(fib.at("0.0.0.0/0").egress, ETHER2);
}

#[test]
fn the_least_distance_forwards_and_the_next_takes_over() {
    let (mut rib, mut fib) = two_networks();
    let main = rib.add(&route("0.0.0.0/0", vec![via("10.1.0.1")]));
    let spare = rib.add(&Offer {
        distance: 2,
        ..route("0.0.0.0/0", vec![via("10.2.0.1")])
    });
    rib.settle(&mut fib);
    assert_eq!(fib.at("0.0.0.0/0").egress, ETHER1);

    rib.set_link(
        ETHER1,
        Some(Link {
            running: false,
            ..link(1)
        }),
    );
    rib.settle(&mut fib);

    assert_eq!(fib.at("0.0.0.0/0").egress, ETHER2);
    assert!(!rib.get(main).expect("kept").active);
    assert!(rib.get(spare).expect("kept").active);
    assert_eq!(fib.at("10.1.0.0/24").kind, Kind::NoRoute);

    rib.set_link(ETHER1, Some(link(1)));
    rib.settle(&mut fib);
    assert_eq!(fib.at("0.0.0.0/0").egress, ETHER1);
}

#[test]
fn routes_of_one_distance_share_the_flows() {
    let (mut rib, mut fib) = two_networks();
    let one = rib.add(&route("0.0.0.0/0", vec![via("10.1.0.1")]));
    let two = rib.add(&route("0.0.0.0/0", vec![via("10.2.0.1")]));
    rib.settle(&mut fib);

    let default = fib.at("0.0.0.0/0");
    assert_eq!((default.kind, default.members), (Kind::Group, 2));
    assert!(
        [one, two]
            .iter()
            .all(|id| rib.get(*id).expect("a route").ecmp)
    );

    rib.remove(two);
    rib.settle(&mut fib);

    assert_eq!(fib.at("0.0.0.0/0").kind, Kind::Incomplete);
    assert!(!rib.get(one).expect("a route").ecmp);
}

#[test]
fn a_gateway_that_is_listed_twice_gets_twice_the_flows() {
    let (mut rib, mut fib) = two_networks();
    let twice = vec![via("10.1.0.1"), via("10.2.0.1"), via("10.2.0.1")];
    rib.add(&route("0.0.0.0/0", twice));
    rib.settle(&mut fib);

    let members = fib
        .meaning()
        .remove(&(MAIN, Net::all()))
        .expect("a default");
    let on_ether2 = members.iter().filter(|m| m.egress == ETHER2).count();
    assert_eq!((members.len(), on_ether2), (3, 2));

    rib.set_link(ETHER1, None);
    rib.settle(&mut fib);
    let members = fib
        .meaning()
        .remove(&(MAIN, Net::all()))
        .expect("a default");
    assert_eq!(members.len(), 2);
}

/// The usual failover: internet hosts behind each provider, and default routes through these hosts.
#[test]
fn a_recursive_route_fails_over_when_its_check_fails() {
    let (mut rib, mut fib) = two_networks();
    for (host, gateway) in [("8.8.8.8/32", "10.1.0.1"), ("9.9.9.9/32", "10.2.0.1")] {
        rib.add(&Offer {
            scope: 10,
            ..route(host, vec![via(gateway)])
        });
    }
    for (distance, host) in [(1, "8.8.8.8"), (2, "9.9.9.9")] {
        rib.add(&Offer {
            distance,
            target_scope: 11,
            check: Check::Ping,
            ..route("0.0.0.0/0", vec![via(host)])
        });
    }
    rib.settle(&mut fib);
    assert_eq!(fib.at("0.0.0.0/0").egress, ETHER1);
    let needed = [via("8.8.8.8"), via("9.9.9.9")].map(|gateway| (gateway, Check::Ping, true));
    assert_eq!(rib.take_check_changes(), needed);
    assert_eq!(rib.take_check_changes(), []);

    rib.set_alive(via("8.8.8.8"), Check::Ping, false);
    rib.settle(&mut fib);
    assert_eq!(fib.at("0.0.0.0/0").egress, ETHER2);

    rib.set_alive(via("8.8.8.8"), Check::Ping, true);
    rib.settle(&mut fib);
    assert_eq!(fib.at("0.0.0.0/0").egress, ETHER1);
}

#[test]
fn a_recursive_gateway_is_checked_once_over_each_path() {
    let (mut rib, mut fib) = two_networks();
    let lines = rib.lines().in_use();
    let ways = vec![via("10.1.0.1"), via("10.2.0.1"), via("10.2.0.1")];
    let host = rib.add(&Offer {
        scope: 10,
        ..route("8.8.8.8/32", ways)
    });
    let default = rib.add(&Offer {
        target_scope: 11,
        check: Check::Ping,
        ..route("0.0.0.0/0", vec![via("8.8.8.8")])
    });
    rib.settle(&mut fib);
    assert_eq!(rib.take_found(), [(via("8.8.8.8"), Check::Ping)]);
    let first = Target::Neighbour(ETHER1, ip("10.1.0.1"));
    let second = Target::Neighbour(ETHER2, ip("10.2.0.1"));
    let asked = |rib: &Rib<V4>| {
        let ways: Vec<_> = rib.ways_to(via("8.8.8.8"), Check::Ping).collect();
        let lead: Vec<_> = ways.iter().map(|(_, hop)| rib.target(*hop)).collect();
        let targets: Vec<_> = ways.into_iter().map(|(way, _)| way).collect();
        assert!(lead.iter().flatten().eq(&targets), "{lead:?}");
        targets
    };
    assert_eq!(asked(&rib), [first, second]);

    // Also while the gateway counts as dead.
    rib.set_alive(via("8.8.8.8"), Check::Ping, false);
    rib.settle(&mut fib);
    assert_eq!(asked(&rib), [first, second]);

    rib.set_link(ETHER1, None);
    rib.settle(&mut fib);
    assert_eq!(asked(&rib), [second]);
    assert_eq!(rib.take_found(), []);
    rib.set_link(ETHER1, Some(link(1)));
    rib.settle(&mut fib);
    assert_eq!(asked(&rib), [first, second]);
    assert_eq!(rib.take_found(), [(via("8.8.8.8"), Check::Ping)]);

    rib.remove(host);
    rib.remove(default);
    rib.settle(&mut fib);
    assert_eq!(asked(&rib), []);
    assert_eq!(rib.lines().in_use(), lines);
}

#[test]
fn a_static_route_is_not_resolved_through_another_of_the_same_scope() {
    let (mut rib, mut fib) = two_networks();
    rib.add(&route("8.8.8.8/32", vec![via("10.1.0.1")]));
    let id = rib.add(&route("0.0.0.0/0", vec![via("8.8.8.8")]));
    rib.settle(&mut fib);

    assert!(!rib.get(id).expect("a route").active);
}

#[test]
fn a_recursive_gateway_moves_without_a_write_to_its_routes() {
    let (mut rib, mut fib) = two_networks();
    let first = Offer {
        scope: 10,
        ..route("192.0.2.1/32", vec![via("10.1.0.1")])
    };
    let first = rib.add(&first);
    for third in 0..=255u8 {
        rib.add(&Offer {
            target_scope: 11,
            ..route(&format!("100.64.{third}.0/24"), vec![via("192.0.2.1")])
        });
    }
    rib.settle(&mut fib);
    assert_eq!(fib.at("100.64.7.0/24").egress, ETHER1);

    let writes = fib.writes;
    rib.add(&Offer {
        scope: 10,
        ..route("192.0.2.1/32", vec![via("10.2.0.1")])
    });
    rib.remove(first);
    rib.settle(&mut fib);

    assert_eq!(fib.at("100.64.7.0/24").egress, ETHER2);
    assert_eq!(fib.writes, writes + 1);
}

#[test]
fn gateways_that_lead_to_each_other_give_no_route() {
    let (mut rib, mut fib) = two_networks();
    let loopy = |net: &str, gateway: &str| Offer {
        scope: 10,
        target_scope: 10,
        ..route(net, vec![via(gateway)])
    };
    rib.add(&loopy("20.0.0.0/8", "30.0.0.1"));
    rib.add(&loopy("30.0.0.0/8", "20.0.0.1"));
    rib.add(&loopy("0.0.0.0/0", "8.8.8.8"));
    rib.settle(&mut fib);

    assert_eq!(fib.at("20.0.0.0/8").kind, Kind::NoRoute);
    assert_eq!(fib.at("30.0.0.0/8").kind, Kind::NoRoute);
    assert_eq!(fib.at("0.0.0.0/0").kind, Kind::NoRoute);
}

#[test]
fn a_neighbour_behind_a_longer_route_has_no_host_route() {
    let (mut rib, mut fib) = two_networks();
    rib.set_neighbour(ETHER1, ip("10.1.0.200"), Some(Mac([2; 6])));
    rib.settle(&mut fib);
    assert_eq!(fib.at("10.1.0.200/32").kind, Kind::Forward);

    let longer = rib.add(&route("10.1.0.128/25", vec![via("10.2.0.1")]));
    rib.settle(&mut fib);
    assert_eq!(fib.at("10.1.0.200/32").kind, Kind::NoRoute);

    rib.remove(longer);
    rib.settle(&mut fib);
    assert_eq!(fib.at("10.1.0.200/32").kind, Kind::Forward);

    rib.set_neighbour(ETHER1, ip("10.1.0.200"), None);
    rib.settle(&mut fib);
    assert_eq!(fib.at("10.1.0.200/32").kind, Kind::NoRoute);
}

#[test]
fn the_far_end_of_a_point_to_point_address_is_a_neighbour() {
    let (mut rib, mut fib) = two_networks();
    rib.add(&connected("203.0.113.9/32", ETHER2));
    rib.settle(&mut fib);
    assert_eq!(fib.at("203.0.113.9/32").kind, Kind::Glean);

    rib.set_neighbour(ETHER2, ip("203.0.113.9"), Some(Mac([2; 6])));
    rib.settle(&mut fib);
    assert_eq!(fib.at("203.0.113.9/32").kind, Kind::Forward);

    rib.set_neighbour(ETHER2, ip("203.0.113.9"), None);
    rib.settle(&mut fib);
    assert_eq!(fib.at("203.0.113.9/32").kind, Kind::Glean);
}

#[test]
fn a_local_address_is_not_a_valid_gateway() {
    let (mut rib, mut fib) = two_networks();
    rib.add(&Offer {
        scope: 10,
        distance: 0,
        protocol: Protocol::Local,
        ..route("10.1.0.9/32", vec![Gateway::Local(ETHER1)])
    });
    let id = rib.add(&route("0.0.0.0/0", vec![via("10.1.0.9")]));
    rib.settle(&mut fib);

    assert!(!rib.get(id).expect("a route").active);
    assert_eq!(rib.local(ip("10.1.0.9")), Some(ETHER1));
}

/// Builds an offer with scopes that exclude loops, so that the result does not depend on the order.
fn arbitrary(rng: &mut Rng, owner: u32) -> Offer<V4> {
    let net = Net::new(
        Ipv4Addr::from(rng.next_u32() & 0x3f00_0000),
        4 + rng.below(6) as u8,
    );
    let far = |rng: &mut Rng| Gateway::Address {
        addr: Ipv4Addr::from((rng.next_u32() & 0x3f00_0000) | 1),
        table: MAIN,
    };
    let mut gateways = vec![far(rng)];
    if rng.percent(30) {
        gateways.push(far(rng));
    }
    let base = Offer {
        net,
        distance: 1 + rng.below(3) as u8,
        owner,
        ..route("0.0.0.0/0", gateways)
    };
    match rng.below(4) {
        0 => Offer {
            gateways: vec![Gateway::Interface(InterfaceId(1 + rng.below(3) as u32))],
            protocol: Protocol::Connected,
            distance: 0,
            scope: 10,
            ..base
        },
        1 => Offer { scope: 20, ..base },
        2 => Offer {
            target_scope: 20,
            ..base
        },
        _ => Offer {
            gateways: vec![Gateway::Blackhole],
            scope: 25,
            ..base
        },
    }
}

#[test]
fn many_small_changes_end_where_one_large_one_does() {
    for seed in 0..1_000 {
        let mut rng = Rng::seeded(seed);
        let (mut rib, mut fib) = (Rib::default(), Model::default());
        let mut held: Vec<(RouteId, Offer<V4>)> = Vec::new();
        let mut up = [false; 4];
        let mut known = BTreeSet::new();
        for step in 0..60 {
            match rng.below(10) {
                0..=4 => {
                    let offer = arbitrary(&mut rng, step);
                    held.push((rib.add(&offer), offer));
                }
                5 | 6 if !held.is_empty() => {
                    let at = rng.below(held.len() as u64) as usize;
                    rib.remove(held.swap_remove(at).0);
                }
                7 => {
                    let addr = Ipv4Addr::from((rng.next_u32() & 0x3f00_0000) | 1);
                    let at = (InterfaceId(1 + rng.below(3) as u32), addr);
                    let mac = if known.remove(&at) {
                        None
                    } else {
                        known.insert(at);
                        Some(Mac([2; 6]))
                    };
                    rib.set_neighbour(at.0, at.1, mac);
                }
                _ => {
                    let interface = 1 + rng.below(3) as usize;
                    up[interface] = !up[interface];
                    let link = up[interface].then(|| link(interface as u16));
                    rib.set_link(InterfaceId(interface as u32), link);
                }
            }
            rib.settle(&mut fib);
        }

        let (mut fresh, mut wanted) = (Rib::default(), Model::default());
        for (interface, _) in up.iter().enumerate().filter(|(_, up)| **up) {
            fresh.set_link(InterfaceId(interface as u32), Some(link(interface as u16)));
        }
        for (interface, addr) in known {
            fresh.set_neighbour(interface, addr, Some(Mac([2; 6])));
        }
        for (_, offer) in held.iter().rev() {
            fresh.add(offer);
        }
        fresh.settle(&mut wanted);
        let (got, wanted) = (fib.meaning(), wanted.meaning());
        let differ: Vec<_> = wanted
            .keys()
            .chain(got.keys())
            .filter(|key| got.get(key) != wanted.get(key))
            .map(|key| (key, got.get(key), wanted.get(key)))
            .collect();
        assert!(differ.is_empty(), "seed {seed}: {differ:?}");
    }
}

#[test]
fn removed_routes_leave_nothing_behind() {
    let (mut rib, mut fib) = two_networks();
    let lines = rib.lines().in_use();
    let ids: Vec<_> = (0..1000u32)
        .map(|n| {
            let gateways = vec![via(&format!("10.1.0.{}", n % 250 + 1)), via("10.2.0.1")];
            rib.add(&route(
                &format!("100.{}.{}.0/24", n / 256, n % 256),
                gateways,
            ))
        })
        .collect();
    rib.settle(&mut fib);
    assert_eq!(fib.routes.len(), 1002);

    for id in ids {
        rib.remove(id);
    }
    rib.settle(&mut fib);

    assert_eq!(fib.routes.len(), 2);
    assert_eq!(rib.lines().in_use(), lines);
    assert_eq!(rib.len(), 2);
}

#[test]
fn an_interface_that_is_gone_leaves_nobody_behind() {
    let (mut rib, mut fib) = two_networks();
    rib.set_neighbour(ETHER1, ip("10.1.0.7"), Some(Mac([2; 6])));
    rib.set_neighbour(ETHER2, ip("10.2.0.7"), Some(Mac([2; 6])));
    rib.settle(&mut fib);
    assert_eq!(fib.at("10.1.0.7/32").kind, Kind::Forward);

    rib.forget_interface(ETHER1);
    rib.settle(&mut fib);

    assert_eq!(fib.at("10.1.0.7/32").kind, Kind::NoRoute);
    assert_eq!(rib.lines().mac(ETHER1, ip("10.1.0.7")), None);
    assert_eq!(fib.at("10.2.0.7/32").kind, Kind::Forward);
}

#[test]
fn nothing_is_kept_of_interfaces_that_came_and_went() {
    let (mut rib, mut fib) = two_networks();
    let (lines, kept) = (rib.lines().in_use(), rib.lines().interfaces());
    let of_hops = rib.on_interface.len();
    for slot in 10..200 {
        let id = InterfaceId(slot);
        rib.set_link(id, rib.lines().link(ETHER1).cloned());
        let over = rib.add(&route("172.16.0.0/16", vec![Gateway::Interface(id)]));
        rib.settle(&mut fib);
        rib.remove(over);
        rib.forget_interface(id);
        rib.settle(&mut fib);
    }

    assert_eq!(
        (rib.lines().in_use(), rib.lines().interfaces()),
        (lines, kept)
    );
    assert_eq!(rib.on_interface.len(), of_hops);
}
