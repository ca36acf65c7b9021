use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use dataplane::ipsec::{Action, Policies, Policy, Selector};
use dataplane::snapshot::Prefix;
use frame::InterfaceId;
use machine::Duration;
use menu::Value;
use queue::Limits;
use script::Session;
use service::neighbour::Mode;
use wire::Mac;

use crate::Instance;
use crate::drive::{Control, Setup};
use crate::feature::{Effect, Effects, NewObject};
use crate::intent::{Address4, Class, Gateway, Interface, Member, Neighbour, Route};
use crate::kind::PointToPoint;
use crate::object::{DynamicName, DynamicQueue, ListEntry, Made, Owner, QueueTarget};
use crate::rib::{Check, Net};

const MENU: &str = "/interface/pppoe-server";

fn session(number: u64) -> Owner {
    Owner {
        feature: "test",
        number,
    }
}

fn name(number: u64) -> String {
    format!("null{number}")
}

fn interface(number: u64) -> Made {
    let interface = Interface {
        name: name(number).into(),
        disabled: false,
        mtu: 1480,
        arp: Mode::Enabled,
        arp_timeout: None,
        kind: PointToPoint.into(),
        class: Class::Ppp,
    };
    Made::Interface(MENU, interface)
}

fn address(number: u64) -> Made {
    let network = Ipv4Addr::from(0x0a80_0000 + number as u32);
    Made::Address4(Address4 {
        addr: Ipv4Addr::new(10, 64, 0, 1),
        len: 32,
        network,
        interface: name(number).into(),
        disabled: false,
    })
}

fn route(number: u64, distance: u8) -> Made {
    let gateway = Gateway {
        addr: None,
        interface: Some(name(number).into()),
        table: None,
    };
    Made::Route4(Route {
        net: Net::new(Ipv4Addr::new(172, 16, number as u8, 0), 24),
        table: "main".into(),
        gateways: vec![gateway],
        refuse: None,
        check: Check::None,
        distance,
        scope: 30,
        target_scope: 10,
        pref_src: None,
        disabled: false,
    })
}

struct Router(Instance);

impl Router {
    fn new() -> Self {
        let mut store = schema::store();
        store.ensure_port("ether1", None).expect("a port");
        Self(
            Instance::new(&Setup::offline(menu::Clock::utc(0)), store)
                .expect("memory")
                .0,
        )
    }

    fn control(&mut self) -> &mut Control {
        self.0.control()
    }

    fn come(&mut self, number: u64) {
        let mut out = Effects::default();
        for made in [interface(number), address(number), route(number, 7)] {
            out.object(session(number), made);
        }
        self.control().carry_out(out);
    }

    fn go(&mut self, number: u64) {
        let mut out = Effects::default();
        out.push(Effect::Gone(session(number)));
        self.control().carry_out(out);
    }

    fn run(&mut self, text: &str) -> Result<String, String> {
        let mut out = String::new();
        let ran = self.0.run(&mut Session::new("admin"), text, &mut out);
        ran.map(|()| out).map_err(|refusal| refusal.to_string())
    }

    fn count(&mut self, menu: &str, test: &str) -> String {
        let counted = self.run(&format!("{menu}/print count-only where {test}"));
        counted.expect("a count").trim().to_owned()
    }

    fn id(&mut self, name: &str) -> Option<InterfaceId> {
        self.control().layout.named(name).map(|(id, _)| id)
    }
}

#[test]
fn objects_of_an_owner_work_show_in_menus_and_vanish_together() {
    let mut router = Router::new();
    router.come(3);
    router.come(4);

    let id = router.id("null3").expect("it is laid out");
    let line = router
        .control()
        .interfaces()
        .get(id)
        .expect("workers know it");
    assert!(line.running && !line.ethernet && line.ipv4 && line.mtu == 1480);
    let found = router
        .control()
        .v4
        .rib
        .lookup(0, Ipv4Addr::new(172, 16, 3, 9));
    assert_eq!(found.expect("a route").paths[0].interface(), Some(id));
    assert_eq!(router.count("/interface", "dynamic"), "2");
    assert_eq!(router.count(MENU, "name=null3 running"), "1");
    assert_eq!(router.count("/ip/address", "dynamic interface=null3"), "1");
    assert_eq!(router.count("/ip/route", "dynamic distance=7 active"), "2");
    // Two connected networks.
    assert_eq!(router.count("/ip/route", "dynamic connect active"), "2");

    router.go(3);

    assert_eq!(
        (router.id("null3"), router.control().interfaces().get(id)),
        (None, None)
    );
    assert_eq!(
        router
            .control()
            .v4
            .rib
            .lookup(0, Ipv4Addr::new(172, 16, 3, 9)),
        None
    );
    assert_eq!(router.count("/interface", "dynamic"), "1");
    assert_eq!(router.count("/ip/address", "dynamic"), "1");
    assert_eq!(router.count("/ip/route", "dynamic"), "2");
    router.go(4);
    assert_eq!(router.control().objects.len(), 0);
}

