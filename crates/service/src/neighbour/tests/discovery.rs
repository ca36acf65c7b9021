//! Neighbour discovery, by the requirements of the RFCs.

use wire::ndp::{Message, NdpOption, NeighbourFlags, Options};
use wire::{Protocol, icmpv6, ipv6};

use super::*;

type NdFixture = Fixture<Discovery>;

const GLOBAL: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);

fn fixture() -> NdFixture {
    Fixture::new(config(), OWN6, 64)
}

/// A neighbour discovery packet.
fn packet(src: Ipv6Addr, dst: Ipv6Addr, hop_limit: u8, message: &Message<'_>) -> Vec<u8> {
    let mut upper = Vec::new();
    message.emit(src, dst, &mut upper);
    let header = ipv6::Repr {
        hop_limit,
        ..ipv6::Repr::new(Protocol::ICMPV6, src, dst)
    };
    let mut bytes = header.to_bytes(upper.len()).to_vec();
    bytes.append(&mut upper);
    bytes
}

fn solicitation(src: Ipv6Addr, dst: Ipv6Addr, target: Ipv6Addr, mac: Option<Mac>) -> Vec<u8> {
    let mut options = Vec::new();
    if let Some(mac) = mac {
        NdpOption::Source(mac).emit(&mut options);
    }
    let options = Options::new_checked(&options).unwrap();
    packet(
        src,
        dst,
        255,
        &Message::NeighbourSolicitation { target, options },
    )
}

/// An advertisement of `PEER6`; `flags` contains R, S and O for set flags.
fn advertisement(dst: Ipv6Addr, flags: &str, mac: Option<Mac>) -> Vec<u8> {
    let mut options = Vec::new();
    if let Some(mac) = mac {
        NdpOption::Target(mac).emit(&mut options);
    }
    let message = Message::NeighbourAdvertisement {
        flags: NeighbourFlags {
            router: flags.contains('R'),
            solicited: flags.contains('S'),
            overrides: flags.contains('O'),
        },
        target: PEER6,
        options: Options::new_checked(&options).unwrap(),
    };
    packet(PEER6, dst, 255, &message)
}

