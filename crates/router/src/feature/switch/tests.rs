use std::sync::Arc;

use dataplane::bridge::{Bridge, Member, VlanMode};
use frame::Offloads;
use script::Session;
use wire::Mac;

use crate::Instance;
use crate::drive::{PortNews, Setup};
use board::Board;

const PORTS: [&str; 5] = ["ether1", "ether2", "ether3", "ether4", "ether5"];

fn router(board: Option<&str>, commands: &str) -> Instance {
    let mut store = schema::store();
    for port in PORTS {
        store.ensure_port(port, None).expect("a port");
    }
    let (mut router, _) =
        Instance::new(&Setup::offline(menu::Clock::utc(0)), store).expect("memory");
    if let Some(board) = board {
        let board = Board::named(board).expect("a board");
        router.control().set_board(board);
    }
    for (place, port) in PORTS.into_iter().enumerate() {
        let news = PortNews {
            up: true,
            mac: Mac([2, 0, 0, 0, 0, place as u8 + 1]),
            mtu: 1500,
        };
        let attached = router.attach_port(port, news, Offloads::default(), Vec::new());
        attached.expect("the port is configured");
    }
    run(&mut router, commands);
    router
}

fn run(router: &mut Instance, commands: &str) -> String {
    let mut out = String::new();
    let ran = { router }.run(&mut Session::new("admin"), commands, &mut out);
    ran.unwrap_or_else(|refusal| panic!("{commands}: {refusal}"));
    out
}

fn value(router: &mut Instance, what: &str) -> String {
    run(router, &format!(":put [{what}]")).trim().to_owned()
}

fn bridge(router: &mut Instance) -> Arc<Bridge> {
    let control = router.control();
    let (id, _) = control.layout.named("lan").expect("a bridge");
    let found = control.interfaces().bridges().get(id.slot());
    { found.expect("a page") }.clone().expect("a bridge")
}

const LAN: &str = "/interface/bridge/add name=lan protocol-mode=none
/interface/bridge/port/add bridge=lan interface=ether1
/interface/bridge/port/add bridge=lan interface=ether2
/interface/bridge/port/add bridge=lan interface=ether3
";

/// A trunk port, two access ports, and the processor port, which leads to all other interfaces.
const VLANS: &str =
    "/interface/ethernet/switch/vlan/add switch=switch1 vlan-id=10 ports=ether1,ether2,switch1-cpu
/interface/ethernet/switch/vlan/add switch=switch1 vlan-id=20 ports=ether1,ether3
/interface/ethernet/switch/port/set 0 vlan-mode=secure vlan-header=add-if-missing
/interface/ethernet/switch/port/set 1 vlan-mode=secure vlan-header=always-strip default-vlan-id=10
/interface/ethernet/switch/port/set 2 vlan-mode=secure vlan-header=always-strip default-vlan-id=20
/interface/ethernet/switch/port/set 5 vlan-mode=secure
";

#[test]
fn vlans_of_a_chip_become_those_of_the_bridge() {
    let mut router = router(Some("hAP-ac2"), &format!("{LAN}{VLANS}"));
    assert_eq!(
        value(&mut router, "/interface/ethernet/switch/port/get 5 name"),
        "switch1-cpu"
    );
    assert_eq!(
        value(&mut router, "/interface/ethernet/switch/get switch1 type"),
        "Atheros-8327"
    );
    let made = bridge(&mut router);
    let vlans = made.vlans.as_ref().expect("a table");
    for (vid, members) in [
        (
            10,
            [Member::Tagged, Member::Untagged, Member::No, Member::Tagged],
        ),
        (
            20,
            [Member::Tagged, Member::No, Member::Untagged, Member::No],
        ),
        (30, [Member::No; 4]),
    ] {
        let are = [0, 1, 2, 3].map(|number| vlans.member(vid, number));
        assert_eq!(are, members, "VLAN {vid}");
    }
    let ports: Vec<_> = { made.ports().iter() }
        .map(|port| (port.pvid, port.vlan_mode))
        .collect();
    let secure = Some(VlanMode::Secure);
    assert_eq!(ports, [(0, secure), (10, secure), (20, secure)]);
    assert_eq!(made.vlan_mode, secure);

    // RouterOS: with `vlan-filtering` the bridge does not use the chip's VLAN table.
    run(&mut router, "/interface/bridge/set lan vlan-filtering=yes");
    assert_eq!(bridge(&mut router).ports()[1].vlan_mode, None);
    run(&mut router, "/interface/bridge/set lan vlan-filtering=no");
    assert_eq!(bridge(&mut router).ports()[1].vlan_mode, secure);
    let off = "/interface/ethernet/switch/port/set 0,1,2,5 vlan-mode=disabled";
    run(&mut router, off);
    assert!(bridge(&mut router).vlans.is_none());
}

