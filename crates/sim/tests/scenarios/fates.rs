//! Packet traces predict what happens to real packets, in routers with random configurations.
//!
//! ```text
//! A ─ ether2 ┐
//! B ─ ether3 ┼ bridge ── router ── ether1 ─ W
//! C ─ ether4 ┘             └ ether5 (and 6) ── peer ─ D
//! ```
//!
//! The hosts resolve their gateways by ARP and share no code with the router. The test traces each datagram before
//! sending it, and compares the verdict with what the hosts receive and with the drops that the router counts.

use std::collections::BTreeMap;

use dataplane::DropReason;
use machine::Rng;
use sim::{HostConfig, Line, NodeId, Received, World};

use crate::seconds;

/// Number of random configurations, and of datagrams in each.
const CONFIGURATIONS: u64 = 48;
const DATAGRAMS: usize = 14;

/// Destinations without a route.
const NOWHERE: [&str; 2] = ["198.51.100.1", "2001:db8:ffff::1"];
/// Addresses of the router.
const ROUTER: [[&str; 2]; 2] = [
    ["192.168.88.1", "203.0.113.1"],
    ["2001:db8:88::1", "2001:db8:1::1"],
];

/// Random choices of a configuration.
struct Choice {
    vlans: bool,
    admin_mac: bool,
    vrrp: bool,
    bonded: bool,
    link_vlan: bool,
    tunnel: &'static str,
    firewall: bool,
    bridge_rules: bool,
    ip_firewall: bool,
    queues: bool,
    workers: usize,
}

impl Choice {
    fn of(rng: &mut Rng) -> Self {
        let tunnels = ["", "gre", "ipip", "eoip", "vxlan"];
        Self {
            vlans: rng.percent(50),
            admin_mac: rng.percent(70),
            vrrp: rng.percent(30),
            bonded: rng.percent(40),
            link_vlan: rng.percent(30),
            tunnel: tunnels[rng.below(tunnels.len() as u64) as usize],
            firewall: rng.percent(60),
            bridge_rules: rng.percent(40),
            ip_firewall: rng.percent(30),
            queues: rng.percent(50),
            workers: 1 + rng.below(2) as usize,
        }
    }

