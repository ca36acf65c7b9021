//! Tests that the router is a hop of traceroute: it answers packets with an expired TTL.

use crate::world::{PACKET, Router, Start, have, lab, layout, run};

#[test]
fn traceroute_shows_the_router_and_then_the_destination() {
    let test = "traceroute_shows_the_router_and_then_the_destination";
    let Some(lab) = have(test, &["traceroute"])
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    let router = Router::start(&lab, &Start::with(PACKET, layout("plain").config));

    for (protocol, hops) in [
        (4, ["192.168.88.1", "203.0.113.1"]),
        (6, ["2001:db8:88::1", "2001:db8:1::1"]),
    ] {
        for method in ["", " -I", " -T"] {
            // One probe at a time, because ICMP errors are rate limited and none may be missing.
            let options = format!("-{protocol} -n -q 1 -N 1 -w 10 -m 5{method}");
            let said = run(&lab, "client", &format!("traceroute {options} {}", hops[1]));

            let seen: Vec<_> = said
                .lines()
                .skip(1)
                .filter_map(|line| line.split_whitespace().nth(1))
                .collect();
            if seen != hops {
                let known =
                    router.exec("/ip/arp/print; /ipv6/neighbor/print; /interface/print stats");
                let drops = router.exec("/tool/drop/print");
                panic!("{options}: {seen:?} is not {hops:?}\n{said}\n{known}\n{drops}");
            }
        }
    }
}