#[test]
fn a_chip_without_vlan_mode_reports_it_and_ignores_the_menu() {
    let mut router = router(Some("hEX"), &format!("{LAN}{VLANS}"));
    assert!(bridge(&mut router).vlans.is_none());
    let status = value(&mut router, "/interface/ethernet/switch/port/get 1 status");
    assert_eq!(status, "MediaTek-MT7621 cannot do vlan-mode");
    let invalid = value(&mut router, "/interface/ethernet/switch/vlan/get 0 invalid");
    assert_eq!(invalid, "true");
    let log = run(&mut router, "/log/print");
    assert!(
        log.contains("ether2: MediaTek-MT7621 cannot do vlan-mode"),
        "{log}"
    );
}

#[test]
fn ports_talk_to_those_of_their_overrides() {
    let isolation = "/interface/ethernet/switch/port-isolation/set [find name=ether2] \
                     forwarding-override=ether1\n";
    let mut router = router(None, &format!("{LAN}{isolation}"));
    let made = bridge(&mut router);
    let only = made.ports()[1].only_to.as_ref().expect("an override");
    assert_eq!(
        [0, 1, 2].map(|number| only.has(number)),
        [true, false, false]
    );
    assert!(made.ports()[1].kept_down && made.ports()[0].only_to.is_none());
    let reason = value(
        &mut router,
        "/interface/bridge/port/get 1 hw-offload-reason",
    );
    assert!(!reason.is_empty());

    run(
        &mut router,
        "/interface/ethernet/switch/port-isolation/set ether2 forwarding-override=ether1,switch1-cpu",
    );
    assert!(!bridge(&mut router).ports()[1].kept_down);
    run(
        &mut router,
        "/interface/ethernet/switch/port-isolation/set ether2 forwarding-override=\"\"",
    );
    assert!(bridge(&mut router).ports()[1].only_to.is_none());
}

#[test]
fn mirrors_are_between_ports_of_one_chip() {
    let commands =
        "/interface/ethernet/switch/set switch1 mirror-source=ether2 mirror-target=ether3";
    let mut mirrored = router(None, commands);
    let copied = mirrored.control().features.switches.copied();
    let ways: Vec<_> = copied
        .iter()
        .map(|copied| (&*copied.of, &*copied.to))
        .collect();
    assert_eq!(ways, [("ether2", "ether3"); 2]);

    // Mirrored frames are not mirrored again.
    run(
        &mut mirrored,
        "/interface/ethernet/switch/port/set ether3 mirror-ingress-target=ether2",
    );
    assert!(mirrored.control().features.switches.copied().is_empty());

    let mut poor = router(Some("hAP ax^2"), commands);
    assert!(poor.control().features.switches.copied().is_empty());
}

#[test]
fn the_configuration_of_a_chip_survives_an_export() {
    let mut first = router(None, VLANS);
    let exported = run(&mut first, "/interface/ethernet/switch/export");
    assert!(
        exported.contains("set switch1-cpu vlan-mode=secure"),
        "{exported}"
    );
    let mut second = router(None, &exported);
    assert_eq!(
        run(&mut second, "/interface/ethernet/switch/export"),
        exported
    );
}
