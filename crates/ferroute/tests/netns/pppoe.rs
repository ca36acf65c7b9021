//! PPPoE: two ferroutes, and pppd with the kernel's PPPoE in a guest as client.
//!
//! ```text
//! one ── left (client) ── right (server) ── two
//! ```

use std::path::Path;

use lab::Lab;

use crate::guest::guest;
use crate::ipsec::SITES;
use crate::world::{Folder, PACKET, Router, Server, Start, have, lab, layout, shell, until, works};

/// Configuration of the server: pool, profile, secret.
const SERVER: &str = "/system identity set name=bras\n\
    /ip address add address=10.2.0.1/24 interface=ether1\n\
    /ip pool add name=subscribers ranges=10.64.0.2-10.64.0.99\n\
    /ppp profile add name=home local-address=10.64.0.1 remote-address=subscribers dns-server=10.64.0.53\n\
    /ppp secret add name=anna password=geheim profile=home service=pppoe\n\
    /interface pppoe-server server add service-name=isp interface=ether2 default-profile=home disabled=no\n";
/// Configuration of a client behind which a network is masqueraded.
const CLIENT: &str = "/ip address add address=10.1.0.1/24 interface=ether1\n\
    /interface pppoe-client add name=pppoe-out1 interface=ether2 user=anna password=geheim add-default-route=yes \
    use-peer-dns=yes disabled=no\n\
    /ip firewall nat add chain=srcnat action=masquerade out-interface=pppoe-out1\n";

fn start(lab: &Lab, host: &str, config: &str, state: Option<&Path>) -> Router {
    let ports = ["ether1", "ether2"].map(|port| format!("{port}={PACKET}:{port}"));
    Router::start(
        lab,
        &Start {
            host,
            state,
            ports: ports.to_vec(),
            ..Start::with(PACKET, config)
        },
    )
}

fn reaches(lab: &Lab, more: &str) -> bool {
    works(lab, "one", &format!("ping -q -c 1 -W 1{more} 10.2.0.2"))
}

fn monitor(client: &Router, cell: &str) -> String {
    let command =
        format!(":put ([/interface/pppoe-client/monitor pppoe-out1 once as-value]->\"{cell}\")");
    client.exec(&command).trim().to_owned()
}

#[test]
fn a_client_behind_a_server_reaches_the_world_and_both_come_back_after_a_kill() {
    let test = "a_client_behind_a_server_reaches_the_world_and_both_come_back_after_a_kill";
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    let folders = [Folder::new(), Folder::new()];
    let states = folders.each_ref().map(|folder| folder.file("state"));
    let server = start(&lab, "right", SERVER, Some(&states[1]));
    let client = start(&lab, "left", CLIENT, Some(&states[0]));
    until("a packet gets through", || reaches(&lab, ""));
    assert_eq!(monitor(&client, "status"), "connected", "{}", client.log());
    assert_eq!(monitor(&client, "ac-name"), "bras");
    assert_eq!(monitor(&client, "mtu"), "1492");
    assert_eq!(
        client.exec(":put [/ip/dns/get dynamic-servers]").trim(),
        "10.64.0.53"
    );
    // Packets of the link's size pass whole; longer ones are told of or go in pieces.
    assert!(reaches(&lab, " -s 1464 -M do"), "{}", client.log());
    assert!(!reaches(&lab, " -s 1465 -M do"));
    assert!(reaches(&lab, " -s 3000 -M dont"), "{}", server.log());
    let row = &server.rows("/ppp/active/print")[0];
    assert_eq!(row["name"], "anna");
    assert_eq!(row["service"], "pppoe");

    server.exec("/ppp/active/remove [find]");
    until("the session is back", || reaches(&lab, ""));
    client.kill();
    let client = start(&lab, "left", "", Some(&states[0]));
    until("the session is back after the client was killed", || {
        reaches(&lab, "")
    });
    server.kill();
    let server = start(&lab, "right", "", Some(&states[1]));
    until("the session is back after the server was killed", || {
        reaches(&lab, "")
    });
    client.exec("/interface/pppoe-client/disable pppoe-out1");
    until("the session ends with its client", || {
        let active = server.rows("/ppp/active/print");
        active.is_empty()
    });
}

