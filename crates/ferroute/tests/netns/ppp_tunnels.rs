//! Tunnels with PPP sessions, L2TP, PPTP and SSTP, between two ferroutes.
//!
//! ```text
//! one ── left (client) ── right (server) ── two
//! ```

use crate::accounting::{RADIUS, START, attribute, free_radius, wait_for};
use crate::carriers::{Carrier, L2TP, OVPN, OVPN_TCP, PPTP, SSTP, reaches};
use crate::ipsec::SITES;
use crate::pppoe::start;
use crate::world::{Folder, PACKET, Router, Start, have, lab, layout, shell, until};

/// A client reaches the world; both ends come back after a kill.
fn comes_back_after_kills(test: &str, carrier: &Carrier) {
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    let reaches = |more: &str| reaches(&lab, more, "10.2.0.2");
    let folders = [Folder::new(), Folder::new()];
    let states = folders.each_ref().map(|folder| folder.file("state"));
    let config = carrier.routed_server_config();
    let server = start(&lab, "right", &config, Some(&states[1]));
    carrier.begin(&server);
    let config = carrier.routed_client_config(carrier.keepalive);
    let client = start(&lab, "left", &config, Some(&states[0]));
    let monitor = |cell: &str| carrier.monitor(&client, cell);
    until("a packet gets through", || reaches(""));
    assert_eq!(monitor("status"), "connected", "{}", client.log());
    assert_eq!(monitor("mtu"), carrier.mtu.to_string());
    assert_eq!(monitor("remote-address"), "10.64.0.1");
    let servers = client.exec(":put [/ip/dns/get dynamic-servers]");
    let expected = if carrier.learns_dns { "10.64.0.53" } else { "" };
    assert_eq!(servers.trim(), expected);
    // Packets of the session's size pass whole; longer ones are told of or go in pieces.
    let longest = carrier.mtu - 28;
    assert!(reaches(&format!("-s {longest} -M do")), "{}", client.log());
    assert!(!reaches(&format!("-s {} -M do", longest + 1)));
    assert!(reaches("-s 3000 -M dont"), "{}", server.log());
    let row = &server.rows("/ppp/active/print")[0];
    assert_eq!(row["name"], "anna");
    assert_eq!(row["service"], carrier.service);
    assert_eq!(row["caller-id"], "192.0.2.1");
    let row = &server.rows(&format!("/interface/{}-server/print", carrier.service))[0];
    assert_eq!(row["name"], format!("<{}-anna>", carrier.service));
    assert_eq!(row["running"], "true", "{row}");

    server.exec("/ppp/active/remove [find]");
    until("the session is back", || reaches(""));
    client.kill();
    let client = start(&lab, "left", "", Some(&states[0]));
    until("the session is back after the client was killed", || {
        reaches("")
    });
    server.kill();
    let server = start(&lab, "right", "", Some(&states[1]));
    until("the session is back after the server was killed", || {
        reaches("")
    });
    carrier.set_client(&client, "disabled=yes");
    until("the session ends with its client", || {
        server.rows("/ppp/active/print").is_empty()
    });
}

#[test]
fn a_client_of_l2tp_reaches_the_world_and_both_come_back_after_a_kill() {
    let test = "a_client_of_l2tp_reaches_the_world_and_both_come_back_after_a_kill";
    comes_back_after_kills(test, &L2TP);
}

#[test]
fn a_client_of_pptp_reaches_the_world_and_both_come_back_after_a_kill() {
    let test = "a_client_of_pptp_reaches_the_world_and_both_come_back_after_a_kill";
    comes_back_after_kills(test, &PPTP);
}

#[test]
fn a_client_of_openvpn_reaches_the_world_and_both_come_back_after_a_kill() {
    let test = "a_client_of_openvpn_reaches_the_world_and_both_come_back_after_a_kill";
    comes_back_after_kills(test, &OVPN);
}

#[test]
fn a_client_of_openvpn_by_tcp_reaches_the_world_and_both_come_back_after_a_kill() {
    let test = "a_client_of_openvpn_by_tcp_reaches_the_world_and_both_come_back_after_a_kill";
    comes_back_after_kills(test, &OVPN_TCP);
}

#[test]
fn a_client_of_sstp_reaches_the_world_and_both_come_back_after_a_kill() {
    let test = "a_client_of_sstp_reaches_the_world_and_both_come_back_after_a_kill";
    comes_back_after_kills(test, &SSTP);
}