/// Sent frames: destination MAC address, IPv6 source and destination, and the result of `read` for the message.
fn sent<T>(
    actions: &[Action<Ipv6Addr, u32>],
    read: impl Fn(&Message<'_>) -> T,
) -> Vec<(Mac, Ipv6Addr, Ipv6Addr, T)> {
    let parse = |frame: &Frame| {
        let ip = ipv6::Packet::new_checked(&frame.payload).unwrap();
        assert_eq!(ip.hop_limit(), 255);
        let icmp = icmpv6::Packet::new_verified(ip.payload(), ip.src(), ip.dst()).unwrap();
        let message = Message::parse(&icmp).unwrap();
        (frame.dst, ip.src(), ip.dst(), read(&message))
    };
    frames(actions).into_iter().map(parse).collect()
}

/// A fixture with `PEER6` in this state, at `PEER_MAC`.
fn fixture_in(status: Status) -> NdFixture {
    let mut fixture = fixture();
    fixture.resolve(PEER6, 1);
    if status == Status::Incomplete {
        return fixture;
    }
    fixture.hear(&advertisement(OWN6, "SO", Some(PEER_MAC)), PEER_MAC);
    if status == Status::Reachable {
        return fixture;
    }
    fixture.pass(Duration::from_secs(45));
    if status == Status::Stale {
        return fixture;
    }
    fixture.on(Event::Used { address: PEER6 });
    if status == Status::Probe {
        fixture.pass(Duration::from_secs(5));
    }
    assert_eq!(fixture.status(PEER6), Some(status));
    fixture
}

#[test]
fn a_solicitation_goes_to_the_solicited_node_group_with_the_local_mac() {
    // RFC 4861, 7.2.2.
    let mut fixture = fixture();
    fixture.own(GLOBAL, 64, DuplicateDetection::Skip);

    let out = fixture.resolve(PEER6, 1);

    let options = |message: &Message<'_>| message.options().source();
    let group = ipv6::solicited_node(PEER6);
    let expected = (Mac::of_ipv6_group(group), OWN6, group, Some(OWN_MAC));
    assert_eq!(sent(&out, options), [expected]);
}

#[test]
fn advertisements_follow_the_table_of_rfc_4861_appendix_c() {
    use Status::{Delay, Incomplete, Probe, Reachable, Stale};
    let (same, other) = (Some(PEER_MAC), Some(THIRD_MAC));
    // State, flags, link-layer address option; expected state and link-layer address.
    let table = [
        (Incomplete, "SO", same, Reachable, same),
        (Incomplete, "S", same, Reachable, same),
        (Incomplete, "O", same, Delay, same), // a packet waited, so it is in use
        (Incomplete, "SO", None, Incomplete, None),
        (Reachable, "S", other, Stale, same),
        (Reachable, "", other, Stale, same),
        (Reachable, "O", other, Stale, other),
        (Reachable, "SO", other, Reachable, other),
        (Reachable, "O", same, Reachable, same),
        (Reachable, "", same, Reachable, same),
        (Stale, "S", same, Reachable, same),
        (Stale, "SO", other, Reachable, other),
        (Stale, "SO", None, Reachable, same),
        (Stale, "O", other, Stale, other),
        (Stale, "", other, Stale, same),
        (Stale, "O", same, Stale, same),
        (Delay, "S", same, Reachable, same),
        (Delay, "S", other, Delay, same),
        (Delay, "O", other, Stale, other),
        (Probe, "S", None, Reachable, same),
        (Probe, "SO", other, Reachable, other),
        (Probe, "", other, Probe, same),
        (Probe, "O", same, Probe, same),
    ];
    for row @ (before, flags, option, after, mac) in table {
        let mut fixture = fixture_in(before);
        let dst = if flags.contains('S') { OWN6 } else { ALL_NODES };

        fixture.hear(&advertisement(dst, flags, option), PEER_MAC);

        let found = fixture.machine.row(PEER6).unwrap();
        assert_eq!((found.status, found.mac), (Some(after), mac), "{row:?}");
    }
}

#[test]
fn the_router_flag_follows_the_last_advertisement() {
    let mut fixture = fixture_in(Status::Incomplete);

    fixture.hear(&advertisement(OWN6, "RSO", Some(PEER_MAC)), PEER_MAC);
    assert!(fixture.machine.row(PEER6).unwrap().router);
    fixture.hear(&advertisement(OWN6, "SO", Some(PEER_MAC)), PEER_MAC);
    assert!(!fixture.machine.row(PEER6).unwrap().router);
}

#[test]
fn an_advertisement_without_an_entry_makes_none() {
    // RFC 4861, 7.2.5.
    let mut fixture = fixture();

    fixture.hear(&advertisement(ALL_NODES, "O", Some(PEER_MAC)), PEER_MAC);

    assert!(fixture.machine.is_empty());
}

#[test]
fn a_solicitation_for_a_local_address_is_answered_and_its_sender_learned() {
    // RFC 4861, 7.2.3 and 7.2.4.
    let mut fixture = fixture();
    let group = ipv6::solicited_node(OWN6);

    let out = fixture.hear(&solicitation(PEER6, group, OWN6, Some(PEER_MAC)), PEER_MAC);

    let read = |message: &Message<'_>| match *message {
        Message::NeighbourAdvertisement { flags, target, .. } => {
            (flags, target, message.options().target())
        }
        _ => panic!("{message:?}"),
    };
    let flags = NeighbourFlags {
        router: true,
        solicited: true,
        overrides: true,
    };
    let answer = (PEER_MAC, OWN6, PEER6, (flags, OWN6, Some(OWN_MAC)));
    assert_eq!(sent(&out, read), [answer]);
    assert_eq!(fixture.status(PEER6), Some(Status::Stale));
}

