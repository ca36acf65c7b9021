//! Tests link settings of ports: the reported state, and the settings that devices accept or refuse.

use crate::world::{PACKET, Router, Start, driver_works, have, lab, layout, run, until};

fn monitored(router: &Router, name: &str, property: &str) -> String {
    let said = router.exec(&format!("/interface/ethernet/monitor {name} once"));
    let lines = said.lines().filter_map(|line| line.trim().split_once(": "));
    let value = { lines }.rfind(|(name, _)| *name == property);
    value.map(|(_, value)| value.to_owned()).unwrap_or_default()
}

#[test]
fn a_veths_link_is_reported_and_refused_settings_are_logged() {
    let test = "a_veths_link_is_reported_and_refused_settings_are_logged";
    let Some(lab) = lab(test, layout("plain")) else {
        return;
    };
    let router = Router::start(&lab, &Start::with(PACKET, ""));
    let told = |property| monitored(&router, "ether1", property);
    assert_eq!(told("status"), "link-ok");
    // Every veth reports this rate, whatever its speed.
    assert_eq!(
        (told("rate"), told("full-duplex")),
        ("10Gbps".into(), "yes".into())
    );
    assert_eq!(told("auto-negotiation"), "disabled");

    router.exec("/interface/ethernet/set ether1 auto-negotiation=no speed=1G-baseT-full");
    until("the refusal is logged", || {
        let log = router.exec("/log/print without-paging");
        log.contains("ether1: its device refuses the settings of speed")
    });
    assert_eq!(told("rate"), "10Gbps");
    assert!(router.stop().success());
}

#[test]
fn a_tap_takes_the_configured_speed_and_gets_its_own_back() {
    let test = "a_tap_takes_the_configured_speed_and_gets_its_own_back";
    let Some(lab) = have(test, &["ethtool"])
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    if !driver_works(test, &lab, "tap") {
        return;
    }
    run(&lab, "router", "ip tuntap add dev tap9 mode tap");
    let start = Start {
        ports: vec!["ether1=tap:tap9".into()],
        ..Start::with(PACKET, "")
    };
    let router = Router::start(&lab, &start);
    let speed = || {
        let said = run(&lab, "router", "ethtool tap9");
        let lines = said.lines().map(str::trim);
        let line = { lines }.rfind(|line| line.starts_with("Speed:"));
        line.unwrap_or_default().to_owned()
    };
    let own = speed();
    let rate = || monitored(&router, "ether1", "rate");
    let own_rate = rate();

    router.exec("/interface/ethernet/set ether1 auto-negotiation=no speed=1G-baseT-full");
    until("the device has it", || speed() == "Speed: 1000Mb/s");
    until("control knows it", || rate() == "1Gbps");
    router.exec("/interface/ethernet/set ether1 auto-negotiation=yes");
    until("it has its own again", || {
        speed() == own && rate() == own_rate
    });
    assert!(router.stop().success());
}
