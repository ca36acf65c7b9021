//! Tests DHCP servers with third-party clients: udhcpc and dhclient get addresses and keep them after a kill of the
//! router; perfdhcp simulates a thousand clients.

use std::path::Path;

use lab::Lab;

use crate::world::{Folder, PACKET, Router, Start, have, lab, layout, output, run, shell, until};

const CONFIG: &str = "\
/ip/address/add address=10.9.0.1/24 interface=ether2
/ip/pool/add name=lan ranges=10.9.0.100-10.9.0.103
/ip/dhcp-server/add name=lan interface=ether2 address-pool=lan lease-time=5m conflict-detection=no
/ip/dhcp-server/network/add address=10.9.0.0/24 gateway=10.9.0.1 dns-server=9.9.9.9 domain=lan
";

/// Script of a client that writes its lease to a file, one variable per line.
const TELL: &str = "#!/bin/sh\nset >\"$(dirname \"$0\")/told-$1\"\n";

fn start<'a>(config: &'a str, state: &'a Path) -> Start<'a> {
    Start {
        state: Some(state),
        ..Start::with(PACKET, config)
    }
}

/// Runs udhcpc once with these arguments. Returns the variables of its lease.
pub(crate) fn lease_of_udhcpc(lab: &Lab, folder: &Folder, arguments: &str) -> String {
    let script = folder.file("tell");
    std::fs::write(&script, TELL).expect("room");
    run(lab, "client", &format!("chmod 755 {}", script.display()));
    let told = folder.file("told-bound");
    let _ = std::fs::remove_file(&told);
    let line = format!(
        "udhcpc -i eth0 -f -q -n -t 5 -T 1 -s {} {arguments}",
        script.display()
    );
    run(lab, "client", line.trim_end());
    std::fs::read_to_string(told).expect("it was bound")
}

/// Returns a variable of a lease.
pub(crate) fn variable(told: &str, name: &str) -> String {
    let mut lines = told.lines();
    let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    value.unwrap_or_default().trim_matches('\'').to_owned()
}

#[test]
fn stock_clients_get_addresses_and_options() {
    let test = "stock_clients_get_addresses_and_options";
    let lab = have(test, &["udhcpc", "dhclient"])
        .then(|| lab(test, layout("plain")))
        .flatten();
    let Some(lab) = lab else { return };
    let folder = Folder::new();
    run(&lab, "client", "ip address flush dev eth0");
    let config = format!(
        "{CONFIG}/ip/dhcp-server/set lan add-arp=yes address-lists=guests \
         lease-script=\":log info \\\"script \\$leaseBound \\$leaseActIP\\\"\"\n"
    );
    let router = Router::start(&lab, &start(&config, &folder.file("state")));

    let given = lease_of_udhcpc(&lab, &folder, "-x hostname:pc -O domain");
    for (name, value) in [
        ("ip", "10.9.0.103"),
        ("mask", "24"),
        ("router", "10.9.0.1"),
        ("dns", "9.9.9.9"),
        ("domain", "lan"),
        ("lease", "300"),
        ("serverid", "10.9.0.1"),
    ] {
        assert_eq!(variable(&given, name), value, "{given}");
    }
    let leases = router.exec("/ip/dhcp-server/lease/print detail without-paging");
    for part in [
        "address=10.9.0.103",
        "host-name=\"pc\"",
        "status=bound",
        "server=lan",
    ] {
        assert!(leases.contains(part), "{leases}");
    }
    let arp = router.exec("/ip/arp/print without-paging");
    assert!(arp.contains("HC") && arp.contains("10.9.0.103"), "{arp}");
    let list = router.exec("/ip/firewall/address-list/print without-paging");
    assert!(
        list.contains("guests") && list.contains("10.9.0.103"),
        "{list}"
    );
    let used = router.exec("/ip/pool/used/print without-paging");
    assert!(
        used.contains("10.9.0.103") && used.contains("DHCP"),
        "{used}"
    );
    until("the script has run", || {
        router
            .exec("/log/print without-paging")
            .contains("script 1 10.9.0.103")
    });

    it_is_made_static(&lab, &router, &folder);
    it_is_limited(&lab, &router, &folder);
    another_takes_and_releases(&lab, &router, &folder);
    assert!(router.stop().success());
}

