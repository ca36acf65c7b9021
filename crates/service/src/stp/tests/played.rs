//! Topologies as text: the examples of the standard, with failures.
//!
//! ```text
//! bridge 1 0x222^0x7000 = a:5 b^0x90 0 X   bridge 1: its id, its priority; a port for each word: its
//!                                          segment, cost and priority; 0: on none; X: no link; _: as it is
//! run                                      three minutes pass
//! check 1 = rootid:0x111 F:10 B            F forwards, :10 as root port at this cost; B blocks; Li listens;
//!                                          D is down; `root` alone: it is the root, and all ports forward
//! ```
//! Open vSwitch's spanning tree tests use this notation, too.

use std::collections::BTreeMap;

use machine::Duration;
use wire::Mac;
use wire::bpdu::BridgeId;

use super::net::Net;
use crate::stp::{Bridge, Config, CostMode, Event, Link, PortConfig, Protocol, Role, State};

struct Player {
    net: Net,
    protocol: Protocol,
    configs: Vec<Config>,
    ports: Vec<Vec<PortConfig>>,
    segments: BTreeMap<String, usize>,
}

fn number(text: &str) -> u64 {
    let parsed = match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => text.parse(),
    };
    parsed.unwrap_or_else(|_| panic!("a number: {text}"))
}

/// An id with its priority: `0x111^0x7000`.
fn id(text: &str) -> BridgeId {
    let (address, priority) = text.split_once('^').unwrap_or((text, "0x8000"));
    let priority = number(priority) as u16;
    // The standard of 1998 also allows priorities that are no multiples of 4096.
    BridgeId(u64::from(priority) << 48 | number(address))
}

impl Player {
    fn play(protocol: Protocol, text: &str) {
        let mut player = Self {
            net: Net::new(Vec::new(), 1),
            protocol,
            configs: Vec::new(),
            ports: Vec::new(),
            segments: BTreeMap::new(),
        };
        for (at, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            let (head, tail) = line.split_once('=').unwrap_or((line, ""));
            let mut words = head.split_whitespace();
            let has_ports = line.contains('=');
            match words.next() {
                Some("bridge") => player.bridge(words.collect(), has_ports.then_some(tail)),
                Some("run") => player.net.run(Duration::from_secs(180)),
                Some("check") => {
                    let bridge = number(words.next().expect("a bridge")) as usize;
                    player.check(bridge, tail, at + 1);
                }
                Some(other) => panic!("line {}: {other}", at + 1),
                None => {}
            }
        }
    }

    fn bridge(&mut self, words: Vec<&str>, ports: Option<&str>) {
        let first = words[0].split('^').next().unwrap_or_default();
        let bridge = number(first) as usize;
        let said = words.concat();
        let is_new = bridge == self.configs.len();
        if is_new {
            let id = id(words[1]);
            let config = Config {
                protocol: self.protocol,
                address: Mac::from_u64(id.0),
                priority: id.priority(),
                cost_mode: CostMode::Long,
                ..Config::default()
            };
            self.net.bridges.push(Bridge::new(config.clone()));
            self.configs.push(config);
            self.ports.push(Vec::new());
        } else if let Some((_, priority)) = said.split_once('^') {
            let config = &mut self.configs[bridge];
            config.priority = number(priority) as u16 & 0xf000;
            let config = config.clone();
            self.net.feed(bridge, Event::Configure(config));
        }
        let Some(ports) = ports else { return };
        let words: Vec<_> = ports.split_whitespace().collect();
        for at in 0..words.len().max(self.ports[bridge].len()) {
            self.port(bridge, at, words.get(at).copied().unwrap_or("X"));
        }
    }

    fn port(&mut self, bridge: usize, at: usize, word: &str) {
        let place = (bridge, at as u16 + 1);
        let is_new = at == self.ports[bridge].len();
        if is_new {
            self.ports[bridge].push(PortConfig {
                priority: 0x80,
                point_to_point: Some(false),
                ..PortConfig::default()
            });
        }
        let mut link = Link {
            up: true,
            megabits: 100,
            full_duplex: false,
        };
        let end = word.find([':', '^']).unwrap_or(word.len());
        match &word[..end] {
            "_" => return,
            "X" => link.up = false,
            "0" => self.net.put(place, None),
            name => {
                let next = self.net.segments.len();
                let segment = *self.segments.entry(name.to_owned()).or_insert(next);
                if segment == next {
                    self.net.segments.push((Vec::new(), true));
                }
                self.net.put(place, Some(segment));
            }
        }
        let config = &mut self.ports[bridge][at];
        let before = (config.clone(), is_new);
        config.path_cost = match (self.protocol, word.split_once(':')) {
            (_, Some((_, cost))) => Some(number(cost.split('^').next().unwrap_or(cost)) as u32),
            (Protocol::Stp, None) => Some(10),
            (_, None) => None,
        };
        if let Some((_, priority)) = word.split_once('^') {
            config.priority = number(priority) as u8;
        }
        if before != (config.clone(), false) {
            let config = config.clone();
            self.net.feed(bridge, Event::Port(place.1, config));
        }
        self.net.feed(bridge, Event::Link(place.1, link));
    }

