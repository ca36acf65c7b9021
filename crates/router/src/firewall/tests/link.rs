//! Rules of bridges: matchers of frames, and invalid rules.

use dataplane::packet::link::Link;
use dataplane::rule::{Bridged, Marks, Readdress};
use wire::Mac;

use super::*;

const BRIDGE_FILTER: &str = "/interface/bridge/filter";
const BRIDGE_NAT: &str = "/interface/bridge/nat";

/// 02:…:01 asks 02:…:02 who has 10.0.0.2.
const ARP: &[u8] = &[
    2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 1, 10, 0, 0,
    1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 2,
];
/// A UDP datagram from 10.0.0.1 to 10.0.0.2, port 53: untagged, and tagged with VLAN 10, priority 5.
const UDP: &[u8] = &[
    2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0,
    1, 10, 0, 0, 2, 0x13, 0x88, 0, 53, 0, 8, 0, 0,
];
const TAGGED: &[u8] = &[
    2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x81, 0, 0xa0, 10, 8, 0, 0x45, 0, 0, 28, 0, 0, 0, 0, 64,
    17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x13, 0x88, 0, 53, 0, 8, 0, 0,
];
const SNAP: &[u8] = &[
    2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0, 8, 0xaa, 0xaa, 3, 0, 0, 0, 0x80, 0x9b,
];
const BPDU: &[u8] = &[
    1, 0x80, 0xc2, 0, 0, 0, 2, 0, 0, 0, 0, 1, 0, 38, 0x42, 0x42, 3, 0, 0, 0, 0, 0x81, 0x80, 0, 2,
    0, 0, 0, 0, 9, 0, 0, 0x4e, 0x20, 0x90, 0, 2, 0, 0, 0, 0, 7, 0x80, 1, 1, 0, 20, 0, 2, 0, 15, 0,
];

impl Bench {
    /// Returns the verdict of a chain on a frame from a bridge port; ether2 stands for the bridge.
    fn bridged(&self, table: &Table, chain: &str, frame: &[u8]) -> (Verdict, Marks) {
        let link = Link::of(frame).expect("a link header");
        let fields = match link.has_ip {
            true => Fields::of(&frame[14..]),
            false => Fields::default(),
        };
        let mut subject = Subject {
            bridged: Some(Bridged {
                link: &link,
                frame,
                own: false,
                ingress: self.class("ether2"),
                egress: Class::NONE,
            }),
            ..Subject::new(&fields, &frame[14..], self.class("ether1"))
        };
        let mut worker = Worker::new(Arc::clone(&self.counters), 1);
        let chain = table.find(chain).expect("a chain");
        let (facts, mut quiet) = (&Nothing, Quiet);
        let verdict = rule::run(table, chain, &mut subject, facts, &mut worker, &mut quiet);
        (verdict, subject.marks)
    }

    fn filtered(&self, frame: &[u8]) -> bool {
        let table = &self.firewall.compiled().bridge.filter;
        let (verdict, _) = self.bridged(table, "forward", frame);
        matches!(verdict, Verdict::Drop(_))
    }
}