#[test]
fn anycast_addresses_are_answered_without_the_override_flag() {
    // RFC 4291, 2.6.1; RFC 4861, 7.2.7; RFC 6164, 5.1.
    let shared = |len| Discovery::mask(GLOBAL, len);
    let question = |len| {
        let target = shared(len);
        solicitation(PEER6, ipv6::solicited_node(target), target, Some(PEER_MAC))
    };
    for (len, router, answered) in [
        (64, true, 1),
        (126, true, 1),
        (127, true, 0),
        (64, false, 0),
    ] {
        let mut fixture = fixture();
        fixture.on(Event::Configure(Config { router, ..config() }));
        fixture.own(GLOBAL, len, DuplicateDetection::Skip);
        fixture.pass(Duration::from_secs(9));

        let out = fixture.hear(&question(len), PEER_MAC);

        let said = sent(&out, |message| match message {
            Message::NeighbourAdvertisement { flags, target, .. } => Some((*flags, *target)),
            _ => None,
        });
        assert_eq!(said.len(), answered, "/{len}");
        for (to, src, dst, message) in said {
            let flags = NeighbourFlags {
                router: true,
                solicited: true,
                overrides: false,
            };
            assert_eq!((to, src, dst), (PEER_MAC, OWN6, PEER6));
            assert_eq!(message, Some((flags, shared(len))));
            // The router does not solicit the address either.
            let out = fixture.resolve(shared(len), 1);
            assert!(matches!(out[..], [Action::Dropped { .. }]), "{out:?}");
        }
    }
}

#[test]
fn a_unicast_solicitation_without_mac_option_is_answered_to_the_frames_source() {
    let mut fixture = fixture();

    let out = fixture.hear(&solicitation(PEER6, OWN6, OWN6, None), PEER_MAC);

    assert_eq!(frames(&out)[0].dst, PEER_MAC);
    assert!(
        fixture.machine.is_empty(),
        "an unstated link address is not learnt"
    );
}

#[test]
fn a_dad_probe_for_a_local_address_is_answered_to_all_nodes() {
    // RFC 4861, 7.2.4.
    let mut fixture = fixture();
    let group = ipv6::solicited_node(OWN6);

    let probe = solicitation(Ipv6Addr::UNSPECIFIED, group, OWN6, None);
    let out = fixture.hear(&probe, PEER_MAC);

    let solicited = |message: &Message<'_>| match message {
        Message::NeighbourAdvertisement { flags, .. } => flags.solicited,
        _ => panic!("{message:?}"),
    };
    let answer = (Mac::of_ipv6_group(ALL_NODES), OWN6, ALL_NODES, false);
    assert_eq!(sent(&out, solicited), [answer]);
}

#[test]
fn invalid_messages_are_counted_and_ignored() {
    // RFC 4861, 7.1.1 and 7.1.2.
    let group = ipv6::solicited_node(OWN6);
    let unspecified = Ipv6Addr::UNSPECIFIED;
    let plain = Message::NeighbourSolicitation {
        target: OWN6,
        options: Options::NONE,
    };
    let mut bad_checksum = solicitation(PEER6, group, OWN6, Some(PEER_MAC));
    bad_checksum[42] ^= 1;
    let cases = [
        packet(PEER6, group, 254, &plain),
        bad_checksum,
        solicitation(unspecified, group, OWN6, Some(PEER_MAC)),
        solicitation(unspecified, OWN6, OWN6, None),
        solicitation(ALL_NODES, group, OWN6, Some(PEER_MAC)),
        advertisement(ALL_NODES, "S", Some(PEER_MAC)),
    ];
    for (n, case) in cases.iter().enumerate() {
        let mut fixture = fixture_in(Status::Incomplete);

        assert_eq!(fixture.hear(case, PEER_MAC), [], "case {n}");
        assert_eq!(fixture.machine.counters().malformed, 1, "case {n}");
    }
}

#[test]
fn router_discovery_messages_update_mac_addresses_and_router_flags() {
    // RFC 4861, 6.2.6 and 6.3.4.
    let mut fixture = fixture();
    let mut options = Vec::new();
    NdpOption::Source(PEER_MAC).emit(&mut options);
    let options = Options::new_checked(&options).unwrap();
    let router = wire::ndp::Router::default();

    fixture.hear(
        &packet(
            PEER6,
            ALL_NODES,
            255,
            &Message::RouterSolicitation { options },
        ),
        PEER_MAC,
    );
    assert_eq!(fixture.status(PEER6), Some(Status::Stale));
    assert!(!fixture.machine.row(PEER6).unwrap().router);

    let advertisement = Message::RouterAdvertisement { router, options };
    fixture.hear(&packet(PEER6, ALL_NODES, 255, &advertisement), PEER_MAC);
    assert!(fixture.machine.row(PEER6).unwrap().router);
}

