use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dataplane::interface::Interface;
use dataplane::out::OutId;
use dataplane::routing_rules::RuleAction;
use dataplane::snapshot::{SlowReason, Snapshot};
use frame::InterfaceId;
use menu::Offline;
use script::Session;
use wire::Mac;

use super::address::{Dad, OfferKey};
use super::*;
use crate::intent::{Intent, Name};
use crate::rib::Protocol;

/// Compiles configurations on the ports `ether1` (number 0) and `ether2` (number 1).
struct RuleMenu {
    intent: Intent,
    layout: Layout,
    addresses: Addresses,
    interfaces: BTreeMap<InterfaceId, Compiled>,
    snapshot: Snapshot,
}

fn desk(configuration: &str) -> RuleMenu {
    let mut store = schema::store();
    let (mut session, mut out) = (Session::new("admin"), String::new());
    let mark = store.begin();
    for name in ["ether1", "ether2"] {
        store.ensure_port(name, None).expect("a port's name");
    }
    store.commit(mark).expect("no journal");
    script::import(
        &mut store,
        &mut Offline,
        &mut session,
        configuration,
        &mut out,
    )
    .expect("a configuration that imports");
    let intent = crate::features::intent(&store);
    let port = |number: u16| PortState {
        number,
        up: true,
        mac: Mac([2, 0, 0, 0, 0, number as u8 + 1]),
        mtu: 9_000,
        ..PortState::default()
    };
    let ports = BTreeMap::from([
        (Name::from("ether1"), port(0)),
        (Name::from("ether2"), port(1)),
        (Name::from("guest"), port(2)),
    ]);
    let mut numbers = Numbers::default();
    let ground = LayoutInputs::without_host_plane(&intent, &ports);
    let layout = Layout::new(&ground, &mut numbers);
    let addresses = Addresses::new(&intent, &layout);
    let mut tables = BTreeMap::from([(Name::from("main"), 0)]);
    for (item, table) in &intent.tables {
        let number = numbers.table(*item).expect("room for a table");
        tables.insert(table.name.clone(), number);
    }
    let mirror_ports = BTreeMap::new();
    let firewall = Arc::default();
    let snapshot = compile(1, &ground, &layout, &mirror_ports, &tables, &firewall);
    let made = |id| interface(&intent, &layout, &addresses, id, &|_, _| false);
    let ids = layout.interfaces.keys();
    let interfaces = ids.filter_map(|id| Some((*id, made(*id)?))).collect();
    RuleMenu {
        intent,
        layout,
        addresses,
        interfaces,
        snapshot,
    }
}

impl RuleMenu {
    fn line_of(&self, name: &str) -> &Interface {
        let (id, _) = self.layout.named(name).expect("an interface");
        &self.interfaces.get(&id).expect("it is compiled").line
    }

    /// Returns the VLAN interfaces on an interface.
    fn vlans_on(&self, name: &str) -> Vec<InterfaceId> {
        let (on, _) = self.layout.named(name).expect("an interface");
        let lies_on = |is: &Compiled| is.vlan.is_some_and(|(below, _)| below == on);
        let all = self.interfaces.iter().filter(|(_, is)| lies_on(is));
        all.map(|(id, _)| *id).collect()
    }
}

#[test]
fn the_fast_path_is_used_unless_a_slow_reason_applies() {
    let fast = desk("");
    assert!(fast.snapshot.ipv4.is_fast() && fast.snapshot.ipv6.is_fast());

    let slow = desk(
        "/ip settings set allow-fast-path=no rp-filter=strict\n\
         /routing rule add src-address=10.0.0.0/8 action=drop\n",
    );
    let expected = [
        SlowReason::NotAllowed,
        SlowReason::RoutingRules,
        SlowReason::ReversePathFilter,
    ];
    assert_eq!(slow.snapshot.ipv4.slow.iter().collect::<Vec<_>>(), expected);
    // RouterOS: rp-filter and IPv4 settings do not affect IPv6; routing rules do.
    let rules = [SlowReason::RoutingRules];
    assert_eq!(slow.snapshot.ipv6.slow.iter().collect::<Vec<_>>(), rules);
}