    /// Returns the interface to the peer, below any tunnel.
    fn link(&self) -> &'static str {
        match (self.link_vlan, self.bonded) {
            (true, _) => "link30",
            (false, true) => "bond1",
            (false, false) => "ether5",
        }
    }

    /// Returns the commands for a router's side of the connection to the other; `ports` are its ports there.
    fn link_commands(&self, own: u8, ports: [&str; 2]) -> String {
        let other = 3 - own;
        let mut on = ports[0].to_owned();
        let mut commands = String::new();
        if self.bonded {
            let [first, second] = ports;
            commands += &format!(
                "/interface bonding add name=bond1 slaves={first},{second} mode=balance-xor\n"
            );
            "bond1".clone_into(&mut on);
        }
        if self.link_vlan {
            commands += &format!("/interface vlan add name=link30 interface={on} vlan-id=30\n");
            "link30".clone_into(&mut on);
        }
        commands += &format!(
            "/ip address add address=10.9.0.{own}/30 interface={on}\n\
             /ipv6 address add address=2001:db8:9::{own}/64 advertise=no interface={on}\n"
        );
        let ends = format!("local-address=10.9.0.{own} remote-address=10.9.0.{other}");
        commands += &match self.tunnel {
            "" => return commands,
            "eoip" => format!("/interface eoip add name=tunnel {ends} tunnel-id=7\n"),
            "vxlan" => format!(
                "/interface vxlan add name=tunnel vni=7 local-address=10.9.0.{own}\n\
                 /interface vxlan vteps add interface=tunnel remote-ip=10.9.0.{other}\n"
            ),
            kind => format!("/interface {kind} add name=tunnel {ends}\n"),
        };
        commands
            + &format!(
                "/ip address add address=10.8.0.{own}/30 interface=tunnel\n\
                 /ipv6 address add address=2001:db8:a::{own}/64 advertise=no interface=tunnel\n"
            )
    }

    /// Returns routes of both families to networks behind the other router.
    fn routes(&self, other: u8, networks: [&str; 2]) -> String {
        let (net, net6) = match self.tunnel {
            "" => ("9", "9"),
            _ => ("8", "a"),
        };
        format!(
            "/ip route add dst-address={} gateway=10.{net}.0.{other}\n\
             /ipv6 route add dst-address={} gateway=2001:db8:{net6}::{other}\n",
            networks[0], networks[1]
        )
    }

    fn router(&self) -> String {
        let mac = match self.admin_mac {
            true => " admin-mac=02:00:00:00:02:01 auto-mac=no",
            false => "",
        };
        let mut all = format!("/interface bridge add name=bridge protocol-mode=none{mac}\n");
        let pvids = if self.vlans { [10, 10, 20] } else { [1; 3] };
        for (port, pvid) in ["ether2", "ether3", "ether4"].iter().zip(pvids) {
            all +=
                &format!("/interface bridge port add bridge=bridge interface={port} pvid={pvid}\n");
        }
        if self.vlans {
            all += "/interface bridge vlan add bridge=bridge tagged=bridge vlan-ids=10,20\n\
                    /interface vlan add name=vlan10 interface=bridge vlan-id=10\n\
                    /interface vlan add name=vlan20 interface=bridge vlan-id=20\n\
                    /ip address add address=192.168.20.1/24 interface=vlan20\n\
                    /ipv6 address add address=2001:db8:20::1/64 advertise=no interface=vlan20\n\
                    /interface bridge set bridge vlan-filtering=yes\n";
        }
        let lan = if self.vlans { "vlan10" } else { "bridge" };
        all += &match self.vrrp {
            true => format!(
                "/ip address add address=192.168.88.2/24 interface={lan}\n\
                 /interface vrrp add name=vrrp1 interface={lan} vrid=5 priority=200\n\
                 /ip address add address=192.168.88.1/32 interface=vrrp1\n"
            ),
            false => format!("/ip address add address=192.168.88.1/24 interface={lan}\n"),
        };
        all += &format!(
            "/ipv6 address add address=2001:db8:88::1/64 advertise=no interface={lan}\n\
             /ip address add address=203.0.113.1/24 interface=ether1\n\
             /ipv6 address add address=2001:db8:1::1/64 advertise=no interface=ether1\n"
        );
        all += &self.link_commands(1, ["ether5", "ether6"]);
        all += &self.routes(2, ["10.2.0.0/24", "2001:db8:2::/64"]);
        all + &self.rules(lan)
    }

    fn rules(&self, lan: &str) -> String {
        let mut all = String::new();
        if self.firewall {
            all += "/ip firewall filter\n\
                    add chain=input connection-state=established action=accept\n\
                    add chain=input protocol=udp dst-port=9 action=drop\n\
                    add chain=forward protocol=udp dst-port=7 action=drop\n\
                    add chain=forward protocol=udp dst-port=8 action=reject\n\
                    add chain=output protocol=udp dst-port=10 action=drop\n\
                    /ip firewall nat add chain=srcnat out-interface=ether1 action=masquerade\n\
                    /ip firewall raw add chain=prerouting protocol=udp dst-port=12 action=drop\n\
                    /ipv6 firewall filter\n\
                    add chain=input protocol=udp dst-port=9 action=drop\n\
                    add chain=forward protocol=udp dst-port=7 action=drop\n\
                    add chain=forward protocol=udp dst-port=8 action=reject\n";
            all += &format!(
                "/ip firewall filter add chain=forward in-interface={lan} dst-address=203.0.113.9 \
                 protocol=udp dst-port=13 action=drop\n"
            );
        }
        if self.bridge_rules {
            all += "/interface bridge filter add chain=forward mac-protocol=ip ip-protocol=udp \
                    dst-port=11 action=drop\n";
        }
        if self.ip_firewall {
            all +=
                "/interface bridge settings set use-ip-firewall=yes use-ip-firewall-for-vlan=yes\n";
        }
        if self.queues {
            all += "/queue simple add name=a target=192.168.88.10/32 max-limit=50M/50M\n\
                    /queue tree add name=lan parent=bridge max-limit=50M\n\
                    /queue tree add name=wan parent=ether1 max-limit=50M\n";
            all += &format!(
                "/queue tree add name=link parent={} max-limit=50M\n",
                self.link()
            );
        }
        all
    }
}