#[test]
fn a_sender_outside_of_local_networks_gets_no_entry() {
    let mut fixture = fixture();
    let group = ipv6::solicited_node(OWN6);
    let stranger = Ipv6Addr::new(0x2001, 0xdb8, 9, 9, 0, 0, 0, 1);

    fixture.hear(
        &solicitation(stranger, group, OWN6, Some(PEER_MAC)),
        PEER_MAC,
    );

    assert!(fixture.machine.is_empty());
}

#[test]
fn a_new_address_joins_its_group_and_is_probed_once_from_the_unspecified_address() {
    // RFC 4862, 5.4.2.
    let mut fixture = fixture();

    let added = fixture.own(GLOBAL, 64, DuplicateDetection::Run);
    let out = fixture.pass(Duration::from_millis(999));

    // The link-local address has the same last 24 bits and therefore the same group.
    assert_eq!(added, []);
    let group = ipv6::solicited_node(GLOBAL);
    let no_option = |message: &Message<'_>| message.options().source();
    let probe = (
        Mac::of_ipv6_group(group),
        Ipv6Addr::UNSPECIFIED,
        group,
        None,
    );
    assert_eq!(sent(&out, no_option), [probe]);
    assert!(!fixture.machine.is_own(GLOBAL));

    let out = fixture.pass(Duration::from_millis(1));
    assert!(out.contains(&Action::DadDone { address: GLOBAL }));
    assert!(fixture.machine.is_own(GLOBAL));
}

#[test]
fn a_group_is_joined_for_its_first_address_and_left_with_its_last() {
    let mut fixture = fixture();
    let other = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 7, 7);
    let twin = Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 7, 7);
    let group = ipv6::solicited_node(other);

    let skip = DuplicateDetection::Skip;
    assert!(
        fixture
            .own(other, 64, skip)
            .contains(&Action::Join { group })
    );
    assert!(
        !fixture
            .own(twin, 64, skip)
            .contains(&Action::Join { group })
    );
    assert_eq!(fixture.on(Event::AddressRemoved { address: other }), []);
    let left = fixture.on(Event::AddressRemoved { address: twin });
    assert_eq!(left, [Action::Leave { group }]);
}

#[test]
fn a_tentative_address_is_not_answered_for_and_fails_on_conflict() {
    // RFC 4862, 5.4.3 and 5.4.4.
    let group = ipv6::solicited_node(PEER6);
    let failed = Action::DadFailed {
        address: PEER6,
        mac: THIRD_MAC,
    };
    let tentative = || {
        let mut fixture = fixture();
        fixture.own(PEER6, 64, DuplicateDetection::Run);
        fixture.pass(Duration::from_millis(1));
        fixture
    };

    let asked = solicitation(OWN6, group, PEER6, Some(THIRD_MAC));
    let mut fixture = tentative();
    fixture.on(Event::AddressRemoved { address: OWN6 });
    assert_eq!(fixture.hear(&asked, THIRD_MAC), []);

    let probed = solicitation(Ipv6Addr::UNSPECIFIED, group, PEER6, None);
    assert_eq!(tentative().hear(&probed, THIRD_MAC), [failed]);

    let had = advertisement(ALL_NODES, "O", Some(THIRD_MAC));
    let mut fixture = tentative();
    assert!(matches!(
        fixture.hear(&had, THIRD_MAC)[..],
        [Action::DadFailed { .. }]
    ));
    fixture.pass(Duration::from_secs(60));
    assert!(!fixture.machine.is_own(PEER6));
}

#[test]
fn without_a_local_address_no_request_is_sent_and_packets_time_out() {
    // RFC 4861, 7.2.2: a solicitation has a source.
    let mut fixture = fixture();
    fixture.on(Event::AddressRemoved { address: OWN6 });

    assert_eq!(fixture.resolve(PEER6, 1), []);
    let out = fixture.pass(Duration::from_secs(3));

    assert!(matches!(
        out[..],
        [Action::Failed { .. }, Action::Unreachable { .. }]
    ));
}

