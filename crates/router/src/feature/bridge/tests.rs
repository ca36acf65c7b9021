mod ports;
mod snooping;

use std::sync::Arc;

use dataplane::bridge::{Bridge, Member};
use dataplane::interface::Above;
use dataplane::table::{HostKey, HostKind, Learned};
use frame::{InterfaceId, Offloads};
use machine::{Duration, Instant};
use script::Session;
use wire::Mac;

use crate::Instance;
use crate::drive::{PortNews, Setup};
use crate::feature::{Effect, Effects};

/// A router with ports `ether1` to `ether4`.
struct Desk {
    router: Instance,
    now: Instant,
}

impl Desk {
    fn new(commands: &str) -> Self {
        let mut store = schema::store();
        let ports = ["ether1", "ether2", "ether3", "ether4"];
        for port in ports {
            store.ensure_port(port, None).expect("a port");
        }
        let (mut router, _) =
            Instance::new(&Setup::offline(menu::Clock::utc(0)), store).expect("memory");
        for (place, port) in ports.iter().enumerate() {
            let news = PortNews {
                up: true,
                mac: Mac([2, 0, 0, 0, 0, place as u8 + 1]),
                mtu: 1500 + 10 * place as u32,
            };
            let attached = router.attach_port(port, news, Offloads::default(), Vec::new());
            attached.expect("the port is configured");
        }
        let mut desk = Self {
            router,
            now: Instant::from_secs(1),
        };
        desk.run(commands);
        desk
    }

    fn try_run(&mut self, commands: &str) -> Result<String, String> {
        let mut out = String::new();
        let ran = { &mut self.router }.run(&mut Session::new("admin"), commands, &mut out);
        ran.map(|_| out).map_err(|refusal| refusal.to_string())
    }

    fn run(&mut self, commands: &str) -> String {
        let ran = self.try_run(commands);
        ran.unwrap_or_else(|refusal| panic!("{commands}: {refusal}"))
    }

    fn wait(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.now += Duration::from_secs(1);
            self.router.poll(self.now);
        }
    }

    fn id(&mut self, name: &str) -> InterfaceId {
        let named = self.router.control().layout.named(name);
        named.map(|(id, _)| id).expect("an interface")
    }

    /// Returns the bridge published to the workers.
    fn bridge(&mut self, name: &str) -> Option<Arc<Bridge>> {
        let slot = self.id(name).slot();
        let found = self.router.control().interfaces().bridges().get(slot)?;
        found.clone()
    }

    fn above(&mut self, name: &str) -> (Above, InterfaceId) {
        let id = self.id(name);
        let table = Arc::clone(self.router.control().interfaces());
        let line = table.get(id).expect("a line");
        (line.above, table.above(id))
    }

    fn ports(&mut self, bridge: &str) -> Vec<InterfaceId> {
        let bridge = self.bridge(bridge).expect("a bridge");
        bridge.ports().iter().map(|port| port.interface).collect()
    }

    fn value(&mut self, what: &str) -> String {
        self.run(&format!(":put [{what}]")).trim().to_owned()
    }
}

#[test]
fn ports_are_slaves_of_their_bridge_while_it_is_enabled() {
    let mut desk = Desk::new(
        "/interface/bridge/add name=b\n\
         /interface/bridge/port/add bridge=b interface=ether1\n\
         /interface/bridge/port/add bridge=b interface=ether3\n",
    );
    let (b, ether1, ether3) = (desk.id("b"), desk.id("ether1"), desk.id("ether3"));
    assert_eq!(desk.above("ether1"), (Above::Bridge, b));
    assert_eq!(desk.above("ether2"), (Above::Nothing, InterfaceId::NONE));
    assert_eq!(desk.ports("b"), [ether1, ether3]);
    assert_eq!(desk.value("/interface/get ether1 slave"), "true");
    assert_eq!(desk.value("/interface/get b running"), "true");

    desk.run("/interface/bridge/disable b");
    assert_eq!(desk.above("ether1").0, Above::Nothing);
    assert!(desk.bridge("b").is_none());
    desk.run("/interface/bridge/enable b");
    assert_eq!(desk.above("ether1"), (Above::Bridge, b));

    desk.run("/interface/bridge/port/disable [find interface=ether1]");
    assert_eq!(desk.above("ether1").0, Above::Nothing);
    assert_eq!(desk.ports("b"), [ether3]);
    desk.run("/interface/bridge/remove b");
    assert_eq!(desk.above("ether3").0, Above::Nothing);
}