#[test]
fn every_matcher_compares_its_own_field() {
    let cases: &[(&[u8], &str)] = &[
        (ARP, "in-interface=ether1"),
        (ARP, "in-interface-list=l"),
        (ARP, "in-bridge=ether2"),
        (ARP, "in-bridge-list=!l"),
        (ARP, "src-mac-address=02:00:00:00:00:01"),
        (ARP, "dst-mac-address=02:00:00:AA:AA:AA/FF:FF:FF:00:00:00"),
        (ARP, "mac-protocol=arp"),
        (ARP, "mac-protocol=0x806"),
        (ARP, "packet-type=other-host"),
        (ARP, "arp-opcode=request"),
        (ARP, "arp-hardware-type=1"),
        (ARP, "arp-packet-type=ip"),
        (ARP, "arp-gratuitous=no"),
        (ARP, "arp-src-address=10.0.0.0/24"),
        (ARP, "arp-dst-address=10.0.0.2"),
        (ARP, "arp-src-mac-address=02:00:00:00:00:01"),
        (ARP, "arp-dst-mac-address=00:00:00:00:00:00"),
        (ARP, "packet-mark=no-mark"),
        (ARP, "ingress-priority=0"),
        (ARP, "limit=1,5:packet"),
        (UDP, "mac-protocol=ip"),
        (UDP, "src-address=10.0.0.0/8"),
        (UDP, "dst-address=!10.0.0.1"),
        (UDP, "ip-protocol=udp"),
        (UDP, "ip-protocol=udp src-port=5000"),
        (UDP, "ip-protocol=udp dst-port=50-60"),
        (TAGGED, "mac-protocol=vlan"),
        (TAGGED, "vlan-id=10"),
        (TAGGED, "vlan-priority=5"),
        (TAGGED, "vlan-encap=ip"),
        (SNAP, "mac-protocol=length"),
        (SNAP, "mac-protocol=802.2"),
        (SNAP, "802.3-sap=0xaa"),
        (SNAP, "802.3-type=0x809b"),
        (BPDU, "stp-type=config"),
        (BPDU, "stp-flags=topology-change,topology-change-ack"),
        (BPDU, "stp-root-priority=32768"),
        (BPDU, "stp-root-address=02:00:00:00:00:09"),
        (BPDU, "stp-root-cost=1-20000"),
        (BPDU, "stp-sender-priority=36864"),
        (BPDU, "stp-sender-address=02:00:00:00:00:07"),
        (BPDU, "stp-port=32769"),
        (BPDU, "stp-msg-age=256"),
        (BPDU, "stp-max-age=5120"),
        (BPDU, "stp-hello-time=512"),
        (BPDU, "stp-forward-delay=3840"),
    ];
    let lists = "/interface list add name=l\n/interface list member add list=l interface=ether1\n";
    for (frame, asked) in cases {
        let add = |asked: &str| {
            Bench::new(&format!(
                "{lists}/interface bridge filter add chain=forward action=drop {asked}"
            ))
        };
        assert!(add(asked).filtered(frame), "{asked}");
        if !asked.contains("limit") && !asked.contains("gratuitous") {
            let turned = match asked.split_once("=!") {
                Some((name, value)) => format!("{name}={value}"),
                // The last matcher.
                None => {
                    let (name, value) = asked.rsplit_once('=').expect("a property");
                    format!("{name}=!{value}")
                }
            };
            assert!(!add(&turned).filtered(frame), "{turned}");
        }
    }
}

#[test]
fn matchers_of_ip_ask_nothing_of_other_frames() {
    for asked in [
        "dst-address=!1.1.1.1",
        "ip-protocol=!tcp",
        "dst-address6=!::1/128",
    ] {
        let bench = Bench::new(&format!(
            "/interface bridge filter add chain=forward action=drop {asked}"
        ));
        assert!(!bench.filtered(ARP) && !bench.filtered(TAGGED), "{asked}");
        assert_eq!(bench.filtered(UDP), !asked.contains('6'), "{asked}");
    }
}

#[test]
fn every_bridge_action_is_compiled_to_its_own_step() {
    let bench = Bench::new(
        "/interface bridge filter\n\
         add chain=forward action=mark-packet new-packet-mark=m mac-protocol=arp\n\
         add chain=forward action=set-priority new-priority=5\n\
         add chain=forward action=jump jump-target=mine\n\
         add chain=forward action=drop packet-mark=m\n\
         add chain=mine action=return mac-protocol=arp\n\
         add chain=mine action=passthrough\n\
         add chain=mine action=accept\n\
         /interface bridge nat\n\
         add chain=dstnat action=arp-reply to-arp-reply-mac-address=02:00:00:00:00:AA\n\
         add chain=dstnat action=redirect ip-protocol=udp\n\
         add chain=dstnat action=dst-nat to-dst-mac-address=02:00:00:00:00:BB\n\
         add chain=srcnat action=src-nat to-src-mac-address=02:00:00:00:00:CC\n",
    );
    let tables = &bench.firewall.compiled().bridge;

    let (verdict, marks) = bench.bridged(&tables.filter, "forward", ARP);
    assert!(matches!(verdict, Verdict::Drop(_)) && marks.priority == 5);
    let (verdict, marks) = bench.bridged(&tables.filter, "forward", UDP);
    assert_eq!((verdict, marks.packet), (Verdict::Accept, 0));
    let desk = bench.firewall.desk(BRIDGE_FILTER).expect("a table");
    let passed = desk.number(bench.item(BRIDGE_FILTER, 5)).expect("a rule");
    let counted = bench.firewall.hits(passed).traffic;
    assert_eq!((counted.packets, counted.bytes), (1, 28));
    let to = |last: u8| Mac([2, 0, 0, 0, 0, last]);
    for (chain, frame, how) in [
        ("dstnat", ARP, Readdress::ArpReply(to(0xaa))),
        ("dstnat", UDP, Readdress::Redirect),
        ("dstnat", SNAP, Readdress::Destination(to(0xbb))),
        ("srcnat", ARP, Readdress::Source(to(0xcc))),
    ] {
        let (verdict, _) = bench.bridged(&tables.nat, chain, frame);
        assert_eq!(verdict, Verdict::Readdress(how));
    }
}

