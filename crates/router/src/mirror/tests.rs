use dataplane::snapshot::Role;
use script::Session;
use service::neighbour::Mode;

use super::*;
use crate::Instance;
use crate::drive::{PortNews, Setup};
use crate::feature::{Effect, Effects};
use crate::intent::{Address4, Class, Interface};
use crate::kind::PointToPoint;
use crate::object::{Made, Owner};

#[test]
fn an_interface_without_an_address_has_a_mirror_as_long_as_a_service_asks() {
    let mut router = router();
    assert!(router.changes().is_empty());

    let id = router.id("ether1");
    router.control().ask_for_mirror(id, "dhcp-client");
    router.control().ask_for_mirror(id, "another");
    assert_eq!(router.changes(), ["ether1"]);

    router.control().release_mirror(id, "another");
    assert_eq!(router.changes(), ["ether1"]);
    router.control().release_mirror(id, "dhcp-client");
    assert_eq!(router.changes(), ["gone"]);
}

#[test]
fn a_requested_mirror_without_addresses_exists_while_the_link_is_up() {
    let mut router = router();
    let id = router.id("ether1");
    router.control().ask_for_mirror(id, "dhcp-client");
    assert_eq!(router.changes(), ["ether1"]);

    router.link(false);
    assert_eq!(router.changes(), ["gone"]);
    router.run("/ip/address/add address=10.0.0.1/24 interface=ether1");
    assert_eq!(router.changes(), ["ether1 10.0.0.1/24"]);
    router.run("/ip/address/remove 0");
    assert_eq!(router.changes(), ["gone"]);
    router.link(true);
    assert_eq!(router.changes(), ["ether1"]);
}

#[test]
fn addresses_ask_for_mirrors_and_other_interfaces_have_none() {
    let mut router = router();
    router.run("/interface/vlan/add name=seven interface=ether1 vlan-id=7");
    router.run("/interface/vlan/add name=eight interface=ether1 vlan-id=8");
    router.run("/ip/address/add address=10.8.0.1/24 interface=eight");
    assert_eq!(router.changes(), ["eight 10.8.0.1/24"]);

    router.run("/interface/vlan/set eight name=acht mtu=1400");
    assert_eq!(router.changes(), ["acht 10.8.0.1/24"]);
    router.run("/interface/vlan/remove [find]");
    assert_eq!(router.changes(), ["gone"]);
}

#[test]
fn only_changes_are_returned_and_only_once() {
    let mut router = router();
    for number in 1..=100 {
        router.run(&format!(
            "/interface/vlan/add name=v{number} interface=ether1 vlan-id={number}; \
             /ip/address/add address=10.1.{number}.1/24 interface=v{number}"
        ));
    }
    assert_eq!(router.changes().len(), 100);
    assert!(router.changes().is_empty());

    router.run("/ip/address/add address=10.2.0.1/24 interface=v50");
    assert_eq!(router.changes(), ["v50 10.1.50.1/24,10.2.0.1/24"]);
    router.run("/ip/route/add gateway=10.2.0.2; /ip/firewall/filter/add chain=input action=drop");
    assert_eq!(router.control().take_mirror_changes(1), None);
}

#[test]
fn port_numbers_are_used_again_with_their_slot() {
    let mut router = router();
    let mut numbers = BTreeSet::new();
    for _ in 0..300 {
        router.run("/interface/vlan/add name=again interface=ether1 vlan-id=7");
        router.run("/ip/address/add address=10.7.0.1/24 interface=again");
        router.changes();
        let id = router.id("again");
        numbers.insert(router.control().mirrors[&id]);
        router.run("/ip/address/remove 0; /interface/vlan/remove again");
        router.changes();
    }

    assert!(router.control().mirrors.is_empty());
    assert!(numbers.len() < 200, "{}", numbers.len());
}

/// Adds a point-to-point interface of a session, with an address.
fn come(number: u64, out: &mut Effects) {
    let owner = Owner {
        feature: "test",
        number,
    };
    let name: Name = format!("null{number}").into();
    let interface = Interface {
        name: name.clone(),
        disabled: false,
        mtu: 1480,
        arp: Mode::Enabled,
        arp_timeout: None,
        kind: PointToPoint.into(),
        class: Class::Ppp,
    };
    let addr = Ipv4Addr::from_bits(0x0a00_0001 + (number as u32 % 0x3f_ffff) * 4);
    let address = Address4 {
        addr,
        len: 30,
        network: Ipv4Addr::from_bits(addr.to_bits() & !3),
        interface: name,
        disabled: false,
    };
    out.object(owner, Made::Interface("/interface/pppoe-server", interface));
    out.object(owner, Made::Address4(address));
}

fn go(number: u64, out: &mut Effects) {
    out.push(Effect::Gone(Owner {
        feature: "test",
        number,
    }));
}

#[test]
fn thirty_thousand_point_to_point_interfaces_share_one_port() {
    const COUNT: u64 = 30_000;
    let mut router = router();
    router
        .control()
        .attach_shared_mirror(Offloads::default(), Vec::new());
    let slots = router.control().numbers.last().slot();
    for first in (0..COUNT).step_by(1_000) {
        let mut out = Effects::default();
        (first..first + 1_000).for_each(|number| come(number, &mut out));
        router.control().carry_out(out);
    }

    let changes = router.control().take_mirror_changes(usize::MAX);
    let mirrors = changes.expect("they have addresses").mirrors;
    let wanted = mirrors
        .values()
        .map(|wanted| wanted.as_ref().expect("it is there"));
    assert!(wanted.clone().all(|mirror| mirror.shared));
    let addresses: BTreeSet<_> = wanted.flat_map(|mirror| &mirror.addresses).collect();
    assert_eq!(addresses.len(), COUNT as usize);

    let id = router.id("null29999");
    let control = router.control();
    let shared = control.shared_mirror.expect("it is attached");
    let line = control.interfaces().get(id).expect("workers know it");
    assert_eq!(line.mirror, Some(shared.0));
    assert!(control.mirrors.is_empty());
    // The port of ether1 and the shared port.
    let ports = &control.snapshot().ports;
    assert_eq!(ports.len(), 2);
    assert_eq!(ports[usize::from(shared.0)].role, Role::Shared);
    assert_eq!(control.numbers.last().slot(), slots + COUNT as usize);
}

