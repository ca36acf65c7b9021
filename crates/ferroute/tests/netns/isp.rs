//! The lab `isp`: two routers terminate the same PPPoE subscribers, whose accounts are in FreeRADIUS with SQL.

use lab::{Holding, Lab, Layout};

use crate::daemons::Daemons;
use crate::world::{PACKET, Router, Start, have, lab, layout, until};

/// Number of subscribers.
const SUBSCRIBERS: usize = 8;

fn start(lab: &Lab, layout: &Layout, host: &str, config: &str) -> Router {
    let ports = layout.ports_of(host).into_iter();
    Router::start(
        lab,
        &Start {
            host,
            ports: ports
                .map(|port| format!("{port}={PACKET}:{port}"))
                .collect(),
            ..Start::with(PACKET, config)
        },
    )
}

fn sessions(router: &Router) -> usize {
    router.rows("/ppp/active/print").len()
}

#[test]
fn subscribers_of_a_killed_router_are_back_on_the_other_one() {
    let test = "subscribers_of_a_killed_router_are_back_on_the_other_one";
    let isp = layout("isp");
    let Some(lab) = have(test, &["freeradius"])
        .then(|| lab(test, isp))
        .flatten()
    else {
        return;
    };
    if lab.holding() != Holding::Named {
        lab::testing::skip(test, "the files of FreeRADIUS need root");
        return;
    }
    let _daemons = Daemons::start(&lab, isp);
    let [second, subscribers] = lab::sites(isp) else {
        panic!("two sites");
    };
    let first = start(&lab, isp, "router", isp.config);
    let second = start(&lab, isp, second.host, second.config);
    let subscribers = start(&lab, isp, subscribers.host, subscribers.config);
    until("all subscribers are in", || {
        sessions(&first) + sessions(&second) == SUBSCRIBERS
    });
    let spread = [&first, &second].map(sessions);
    assert!(
        spread.iter().all(|count| *count > 0),
        "{spread:?}: {}",
        second.log()
    );
    let reaches = || {
        let said = subscribers.exec(":put [/ping 198.51.100.80 count=1]");
        said.trim_end().lines().last() == Some("1")
    };
    until("a packet reaches the Internet", reaches);

    first.kill();
    until("all subscribers are at the second router", || {
        sessions(&second) == SUBSCRIBERS
    });
    until(
        "a packet reaches the Internet by the second router",
        reaches,
    );
    // Address and rate belong to the account, wherever the subscriber dials in.
    let addresses = subscribers.rows("/ip/address/print where interface=pppoe-anna");
    let address = addresses[0]["address"].as_str();
    assert_eq!(address, Some("10.64.0.11/32"), "{addresses:?}");
    let limits = second.rows("/queue/simple/print where dynamic");
    assert_eq!(limits.len(), SUBSCRIBERS);
    assert!(
        limits
            .iter()
            .all(|queue| queue["max-limit"] == "20000000/100000000"),
        "{limits:?}"
    );
    let accepts = second.exec(":put ([/radius/monitor 0 once as-value]->\"accepts\")");
    let accepts: usize = accepts.trim().parse().expect("a number");
    assert!(accepts >= SUBSCRIBERS, "{accepts}");
}