#[test]
fn a_dynamic_row_is_removed_where_its_feature_lets_one() {
    let mut router = Router::new();
    router.come(1);
    let refused = router.run("/ip/route/remove [find distance=7]");
    assert!(refused.is_err_and(|why| why.contains("can not remove dynamic")));
    assert_eq!(router.count("/ip/route", "distance=7"), "1");

    let mut out = Effects::default();
    out.push(Effect::Object(Box::new(NewObject {
        owner: session(1),
        made: route(9, 8),
        cells: vec![("comment", Value::text("by a lease"))],
        removable: true,
    })));
    router.control().carry_out(out);
    assert_eq!(router.count("/ip/route", "comment=\"by a lease\""), "1");
    router
        .run("/ip/route/remove [find distance=8]")
        .expect("it may go");
    assert_eq!(router.count("/ip/route", "distance=8"), "0");
}

#[test]
fn workers_hear_of_policies_that_no_transaction_made() {
    let mut router = Router::new();
    let all = Prefix {
        ipv6: false,
        bits: 0,
        len: 0,
    };
    let policies = Policies::new(vec![Policy {
        selector: Selector {
            source: all,
            destination: all,
            protocol: 50,
            source_port: 0,
            destination_port: 0,
        },
        action: Action::Discard,
    }]);
    let mut out = Effects::default();
    out.push(Effect::Policies(Arc::new(policies.clone())));
    router.control().carry_out(out);
    assert_eq!(*router.control().snapshot.load().ipsec.policies, policies);
}

#[test]
fn a_rule_of_a_feature_precedes_configured_rules() {
    let mut router = Router::new();
    for line in [
        "/ip/address/add address=192.0.2.1/24 interface=ether1",
        "/ip/firewall/nat/add chain=srcnat action=src-nat to-addresses=192.0.2.7",
    ] {
        router.run(line).expect("it is taken");
    }
    let rule = |number: u64, to: [u8; 4], list: &str| NewObject {
        owner: session(number),
        made: Made::Rule("/ip/firewall/nat"),
        cells: vec![
            ("comment", Value::text(format!("of {number}"))),
            ("chain", Value::text("srcnat")),
            ("action", Value::Word("src-nat")),
            ("to-addresses", Value::Address(Ipv4Addr::from(to).into())),
            ("src-address-list", Value::text(list)),
        ],
        removable: false,
    };
    let mut out = Effects::default();
    out.push(Effect::Object(Box::new(rule(1, [10, 7, 0, 5], "one"))));
    out.push(Effect::Object(Box::new(rule(2, [10, 7, 0, 6], "two"))));
    router.control().carry_out(out);
    let shown = |router: &mut Router| {
        let menu = "/ip/firewall/nat";
        let get =
            format!(":foreach rule in=[{menu}/find] do={{:put [{menu}/get $rule to-addresses]}}");
        let shown = router.run(&get).expect("rows");
        let lines = shown.split_whitespace().map(str::to_owned);
        lines.collect::<Vec<_>>()
    };
    assert_eq!(shown(&mut router), ["10.7.0.5", "10.7.0.6", "192.0.2.7"]);
    let counts = "dynamic src-address-list=two packets=0";
    assert_eq!(router.count("/ip/firewall/nat", counts), "1");
    let refused = router.run("/ip/firewall/nat/remove [find comment=\"of 1\"]");
    refused.expect_err("it is the feature's");

    router.go(1);
    assert_eq!(shown(&mut router), ["10.7.0.6", "192.0.2.7"]);
    router.go(2);
    assert_eq!(shown(&mut router), ["192.0.2.7"]);
}

