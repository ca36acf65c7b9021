//! PPPoE between two ferroutes.
//!
//! ```text
//! one ── left (client) ── right (server) ── two
//! ```

use std::path::Path;

use lab::Lab;

use crate::everyday::Everyday;
use crate::ipsec::SITES;
use crate::world::{
    Folder, PACKET, Router, Server, Start, have, lab, layout, run, shell, until, works,
};

/// Configuration of the server: pool, profile, secret.
pub(crate) const SERVER: &str = "/system identity set name=bras\n\
    /ip address add address=10.2.0.1/24 interface=ether1\n\
    /ip pool add name=subscribers ranges=10.64.0.2-10.64.0.99\n\
    /ppp profile add name=home local-address=10.64.0.1 remote-address=subscribers dns-server=10.64.0.53\n\
    /ppp secret add name=anna password=geheim profile=home service=pppoe\n\
    /interface pppoe-server server add service-name=isp interface=ether2 default-profile=home disabled=no\n";
/// Configuration of a client behind which a network is masqueraded.
pub(crate) const CLIENT: &str = "/ip address add address=10.1.0.1/24 interface=ether1\n\
    /interface pppoe-client add name=pppoe-out1 interface=ether2 user=anna password=geheim add-default-route=yes \
    use-peer-dns=yes disabled=no\n\
    /ip firewall nat add chain=srcnat action=masquerade out-interface=pppoe-out1\n";

