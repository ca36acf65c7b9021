//! Tests of bridge matchers, and comparison of the bridge classifier with plain evaluation.

use packet::link::Link;
use proptest::collection::vec;
use proptest::prelude::*;
use wire::Mac;

use super::classifier::agree_on;
use super::*;

const HOLDS: (bool, bool) = (true, false);
const FAILS: (bool, bool) = (false, true);
const LACKS: (bool, bool) = (false, false);

/// A frame with its parsed headers.
#[derive(Clone, Debug)]
struct Framed {
    bytes: Vec<u8>,
    link: Link,
    fields: Fields,
    own: bool,
    classes: [u16; 4],
    mark: u32,
}

impl Framed {
    fn new(bytes: Vec<u8>) -> Self {
        let link = Link::of(&bytes).expect("a link header");
        let fields = match link.has_ip {
            true => Fields::of(&bytes[14..]),
            false => Fields::default(),
        };
        Self {
            bytes,
            link,
            fields,
            own: false,
            classes: [1, 2, 3, 4],
            mark: 0,
        }
    }

    fn subject(&self) -> Subject<'_> {
        let [ingress, egress, in_bridge, out_bridge] = self.classes.map(Class);
        Subject {
            egress,
            marks: Marks {
                packet: self.mark,
                ..Marks::default()
            },
            bridged: Some(Bridged {
                link: &self.link,
                frame: &self.bytes,
                own: self.own,
                ingress: in_bridge,
                egress: out_bridge,
            }),
            ..Subject::new(&self.fields, &self.bytes[14..], ingress)
        }
    }

    fn asked(&self, what: LinkMatch) -> (bool, bool) {
        let matcher = Matcher::from(Match::Link(what));
        let subject = self.subject();
        (
            matches(matcher.clone(), &subject),
            matches(!matcher, &subject),
        )
    }
}

fn mac(last: u8) -> Mac {
    Mac([2, 0, 0, 0, 0, last])
}

fn only(last: u8) -> MacSet {
    MacSet::new(mac(last), Mac::BROADCAST)
}

/// Builds a frame from 02:…:01 to 02:…:02.
fn frame(kind: &[u8], body: &[u8]) -> Framed {
    let mut bytes = [mac(2).0, mac(1).0].concat();
    bytes.extend(kind);
    bytes.extend(body);
    Framed::new(bytes)
}

/// Builds an ARP request of 10.0.0.1 for 10.0.0.2.
fn arp() -> Framed {
    let mut body = vec![0, 1, 8, 0, 6, 4, 0, 1];
    body.extend([2, 0, 0, 0, 0, 1, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 2]);
    frame(&[8, 6], &body)
}

#[test]
fn mac_addresses_are_compared_under_their_mask() {
    let frame = arp();
    let group = MacSet::new(Mac([1, 0, 0, 0, 0, 0]), Mac([1, 0, 0, 0, 0, 0]));
    let maker = MacSet::new(mac(9), Mac([0xff, 0xff, 0xff, 0, 0, 0]));

    assert_eq!(frame.asked(LinkMatch::Source(only(1))), HOLDS);
    assert_eq!(frame.asked(LinkMatch::Source(only(2))), FAILS);
    assert_eq!(frame.asked(LinkMatch::Destination(only(2))), HOLDS);
    assert_eq!(frame.asked(LinkMatch::Destination(maker)), HOLDS);
    assert_eq!(frame.asked(LinkMatch::Destination(group)), FAILS);
}

#[test]
fn bridges_and_their_ports_are_distinguished() {
    let frame = arp();
    let list = |classes: &[u16]| Arc::new(classes.iter().copied().map(Class).collect());

    assert_eq!(frame.asked(LinkMatch::InBridge(Class(3))), HOLDS);
    assert_eq!(frame.asked(LinkMatch::InBridge(Class(1))), FAILS);
    assert_eq!(frame.asked(LinkMatch::OutBridge(Class(4))), HOLDS);
    assert_eq!(frame.asked(LinkMatch::InBridgeList(list(&[3, 9]))), HOLDS);
    assert_eq!(frame.asked(LinkMatch::OutBridgeList(list(&[3]))), FAILS);
    let ip = segment();
    assert!(!matches(
        Match::Link(LinkMatch::InBridge(Class(0))),
        &subject(&ip, &[])
    ));
}