#[test]
fn pending_neighbours_are_queried_once_a_local_address_exists() {
    let mut fixture = fixture();
    fixture.on(Event::AddressRemoved { address: OWN6 });
    fixture.own(OWN6, 64, DuplicateDetection::Run);
    assert_eq!(frames(&fixture.resolve(PEER6, 1)).len(), 0);

    let out = fixture.pass(Duration::from_secs(1));

    assert!(out.contains(&Action::DadDone { address: OWN6 }));
    let asked = sent(&out, |message| match message {
        Message::NeighbourSolicitation { target, .. } => Some(*target),
        _ => None,
    });
    let asked = asked.iter().filter(|(_, src, ..)| *src == OWN6);
    let targets: Vec<_> = asked.filter_map(|(.., target)| *target).collect();
    assert_eq!(targets, [PEER6]);
}

#[test]
fn duplicate_detection_repeats_when_the_link_returns() {
    let mut fixture = fixture();
    fixture.own(GLOBAL, 64, DuplicateDetection::Run);
    fixture.pass(Duration::from_secs(9));

    fixture.on(Event::LinkDown);
    fixture.on(Event::LinkUp);
    assert!(!fixture.machine.is_own(GLOBAL));
    let out = fixture.pass(Duration::from_secs(2));

    assert!(out.contains(&Action::DadDone { address: GLOBAL }));
    assert!(fixture.machine.is_own(GLOBAL));
}

#[test]
fn an_address_conflict_is_reported_and_not_defended() {
    let mut fixture = fixture();
    fixture.own(PEER6, 64, DuplicateDetection::Skip);
    fixture.pass(Duration::from_secs(9));

    let out = fixture.hear(&advertisement(ALL_NODES, "O", Some(THIRD_MAC)), THIRD_MAC);

    let conflict = Action::Conflict {
        address: PEER6,
        mac: THIRD_MAC,
    };
    assert_eq!(out, [conflict]);
    assert!(fixture.machine.is_own(PEER6));
}

#[test]
fn a_tentative_address_is_not_the_source_of_requests() {
    let mut fixture = fixture();
    fixture.on(Event::AddressRemoved { address: OWN6 });
    fixture.own(OWN6, 64, DuplicateDetection::Run);
    fixture.pass(Duration::from_secs(9));
    assert_eq!(frames(&fixture.resolve(PEER6, 1)).len(), 1);

    fixture.on(Event::LinkDown);
    fixture.on(Event::LinkUp);

    assert_eq!(frames(&fixture.resolve(PEER6, 1)).len(), 0);
}

#[test]
fn the_router_flag_stays_until_an_advertisement_clears_it() {
    let mut fixture = fixture_in(Status::Incomplete);
    fixture.hear(&advertisement(OWN6, "RSO", Some(PEER_MAC)), PEER_MAC);

    fixture.pass(Duration::from_secs(45));
    assert_eq!(fixture.status(PEER6), Some(Status::Stale));
    assert!(fixture.machine.row(PEER6).unwrap().router);
}

#[test]
fn advertisements_from_global_addresses_are_ignored() {
    // RFC 4861, 6.1.2.
    let mut fixture = fixture();
    fixture.own(GLOBAL, 64, DuplicateDetection::Skip);
    let mut options = Vec::new();
    NdpOption::Source(PEER_MAC).emit(&mut options);
    let message = Message::RouterAdvertisement {
        router: wire::ndp::Router::default(),
        options: Options::new_checked(&options).unwrap(),
    };
    let src = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 7);

    fixture.hear(&packet(src, ALL_NODES, 255, &message), PEER_MAC);

    assert_eq!(fixture.machine.counters().malformed, 1);
    assert!(fixture.machine.is_empty());
}

#[test]
fn fragmented_discovery_messages_are_ignored() {
    // RFC 6980, 5.
    let mut fixture = fixture_in(Status::Incomplete);
    let whole = advertisement(OWN6, "SO", Some(PEER_MAC));
    let fragment = ipv6::Fragment {
        next_header: Protocol::ICMPV6,
        offset: 0,
        more: false,
        id: 1,
    };
    let payload = [&fragment.to_bytes(), &whole[40..]].concat();
    let header = ipv6::Repr {
        hop_limit: 255,
        ..ipv6::Repr::new(Protocol::FRAGMENT, PEER6, OWN6)
    };
    let packet = [&header.to_bytes(payload.len()), &payload[..]].concat();

    assert_eq!(fixture.hear(&packet, PEER_MAC), []);
    assert_eq!(fixture.machine.counters().malformed, 1);
}
