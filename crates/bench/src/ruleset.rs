//! The rules of `stateful-25` as text, for routers that are tested through ports: in the languages
//! of RouterOS and of nftables, from the description that the rows in memory use.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use machine::Rng;

use super::rules::{Shapes, sources};
use super::{Family, traffic};
use dataplane::packet::protocol;
use dataplane::rule::{AddressRange, Match, Matcher};

/// Number of rules.
const RULES: u32 = 25;
const SEED: u64 = 1;

/// The rules of one family, and their packets.
pub struct Ruleset {
    family: Family,
    shapes: Shapes,
}

impl Ruleset {
    /// Creates the rules of a family.
    pub fn new(family: Family) -> Self {
        let shapes = Shapes::new(family, RULES, SEED);
        Self { family, shapes }
    }

    /// Returns the matchers of each rule, in the syntax of `/ip/firewall/filter` or
    /// `/ipv6/firewall/filter`.
    pub fn routeros(&self) -> Vec<String> {
        let words = |rule: &Vec<Matcher>| in_words(rule, |what| self.routeros_word(what));
        self.shapes.rules.iter().map(words).collect()
    }

    /// Returns the matchers of each rule, in the syntax of an nftables chain in a table of the
    /// family.
    pub fn nftables(&self) -> Vec<String> {
        let words = |rule: &Vec<Matcher>| in_words(rule, |what| self.nftables_word(what));
        self.shapes.rules.iter().map(words).collect()
    }

    /// Returns the source networks of the packets as `address/length`, for routes of answers.
    pub fn sources(&self) -> Vec<String> {
        let networks = sources(self.family).into_iter();
        let prefix = |(bits, len)| format!("{}/{len}", self.address(bits));
        networks.map(prefix).collect()
    }

    /// Returns packets of this many UDP flows: half of them hit, spread over the rules for UDP, the
    /// others match no rule. The frames are those of [`super::packet`], as short as possible.
    pub fn packets(&self, flows: u32) -> Vec<Vec<u8>> {
        let mut rng = Rng::seeded(SEED ^ u64::from(flows));
        let tuples = self.shapes.flows(self.family, &mut rng);
        let tuples = tuples.take(flows.max(1) as usize);
        tuples.map(|tuple| traffic::packet(&tuple, b"")).collect()
    }

    /// Returns the length of each frame in bytes, with its check sequence.
    pub fn frame_len(&self) -> u16 {
        traffic::frame_len(self.family)
    }

    fn address(&self, bits: u128) -> IpAddr {
        match self.family {
            Family::Ipv4 => Ipv4Addr::from_bits(bits as u32).into(),
            Family::Ipv6 => Ipv6Addr::from_bits(bits).into(),
        }
    }

    fn prefix(&self, range: &AddressRange) -> String {
        let width = match self.family {
            Family::Ipv4 => 32,
            Family::Ipv6 => 128,
        };
        let host = (range.last - range.first).count_ones();
        format!("{}/{}", self.address(range.first), width - host)
    }

    /// Returns the word for a matcher; the shapes use no others.
    fn routeros_word(&self, what: &Match) -> Option<String> {
        Some(match what {
            Match::Source(range) => format!("src-address={}", self.prefix(range)),
            Match::Destination(range) => format!("dst-address={}", self.prefix(range)),
            Match::Protocol(number) => format!("protocol={}", protocol_name(*number)?),
            Match::DestinationPort(ports) => format!("dst-port={}", ports.first()?.0),
            _ => return None,
        })
    }

    fn nftables_word(&self, what: &Match) -> Option<String> {
        let ip = match self.family {
            Family::Ipv4 => "ip",
            Family::Ipv6 => "ip6",
        };
        Some(match what {
            Match::Source(range) => format!("{ip} saddr {}", self.prefix(range)),
            Match::Destination(range) => format!("{ip} daddr {}", self.prefix(range)),
            Match::Protocol(number) => format!("meta l4proto {}", protocol_name(*number)?),
            Match::DestinationPort(ports) => format!("th dport {}", ports.first()?.0),
            _ => return None,
        })
    }
}

/// Returns the answer to a packet of [`Ruleset::packets`], as it arrives from the far side.
pub fn answer(frame: Vec<u8>) -> Vec<u8> {
    traffic::answer(frame)
}

fn in_words(rule: &[Matcher], word: impl Fn(&Match) -> Option<String>) -> String {
    let words = rule.iter().map(|matcher| word(&matcher.what));
    let words: Vec<String> = words.map(Option::unwrap_or_default).collect();
    words.join(" ")
}

fn protocol_name(number: u8) -> Option<&'static str> {
    match number {
        protocol::TCP => Some("tcp"),
        protocol::UDP => Some("udp"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_rule_has_equivalent_routeros_and_nftables_forms() {
        let rules = Ruleset::new(Family::Ipv4);
        let (ours, theirs) = (rules.routeros(), rules.nftables());

        assert_eq!((ours.len(), theirs.len()), (25, 25));
        assert_eq!(ours[0], "src-address=11.0.0.0/24");
        assert_eq!(theirs[0], "ip saddr 11.0.0.0/24");
        assert!(ours[2].starts_with("protocol=tcp dst-port="), "{}", ours[2]);
        assert!(
            theirs[2].starts_with("meta l4proto tcp th dport "),
            "{}",
            theirs[2]
        );
        for (family, rules) in [("ipv6", Ruleset::new(Family::Ipv6)), ("ipv4", rules)] {
            for words in rules.routeros().iter().chain(&rules.nftables()) {
                assert!(
                    !words.is_empty() && !words.contains("  "),
                    "{family}: {words}"
                );
            }
        }
    }

    #[test]
    fn packets_come_from_networks_that_are_routed_back_and_no_flow_comes_twice() {
        for family in [Family::Ipv4, Family::Ipv6] {
            let rules = Ruleset::new(family);

            let packets = rules.packets(4_000);

            let different: HashSet<&[u8]> = packets.iter().map(|frame| &frame[14..]).collect();
            assert_eq!(different.len(), 4_000);
            let len = usize::from(rules.frame_len()) - 4;
            assert!(packets.iter().all(|frame| frame.len() == len));
            let sources = sources(family).map(|(bits, len)| {
                let width = if family == Family::Ipv4 { 32 } else { 128 };
                AddressRange::prefix(bits, len, width)
            });
            let source = |frame: &[u8]| match family {
                Family::Ipv4 => frame[26..30]
                    .iter()
                    .fold(0, |bits, byte| bits << 8 | u128::from(*byte)),
                Family::Ipv6 => frame[22..38]
                    .iter()
                    .fold(0, |bits, byte| bits << 8 | u128::from(*byte)),
            };
            let known = |frame: &Vec<u8>| sources.iter().any(|range| range.has(source(frame)));
            assert!(packets.iter().all(known));
        }
    }
}