#[test]
fn the_default_configuration_works_with_pppoe_as_its_wan() {
    let test = "the_default_configuration_works_with_pppoe_as_its_wan";
    let programs = ["ping", "curl", "python3"];
    let Some(lab) = have(test, &programs).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    let server = start(&lab, "right", SERVER, None);
    let dial = "/ip dhcp-client disable [find]\n\
        /interface pppoe-client add name=pppoe-out1 interface=ether1 user=anna password=geheim \
        add-default-route=yes use-peer-dns=yes disabled=no\n\
        /interface list member add list=WAN interface=pppoe-out1\n";
    let config = format!("{}{dial}", layout("home").config);
    let folder = Folder::new();
    let state = folder.file("state");
    // The default configuration has its WAN on ether1.
    let home = Start {
        host: "left",
        state: Some(&state),
        ports: vec![
            "ether1=packet:ether2".to_owned(),
            "ether2=packet:ether1".to_owned(),
        ],
        ..Start::with(PACKET, &config)
    };
    let router = Router::start(&lab, &home);
    shell(
        &lab,
        "one",
        "ip address add 192.168.88.50/24 dev eth0; ip route replace default via 192.168.88.1",
    );
    let page = Folder::new();
    std::fs::write(page.file("long"), vec![b'x'; 2_000_000]).expect("a folder of our own");
    let serve = format!(
        "python3 -u -m http.server 80 -d {}",
        page.file("").display()
    );
    let _pages = Server::start(&lab, "two", &serve, "Serving HTTP");
    let surfs = || {
        let line = "curl -sS -m 20 -o /dev/null -w %{size_download} http://10.2.0.2/long";
        crate::world::output(&lab, "one", line).stdout == b"2000000"
    };
    until("a packet gets through", || reaches(&lab, ""));
    assert!(surfs(), "{}", router.log());
    let fasttracked = router.number("/ip/settings/print", "", "ipv4-fasttrack-packets");
    assert!(fasttracked > 500, "{fasttracked}");
    // The world does not get in: the router's page answers on the LAN only.
    assert!(works(
        &lab,
        "one",
        "curl -sS -m 5 -o /dev/null http://192.168.88.1/"
    ));
    assert!(!works(
        &lab,
        "two",
        "curl -sS -m 1 -o /dev/null http://10.64.0.99/"
    ));

    router.kill();
    let router = Router::start(&lab, &Start { config: "", ..home });
    until("the session is back after a kill", || reaches(&lab, ""));
    assert!(surfs(), "{}", router.log());
    server.exec("/ppp/active/remove [find]");
    until("the session is back after a PADT", || reaches(&lab, ""));
    assert!(surfs(), "{}", router.log());
}

#[test]
fn scan_shows_the_services_of_an_interface() {
    let test = "scan_shows_the_services_of_an_interface";
    let Some(lab) = lab(test, &SITES) else {
        return;
    };
    let _server = start(&lab, "right", SERVER, None);
    let client = start(&lab, "left", "", None);
    let said = client.exec("/interface/pppoe-client/scan ether2 duration=3s");
    assert!(said.contains("isp") && said.contains("bras"), "{said}");
}

#[test]
fn pppd_of_linux_dials_in_with_each_method() {
    let test = "pppd_of_linux_dials_in_with_each_method";
    let Some(lab) = have(test, &["ping", "pppd"])
        .then(|| lab(test, &SITES))
        .flatten()
    else {
        return;
    };
    // The link is the guest's alone.
    shell(
        &lab,
        "left",
        "echo 1 > /proc/sys/net/ipv6/conf/ether2/disable_ipv6; ip link set ether2 promisc on",
    );
    let Some(mut guest) = guest(test, &lab, ("left", "ether2"), Folder::new()) else {
        return;
    };
    guest.load("ppp_generic pppoe");
    guest.run("ip link set vec0 up; [ -e /dev/ppp ] || mknod /dev/ppp c 108 0");
    let server = start(&lab, "right", SERVER, None);
    let refuse = ["pap", "chap", "mschap", "mschap-v2"];
    for method in refuse {
        let others = refuse.iter().filter(|other| **other != method);
        let others: Vec<_> = others.map(|other| format!("refuse-{other}")).collect();
        let script = format!(
            "setsid /usr/sbin/pppd plugin rp-pppoe.so nic-vec0 user anna password geheim {} refuse-eap noauth nodetach \
             defaultroute nopersist logfile /mnt/pppd.log >/dev/null 2>&1 </dev/null & echo $! > /run/pppd.pid",
            others.join(" ")
        );
        guest.run(&script);
        let up = "ip address show dev ppp0 | grep -q 'peer 10.64.0.1'";
        until(&format!("{method} opens a session"), || guest.works(up));
        // pppd sets the route after the address.
        until(&format!("{method}: a packet gets through"), || {
            guest.works("ping -q -c 1 -W 2 10.2.0.2")
        });
        assert!(
            guest.works("ping -q -c 1 -W 2 -s 1464 -M do 10.2.0.2"),
            "{method}"
        );
        guest.run("kill $(cat /run/pppd.pid)");
        until("the session ends", || {
            server.rows("/ppp/active/print").is_empty()
        });
        until("pppd ends", || !guest.works("kill -0 $(cat /run/pppd.pid)"));
    }
}
