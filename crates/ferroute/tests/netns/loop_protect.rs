//! Tests loop protection with a cable between two ports of the router.

use crate::world::{PACKET, Router, Start, lab, layout, run, shell, until};

const CONFIG: &str = "\
/interface/ethernet
set ether3 loop-protect=on loop-protect-send-interval=1s loop-protect-disable-time=2s
set ether4 loop-protect=on loop-protect-send-interval=1s loop-protect-disable-time=2s
";

#[test]
fn one_end_of_a_looped_cable_is_disabled_while_the_loop_exists() {
    let test = "one_end_of_a_looped_cable_is_disabled_while_the_loop_exists";
    let Some(lab) = lab(test, layout("plain")) else {
        return;
    };
    shell(
        &lab,
        "router",
        "ip link add one type veth peer name other; ip link set one up; ip link set other up",
    );
    let start = Start {
        ports: [
            "ether1=packet:ether1",
            "ether3=packet:one",
            "ether4=packet:other",
        ]
        .map(str::to_owned)
        .into(),
        ..Start::with(PACKET, CONFIG)
    };
    let router = Router::start(&lab, &start);
    let status = |port| {
        let print = "/interface/ethernet/print";
        let of = |property| router.value(print, port, property);
        (of("loop-protect-status"), of("running"))
    };
    let states = || {
        let mut states = ["ether3", "ether4"].map(status);
        states.sort();
        states.map(|(status, running)| format!("{status} {running}"))
    };
    until("one end is disabled", || {
        states() == ["disable false", "on true"]
    });
    until("the loop is found again when its time is over", || {
        let log = router.exec("/log/print without-paging");
        let said = "received loop protect packet originated from";
        log.matches(said).count() >= 3
    });
    assert!(states().contains(&"on true".to_owned()), "{:?}", states());

    // The router keeps its devices up, so the test removes a device to cut the cable.
    run(&lab, "router", "ip link del one");
    until("nothing is disabled without the loop", || {
        ["ether3", "ether4"].map(|port| status(port).0) == ["on", "on"]
    });
    assert!(router.stop().success());
}