#[test]
fn vlans_lie_on_their_parents_however_they_are_ordered() {
    let desk = desk(
        "/interface vlan add name=a interface=ether1 vlan-id=10\n\
         /interface vlan add name=b interface=a vlan-id=20 use-service-tag=yes\n\
         /interface vlan set a interface=ether2\n\
         /interface vlan add name=c interface=ether2 vlan-id=5 disabled=yes\n",
    );

    let (id, inner) = desk.layout.named("b").expect("laid out");
    assert_eq!(inner.link.tags, [(0x8100, 10), (0x88a8, 20)]);
    assert_eq!((inner.link.out, inner.link.running), (OutId::port(1), true));
    assert_eq!(desk.vlans_on("a"), [id]);
    // A disabled interface takes no frames.
    assert_eq!(desk.vlans_on("ether2").len(), 1);
    let (port, _) = desk.layout.named("ether2").expect("a port");
    assert_eq!(desk.line_of("b").under, port);
}

#[test]
fn addresses_add_connected_routes_and_local_routes() {
    let desk = desk(
        "/ip address add address=10.1.0.1/24 interface=ether1\n\
         /ip address add address=10.1.0.2/24 interface=ether1\n\
         /ip address add address=192.0.2.1/32 network=198.51.100.7 interface=ether2\n\
         /ip address add address=10.3.0.0/31 interface=ether2\n\
         /ip address add address=10.4.0.1/24 interface=ether2 disabled=yes\n",
    );

    let own = desk.addresses.ipv4.iter();
    let offers: BTreeMap<_, _> = own
        .flat_map(|((id, addr), own)| {
            let keys = address::keys4(*id, *addr, own).into_iter();
            keys.map(|key| (key, address::offer(key, *id, *addr)))
        })
        .collect();

    let nets = |protocol| -> Vec<String> {
        let of = offers.values().filter(|offer| offer.protocol == protocol);
        of.map(|offer| offer.net.to_string()).collect()
    };
    let connected = ["10.1.0.0/24", "10.3.0.0/31", "198.51.100.7/32"];
    assert_eq!(nets(Protocol::Connected), connected);
    // Local addresses, then the only broadcast address: a /31 and a /32 have none (RFC 3021).
    let own = [
        "10.1.0.1/32",
        "10.1.0.2/32",
        "10.3.0.0/32",
        "192.0.2.1/32",
        "10.1.0.255/32",
    ];
    assert_eq!(nets(Protocol::Local), own);
}

#[test]
fn ipv6_addresses_are_made_from_link_addresses_where_asked() {
    let desk = desk("/ipv6 address add address=2001:db8::/64 eui-64=yes interface=ether1\n");
    let (id, _) = desk.layout.named("ether1").expect("a port");

    let own: Vec<_> = desk
        .addresses
        .of6(id)
        .map(|(addr, _)| addr.to_string())
        .collect();

    assert_eq!(own, ["2001:db8::ff:fe00:1", "fe80::ff:fe00:1"]);
    // During duplicate address detection the network has a route, and the address has none.
    let keys = |dad| -> Vec<_> {
        let own = desk.addresses.of6(id);
        own.flat_map(|(addr, own)| address::keys6(id, addr, own, true, dad))
            .collect()
    };
    let tried = keys(Dad::Tentative);
    assert!(matches!(tried[..], [OfferKey::Connected(..)]));
    assert!(keys(Dad::Failed).is_empty());
    // The network, both addresses, and the anycast addresses of their networks.
    assert_eq!(keys(Dad::Done).len(), 5);
}

#[test]
fn interfaces_have_link_local_addresses_unless_they_are_switched_off() {
    let without = desk(
        "/ipv6 settings set disable-link-local-address=yes\n\
         /ipv6 address add address=2001:db8::1/64 interface=ether1\n\
         /ipv6 address add address=2001:db8:1::1/64 interface=ether2 auto-link-local=no\n",
    );
    let link_local = |desk: &RuleMenu| -> Vec<String> {
        let all = desk.addresses.ipv6.keys();
        let local = all.filter(|(_, addr)| addr.is_unicast_link_local());
        local
            .map(|(id, _)| desk.layout.name(*id).to_owned())
            .collect()
    };
    assert_eq!(link_local(&without), ["ether1"]);

    let off = desk("/ipv6 settings set disable-ipv6=yes\n");
    assert!(link_local(&off).is_empty());
    assert!(!off.line_of("ether1").ipv6 && !off.snapshot.ipv6.forward);
}

