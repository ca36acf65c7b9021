use script::Session;

use super::*;
use crate::Instance;
use crate::drive::{PortNews, Setup};

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
fn who_has_no_address_has_a_mirror_while_the_interface_runs() {
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
fn only_what_changes_is_taken_and_only_once() {
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
fn a_slot_that_is_given_again_has_the_port_number_that_it_had() {
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

/// A router with one port, `ether1`, without addresses.
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

    /// Takes all changes, and makes what is wanted; in words, by interface.
    fn changes(&mut self) -> Vec<String> {
        let changes = self.control().take_mirror_changes(usize::MAX);
        let mirrors = changes.unwrap_or_default().mirrors;
        let words = mirrors.values().map(|wanted| match wanted {
            Some(mirror) => words(mirror),
            None => "gone".to_owned(),
        });
        let words = words.collect();
        let made = mirrors.iter().filter(|(_, wanted)| wanted.is_some());
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