#[test]
fn a_rule_that_no_frame_fits_or_that_lacks_what_it_needs_is_invalid() {
    let mut bench = Bench::new(
        "/interface bridge filter\n\
         add chain=forward action=jump\n\
         add chain=forward action=mark-packet\n\
         add chain=forward action=set-priority\n\
         add chain=forward mac-protocol=arp src-address=10.0.0.0/8\n\
         add chain=forward src-address=10.0.0.0/8 dst-address6=::1/128\n\
         add chain=forward mac-protocol=!ip dst-address=10.0.0.1\n\
         /interface bridge nat\n\
         add chain=srcnat action=src-nat\n\
         add chain=dstnat action=src-nat to-src-mac-address=02:00:00:00:00:AA\n\
         add chain=srcnat action=redirect\n\
         add chain=mine action=redirect\n",
    );
    let invalid = |bench: &Bench, path: &str| -> Vec<bool> {
        let desk = bench.firewall.desk(path).expect("a table");
        let items = bench.store.items(path).map(|item| item.id.0);
        items.map(|item| desk.invalid(item).is_some()).collect()
    };
    assert_eq!(invalid(&bench, BRIDGE_FILTER), [true; 6]);
    assert_eq!(invalid(&bench, BRIDGE_NAT), [true, true, true, false]);
    assert!(!bench.filtered(ARP) && !bench.filtered(UDP));

    bench.change(
        "/interface bridge filter\n\
         set 0 jump-target=x\nset 1 new-packet-mark=m\nset 2 new-priority=from-ingress\n\
         set 3 mac-protocol=ip\nset 4 !dst-address6\nset 5 mac-protocol=!arp\n\
         /interface bridge nat set 0 to-src-mac-address=02:00:00:00:00:01",
    );

    assert_eq!(invalid(&bench, BRIDGE_FILTER), [false; 6]);
    assert!(!invalid(&bench, BRIDGE_NAT)[0]);
}

#[test]
fn rules_of_bridges_track_no_connections() {
    let bench = Bench::new("/interface bridge filter add chain=forward action=drop");
    let compiled = bench.firewall.compiled();

    assert!(!compiled.guards(false) && !compiled.guards(true));
    assert!(!compiled.bridge.is_empty());
}

#[test]
fn use_ip_firewall_settings_set_the_detour() {
    let mut bench = Bench::new("/interface bridge settings set use-ip-firewall-for-vlan=yes");
    let detour = |bench: &Bench| bench.firewall.compiled().bridge.detour;
    assert_eq!(detour(&bench), Detour::default());

    assert!(bench.change("/interface bridge settings set use-ip-firewall=yes"));

    let both = Detour {
        plain: true,
        vlan: true,
        pppoe: false,
    };
    assert_eq!(detour(&bench), both);
}

#[test]
fn every_name_of_what_frames_carry_has_numbers() {
    let store = schema::store();
    let menu = store.menu(BRIDGE_FILTER).expect("a menu");
    let property = menu.property("mac-protocol").expect("a property");
    let menu::Kind::Not(menu::Kind::Or(words, _)) = property.kind else {
        panic!("words or a number");
    };
    for word in *words {
        let bench = Bench::new(&format!(
            "/interface bridge filter add chain=forward mac-protocol={word}"
        ));
        let desk = bench.firewall.desk(BRIDGE_FILTER).expect("a table");
        assert!(
            desk.invalid(bench.item(BRIDGE_FILTER, 0)).is_none(),
            "{word}"
        );
    }
}