#[test]
fn rules_are_compiled_in_order_without_those_that_name_missing_items() {
    let desk = desk(
        "/routing table add name=other fib\n\
         /routing rule add dst-address=10.0.0.0/8 action=lookup table=other min-prefix=0\n\
         /routing rule add interface=ether2 action=unreachable\n\
         /routing rule add src-address=2001:db8::/32 action=drop disabled=yes\n",
    );

    let rules = &desk.snapshot.rules;
    assert_eq!(rules.len(), 2);
    // RouterOS: routes of this length or shorter are ignored: here, the default route.
    assert_eq!((rules[0].table, rules[0].min_prefix), (1, Some(1)));
    assert_eq!(rules[1].action, RuleAction::Unreachable);
    assert_eq!(
        rules[1].interface,
        desk.layout.named("ether2").map(|(id, _)| id)
    );

    let none = BTreeMap::from([(Name::from("main"), 0)]);
    let inactive = snapshot::inactive_rules(&desk.intent, &desk.layout, &none);
    assert_eq!(inactive.len(), 1);
}

#[test]
fn an_mtu_is_limited_to_that_of_the_device() {
    let desk = desk("/interface ethernet\nset ether1 mtu=9500\nset ether2 mtu=1400\n");

    assert_eq!(desk.line_of("ether1").mtu, 9_000);
    assert_eq!(desk.line_of("ether2").mtu, 1_400);
}

#[test]
fn an_mtu_of_a_vlan_is_limited_to_that_of_the_device() {
    let desk = desk(
        "/interface vlan add name=v interface=ether1 vlan-id=5 mtu=9500\n\
         /interface vlan add name=w interface=v vlan-id=6 mtu=9500\n",
    );

    assert_eq!(
        (desk.line_of("v").mtu, desk.line_of("w").mtu),
        (9_000, 9_000)
    );
}

#[test]
fn a_device_gets_the_largest_mtu_configured_on_it() {
    let wishes = |configuration: &str| {
        let desk = desk(configuration);
        ["ether1", "ether2"].map(|port| desk.layout.wishes[port].mtu)
    };

    assert_eq!(wishes(""), [None, None]);
    let low = "/interface ethernet set ether1 mtu=1400\n";
    assert_eq!(wishes(low), [Some(1400), None]);
    // A second tag counts towards the device's maximum payload.
    let vlans = "/interface vlan add name=v interface=ether1 vlan-id=5 mtu=4000\n\
                 /interface vlan add name=w interface=v vlan-id=6 mtu=3999\n\
                 /interface vlan add name=x interface=ether2 vlan-id=6 mtu=5000 disabled=yes\n";
    assert_eq!(wishes(vlans), [Some(4003), None]);
}

#[test]
fn the_device_of_a_disabled_port_is_set_down() {
    let desk = desk(
        "/interface ethernet disable ether2\n\
         /interface vlan add name=v interface=ether1 vlan-id=5 disabled=yes\n",
    );

    assert!(desk.layout.wishes["ether1"].up);
    assert!(!desk.layout.wishes["ether2"].up);
}

#[test]
fn slots_rest_and_come_back_with_another_generation() {
    let mut numbers = Numbers::default();
    let first = numbers.interface(7);
    let mirror = numbers.mirror(first);
    numbers.release(7);

    let again = numbers.interface(7);
    assert!(again > mirror && mirror > first);

    // Adding and removing many interfaces does not grow the table.
    let mut seen = BTreeSet::from([first, mirror, again]);
    for item in 8..1_000 {
        numbers.release(item - 1);
        let id = numbers.interface(item);
        assert!(seen.insert(id), "nobody has had {id:?}");
    }
    assert!(numbers.last().slot() < 100, "{:?}", numbers.last());
}

#[test]
fn a_virtual_access_point_is_the_port_that_is_mapped_by_its_name() {
    let desk = desk(
        "/interface wireless add name=guest master-interface=wlan1 disabled=no\n\
         /interface wifi add name=lost master-interface=wifi1 disabled=no\n\
         /interface wireless add name=none disabled=no\n",
    );
    let guest = desk.line_of("guest");
    assert_eq!((guest.running, guest.out), (true, OutId::port(2)));
    for name in ["lost", "none"] {
        assert!(!desk.line_of(name).running, "{name} has no device");
    }
}