/// The default configuration is a client's router, and with the rules that `check` proposes a server.
fn default_configuration(test: &str, carrier: &Carrier, client_settings: &str) {
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    let reaches = |more: &str| reaches(&lab, more, "10.2.0.2");
    let server = carrier.serve(&lab, "");
    let (service, client) = (carrier.service, carrier.client());
    let dial = format!(
        "/ip dhcp-client disable [find]\n\
         /ip address add address=192.0.2.1/24 interface=ether1\n\
         /interface {service}-client add name={client} connect-to=192.0.2.2 user=anna password=geheim \
         add-default-route=yes {client_settings} disabled=no\n\
         /interface list member add list=WAN interface={client}\n"
    );
    let config = format!("{}{dial}", layout("home").config);
    let folder = Folder::new();
    let state = folder.file("state");
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
    until("a packet gets through", || reaches(""));
    // The other way: the home router is the server, and its firewall has no rule for that.
    let enable = match service {
        "ovpn" => carrier.server_command().to_owned(),
        "sstp" => format!("/interface/{service}-server/server/set enabled=no"),
        _ => format!("/interface/{service}-server/server/set enabled=yes"),
    };
    router.exec(&format!(
        "/interface/{service}-client/disable {client}; {enable} default-profile=default; \
         /ppp/secret/add name=bert password=geheim local-address=10.99.0.1 remote-address=10.99.0.2"
    ));
    carrier.begin(&router);
    server.exec(&format!(
        "/interface/{service}-client/add name=to-home connect-to=192.0.2.1 user=bert password=geheim disabled=no {}",
        carrier.dial_options()
    ));
    let status = || {
        let monitor = format!("/interface/{service}-client/monitor to-home once as-value");
        let said = server.exec(&format!(":put ([{monitor}]->\"status\")"));
        said.trim().to_owned()
    };
    until("the firewall drops the requests", || {
        let log = server.log();
        let reasons = ["peer is not responding", "connection closed"];
        let ends = reasons.map(|reason| format!("to-home: terminating... - {reason}"));
        ends.iter().any(|end| log.contains(end))
    });
    let said = format!("{:?}", router.rows("/system/doctor/print"));
    let blocked = format!("{service}-server-blocked");
    assert!(said.contains(&blocked), "{said}");
    for matcher in carrier.accepts {
        router.exec(&format!(
            "/ip/firewall/filter/add chain=input action=accept {matcher} place-before=0"
        ));
        assert!(said.contains(matcher), "{matcher}: {said}");
    }
    until("the session opens", || status() == "connected");
}

#[test]
fn the_default_configuration_is_a_client_and_a_server_of_l2tp() {
    let test = "the_default_configuration_is_a_client_and_a_server_of_l2tp";
    default_configuration(test, &L2TP, "random-source-port=yes");
}

#[test]
fn the_default_configuration_is_a_client_and_a_server_of_pptp() {
    let test = "the_default_configuration_is_a_client_and_a_server_of_pptp";
    default_configuration(test, &PPTP, "profile=default-encryption");
}

/// A RADIUS server authenticates a user, chooses the address, and accounts the session.
fn radius_serves(test: &str, carrier: &Carrier) {
    let programs = ["ping", "freeradius"];
    let Some(lab) = have(test, &programs).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    let folder = Folder::new();
    let users = "anna Cleartext-Password := \"geheim\"\n\
        \tService-Type = Framed-User, Framed-Protocol = PPP, Framed-IP-Address = 10.64.0.77\n";
    let _free = free_radius(&lab, &folder, users);
    // Servers from before July 2024 send no Message-Authenticator by default.
    let settings = "/ppp secret remove [find]\n/radius set [find] require-message-auth=no\n";
    let server = carrier.serve(&lab, &[RADIUS, settings].concat());
    carrier.set_server(&server, "authentication=pap");
    let client = carrier.dial(&lab, "allow=pap");
    until("a packet gets through", || reaches(&lab, "", "10.2.0.2"));
    assert_eq!(carrier.monitor(&client, "local-address"), "10.64.0.77");
    let begun = wait_for(&folder, "Start", &START, &server);
    assert_eq!(attribute(&begun, "NAS-Port-Type"), "Virtual");
    assert_eq!(attribute(&begun, "Calling-Station-Id"), "\"192.0.2.1\"");
    assert_eq!(attribute(&begun, "Framed-IP-Address"), "10.64.0.77");
}

#[test]
fn radius_authenticates_and_accounts_users_of_l2tp() {
    let test = "radius_authenticates_and_accounts_users_of_l2tp";
    radius_serves(test, &L2TP);
}

#[test]
fn radius_authenticates_and_accounts_users_of_pptp() {
    let test = "radius_authenticates_and_accounts_users_of_pptp";
    radius_serves(test, &PPTP);
}

/// Prefixes of the links to users, and an address behind the server.
const IPV6: &str = "/ipv6 address add address=2001:2:0:80::1/64 interface=ether1 advertise=no\n\
    /ipv6 pool add name=links prefix=2001:2:0:4000::/50 prefix-length=64\n\
    /ppp profile set home remote-ipv6-prefix-pool=links\n";

/// A user gets a prefix and a default route, and reaches a host behind the server.
fn carries_ipv6(test: &str, carrier: &Carrier) {
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    shell(
        &lab,
        "two",
        "ip address add 2001:2:0:80::2/64 dev eth0 nodad; ip route replace default via 2001:2:0:80::1",
    );
    let _server = carrier.serve(&lab, IPV6);
    let client = carrier.dial(&lab, "");
    client.exec("/ipv6/settings/set accept-router-advertisements=yes");
    let answers = |more: &str| {
        let said = client.exec(&format!("/ping 2001:2:0:80::2 count=1 {more}"));
        said.contains("received=1")
    };
    until("the client has an address of the prefix", || {
        let rows = client.rows("/ipv6/address/print");
        let own = rows.iter().map(|row| row["address"].to_string());
        own.into_iter().any(|own| own.contains("2001:2:0:4000:"))
    });
    until("a packet gets through", || answers(""));
    assert!(answers("size=1450"), "{}", client.log());
}

#[test]
fn sessions_of_l2tp_carry_ipv6() {
    carries_ipv6("sessions_of_l2tp_carry_ipv6", &L2TP);
}

#[test]
fn sessions_of_pptp_carry_ipv6() {
    carries_ipv6("sessions_of_pptp_carry_ipv6", &PPTP);
}

#[test]
fn the_default_configuration_is_a_client_and_a_server_of_sstp() {
    let test = "the_default_configuration_is_a_client_and_a_server_of_sstp";
    default_configuration(test, &SSTP, "");
}

#[test]
fn the_default_configuration_is_a_client_and_a_server_of_openvpn() {
    let test = "the_default_configuration_is_a_client_and_a_server_of_openvpn";
    default_configuration(test, &OVPN_TCP, OVPN_TCP.dial_options());
}