#[test]
fn a_name_finds_a_configured_interface_before_a_dynamic_one() {
    let mut router = Router::new();
    router.come(1);
    let dynamic = router.id("null1").expect("it is there");
    let add = "/interface/vlan/add name=null1 interface=ether1 vlan-id=5";
    router.run(add).expect("the store does not know it");
    let configured = router.id("null1").expect("it is there");

    assert_ne!(configured, dynamic);
    router.run("/interface/vlan/remove null1").expect("it goes");
    assert_eq!(router.id("null1"), Some(dynamic));
}

#[test]
fn removed_owners_release_their_memory_and_slots() {
    let mut router = Router::new();
    let mut now = machine::Instant::ZERO;
    let epoch = router.control().snapshot().epoch;
    for number in 0..1_000 {
        router.come(number);
        now += Duration::from_millis(10);
        router.control().poll(now);
        router.go(number);
    }

    let control = router.control();
    assert_eq!(control.snapshot().epoch, epoch, "no snapshot is published");
    assert!(control.numbers.last().slot() < 100);
    assert_eq!(control.objects.len(), 0);
    assert_eq!(control.layout.interfaces.len(), control.v6.machines.len());
    assert_eq!(
        control.features.links6.advertised().len(),
        control.layout.interfaces.len()
    );
    assert_eq!(control.v4.rib.len(), 0);
    assert_eq!(control.v4.rib.lines().in_use(), 0);
}

/// Objects that a session adds besides its interface: one of each other kind.
fn of_session(number: u64) -> Vec<Made> {
    let host = Ipv4Addr::from(0x0a80_0000 + number as u32);
    let host6 = Ipv6Addr::from(0x2001_0db8 << 96 | u128::from(number));
    let entry = |address: IpAddr| {
        Made::ListEntry(ListEntry {
            list: "clients".into(),
            address,
        })
    };
    let limits = |max_limit| Limits {
        max_limit,
        bucket: 100,
        priority: 8,
        ..Limits::default()
    };
    vec![
        Made::Member(Member {
            list: "inside".into(),
            interface: name(number).into(),
            disabled: false,
        }),
        Made::Neighbour4(Neighbour {
            addr: host,
            interface: "ether1".into(),
            mac: Some(Mac([2, 0, 0, 0, 9, number as u8])),
            published: false,
            disabled: false,
        }),
        Made::Neighbour6(Neighbour {
            addr: host6,
            interface: "ether1".into(),
            mac: Some(Mac([2, 0, 0, 0, 9, number as u8])),
            published: false,
            disabled: false,
        }),
        entry(host.into()),
        entry(host6.into()),
        Made::Queue(Box::new(DynamicQueue {
            name: format!("<{}>", name(number)).into(),
            target: QueueTarget::Interface(name(number).into()),
            limits: [limits(2_000_000), limits(8_000_000)],
            kinds: [None, None],
            parent: None,
            first: false,
        })),
        Made::Name(DynamicName {
            name: format!("{}.example", name(number)).into(),
            address: host.into(),
        }),
    ]
}

/// Menus, and conditions that the object of session 1 meets there.
const ROWS: [(&str, &str); 7] = [
    (
        "/interface/list/member",
        "dynamic list=inside interface=null1",
    ),
    (
        "/ip/arp",
        "dynamic complete address=10.128.0.1 status=permanent",
    ),
    ("/ipv6/neighbor", "dynamic address=2001:db8::1"),
    (
        "/ip/firewall/address-list",
        "dynamic list=clients address=10.128.0.1",
    ),
    (
        "/ipv6/firewall/address-list",
        "dynamic address=2001:db8::1/128",
    ),
    ("/queue/simple", "dynamic !invalid name=\"<null1>\""),
    (
        "/ip/dns/static",
        "dynamic name=null1.example address=10.128.0.1",
    ),
];