/// A host, its port of the router, and its addresses of both families.
#[derive(Clone, Copy)]
struct Station {
    node: NodeId,
    port: &'static str,
    addresses: [&'static str; 2],
}

struct Net {
    world: World,
    router: NodeId,
    /// The last one is behind the peer.
    stations: Vec<Station>,
    choice: Choice,
}

impl Net {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::seeded(seed);
        let choice = Choice::of(&mut rng);
        let mut world = World::new(seed);
        let router = world.router(&choice.router(), 6, choice.workers);
        let peer = format!(
            "{}/ip address add address=10.2.0.1/24 interface=ether3\n\
             /ipv6 address add address=2001:db8:2::1/64 advertise=no interface=ether3\n{}",
            choice.link_commands(2, ["ether1", "ether2"]),
            choice.routes(1, ["0.0.0.0/0", "::/0"])
        );
        let peer = world.router(&peer, 3, 1);
        for link in [0, 1] {
            world.join((router, 4 + link), (peer, link), Line::default());
        }
        let mut net = Self {
            world,
            router,
            stations: Vec::new(),
            choice,
        };
        let lan = ["192.168.88.1", "2001:db8:88::1"];
        let (third, gateway) = match net.choice.vlans {
            true => (
                ["192.168.20.12", "2001:db8:20::12"],
                ["192.168.20.1", "2001:db8:20::1"],
            ),
            false => (["192.168.88.12", "2001:db8:88::12"], lan),
        };
        net.add(
            (router, 1),
            "ether2",
            ["192.168.88.10", "2001:db8:88::10"],
            lan,
        );
        net.add(
            (router, 2),
            "ether3",
            ["192.168.88.11", "2001:db8:88::11"],
            lan,
        );
        net.add((router, 3), "ether4", third, gateway);
        let outside = ["203.0.113.1", "2001:db8:1::1"];
        net.add(
            (router, 0),
            "ether1",
            ["203.0.113.9", "2001:db8:1::9"],
            outside,
        );
        let behind = ["10.2.0.1", "2001:db8:2::1"];
        net.add((peer, 2), "", ["10.2.0.9", "2001:db8:2::9"], behind);
        // A virtual router waits for three advertisements, a bond for its links.
        net.world.run(seconds(8));
        net
    }

