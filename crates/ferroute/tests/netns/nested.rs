//! Tunnels inside tunnels, between two ferroutes.
//!
//! ```text
//! one ── left (client) ── right (server) ── two
//! ```

use lab::Lab;

use crate::carriers::{OVPN, SSTP};
use crate::ipsec::SITES;
use crate::ovpn::no_drops;
use crate::pppoe::start;
use crate::wireguard::{base, endpoint, meet, public};
use crate::world::{Router, have, lab, until, works};

/// Users of the sessions inside others, each with a network of its own.
const INNER: &str = "/ppp profile add name=second local-address=10.65.0.1 remote-address=10.65.0.2\n\
    /ppp secret add name=ben password=geheim profile=second\n\
    /ppp profile add name=third local-address=10.66.0.1 remote-address=10.66.0.2\n\
    /ppp secret add name=cara password=geheim profile=third\n";

/// Returns true if packets of the host `one` reach the host `two`: short ones, those of a full frame, and fragments.
fn reaches(lab: &Lab) -> bool {
    let ping = |more: &str| {
        works(
            lab,
            "one",
            &format!("ping -q -c 3 -i 0.1 -W 2 {more} 10.2.0.2"),
        )
    };
    ping("") && ping("-s 1472 -M dont") && ping("-s 4000 -M dont")
}

/// Asserts that no packet was lost in a tunnel or for its depth.
fn no_tunnel_drops(router: &Router) {
    no_drops(router);
    let drops = router.exec("/tool/drop/print without-paging");
    for name in ["sstp", "stream-full", "tunnel"] {
        assert!(!drops.contains(name), "{drops}");
    }
}

#[test]
fn sstp_in_openvpn_in_sstp_carries_packets() {
    let test = "sstp_in_openvpn_in_sstp_carries_packets";
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    let server = SSTP.serve(&lab, INNER);
    server.exec(&format!(
        "{} certificate=vpn disabled=no",
        OVPN.server_command()
    ));
    let client = "/ip address add address=10.1.0.1/24 interface=ether1\n\
        /interface ovpn-client add name=ovpn-out1 connect-to=10.64.0.1 protocol=udp cipher=aes256-gcm user=ben \
        password=geheim disabled=no\n\
        /interface sstp-client add name=sstp-out2 connect-to=10.65.0.1 user=cara password=geheim disabled=no\n\
        /ip route add dst-address=10.64.0.1/32 gateway=sstp-out1\n\
        /ip route add dst-address=10.65.0.1/32 gateway=ovpn-out1\n\
        /ip route add dst-address=10.2.0.0/24 gateway=sstp-out2\n\
        /ip firewall nat add chain=srcnat action=masquerade out-interface=sstp-out2\n";
    let client = [&SSTP.client_config(""), client].concat();
    let client = start(&lab, "left", &client, None);
    until(
        &format!("packets pass three tunnels: {}", client.log()),
        || reaches(&lab),
    );
    let users = |router: &Router| {
        let rows = router.rows("/ppp/active/print");
        let names = rows.iter().filter_map(|row| row["name"].as_str());
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    let mut active = users(&server);
    active.sort();
    assert_eq!(active, ["anna", "ben", "cara"]);
    no_tunnel_drops(&client);
    no_tunnel_drops(&server);
    // TCP in TCP: slow where segments are lost, and right.
    server.exec("/interface/ovpn-server/server/set ovpn1 protocol=tcp");
    client.exec("/interface/ovpn-client/set ovpn-out1 protocol=tcp");
    until(
        &format!("packets pass three streams: {}", client.log()),
        || reaches(&lab),
    );
    let said = format!("{:?}", client.rows("/system/doctor/print"));
    assert!(said.contains("tcp-in-tcp"), "{said}");
}

#[test]
fn l2tp_with_ipsec_in_wireguard_carries_packets() {
    let test = "l2tp_with_ipsec_in_wireguard_carries_packets";
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    let no_route = |site, other| {
        let config = base(site, other);
        let lines = config.lines().filter(|line| !line.starts_with("/ip route"));
        lines.map(|line| format!("{line}\n")).collect::<String>()
    };
    let server = "/ppp profile set default local-address=10.64.0.1 remote-address=10.64.0.2\n\
        /ppp secret add name=anna password=geheim profile=default\n\
        /interface l2tp-server server set enabled=yes use-ipsec=required ipsec-secret=shared default-profile=default\n";
    let server = start(&lab, "right", &[&no_route(2, 1), server].concat(), None);
    let client = "/interface l2tp-client add name=l2tp-out1 connect-to=10.9.0.2 user=anna password=geheim \
        use-ipsec=yes ipsec-secret=shared disabled=no\n\
        /ip route add dst-address=10.2.0.0/24 gateway=l2tp-out1\n\
        /ip firewall nat add chain=srcnat action=masquerade out-interface=l2tp-out1\n";
    let client = start(&lab, "left", &[&no_route(1, 2), client].concat(), None);
    meet(&client, 2, &public(&server), &endpoint(2));
    meet(&server, 1, &public(&client), "");
    until(
        &format!("packets pass three layers: {}", client.log()),
        || reaches(&lab),
    );
    no_tunnel_drops(&client);
    no_tunnel_drops(&server);
    // A full packet of the session outgrows WireGuard's.
    let said = format!("{:?}", client.rows("/system/doctor/print"));
    assert!(said.contains("tunnel-mtu-chain"), "{said}");
}

#[test]
fn a_tunnel_that_carries_itself_drops_its_packets_for_their_depth() {
    let test = "a_tunnel_that_carries_itself_drops_its_packets_for_their_depth";
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    let _server = OVPN.serve(&lab, "");
    let client = OVPN.dial(&lab, "");
    until("a packet gets through", || {
        works(&lab, "one", "ping -q -c 1 -W 1 10.2.0.2")
    });
    client.exec("/ip/route/add dst-address=192.0.2.2/32 gateway=ovpn-out1");
    until("the depth ends the circle", || {
        works(&lab, "one", "ping -q -c 1 -W 1 10.2.0.2");
        let drops = client.exec("/tool/drop/print without-paging");
        drops.contains("tunnel-depth")
    });
    client.exec("/ip/route/remove [find dst-address=192.0.2.2/32]");
    until("the tunnel works again", || {
        works(&lab, "one", "ping -q -c 1 -W 1 10.2.0.2")
    });
}

/// The packets of the connection that carries the session wait for the session.
#[test]
fn a_stream_that_carries_itself_ends_by_its_keepalive_and_comes_back() {
    let test = "a_stream_that_carries_itself_ends_by_its_keepalive_and_comes_back";
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    let server = SSTP.serve(&lab, "");
    let client = SSTP.dial(&lab, SSTP.keepalive);
    let reaches = || works(&lab, "one", "ping -q -c 1 -W 1 10.2.0.2");
    until("a packet gets through", reaches);
    client.exec("/ip/route/add dst-address=192.0.2.2/32 gateway=sstp-out1");
    until("the session ends", || {
        client.log().contains("sstp-out1: terminating...")
    });
    client.exec("/ip/route/remove [find dst-address=192.0.2.2/32]");
    until("the tunnel works again", reaches);
    assert_eq!(server.rows("/ppp/active/print").len(), 1);
}
