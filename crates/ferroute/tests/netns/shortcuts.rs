//! What the kernel forwards by itself (XDP) is counted like everything else, and ends with whatever it
//! rested on.

use lab::Lab;

use crate::world::{
    Router, Start, XDP_GENERIC, driver_works, have, lab, layout, run, until, works,
};

const SERVERS: [(&str, &str, &str); 2] = [
    ("203.0.113.1", "ip", "ipv4"),
    ("2001:db8:1::1", "ipv6", "ipv6"),
];

/// How many packets the kernel forwarded by itself, and how many the fast path did in all.
fn by_itself(router: &Router, menu: &str, family: &str) -> [u64; 2] {
    ["xdp-packets", "packets"].map(|what| {
        let property = format!("{family}-fast-path-{what}");
        router.number(&format!("/{menu}/settings/print"), "", &property)
    })
}

fn ping(lab: &Lab, address: &str) {
    run(
        lab,
        "client",
        &format!("ping -q -c 20 -i 0.002 -W 10 {address}"),
    );
}

fn is_silent(lab: &Lab, address: &str) -> bool {
    !works(
        lab,
        "client",
        &format!("ping -q -c 3 -i 0.01 -W 1 {address}"),
    )
}

fn test(name: &str, body: impl Fn(&Lab, &Router, (&str, &str, &str))) {
    let Some(lab) = have(name, &["ping"])
        .then(|| lab(name, layout("plain")))
        .flatten()
    else {
        return;
    };
    if !driver_works(name, &lab, XDP_GENERIC) {
        return;
    }
    let router = Router::start(&lab, &Start::with(XDP_GENERIC, layout("plain").config));
    for server in SERVERS {
        // The neighbours are found, and an IPv6 address is used some time after its link came up.
        until("the server answers", || !is_silent(&lab, server.0));
        body(&lab, &router, server);
    }
}

#[test]
fn the_kernel_forwards_by_itself_and_everything_is_counted() {
    let name = "the_kernel_forwards_by_itself_and_everything_is_counted";
    test(name, |lab, router, (address, menu, family)| {
        let ports = || {
            ["ether1", "ether2"].map(|port| {
                ["rx-packet", "tx-packet", "fp-rx-packet", "fp-tx-packet"]
                    .map(|counter| router.number("/interface/print stats-detail", port, counter))
            })
        };
        let (before, [xdp, fast]) = (ports(), by_itself(router, menu, family));

        run(
            lab,
            "client",
            &format!("ping -q -c 1000 -i 0.001 -W 10 {address}"),
        );

        let [more_xdp, more_fast] = by_itself(router, menu, family);
        // A neighbour may have been confirmed meanwhile, or advertised itself: a packet or two are asked about.
        assert!(
            (1900..=2000).contains(&(more_xdp - xdp)),
            "{}",
            more_xdp - xdp
        );
        assert_eq!(more_fast - fast, 2000);
        for (before, after) in before.iter().zip(ports()) {
            for (before, after) in before.iter().zip(after) {
                assert!((1000..1100).contains(&(after - before)), "{before} {after}");
            }
        }
    });
}

#[test]
fn the_kernel_forwards_nothing_that_the_router_would_not() {
    let name = "the_kernel_forwards_nothing_that_the_router_would_not";
    test(name, |lab, router, (address, menu, family)| {
        let length = if family == "ipv4" { 32 } else { 128 };
        let changes = [
            (
                format!("/{menu}/firewall/filter/add chain=forward action=drop"),
                format!("/{menu}/firewall/filter/remove [find]"),
            ),
            (
                format!("/{menu}/route/add dst-address={address}/{length} blackhole"),
                format!("/{menu}/route/remove [find blackhole]"),
            ),
            (
                String::from("/interface/disable ether1"),
                String::from("/interface/enable ether1"),
            ),
        ];
        for (breaks, mends) in changes {
            let [before, _] = by_itself(router, menu, family);
            ping(lab, address);
            assert!(by_itself(router, menu, family)[0] > before);

            router.exec(&breaks);

            assert!(is_silent(lab, address), "{breaks}");
            router.exec(&mends);
            until("the way is there again", || !is_silent(lab, address));
        }
    });
}

#[test]
fn without_fast_path_the_kernel_forwards_nothing_by_itself() {
    let name = "without_fast_path_the_kernel_forwards_nothing_by_itself";
    test(name, |lab, router, (address, menu, family)| {
        router.exec(&format!("/{menu}/settings/set allow-fast-path=no"));
        let before = by_itself(router, menu, family);

        ping(lab, address);

        assert_eq!(by_itself(router, menu, family), before);
        router.exec(&format!("/{menu}/settings/set allow-fast-path=yes"));
        ping(lab, address);
        assert!(by_itself(router, menu, family)[0] > before[0]);
    });
}