    /// Connects a host to a port of a router. Addresses and gateways are given for both families.
    fn add(
        &mut self,
        at: (NodeId, usize),
        port: &'static str,
        addresses: [&'static str; 2],
        gateways: [&'static str; 2],
    ) {
        let host = HostConfig::new(&format!("{}/24", addresses[0]), gateways[0]);
        let host = host.and(&format!("{}/64", addresses[1]), gateways[1]);
        let node = self.world.host(host);
        self.world.join((node, 0), at, Line::default());
        self.stations.push(Station {
            node,
            port,
            addresses,
        });
    }

    /// Traces a datagram; returns the whole trace and the verdict.
    fn trace(&mut self, from: Station, to: &str, port: u16, len: usize) -> (String, String) {
        let ipv6 = to.contains(':');
        let source = from.addresses[usize::from(ipv6)];
        let headers = if ipv6 { 48 } else { 28 };
        let command = format!(
            "/tool trace in-interface={} src-address={} dst-address={to} protocol=udp src-port=40000 \
             dst-port={port} packet-size={}",
            from.port,
            source,
            len + headers
        );
        let said = self.world.run_on(self.router, &command);
        let verdict = said.lines().find_map(|line| line.strip_prefix("verdict "));
        let verdict = verdict.unwrap_or_default().trim().to_owned();
        (said, verdict)
    }

    fn drops(&mut self) -> BTreeMap<&'static str, u64> {
        let workers = self.world.control(self.router).workers();
        let count = |reason: &DropReason| {
            let all = workers.counters();
            (
                reason.name(),
                all.map(|counters| counters.drops(*reason)).sum(),
            )
        };
        DropReason::ALL.iter().map(count).collect()
    }

    /// Sends a datagram and returns the observed result.
    fn send(&mut self, from: Station, to: &str, port: u16, len: usize) -> Outcome {
        let before = self.drops();
        for station in self.stations.clone() {
            self.world.at(station.node).heard.clear();
        }
        self.world.at(from.node).send_udp(to, port, len);
        self.world.run(seconds(2));
        let after = self.drops();
        let drops = after
            .into_iter()
            .filter(|(name, count)| before[name] < *count);
        let is_it = |heard: &Received| matches!(heard, Received::Udp { len: of, .. } if *of == len);
        let heard_by = { self.stations.clone().into_iter() }
            .filter(|station| self.world.at(station.node).heard.iter().any(is_it))
            .flat_map(|station| station.addresses)
            .collect();
        let is_error = |heard: &Received| matches!(heard, Received::Error { .. });
        Outcome {
            heard_by,
            drops: drops.map(|(name, _)| name).collect(),
            error: self.world.at(from.node).heard.iter().any(is_error),
        }
    }
}

/// Observed result of a datagram.
#[derive(Debug)]
struct Outcome {
    heard_by: Vec<&'static str>,
    /// Drops that the router counted meanwhile.
    drops: Vec<&'static str>,
    /// The sender received an ICMP error.
    error: bool,
}

impl Outcome {
    /// Returns true if the result matches the verdict of a trace.
    fn is(&self, verdict: &str, to: &str) -> bool {
        let dropped_as = verdict.strip_prefix("discarded (");
        let dropped_as = dropped_as.and_then(|rest| rest.split(')').next());
        match (verdict, dropped_as) {
            (_, Some(name)) => self.heard_by.is_empty() && self.drops.contains(&name),
            (verdict, _) if verdict.starts_with("sent") => {
                self.heard_by.len() == 2 && self.heard_by.contains(&to)
            }
            (verdict, _) if verdict.starts_with("delivered") => {
                // Nobody listens on the router's ports: it answers and drops the datagram.
                let delivered = self.drops.iter().all(|name| *name == "not-for-us");
                self.heard_by.is_empty() && self.error && delivered
            }
            _ => self.heard_by.is_empty() && self.error,
        }
    }
}

#[test]
fn a_traced_packet_and_a_real_one_have_the_same_outcome() {
    let mut fates = BTreeMap::<String, usize>::new();
    for seed in 0..CONFIGURATIONS {
        let mut net = Net::new(seed);
        let mut rng = Rng::seeded(seed ^ 0x7ace);
        for number in 0..DATAGRAMS {
            let from = net.stations[rng.below(4) as usize];
            let family = usize::from(rng.percent(30));
            let own = from.addresses[family];
            let others: Vec<_> = { net.stations.iter() }
                .map(|station| station.addresses[family])
                .filter(|address| *address != own)
                .chain(ROUTER[family])
                .chain([NOWHERE[family]])
                .collect();
            let to = others[rng.below(others.len() as u64) as usize];
            let port = [7, 8, 9, 10, 11, 12, 13, 5000][rng.below(8) as usize];
            let long = if rng.percent(20) { 1400 } else { 60 };
            let len = long + number;
            let (said, verdict) = net.trace(from, to, port, len);
            let fate = net.send(from, to, port, len);
            assert!(
                fate.is(&verdict, to),
                "seed {seed}: {own} ({}) -> {to}:{port}, {len} bytes: {fate:?}, but\n{said}\n{}",
                from.port,
                net.choice.router()
            );
            let kind = verdict.split([':', ',', ' ']).next().unwrap_or_default();
            *fates.entry(kind.to_owned()).or_default() += 1;
        }
    }
    for kind in ["sent", "delivered", "discarded"] {
        assert!(
            fates.get(kind).is_some_and(|count| *count > 20),
            "{fates:?}"
        );
    }
}