#[test]
fn ports_that_cannot_join_a_bridge_are_refused() {
    let mut desk = Desk::new(
        "/interface/bridge/add name=b\n/interface/bridge/add name=c\n\
         /interface/bridge/port/add bridge=b interface=ether1\n",
    );
    for (commands, why) in [
        (
            "/interface/bridge/port/add bridge=c interface=ether1",
            "already added as bridge port",
        ),
        (
            "/interface/bridge/port/add bridge=c interface=b",
            "can not add bridge to bridge",
        ),
        (
            "/interface/bridge/port/add bridge=ether2 interface=ether3",
            "is no bridge",
        ),
    ] {
        let refused = desk.try_run(commands).expect_err(commands);
        assert!(refused.contains(why), "{commands}: {refused}");
    }
}

#[test]
fn address_and_mtu_come_from_the_ports_unless_configured() {
    let mut desk = Desk::new("/interface/bridge/add name=b\n");
    let made = desk.value("/interface/get b mac-address");
    assert!(made.starts_with("0A:00:00:00:"), "{made}");
    assert_eq!(desk.value("/interface/bridge/get b l2mtu"), "65535");

    desk.run("/interface/vlan/add name=v interface=ether4 vlan-id=9");
    desk.run("/interface/bridge/port/add bridge=b interface=v");
    assert_eq!(
        desk.value("/interface/get b mac-address"),
        "02:00:00:00:00:04"
    );
    desk.run("/interface/bridge/port/add bridge=b interface=ether3");
    // Ethernet ports precede other ports, and a new port does not change the address.
    assert_eq!(
        desk.value("/interface/get b mac-address"),
        "02:00:00:00:00:03"
    );
    desk.run("/interface/bridge/port/add bridge=b interface=ether1");
    assert_eq!(
        desk.value("/interface/get b mac-address"),
        "02:00:00:00:00:03"
    );
    assert_eq!(desk.value("/interface/get b actual-mtu"), "1500");
    desk.run("/interface/ethernet/set ether1 mtu=1400");
    assert_eq!(desk.value("/interface/get b actual-mtu"), "1400");
    desk.run("/interface/bridge/set b mtu=1300 auto-mac=no admin-mac=02:00:00:00:00:99");
    assert_eq!(desk.value("/interface/get b actual-mtu"), "1300");
    assert_eq!(
        desk.value("/interface/get b mac-address"),
        "02:00:00:00:00:99"
    );
}

#[test]
fn members_of_an_interface_list_are_ports_with_dynamic_items() {
    let mut desk = Desk::new(
        "/interface/list/add name=inner\n/interface/list/add name=L include=inner\n\
         /interface/list/member/add list=inner interface=ether2\n\
         /interface/bridge/add name=b\n\
         /interface/bridge/port/add bridge=b interface=L pvid=7\n",
    );
    let (ether2, ether3) = (desk.id("ether2"), desk.id("ether3"));
    assert_eq!(desk.ports("b"), [ether2]);
    desk.run("/interface/list/member/add list=L interface=ether3");
    assert_eq!(desk.ports("b"), [ether2, ether3]);
    let shown = desk.run("/interface/bridge/port/print without-paging");
    assert!(shown.contains("ether3"), "{shown}");
    let dynamic = desk.run("/interface/bridge/port/print count-only where dynamic");
    assert_eq!(dynamic.trim(), "2");
    desk.run("/interface/list/member/remove [find interface=ether2]");
    assert_eq!(desk.ports("b"), [ether3]);
}