#[test]
fn arp_matchers_apply_to_arp_frames_only() {
    let asked = |what| arp().asked(LinkMatch::Arp(what));

    assert_eq!(asked(ArpMatch::Opcode(1)), HOLDS);
    assert_eq!(asked(ArpMatch::Hardware(6)), FAILS);
    assert_eq!(asked(ArpMatch::Protocol(0x800, 0x800)), HOLDS);
    assert_eq!(asked(ArpMatch::Gratuitous(true)), FAILS);
    assert_eq!(asked(ArpMatch::Source(0x0a00_0000, 0x0a00_00ff)), HOLDS);
    assert_eq!(
        asked(ArpMatch::Destination(0x0a00_0001, 0x0a00_0001)),
        FAILS
    );
    assert_eq!(asked(ArpMatch::SourceMac(only(1))), HOLDS);
    assert_eq!(asked(ArpMatch::DestinationMac(only(1))), FAILS);
    let other = frame(&[0x86, 0xdd], &[0; 40]);
    assert_eq!(other.asked(LinkMatch::Arp(ArpMatch::Opcode(1))), LACKS);
}

#[test]
fn vlan_and_llc_matchers_apply_to_such_frames_only() {
    let tagged = frame(&[0x81, 0], &[0xa0, 10, 8, 0]);
    let snap = frame(&[0, 8], &[0xaa, 0xaa, 3, 0, 0, 0, 0x80, 0x9b]);

    assert_eq!(tagged.asked(LinkMatch::VlanId(5, 10)), HOLDS);
    assert_eq!(tagged.asked(LinkMatch::VlanId(11, 4095)), FAILS);
    assert_eq!(tagged.asked(LinkMatch::VlanPriority(5)), HOLDS);
    assert_eq!(tagged.asked(LinkMatch::VlanPriority(0)), FAILS);
    assert_eq!(tagged.asked(LinkMatch::VlanEncap(0x800, 0x800)), HOLDS);
    assert_eq!(tagged.asked(LinkMatch::Sap(0)), LACKS);
    assert_eq!(snap.asked(LinkMatch::VlanId(0, 4095)), LACKS);
    assert_eq!(snap.asked(LinkMatch::VlanPriority(0)), LACKS);
    assert_eq!(snap.asked(LinkMatch::Kind(0, 0x5dc)), HOLDS);
    assert_eq!(snap.asked(LinkMatch::Sap(0xaa)), HOLDS);
    assert_eq!(snap.asked(LinkMatch::SnapType(0x809b)), HOLDS);
    assert_eq!(snap.asked(LinkMatch::SnapType(1)), FAILS);
    // Matchers of IP do not look behind a tag.
    assert_eq!(tagged.asked(LinkMatch::Carries(Carries::Ip)), FAILS);
}