#[test]
fn ended_sessions_leave_nothing_behind() {
    // A million in an optimised build.
    let batches = if cfg!(debug_assertions) { 10 } else { 1_000 };
    let mut router = router();
    router
        .control()
        .attach_shared_mirror(Offloads::default(), Vec::new());
    let mut epoch = 0;
    let mut after_two = None;
    for batch in 0..batches {
        let numbers = batch * 1_000..(batch + 1) * 1_000;
        let mut out = Effects::default();
        numbers.clone().for_each(|number| come(number, &mut out));
        router.control().carry_out(out);
        let come = router.changes();
        assert_eq!(come.len(), 1_000, "{batch}");

        let mut out = Effects::default();
        numbers.for_each(|number| go(number, &mut out));
        router.control().carry_out(out);
        assert_eq!(router.changes(), vec!["gone"; 1_000], "{batch}");

        let control = router.control();
        let slots = control.numbers.last();
        epoch = control.snapshot().epoch.max(epoch);
        let before = *after_two.get_or_insert((slots, epoch));
        if batch > 1 {
            assert_eq!((slots, epoch), before, "{batch}");
        } else {
            after_two = Some((slots, epoch));
        }
        assert_eq!(control.object_count(), 0);
        assert!(control.mirror_needs.asked.is_empty() && control.mirror_needs.members.is_empty());
    }
}

#[test]
fn link_local_addresses_of_point_to_point_interfaces_name_the_interface() {
    let mut router = router();
    router.run(
        "/ipv6/settings/set disable-ipv6=no; /interface/wireguard/add name=w; \
         /ipv6/address/add address=fe80::1/64 interface=w no-dad=yes advertise=no; \
         /ipv6/address/add address=fe80::2/64 interface=w no-dad=yes advertise=no; \
         /ipv6/address/add address=2001:db8::1/64 interface=w no-dad=yes advertise=no",
    );
    let id = router.id("w");

    let changes = router.control().take_mirror_changes(usize::MAX);
    let mirrors = changes.expect("it has addresses").mirrors;

    let mirror = mirrors[&id].as_ref().expect("it is there");
    let second = zone::embed("fe80::2".parse().expect("an address"), id);
    assert!(mirror.shared);
    assert_eq!(words(mirror), format!("w 2001:db8::1/64,{second}/128"));
}

/// Creates a router with one port, `ether1`, without addresses.
fn router() -> Router {
    let mut store = schema::store();
    store.ensure_port("ether1", None).expect("a port");
    let (instance, _workers) =
        Instance::new(&Setup::offline(menu::Clock::utc(0)), store).expect("memory");
    let mut router = Router(instance);
    let attached = router
        .0
        .attach_port("ether1", NEWS, Offloads::default(), Vec::new());
    attached.expect("the port is configured");
    router.run("/ipv6/settings/set disable-ipv6=yes");
    router
}

const NEWS: PortNews = PortNews {
    up: true,
    mac: wire::Mac([2, 0, 0, 0, 0, 1]),
    mtu: 0,
};

struct Router(Instance);

impl Router {
    fn control(&mut self) -> &mut Control {
        self.0.control()
    }

    fn id(&mut self, name: &str) -> InterfaceId {
        self.control().layout.named(name).expect("it is there").0
    }

    fn run(&mut self, commands: &str) {
        let mut out = String::new();
        let ran = self.0.run(&mut Session::new("admin"), commands, &mut out);
        ran.unwrap_or_else(|refusal| panic!("{commands}: {refusal}"));
    }

    fn link(&mut self, up: bool) {
        self.control().port_news("ether1", PortNews { up, ..NEWS });
    }

    /// Takes all changes, and creates the mirrors; returns the changes as text, by interface.
    fn changes(&mut self) -> Vec<String> {
        let changes = self.control().take_mirror_changes(usize::MAX);
        let mirrors = changes.unwrap_or_default().mirrors;
        let words = mirrors.values().map(|wanted| match wanted {
            Some(mirror) => words(mirror),
            None => "gone".to_owned(),
        });
        let words = words.collect();
        let is_own = |wanted: &Option<Mirror>| wanted.as_ref().is_some_and(|it| !it.shared);
        let made = mirrors.iter().filter(|(_, wanted)| is_own(wanted));
        let made = made.map(|(id, _)| NewMirror {
            interface: *id,
            offloads: Offloads::default(),
            queues: Vec::new(),
        });
        let made = made.collect();
        assert_eq!(self.control().attach_mirrors(made), []);
        words
    }
}

fn words(mirror: &Mirror) -> String {
    let addresses = mirror.addresses.iter();
    let addresses = addresses.map(|(addr, len)| format!("{addr}/{len}"));
    let addresses = addresses.collect::<Vec<_>>().join(",");
    format!("{} {addresses}", mirror.name).trim_end().to_owned()
}