fn it_is_made_static(lab: &Lab, router: &Router, folder: &Folder) {
    // A lease that is made static stays, and its client keeps the address.
    router.exec("/ip/dhcp-server/lease/make-static [find address=10.9.0.103]");
    let export = router.exec("/ip/dhcp-server/lease/export terse");
    assert!(export.contains("address=10.9.0.103"), "{export}");
    assert_eq!(
        variable(&lease_of_udhcpc(lab, folder, ""), "ip"),
        "10.9.0.103"
    );
    router.exec("/ip/dhcp-server/lease/set [find address=10.9.0.103] address=10.9.0.50");
    assert_eq!(
        variable(&lease_of_udhcpc(lab, folder, ""), "ip"),
        "10.9.0.50"
    );
    router.exec("/ip/dhcp-server/lease/remove [find]");
}

/// Tests that a static lease with a rate has a simple queue and, if the server is configured so, a DNS name.
fn it_is_limited(lab: &Lab, router: &Router, folder: &Folder) {
    let given = lease_of_udhcpc(lab, folder, "-x hostname:pc");
    let address = variable(&given, "ip");
    let lease = format!("[find address={address}]");
    router.exec(&format!("/ip/dhcp-server/lease/make-static {lease}"));
    let set = format!("/ip/dhcp-server/lease/set {lease}");
    let queues = || router.exec("/queue/simple/print detail without-paging");
    router.exec(&format!("{set} rate-limit=\"2M/8M 4M/16M 1M/4M 10/10\""));
    let shown = queues();
    let target = format!("target={address}/32");
    for part in [
        "D name=\"dhcp-ds<",
        &target,
        "max-limit=2M/8M",
        "limit-at=2M/8M",
        "burst-limit=4M/16M",
        "burst-threshold=1M/4M",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let names = || router.exec("/ip/dns/static/print detail without-paging");
    router.exec("/ip/dhcp-server/set lan add-dns-entries=yes add-dns-entries-suffix=home");
    assert!(
        names().contains("pc.home") && names().contains(&address),
        "{}",
        names()
    );
    router.exec("/ip/dhcp-server/set lan add-dns-entries=no");
    assert!(!names().contains("pc.home"), "{}", names());
    router.exec(&format!("{set} rate-limit=3M"));
    assert!(queues().contains("max-limit=3M/3M"), "{}", queues());
    router.exec(&format!("{set} rate-limit=\"\""));
    assert!(!queues().contains("dhcp-ds<"), "{}", queues());
    router.exec(
        "/ip/dhcp-server/lease/add address=10.9.0.77 mac-address=02:00:00:00:00:77 server=lan",
    );
    let waiting =
        router.exec("/ip/dhcp-server/lease/print detail without-paging where address=10.9.0.77");
    assert!(waiting.contains("last-seen=never"), "{waiting}");
    router.exec("/ip/dhcp-server/lease/remove [find dynamic=no]");
}

fn another_takes_and_releases(lab: &Lab, router: &Router, folder: &Folder) {
    // A second client, which configures the address and releases it.
    let files = format!(
        "-sf /bin/true -pf {} -lf {} -cf /dev/null",
        folder.file("pid").display(),
        folder.file("leases").display()
    );
    run(lab, "client", &format!("dhclient -1 -q {files} eth0"));
    let leases = std::fs::read_to_string(folder.file("leases")).expect("its leases");
    assert!(
        leases.contains("option domain-name-servers 9.9.9.9;"),
        "{leases}"
    );
    // The client sends the release from a socket bound to the address, so the address must exist.
    let mut words = leases.split_whitespace();
    let found = words.find(|word| word.starts_with("10.9.0."));
    let address = found.expect("its address").trim_end_matches(';');
    run(
        lab,
        "client",
        &format!("ip address replace {address}/24 dev eth0"),
    );
    run(lab, "client", &format!("dhclient -r -q {files} eth0"));
    until("the lease is gone", || {
        let leases = router.exec("/ip/dhcp-server/lease/print count-only");
        leases.trim() == "0"
    });
}

#[test]
fn leases_survive_a_kill_of_the_router() {
    let test = "leases_survive_a_kill_of_the_router";
    let lab = have(test, &["udhcpc"])
        .then(|| lab(test, layout("plain")))
        .flatten();
    let Some(lab) = lab else { return };
    let folder = Folder::new();
    let state = folder.file("state");
    run(&lab, "client", "ip address flush dev eth0");
    let mut held = Vec::new();
    for round in 0..3 {
        let router = Router::start(&lab, &start(CONFIG, &state));
        // One more client each round, with its own identifier.
        let given = lease_of_udhcpc(&lab, &folder, &format!("-C -x 0x3d:0000{round:02}"));
        held.push(variable(&given, "ip"));
        // The kill follows at once: acknowledged leases must survive.
        router.kill();
    }
    let router = Router::start(&lab, &start(CONFIG, &state));
    let leases = router.exec("/ip/dhcp-server/lease/print without-paging");
    for address in &held {
        assert!(leases.contains(address), "{held:?}\n{leases}");
    }
    held.sort();
    held.dedup();
    assert_eq!(held.len(), 3, "nobody got another one's: {leases}");
    for round in 0..3 {
        let given = lease_of_udhcpc(&lab, &folder, &format!("-C -x 0x3d:0000{round:02}"));
        assert!(held.contains(&variable(&given, "ip")), "{given}");
    }
    let leases = router.exec("/ip/dhcp-server/lease/print count-only");
    assert_eq!(leases.trim(), "3");
    assert!(router.stop().success());
}

#[test]
fn a_thousand_clients_get_addresses() {
    let test = "a_thousand_clients_get_addresses";
    let lab = have(test, &["perfdhcp"])
        .then(|| lab(test, layout("plain")))
        .flatten();
    let Some(lab) = lab else { return };
    let folder = Folder::new();
    let config = CONFIG
        .replace("10.9.0.100-10.9.0.103", "10.9.1.0-10.9.255.254")
        .replace("10.9.0.1/24", "10.9.0.1/16")
        .replace("10.9.0.0/24", "10.9.0.0/16")
        // perfdhcp simulates a relay agent.
        .replace("lease-time=5m", "lease-time=5m relay=10.9.0.2");
    let router = Router::start(&lab, &start(&config, &folder.file("state")));
    shell(
        &lab,
        "client",
        "ip address flush dev eth0; ip address add 10.9.0.2/16 dev eth0",
    );

    // Each run simulates random ones of the same thousand clients and sends each request once: later runs repeat
    // requests that a busy machine has lost. The exit status of perfdhcp is nonzero after a loss.
    let line = "perfdhcp -4 -r 500 -R 1000 -n 1500 -W 1 -l eth0";
    let runs = (1..=20).find(|_| {
        output(&lab, "client", line);
        bound(&router) >= 950
    });
    assert!(
        runs.is_some(),
        "{}",
        router.exec("/ip/dhcp-server/print detail")
    );
    let acknowledged = bound(&router);
    router.kill();
    let router = Router::start(&lab, &start(&config, &folder.file("state")));
    assert!(bound(&router) >= acknowledged);
    assert!(router.stop().success());
}

fn bound(router: &Router) -> u32 {
    let line = "/ip/dhcp-server/lease/print count-only where status=bound";
    let said = router.exec(line);
    said.trim().parse().unwrap_or_else(|_| panic!("{said}"))
}