#[test]
fn a_session_has_objects_of_each_kind_and_all_go_with_it() {
    let mut router = Router::new();
    for line in [
        "/interface/list/add name=inside",
        "/ip/firewall/filter/add chain=forward action=accept in-interface-list=inside",
        "/ip/address/add address=10.128.0.254/24 interface=ether1",
    ] {
        router.run(line).expect("it is taken");
    }
    for number in [1, 2] {
        router.come(number);
        let mut out = Effects::default();
        for made in of_session(number) {
            out.object(session(number), made);
        }
        router.control().carry_out(out);
    }
    for (menu, test) in ROWS {
        assert_eq!(router.count(menu, test), "1", "{menu} {test}");
        let refused = router.run(&format!("{menu}/remove [find where {test}]"));
        let why = refused.expect_err("it is the feature's");
        assert!(why.contains("can not remove dynamic"), "{menu}: {why}");
        assert_eq!(router.count(menu, test), "1", "{menu} {test}");
    }
    let queues = { router.run("/queue/simple/print detail without-paging") }.expect("rows");
    assert!(
        queues.contains("target=null1") && queues.contains("max-limit=2M/8M"),
        "{queues}"
    );
    let shown = router
        .run("/interface/list/member/print without-paging")
        .expect("rows");
    assert!(
        shown
            .lines()
            .any(|line| line.contains(" D ") && line.contains("null1")),
        "{shown}"
    );

    router.go(1);
    for (menu, test) in ROWS {
        assert_eq!(router.count(menu, test), "0", "{menu} {test}");
        assert_eq!(router.count(menu, "dynamic"), "1", "{menu}");
    }
    router.go(2);
    assert_eq!(router.control().objects.len(), 1, "the connected route");
}

#[test]
fn workers_know_the_objects_of_a_session() {
    let mut router = Router::new();
    for line in [
        "/interface/list/add name=inside",
        "/ip/firewall/filter/add chain=forward action=accept in-interface-list=inside",
        "/ip/address/add address=10.128.0.254/24 interface=ether1",
    ] {
        router.run(line).expect("it is taken");
    }
    router.come(1);
    let mut out = Effects::default();
    for made in of_session(1) {
        out.object(session(1), made);
    }
    router.control().carry_out(out);

    let id = router.id("null1").expect("it is laid out");
    // The class of the interface belongs to the list that the rule names.
    let known = router.control().firewall.known(id);
    assert!(known.iter().any(|list| &**list == "inside"));
    let list = |router: &mut Router| {
        let mut lists = router.control().firewall.address_lists(false);
        let found = lists.find(|(name, _)| &***name == "clients");
        found.expect("a list").1.clone()
    };
    let list = list(&mut router);
    let host = u128::from(u32::from(Ipv4Addr::new(10, 128, 0, 1)));
    let now = router.control().now;
    assert!(list.has(host, now));
    let ether1 = router.id("ether1").expect("a port");
    let resolved = |router: &mut Router| {
        let machine = router
            .control()
            .v4
            .machines
            .get(&ether1)
            .expect("a machine");
        let mut rows = machine.rows(None);
        let row = rows.find(|row| row.address == Ipv4Addr::new(10, 128, 0, 1));
        row.and_then(|row| row.mac)
    };
    assert_eq!(resolved(&mut router), Some(Mac([2, 0, 0, 0, 9, 1])));

    // A configured entry comes first, and the object's returns behind it.
    let arp = "/ip/arp/add address=10.128.0.1 interface=ether1 mac-address=02:00:00:00:00:77";
    router.run(arp).expect("it is taken");
    assert_eq!(resolved(&mut router), Some(Mac([2, 0, 0, 0, 0, 0x77])));
    router
        .run("/ip/arp/remove [find !dynamic]")
        .expect("it goes");
    assert_eq!(resolved(&mut router), Some(Mac([2, 0, 0, 0, 9, 1])));

    router.go(1);
    assert_eq!(resolved(&mut router), None);
    assert!(!list.has(host, now));
}

#[test]
fn an_address_stays_in_a_list_until_its_last_entry_goes() {
    let mut router = Router::new();
    let address = Ipv4Addr::new(192, 0, 2, 9);
    for number in [1, 2] {
        let mut out = Effects::default();
        let entry = ListEntry {
            list: "clients".into(),
            address: address.into(),
        };
        out.object(session(number), Made::ListEntry(entry));
        router.control().carry_out(out);
    }
    let has = |router: &mut Router| {
        let control = router.control();
        let mut lists = control.firewall.address_lists(false);
        lists.any(|(_, list)| list.has(u32::from(address).into(), control.now))
    };
    assert!(has(&mut router));
    router.go(1);
    assert!(has(&mut router));
    router.go(2);
    assert!(!has(&mut router));
}