    fn check(&self, bridge: usize, wanted: &str, line: usize) {
        let tree = self.net.bridges[bridge].tree(0).expect("a tree");
        let mut words: Vec<_> = wanted.split_whitespace().collect();
        if let Some(root) = words.first().and_then(|word| word.strip_prefix("rootid:")) {
            assert_eq!(tree.root.root, id(root), "line {line}");
            words.remove(0);
        }
        let is_root = words.first() == Some(&"root");
        assert!(!is_root || tree.root_port.is_none(), "line {line}");
        for at in 0..self.ports[bridge].len() {
            let port = self.net.port(bridge, at as u16 + 1);
            let is = match (port.role, port.state) {
                (Role::Disabled, _) => "D".to_owned(),
                (Role::Root, State::Forwarding) => format!("F:{}", tree.root.external_cost),
                (_, State::Forwarding) => "F".to_owned(),
                (_, State::Learning) => "Le".to_owned(),
                (Role::Root | Role::Designated, State::Discarding) => "Li".to_owned(),
                (_, State::Discarding) => "B".to_owned(),
            };
            let wanted = match words.get(at).copied() {
                _ if is_root => match is.as_str() {
                    "D" => "D",
                    _ => "F",
                },
                Some("Di") => "B",
                Some(word) => word,
                None => "D",
            };
            assert_eq!(is, wanted, "line {line}, port {at}");
        }
    }
}

#[test]
fn stp_computes_the_tree_of_the_1998_example() {
    // IEEE 802.1D-1998, figure 8-2.
    let text = "
        bridge 0 0x42 = a b
        bridge 1 0x97 = c:5 a d:5
        bridge 2 0x45 = b e
        bridge 3 0x57 = b:5 e:5
        bridge 4 0x83 = a:5 e:5
        run
        check 0 = root
        check 1 = F F:10 F
        check 2 = F:10 B
        check 3 = F:5 F
        check 4 = F:5 B";
    Player::play(Protocol::Stp, text);
}

#[test]
fn rstp_computes_the_trees_of_the_2004_examples() {
    // IEEE 802.1D-2004, figures 17-4 and 17-5: two ports of the last bridge are connected to each other.
    let redundant = "
        bridge 0 0x111 = a b e c
        bridge 1 0x222 = a b d f
        bridge 2 0x333 = c d l j h g
        bridge 3 0x444 = e f n m k i
        bridge 4 0x555 = g i 0 0
        bridge 5 0x666 = l n 0 0
        run
        check 0 = root
        check 1 = F:200000 B F F
        check 2 = F:200000 B F F F F
        check 3 = F:200000 B F F F F
        check 4 = F:400000 B F F
        check 5 = F:400000 B F F
        bridge 5 = l n o o
        run
        check 4 = F:400000 B F F
        check 5 = F:400000 B F B";
    // Figure 17-6: a ring of six.
    let ring = "
        bridge 0 0x111 = a b
        bridge 1 0x222 = b c
        bridge 2 0x333 = c d
        bridge 3 0x444 = d e
        bridge 4 0x555 = e f
        bridge 5 0x666 = f a
        run
        check 0 = root
        check 2 = F:400000 F
        check 3 = F:600000 B
        check 4 = F F:400000
        bridge 1 = X _
        run
        check 1 = D F:1000000
        check 3 = F F:600000";
    // Figure 17-7: a port's priority decides between two segments.
    let priority = "
        bridge 0 0x0 = b
        bridge 1 0x111 = a b g h
        bridge 2 0x222 = g h
        run
        check 2 = F:400000 B
        bridge 1 = _ _ g h^112
        run
        check 2 = B F:400000";
    for text in [redundant, ring, priority] {
        Player::play(Protocol::Rstp, text);
    }
}

#[test]
fn the_tree_reconverges_around_failed_links() {
    let text = "
        bridge 0 0x111 = a b
        bridge 1 0x222 = a c d
        bridge 2 0x333 = b c e
        bridge 3 0x444 = d f
        bridge 4 0x555 = e f
        run
        check 2 = F:200000 B F
        check 4 = F:400000 B
        bridge 2 = X c e
        run
        check 2 = D F:400000 F
        check 4 = F:600000 B
        bridge 4 = X f
        run
        check 4 = D F:600000
        bridge 4 = X f:100000
        run
        check 4 = D F:500000
        bridge 4 ^ 0x7000
        run
        check 4 = D F
        check 0 = rootid:0x555^0x7000 F:600000 F";
    Player::play(Protocol::Rstp, text);
}

#[test]
fn the_bridge_with_the_lowest_id_is_root_and_the_root_moves_with_ids() {
    let text = "
        bridge 0 0x333^0x6000 = a
        bridge 1 0x222^0x7000 = b
        bridge 2 0x111 = a b
        run
        check 0 = rootid:0x333^0x6000 root
        check 1 = rootid:0x333^0x6000 F:20
        check 2 = rootid:0x333^0x6000 F:10 F
        bridge 1 ^ 0x5000
        run
        check 0 = rootid:0x222^0x5000 F:20
        check 1 = root
        check 2 = rootid:0x222^0x5000 F F:10";
    Player::play(Protocol::Stp, text);
}

#[test]
fn port_priority_decides_between_ports_of_one_bridge_on_a_segment() {
    let text = "
        bridge 0 0x111 = a a
        bridge 1 0x222 = a a
        run
        check 0 = rootid:0x111 F B
        check 1 = rootid:0x111 F:10 B
        bridge 1 = a^0x90 _
        run
        check 0 = rootid:0x111 F B
        check 1 = rootid:0x111 B F:10";
    Player::play(Protocol::Stp, text);
}