/// Starts a router with the ports `ether1` and `ether2`.
pub(crate) fn start(lab: &Lab, host: &str, config: &str, state: Option<&Path>) -> Router {
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

/// Parameters of a home router. The default configuration has its WAN on ether1.
fn home<'a>(state: &'a Path, config: &'a str) -> Start<'a> {
    Start {
        host: "left",
        state: Some(state),
        ports: vec![
            "ether1=packet:ether2".to_owned(),
            "ether2=packet:ether1".to_owned(),
        ],
        ..Start::with(PACKET, config)
    }
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
    let home = home(&state, &config);
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
    let ends = || router.log().matches("pppoe-out1: disconnected").count();
    let before = ends();
    server.exec("/ppp/active/remove [find]");
    until("the session ends by a PADT", || ends() > before);
    until("the session is back after a PADT", || reaches(&lab, ""));
    assert!(surfs(), "{}", router.log());
}

/// Prefixes of the provider: one for each link, one for each site.
const SERVER6: &str = "/ipv6 address add address=2001:2:0:80::1/64 interface=ether1 advertise=no\n\
    /ipv6 pool add name=links prefix=2001:2:0:4000::/50 prefix-length=64\n\
    /ipv6 pool add name=sites prefix=2001:2:0:c000::/50 prefix-length=56\n\
    /ppp profile set home remote-ipv6-prefix-pool=links dhcpv6-pd-pool=sites\n";

/// Configuration of a home router that dials on its WAN port and passes a delegated prefix on to its LAN.
const DIAL6: &str = "/ip dhcp-client disable [find]\n\
    /interface pppoe-client add name=pppoe-out1 interface=ether1 user=anna password=geheim \
    add-default-route=yes use-peer-dns=yes disabled=no\n\
    /interface list member add list=WAN interface=pppoe-out1\n\
    /ipv6 dhcp-client add interface=pppoe-out1 request=prefix pool-name=isp\n\
    /ipv6 address add address=::1/64 from-pool=isp interface=bridge\n";
const SITE: &str = "2001:2:0:c000::/56";

fn delegated(server: &Router) -> String {
    let rows = server.rows("/ipv6/dhcp-server/binding/print");
    let address = rows.first().and_then(|row| row["address"].as_str());
    address.unwrap_or_default().to_owned()
}

#[test]
fn a_lan_host_gets_an_address_of_the_prefix_that_the_provider_delegates_over_pppoe() {
    let test = "a_lan_host_gets_an_address_of_the_prefix_that_the_provider_delegates_over_pppoe";
    let lab = have(test, &["ping", "curl"]).then(|| lab(test, &SITES));
    let Some(lab) = lab.flatten() else {
        return;
    };
    let server = start(&lab, "right", &format!("{SERVER}{SERVER6}"), None);
    let config = format!("{}{DIAL6}", layout("home").config);
    let folder = Folder::new();
    let state = folder.file("state");
    let home = home(&state, &config);
    let router = Router::start(&lab, &home);
    shell(
        &lab,
        "two",
        "ip -6 address add 2001:2:0:80::2/64 dev eth0 nodad; ip -6 route replace default via 2001:2:0:80::1",
    );
    let reaches = || works(&lab, "one", "ping -6 -q -c 1 -W 1 2001:2:0:80::2");
    let global = || run(&lab, "one", "ip -6 -o address show dev eth0 scope global");
    until("a host has an address of the prefix", || {
        global().contains("2001:2:0:c0")
    });
    until("a packet gets through", reaches);
    let of_session = &server.rows("/ipv6/dhcp-server/print")[0];
    assert_eq!(
        (&of_session["name"], &of_session["dynamic"]),
        (&"<pppoe-anna>".into(), &"true".into())
    );
    assert_eq!(delegated(&server), SITE, "{}", server.log());
    let links = server.rows("/ipv6/pool/used/print");
    assert!(
        links
            .iter()
            .any(|row| row["owner"] == "PPP" && row["info"] == "anna"),
        "{links:?}"
    );
    // The world does not get in.
    let address = global();
    let mut words = address.split_whitespace();
    let address = words
        .find(|word| word.starts_with("2001:"))
        .expect("an address");
    let address = address.split('/').next().unwrap_or_default();
    assert!(!works(
        &lab,
        "two",
        &format!("curl -sS -m 1 -o /dev/null http://[{address}]/")
    ));

    router.kill();
    let router = Router::start(&lab, &Start { config: "", ..home });
    let is_bound = || {
        let rows = router.rows("/ipv6/dhcp-client/print");
        rows.iter().any(|row| row["status"] == "bound")
    };
    until("the prefix is back after a kill", is_bound);
    until("a packet gets through after a kill", reaches);
    assert_eq!(delegated(&server), SITE, "the prefix stays");
    server.exec("/ppp/active/remove [find]");
    until("the session has ended", || delegated(&server).is_empty());
    until("the prefix is back after a PADT", || {
        delegated(&server) == SITE
    });
    until("a packet gets through after a PADT", reaches);
}

#[test]
fn a_client_that_accepts_advertisements_gets_an_address_and_a_route_over_pppoe() {
    let test = "a_client_that_accepts_advertisements_gets_an_address_and_a_route_over_pppoe";
    let Some(lab) = lab(test, &SITES) else {
        return;
    };
    let _server = start(&lab, "right", &format!("{SERVER}{SERVER6}"), None);
    let client = start(
        &lab,
        "left",
        "/ipv6 settings set accept-router-advertisements=yes\n\
         /interface pppoe-client add name=pppoe-out1 interface=ether2 user=anna password=geheim disabled=no\n",
        None,
    );
    let row = |print: &str, property: &str, start: &str| {
        let rows = client.rows(print);
        let mut its = rows.into_iter();
        its.find(|row| {
            row[property]
                .as_str()
                .is_some_and(|value| value.starts_with(start))
        })
    };
    until("the client has an address of the link's prefix", || {
        row("/ipv6/address/print", "address", "2001:2:0:4000:")
            .is_some_and(|row| row["interface"] == "pppoe-out1" && row["dynamic"] == "true")
    });
    let route = row("/ipv6/route/print", "dst-address", "::/0").expect("a default route");
    assert_eq!(route["slaac"], "true", "{route}");
    until("a packet gets through", || {
        let said = client.exec(":put [/ping 2001:2:0:80::1 count=1]");
        said.trim_end().lines().last() == Some("1")
    });
    client.exec("/ipv6/settings/set accept-router-advertisements=no");
    assert!(row("/ipv6/address/print", "address", "2001:2:0:4000:").is_none());
    assert!(row("/ipv6/route/print", "dst-address", "::/0").is_none());
}

/// A check of the lab `everyday`: a session over EoIP to the far router.
pub(crate) fn sessions_run_over_eoip_to_the_far_router(everyday: &Everyday) {
    let (home, far) = (everyday.router(), &everyday.far);
    far.exec(
        "/interface/eoip/add name=backhaul tunnel-id=77 remote-address=203.0.113.100; \
         /ppp/secret/add name=home password=geheim local-address=10.77.0.1 remote-address=10.77.0.2; \
         /interface/pppoe-server/server/add service-name=bras interface=backhaul disabled=no",
    );
    home.exec(
        "/interface/eoip/add name=backhaul tunnel-id=77 remote-address=192.0.2.2; \
         /interface/pppoe-client/add name=pppoe-bras interface=backhaul user=home password=geheim disabled=no",
    );
    // The line behind the table of the ping is the number of answers.
    let pings = || {
        let said = home.exec(":put [/ping 10.77.0.1 count=1]");
        said.trim_end().lines().last() == Some("1")
    };
    until("a packet gets through the session", pings);
    let mtu = home.value("/interface/print", "pppoe-bras", "actual-mtu");
    home.exec("/interface/pppoe-client/remove pppoe-bras; /interface/eoip/remove backhaul");
    far.exec(
        "/interface/pppoe-server/server/remove [find]; /ppp/secret/remove home; /interface/eoip/remove backhaul",
    );
    assert_eq!(
        mtu, "1450",
        "that of EoIP without the headers of PPPoE and PPP"
    );
}

#[test]
fn a_client_on_demand_dials_for_a_packet_of_the_lan_and_tagged_clients_need_no_vlan_interface() {
    let test = "a_client_on_demand_dials_for_a_packet_of_the_lan_and_tagged_clients_need_no_vlan_interface";
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    let tagged = "/interface pppoe-server server set [find] pppoe-over-vlan-range=100-200 accept-untagged=no\n";
    let server = start(&lab, "right", &[SERVER, tagged].concat(), None);
    let client = CLIENT.replace("interface=ether2", "interface=line");
    let on_demand = "/interface vlan add name=line interface=ether2 vlan-id=150\n";
    let idle = "/ppp profile add name=idle idle-timeout=3s\n\
        /interface pppoe-client set [find] dial-on-demand=yes profile=idle\n";
    let client = start(&lab, "left", &[on_demand, &client, idle].concat(), None);
    for _ in 0..2 {
        until("the client waits", || {
            monitor(&client, "status") == "waiting for packets..."
        });
        assert!(server.rows("/ppp/active/print").is_empty());
        until("a packet of the LAN gets through", || reaches(&lab, ""));
        assert_eq!(monitor(&client, "status"), "connected");
        let vlan = server.value("/interface/vlan/print", "<ether2.150>", "vlan-id");
        assert_eq!(vlan, "150");
    }
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