#[test]
fn vlans_have_configured_members_and_dynamic_ones() {
    let mut desk = Desk::new(
        "/interface/bridge/add name=b vlan-filtering=yes\n\
         /interface/bridge/port/add bridge=b interface=ether1\n\
         /interface/bridge/port/add bridge=b interface=ether2 pvid=10 \
         frame-types=admit-only-untagged-and-priority-tagged\n\
         /interface/bridge/port/add bridge=b interface=ether3 frame-types=admit-only-vlan-tagged\n\
         /interface/bridge/vlan/add bridge=b vlan-ids=10,20-22 tagged=ether1,ether3\n\
         /interface/vlan/add name=v30 interface=b vlan-id=30\n",
    );
    let bridge = desk.bridge("b").expect("a bridge");
    let table = bridge.vlans.clone().expect("VLANs are filtered");
    let itself = bridge.ports().len();
    for (vid, port, is) in [
        (10, 0, Member::Tagged),
        (10, 1, Member::Untagged),
        (10, 2, Member::Tagged),
        (21, 2, Member::Tagged),
        (23, 2, Member::No),
        (1, 0, Member::Untagged),
        (1, 1, Member::No),
        (1, 2, Member::No),
        (1, itself, Member::Untagged),
        (30, itself, Member::Tagged),
        (30, 0, Member::No),
    ] {
        assert_eq!(table.member(vid, port), is, "VLAN {vid} at {port}");
    }
    let shown = desk.run("/interface/bridge/vlan/print without-paging");
    for line in [";;; added by pvid", ";;; added by vlan on bridge"] {
        assert!(shown.contains(line), "{shown}");
    }
    let current = |desk: &mut Desk, vids: &str, what: &str| {
        desk.value(&format!(
            "/interface/bridge/vlan/get [find vlan-ids=\"{vids}\"] current-{what}"
        ))
    };
    assert_eq!(current(&mut desk, "10,20-22", "tagged"), "ether1,ether3");
    // The row of an item with several VLANs shows only the members that it names.
    assert_eq!(current(&mut desk, "10,20-22", "untagged"), "");
    desk.run("/interface/bridge/vlan/add bridge=b vlan-ids=30 untagged=ether2");
    assert_eq!(current(&mut desk, "30", "tagged"), "b");
    assert_eq!(current(&mut desk, "30", "untagged"), "ether2");
}

#[test]
fn hosts_that_are_learned_are_shown_age_and_are_forgotten_and_fixed_ones_stay() {
    let mut desk = Desk::new(
        "/interface/bridge/add name=b ageing-time=20s protocol-mode=none\n\
         /interface/bridge/port/add bridge=b interface=ether1\n\
         /interface/bridge/port/add bridge=b interface=ether2\n\
         /interface/bridge/host/add bridge=b interface=ether2 mac-address=02:00:00:00:09:01\n",
    );
    desk.wait(5);
    let (bridge, ether1, ether2) = (desk.id("b"), desk.id("ether1"), desk.id("ether2"));
    let table = Arc::clone(desk.router.control().interfaces());
    let hosts = table.bridges().hosts();
    let key = |mac: u64| HostKey {
        bridge,
        vid: 0,
        mac,
    };
    let now = (desk.now.as_nanos() / 1_000_000_000) as u32;
    for mac in 1..=2_000 {
        let learned = hosts.learn(&key(0x0200_0000_1000 + mac), ether1, now, u32::MAX);
        assert_eq!(learned, Learned::New);
    }
    let fixed = hosts.get(&key(0x0200_0000_0901)).expect("it is configured");
    assert_eq!((fixed.port, fixed.kind), (ether2, HostKind::Static));
    // The address of the port that does not give the bridge its address.
    let local = hosts.get(&key(0x0200_0000_0002)).expect("a port has it");
    assert_eq!(local.kind, HostKind::Local);
    let count = |desk: &mut Desk, which: &str| {
        let command = format!("/interface/bridge/host/print count-only where {which}");
        desk.run(&command).trim().to_owned()
    };
    assert_eq!(count(&mut desk, "dynamic !local"), "2000");
    assert_eq!(count(&mut desk, "!dynamic"), "1");
    desk.run("/interface/bridge/host/remove [find mac-address=02:00:00:00:10:01]");
    assert_eq!(count(&mut desk, "dynamic !local"), "1999");

    desk.wait(32);
    assert_eq!(count(&mut desk, "dynamic !local"), "0");
    assert_eq!(hosts.learned(bridge), 0);
    assert!(hosts.get(&key(0x0200_0000_0901)).is_some());

    hosts.learn(&key(7), ether1, now, u32::MAX);
    desk.run("/interface/bridge/port/remove [find interface=ether1]");
    assert_eq!(hosts.get(&key(7)), None, "its port is gone");
    desk.run("/interface/bridge/remove b");
    assert_eq!(hosts.get(&key(0x0200_0000_0901)), None);
}

