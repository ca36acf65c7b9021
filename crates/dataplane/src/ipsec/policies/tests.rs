//! Tests of policies: the order decides, and lookups find what a search of the list finds.

use proptest::prelude::*;

use super::*;

fn prefix(address: [u8; 4], len: u8) -> Prefix {
    Prefix {
        ipv6: false,
        bits: Ipv4Addr::from(address).to_bits().into(),
        len,
    }
}

fn policy(source: Prefix, destination: Prefix, protocol: u8, slot: u32) -> Policy {
    Policy {
        selector: Selector {
            source,
            destination,
            protocol,
            source_port: 0,
            destination_port: 0,
        },
        action: Action::Protect {
            slot,
            required: true,
        },
    }
}

fn tuple(source: [u8; 4], destination: [u8; 4], protocol: u8) -> Tuple {
    Tuple {
        source: Ipv4Addr::from(source).to_bits().into(),
        destination: Ipv4Addr::from(destination).to_bits().into(),
        source_port: 1000,
        destination_port: 53,
        protocol,
        ipv6: false,
    }
}

#[test]
fn the_first_policy_in_order_decides_and_answers_belong_to_it() {
    let [a, b] = [prefix([10, 0, 0, 0], 8), prefix([10, 2, 0, 0], 16)];
    let policies = Policies::new(vec![
        policy(a, b, 17, 1),
        policy(prefix([10, 1, 0, 0], 16), b, 0, 2),
    ]);
    let slot = |found: Option<&Policy>| found.map(|policy| policy.action);
    let is = |slot| {
        Some(Action::Protect {
            slot,
            required: true,
        })
    };
    let out = |protocol| tuple([10, 1, 0, 1], [10, 2, 0, 1], protocol);
    assert_eq!(slot(policies.outbound(&out(17))), is(1));
    assert_eq!(slot(policies.outbound(&out(6))), is(2));
    let back = tuple([10, 2, 0, 1], [10, 1, 0, 1], 6);
    assert_eq!(slot(policies.inbound(&back)), is(2));
    assert_eq!(
        slot(policies.outbound(&tuple([11, 0, 0, 1], [10, 2, 0, 1], 6))),
        None
    );
}

/// A random policy of a property test: both addresses, both lengths, protocol and port.
type Drawn = (u8, u8, u8, u8, u8, u16);

fn policy_of(drawn: Drawn) -> Policy {
    let (source, destination, a, b, protocol, port) = drawn;
    let address = |number: u8| [10 << (number & 1), number << 6, 0, number];
    let (source, destination) = (prefix(address(source), a), prefix(address(destination), b));
    let mut policy = policy(source, destination, protocol, port.into());
    policy.selector.destination_port = port;
    policy
}

fn any_drawn() -> impl Strategy<Value = Drawn> {
    (0u8..4, 0u8..4, 0u8..=32, 0u8..=32, 0u8..3, 0u16..3)
}

proptest! {
    /// Insertions and removals in any order give the same lookups as compiling at once, and do
    /// not change earlier copies.
    #[test]
    fn changes_lead_to_what_compiling_at_once_gives(
        steps in prop::collection::vec((0u64..12, prop::option::of(any_drawn())), 0..60),
        packets in prop::collection::vec((0u8..4, 0u8..4, 0u8..3, 0u16..3), 1..20),
    ) {
        let mut wanted = std::collections::BTreeMap::new();
        let mut policies = Policies::default();
        let mut copies = Vec::new();
        for (place, step) in steps {
            let position = Position { place, ..Position::default() };
            if let Some(before) = wanted.remove(&place) {
                let before: Policy = before;
                policies.remove(position, &before.selector);
            }
            if let Some(step) = step {
                policies.insert(position, policy_of(step));
                wanted.insert(place, policy_of(step));
            }
            copies.push((policies.clone(), Policies::new(wanted.values().copied().collect())));
        }
        for (policies, compiled) in copies {
            prop_assert_eq!(policies.is_empty(), compiled.is_empty());
            for (source, destination, protocol, port) in &packets {
                let address = |number: u8| [10 << (number & 1), number << 6, 0, number];
                let mut packet = tuple(address(*source), address(*destination), *protocol);
                packet.destination_port = *port;
                prop_assert_eq!(policies.outbound(&packet), compiled.outbound(&packet));
            }
        }
    }

    /// Compares lookups with a linear search.
    #[test]
    fn a_lookup_finds_what_a_walk_of_the_list_finds(
        policies in prop::collection::vec(any_drawn(), 0..40),
        packets in prop::collection::vec((0u8..4, 0u8..4, 0u8..3, 0u16..3), 1..20),
    ) {
        let address = |number: u8| [10 << (number & 1), number << 6, 0, number];
        let all: Vec<Policy> = policies.into_iter().map(policy_of).collect();
        let compiled = Policies::new(all.clone());
        for (source, destination, protocol, port) in packets {
            let mut packet = tuple(address(source), address(destination), protocol);
            packet.destination_port = port;
            let matches = |policy: &&Policy| {
                let Selector { source, destination, .. } = policy.selector;
                let has = |prefix: Prefix, bits: u128| {
                    masked(prefix.bits, false, prefix.len) == masked(bits, false, prefix.len)
                };
                has(source, packet.source)
                    && has(destination, packet.destination)
                    && policy.selector.admits(&packet)
            };
            let found = all.iter().find(matches);
            prop_assert_eq!(compiled.outbound(&packet), found);
            if compiled.compare_addresses_only() {
                let Tuple { source, destination, .. } = packet;
                let addresses = Ipv4Key::new(source, destination);
                let by_addresses = compiled.outbound_by_addresses(addresses);
                prop_assert_eq!(by_addresses, found);
            }
        }
    }
}