#[test]
fn spanning_tree_fields_are_matched() {
    let mut body = vec![0x42, 0x42, 3, 0, 0, 0, 0, 0x81, 0x80, 0, 2, 0, 0, 0, 0, 9];
    body.extend([0, 0, 0x4e, 0x20, 0x90, 0, 2, 0, 0, 0, 0, 7, 0x80, 1]);
    body.extend([1, 0, 20, 0, 2, 0, 15, 0]);
    let mut bytes = frame(&[0, 38], &body).bytes;
    bytes[..6].copy_from_slice(&[1, 0x80, 0xc2, 0, 0, 0]);
    let config = Framed::new(bytes.clone());
    bytes[20] = 0x80;
    let change = Framed::new(bytes);
    let asked = |what| config.asked(LinkMatch::Stp(what));

    assert_eq!(asked(StpMatch::Kind(0)), HOLDS);
    assert_eq!(asked(StpMatch::Flags(0x80)), HOLDS);
    assert_eq!(asked(StpMatch::RootPriority(0, 0x7fff)), FAILS);
    assert_eq!(asked(StpMatch::Root(only(9))), HOLDS);
    assert_eq!(asked(StpMatch::RootCost(20_000, 20_000)), HOLDS);
    assert_eq!(asked(StpMatch::SenderPriority(0x9000, 0x9000)), HOLDS);
    assert_eq!(asked(StpMatch::Sender(only(7))), HOLDS);
    assert_eq!(asked(StpMatch::Port(0x8001, 0x8001)), HOLDS);
    assert_eq!(asked(StpMatch::Time(1, 0x1400, 0x1400)), HOLDS);
    assert_eq!(change.asked(LinkMatch::Stp(StpMatch::Kind(0x80))), HOLDS);
    assert_eq!(
        change.asked(LinkMatch::Stp(StpMatch::Port(0, 0xffff))),
        LACKS
    );
    assert_eq!(arp().asked(LinkMatch::Stp(StpMatch::Kind(0))), LACKS);
}

#[test]
fn packet_type_is_host_multicast_broadcast_or_other_host() {
    let mut frame = arp();
    assert_eq!(frame.asked(LinkMatch::For(Audience::OtherHost)), HOLDS);
    frame.own = true;
    assert_eq!(frame.asked(LinkMatch::For(Audience::Host)), HOLDS);
    frame.link.destination = Mac([1, 0, 0x5e, 0, 0, 1]);
    assert_eq!(frame.asked(LinkMatch::For(Audience::Multicast)), HOLDS);
    frame.link.destination = Mac::BROADCAST;
    assert_eq!(frame.asked(LinkMatch::For(Audience::Broadcast)), HOLDS);
    assert_eq!(frame.asked(LinkMatch::For(Audience::Multicast)), FAILS);
}

#[test]
fn the_first_matching_rule_changes_the_mac_address() {
    let rules = vec![
        (
            vec![Match::Link(LinkMatch::Source(only(1))).into()],
            Action::Readdress(Readdress::Source(mac(8))),
        ),
        (Vec::new(), Action::Drop),
    ];
    let table = table(&[("srcnat", rules)]);
    let frame = arp();

    let verdict = run_first(&table, &mut frame.subject(), &mut worker());

    assert_eq!(verdict, Verdict::Readdress(Readdress::Source(mac(8))));
}

fn set() -> impl Strategy<Value = MacSet> {
    let masks = [
        Mac::BROADCAST,
        Mac([0xff, 0xff, 0xff, 0, 0, 0]),
        Mac([1, 0, 0, 0, 0, 0]),
        Mac([0xff, 0xff, 0xff, 0xff, 0xff, 0xfa]),
        Mac::ZERO,
    ];
    let address = (0_u8..4, 0_u8..6).prop_map(|(first, last)| Mac([first, 0, 0, 0, 0, last]));
    (address, prop::sample::select(masks.to_vec())).prop_map(|(mac, mask)| MacSet::new(mac, mask))
}

fn classes() -> impl Strategy<Value = Arc<ClassSet>> {
    vec(0_u16..6, 0..4).prop_map(|all| Arc::new(all.into_iter().map(Class).collect()))
}

fn kind() -> impl Strategy<Value = u16> {
    prop::sample::select(vec![0x0800, 0x0806, 0x8100, 0x88a8, 0x86dd, 0x0008])
}