#[test]
fn learned_hosts_are_forgotten_when_vlan_filtering_begins_or_ends() {
    let mut desk = Desk::new(
        "/interface/bridge/add name=b protocol-mode=none\n\
         /interface/bridge/port/add bridge=b interface=ether1\n\
         /interface/bridge/port/add bridge=b interface=ether2\n\
         /interface/bridge/host/add bridge=b interface=ether2 mac-address=02:00:00:00:09:01\n",
    );
    desk.wait(1);
    let (bridge, ether1) = (desk.id("b"), desk.id("ether1"));
    let table = Arc::clone(desk.router.control().interfaces());
    let hosts = table.bridges().hosts();
    let learn = |desk: &Desk, vid| {
        let now = (desk.now.as_nanos() / 1_000_000_000) as u32;
        let key = HostKey {
            bridge,
            vid,
            mac: 0x0200_0000_1001,
        };
        assert_eq!(hosts.learn(&key, ether1, now, u32::MAX), Learned::New);
    };
    let count = |desk: &mut Desk, which: &str| {
        let command = format!("/interface/bridge/host/print count-only where {which}");
        desk.run(&command).trim().to_owned()
    };
    learn(&desk, 0);
    desk.run("/interface/bridge/set b vlan-filtering=yes");
    assert_eq!(count(&mut desk, "dynamic !local"), "0");
    assert_eq!(count(&mut desk, "!dynamic"), "1");
    // A worker may use the previous bridge for one more vector.
    learn(&desk, 0);
    desk.wait(2);
    assert_eq!(count(&mut desk, "dynamic !local"), "0");
    learn(&desk, 1);
    desk.run("/interface/bridge/set b ageing-time=10m");
    assert_eq!(count(&mut desk, "dynamic !local"), "1");
    desk.run("/interface/bridge/set b vlan-filtering=no");
    assert_eq!(count(&mut desk, "dynamic !local"), "0");
}

#[test]
fn a_port_with_a_source_address_of_its_bridge_is_logged_ten_times_in_five_seconds() {
    let mut desk = Desk::new(
        "/interface/bridge/add name=b\n\
         /interface/bridge/port/add bridge=b interface=ether1\n",
    );
    let ether1 = desk.id("ether1");
    let report = |desk: &mut Desk| {
        let now = desk.now;
        let mut out = Effects::default();
        let bridges = &mut desk.router.control().features.bridges;
        bridges.report_own_source(ether1, Mac([2, 0, 0, 0, 0xab, 1]), now, &mut out);
        let messages = out.into_iter().map(|effect| match effect {
            Effect::Log(topics, message) => format!("{topics} {message}"),
            other => panic!("{other:?}"),
        });
        messages.collect::<Vec<_>>()
    };
    let line = "interface,warning ether1: bridge port received packet with own address as source \
                address (02:00:00:00:ab:01), probably loop";
    assert_eq!(report(&mut desk), [line]);
    let more: Vec<_> = (0..20).flat_map(|_| report(&mut desk)).collect();
    assert_eq!(more.len(), 9);
    desk.wait(5);
    assert_eq!(report(&mut desk), [line]);
}

#[test]
fn a_port_learns_and_forwards_when_its_spanning_tree_says_so() {
    let mut desk = Desk::new(
        "/interface/bridge/add name=b protocol-mode=stp forward-delay=4s\n\
         /interface/bridge/port/add bridge=b interface=ether1 edge=no\n\
         /interface/bridge/port/add bridge=b interface=ether2 edge=no path-cost=77\n",
    );
    let state = |desk: &mut Desk| {
        let bridge = desk.bridge("b").expect("a bridge");
        let port = bridge.ports().first().cloned().expect("a port");
        (port.learning & 1 != 0, port.forwarding & 1 != 0)
    };
    assert_eq!(state(&mut desk), (false, false));
    // A new port waits until older information has expired (`MaxAge`), then learns.
    desk.wait(22);
    assert_eq!(state(&mut desk), (true, false));
    desk.wait(4);
    assert_eq!(state(&mut desk), (true, true));
    let shown = desk.run("/interface/bridge/port/monitor [find interface=ether2] once");
    for part in [
        "designated-port",
        "actual-path-cost: 77",
        "0x8000.02:00:00:00:00:01",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    // RouterOS shows the time since the last change in whole seconds.
    desk.now += Duration::from_millis(1_234);
    desk.router.poll(desk.now);
    let shown = desk.run("/interface/bridge/port/monitor [find interface=ether2] once");
    let changed = shown
        .lines()
        .find_map(|line| line.split_once("last-topology-change: "));
    let (_, ago) = changed.unwrap_or_else(|| panic!("{shown}"));
    let is_whole = |ago: &str| {
        ago.strip_suffix('s')
            .is_some_and(|ago| ago.parse::<u32>().is_ok())
    };
    assert!(is_whole(ago.trim()), "{ago}");
    let shown = desk.run("/interface/bridge/monitor b once");
    assert!(shown.contains("root-bridge: yes"), "{shown}");
    desk.run("/interface/bridge/set b protocol-mode=none");
    assert_eq!(state(&mut desk), (true, true));
}
