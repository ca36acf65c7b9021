//! Tests DHCPv6 servers with a third-party client: dhclient gets a prefix and an address.
//!
//! ```text
//! client (dhclient) ── router (ferroute)
//! ```

use std::path::Path;

use lab::Lab;

use crate::dhcp6::{LINE, begin};
use crate::world::{Folder, PACKET, Router, Start, have, lab, run, until};

const BINDINGS: &str = "/ipv6/dhcp-server/binding/print detail";

fn start(lab: &Lab, config: &str, state: &Path) -> Router {
    Router::start(
        lab,
        &Start {
            state: Some(state),
            ..Start::with(PACKET, config)
        },
    )
}

/// Returns this property of the binding of a type.
fn binding(router: &Router, kind: &str, property: &str) -> String {
    let rows = router.rows(BINDINGS);
    let row = rows.iter().find(|row| row["ia-type"] == kind);
    let value = row.and_then(|row| row[property].as_str());
    value.unwrap_or_default().to_owned()
}

fn has_route(router: &Router, prefix: &str) -> bool {
    let rows = router.rows("/ipv6/route/print");
    let mut routes = rows.iter().filter(|row| row["dst-address"] == prefix);
    routes.any(|row| {
        let gateway = row["gateway"].as_str().unwrap_or_default();
        gateway.starts_with("fe80:") && gateway.ends_with("%ether2") && row["dhcp"] == "true"
    })
}

const CONFIG: &str = "/ipv6 address add address=2001:2:0:88::1/64 interface=ether2 advertise=no\n\
    /ip dns set servers=2001:2:0:80::53\n\
    /ipv6 pool add name=sites prefix=2001:2:0:100::/56 prefix-length=60\n\
    /ipv6 pool add name=hosts prefix=2001:2:0:88::/64 prefix-length=128\n\
    /ipv6 dhcp-server option add name=zone code=24 value=\"0x036c616e00\"\n\
    /ipv6 dhcp-server add name=lan interface=ether2 prefix-pool=sites address-pool=hosts lease-time=10m \
    dhcp-option=zone\n";
const PREFIX: &str = "2001:2:0:100::/60";
const ADDRESS: &str = "2001:2:0:88::2/128";

#[test]
fn dhclient_gets_a_prefix_and_an_address_that_survive_a_kill_of_the_router() {
    let test = "dhclient_gets_a_prefix_and_an_address_that_survive_a_kill_of_the_router";
    let lab = have(test, &["dhclient"]).then(|| lab(test, &LINE));
    let Some(lab) = lab.flatten() else {
        return;
    };
    let folder = Folder::new();
    let state = folder.file("state");
    let router = start(&lab, CONFIG, &state);
    until("the client has a link-local address", || {
        let addresses = run(&lab, "client", "ip -6 address show dev eth0 scope link");
        addresses.contains("fe80:") && !addresses.contains("tentative")
    });
    let files = format!(
        "-sf /bin/true -pf {} -lf {} -cf /dev/null",
        folder.file("pid").display(),
        folder.file("leases").display()
    );
    let line = format!("dhclient -6 -1 -d -v -N -P -D LL {files} eth0");
    let client = begin(&lab, "client", &line, "PRC: Bound to lease");
    assert_eq!(
        binding(&router, "pd", "address"),
        PREFIX,
        "{}",
        router.log()
    );
    assert_eq!(binding(&router, "na", "address"), ADDRESS);
    assert_eq!(binding(&router, "pd", "status"), "bound");
    assert_eq!(binding(&router, "pd", "server"), "lan");
    assert!(binding(&router, "pd", "duid").starts_with("0x00030001"));
    let leases = std::fs::read_to_string(folder.file("leases")).expect("its leases");
    let parts = [
        "iaprefix 2001:2:0:100::/60",
        "iaaddr 2001:2:0:88::2",
        "2001:2:0:80::53",
        "lan.",
    ];
    parts
        .iter()
        .for_each(|part| assert!(leases.contains(part), "{leases}"));
    until("the prefix is routed", || has_route(&router, PREFIX));
    drop(client);

    router.kill();
    let router = start(&lab, "", &state);
    assert_eq!(binding(&router, "pd", "address"), PREFIX);
    assert_eq!(binding(&router, "na", "address"), ADDRESS);
    until("the prefix is routed after a kill", || {
        has_route(&router, PREFIX)
    });

    becomes_static(&router);
    run(
        &lab,
        "client",
        &format!("dhclient -6 -r -N -P -D LL {files} eth0"),
    );
    until("the bindings are released", || {
        router.rows(BINDINGS).len() == 1 && binding(&router, "pd", "status") == "waiting"
    });
    until("the route is gone", || !has_route(&router, PREFIX));
}

fn becomes_static(router: &Router) {
    router.exec("/ipv6/dhcp-server/binding/make-static [find ia-type=pd]");
    let rows = router.rows(BINDINGS);
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert_eq!(binding(router, "pd", "dynamic"), "false");
    assert_eq!(binding(router, "pd", "status"), "bound");
}