fn what() -> impl Strategy<Value = Match> {
    let link = prop_oneof![
        3 => set().prop_map(LinkMatch::Source),
        3 => set().prop_map(LinkMatch::Destination),
        3 => (kind(), 0_u16..3).prop_map(|(kind, more)| LinkMatch::Kind(kind, kind + more)),
        2 => prop::sample::select(vec![Carries::Ipv4, Carries::Ipv6, Carries::Ip])
            .prop_map(LinkMatch::Carries),
        1 => (0_u16..6).prop_map(|class| LinkMatch::InBridge(Class(class))),
        1 => (0_u16..6).prop_map(|class| LinkMatch::OutBridge(Class(class))),
        1 => classes().prop_map(LinkMatch::InBridgeList),
        1 => classes().prop_map(LinkMatch::OutBridgeList),
        2 => (0_u16..4, 0_u16..4).prop_map(|(first, last)| LinkMatch::VlanId(first, last)),
        2 => (0_u8..9).prop_map(LinkMatch::VlanPriority),
        1 => kind().prop_map(|kind| LinkMatch::VlanEncap(kind, kind)),
        1 => prop::sample::select(vec![Audience::Host, Audience::Broadcast, Audience::OtherHost])
            .prop_map(LinkMatch::For),
        1 => (0_u16..3).prop_map(|opcode| LinkMatch::Arp(ArpMatch::Opcode(opcode))),
        1 => Just(LinkMatch::Sap(0xaa)),
    ];
    prop_oneof![
        6 => link.prop_map(Match::Link),
        1 => (0_u8..4).prop_map(|host| Match::Source(AddressRange::prefix(
            0x0a00_0000 + u128::from(host), 31, 32))),
        1 => (0_u16..6).prop_map(|class| Match::InInterface(Class(class))),
        1 => (0_u32..3).prop_map(Match::PacketMark),
    ]
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        4 => Just(Action::Drop),
        2 => Just(Action::Accept),
        1 => Just(Action::Return),
        1 => Just(Action::Passthrough),
        1 => Just(Action::Jump(ChainId(1))),
        1 => (0_u32..3).prop_map(Action::MarkPacket),
        1 => (0_u8..3).prop_map(|to| Action::Readdress(Readdress::Destination(mac(to)))),
    ]
}

fn rules(most: usize) -> impl Strategy<Value = Vec<Written>> {
    let matcher = (what(), prop::bool::weighted(0.25));
    let matcher = matcher.prop_map(|(what, negated)| Matcher { negated, what });
    vec((vec(matcher, 0..4), action()), 0..most)
}

fn drawn() -> impl Strategy<Value = Framed> {
    let ends = (0_u8..4, 0_u8..6, 0_u8..4, 0_u8..6, kind());
    let tag = (0_u8..8, 0_u8..4, kind());
    let rest = (
        any::<bool>(),
        [0_u16..6, 0..6, 0..6, 0..6],
        0_u32..3,
        0_u8..3,
    );
    (ends, tag, rest).prop_map(|(ends, (priority, vlan, behind), rest)| {
        let mut bytes = vec![ends.0, 0, 0, 0, 0, ends.1, ends.2, 0, 0, 0, 0, ends.3];
        bytes.extend(ends.4.to_be_bytes());
        match ends.4 {
            0x0800 => {
                let mut header = [0; 20];
                (header[0], header[3], header[9]) = (0x45, 20, 17);
                header[12..16].copy_from_slice(&[10, 0, 0, rest.3]);
                bytes.extend(header);
            }
            0x8100 | 0x88a8 => {
                bytes.extend([priority << 5, vlan]);
                bytes.extend(behind.to_be_bytes());
            }
            0x0806 => bytes.extend([0, 1, 8, 0, 6, 4, 0, rest.3]),
            _ => bytes.extend([0xaa, 0xaa, 3]),
        }
        Framed {
            own: rest.0,
            classes: rest.1,
            mark: rest.2,
            ..Framed::new(bytes)
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_classifier_agrees_with_a_plain_walk_about_frames(
        first in rules(90),
        second in rules(9),
        frames in vec(drawn(), 1..80),
    ) {
        let subjects: Vec<Subject<'_>> = frames.iter().map(Framed::subject).collect();
        let table = table(&[("forward", first), ("mine", second)]);
        agree_on(&table, &subjects)?;
    }
}
