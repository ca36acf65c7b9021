//! OpenVPN with Ethernet frames (`mode=ethernet`): OpenVPN's tap device as client and as server of ferroute, and sites
//! that two ferroutes bridge.
//!
//! ```text
//! one ── left ── right ── two
//! ```

use crate::ovpn::{UP, certify, dial, export_authority, no_drops, ready, serve, settings};
use crate::pppoe::start;
use crate::world::{Folder, Server, layout, run, shell, until, works};

/// A bridge with the far port of the router `left`, and a profile that leads sessions to the bridge.
const BRIDGE: &str = "/interface/bridge/add name=lan auto-mac=no admin-mac=02:00:00:00:00:88\n\
    /interface/bridge/port/add bridge=lan interface=ether2\n\
    /ip/address/add address=192.168.88.1/24 interface=lan\n\
    /ip/pool/add name=lan ranges=192.168.88.100-192.168.88.199\n\
    /ppp/profile/set home bridge=lan local-address=192.168.88.1 remote-address=lan";

#[test]
fn openvpn_joins_the_bridge_of_a_server_with_its_tap_device() {
    let test = "openvpn_joins_the_bridge_of_a_server_with_its_tap_device";
    let Some(lab) = ready(test) else { return };
    let folder = Folder::new();
    let (server, authority) = serve(&lab, &folder, "mode=ethernet");
    server.exec("/ip/address/remove [find interface=ether2]");
    BRIDGE.lines().for_each(|line| _ = server.exec(line));
    shell(&lab, "right", "ip address add 192.168.88.2/24 dev ether2");
    for protocol in ["udp", "tcp"] {
        server.exec(&format!(
            "/interface/ovpn-server/server/set ovpn1 protocol={protocol}"
        ));
        let proto = match protocol {
            "udp" => "udp4",
            _ => "tcp4-client",
        };
        let options = format!("--dev tap --proto {proto}");
        let client = dial(&lab, &folder, &authority, &options);
        let ports = server.exec("/interface/bridge/port/print without-paging");
        assert!(ports.contains("<ovpn-anna>"), "{ports}");
        let address = run(&lab, "one", "ip -4 -o address show dev tap0");
        assert!(address.contains("192.168.88.1"), "{address}");
        for host in ["192.168.88.1", "192.168.88.2"] {
            let ping = format!("ping -q -c 200 -i 0.004 -W 2 -I tap0 {host}");
            assert!(works(&lab, "one", &ping), "{host}: {}", server.log());
        }
        let long = "ping -q -c 1 -W 2 -s 1472 -M do -I tap0 192.168.88.2";
        assert!(works(&lab, "one", long), "{protocol}");
        no_drops(&server);
        drop(client);
        server.exec("/ppp/active/remove [find]");
        until("the session leaves the bridge", || {
            !server
                .exec("/interface/bridge/port/print without-paging")
                .contains("<ovpn-anna>")
        });
    }
}

#[test]
fn openvpn_joins_the_bridge_of_the_default_configuration() {
    let test = "openvpn_joins_the_bridge_of_the_default_configuration";
    let Some(lab) = ready(test) else { return };
    let folder = Folder::new();
    // The client is outside, at ether1; the bridge has the host `right` at its first port.
    let config =
        "/ip dhcp-client disable [find]\n/ip address add address=10.1.0.1/24 interface=ether1\n";
    let config = [layout("home").config, config].concat();
    let server = start(&lab, "left", &config, None);
    certify(&server);
    for command in [
        "/ppp/profile/add name=lan bridge=bridge local-address=192.168.88.1 remote-address=default-dhcp",
        "/ppp/secret/add name=anna password=geheim profile=lan service=ovpn",
        "/interface/ovpn-server/server/add name=ovpn1 protocol=udp mode=ethernet certificate=vpn \
         default-profile=lan cipher=aes256-gcm disabled=no",
        "/ip/firewall/filter/add chain=input action=accept protocol=udp dst-port=1194 place-before=0",
    ] {
        server.exec(command);
    }
    let authority = export_authority(&server, &folder);
    let line =
        "ip address add 192.168.88.2/24 dev ether2; ip route replace default via 192.168.88.1";
    shell(&lab, "right", line);
    let _client = dial(&lab, &folder, &authority, "--dev tap");
    for host in ["192.168.88.1", "192.168.88.2"] {
        let ping = format!("ping -q -c 200 -i 0.004 -W 2 -I tap0 {host}");
        assert!(works(&lab, "one", &ping), "{host}: {}", server.log());
    }
    // The bridge keeps the address of the configuration, which the client learns.
    let mac = server.value("/interface/bridge/print", "bridge", "mac-address");
    let neighbours = run(&lab, "one", "ip neighbour show 192.168.88.1 dev tap0").to_lowercase();
    assert!(
        neighbours.contains(&mac.to_lowercase()),
        "{mac}: {neighbours}"
    );
    // The firewall lets hosts of the bridge out, masqueraded, and nobody in beside the tunnel.
    assert!(works(&lab, "right", "ping -q -c 3 -i 0.1 -W 2 10.1.0.2"));
    assert!(!works(
        &lab,
        "one",
        "curl -sS -m 2 -o /dev/null http://10.1.0.1/"
    ));
    assert!(works(
        &lab,
        "one",
        "curl -sS -m 20 -o /dev/null --interface tap0 http://192.168.88.1/"
    ));
    no_drops(&server);
}

#[test]
fn openvpn_is_routed_over_its_tap_device_without_a_bridge() {
    let test = "openvpn_is_routed_over_its_tap_device_without_a_bridge";
    let Some(lab) = ready(test) else { return };
    let folder = Folder::new();
    let mac = "02:00:00:00:00:99";
    let settings = format!("mode=ethernet mac-address={mac}");
    let (server, authority) = serve(&lab, &folder, &settings);
    let _client = dial(&lab, &folder, &authority, "--dev tap");
    assert!(
        works(&lab, "one", "ping -q -c 3 -W 2 10.64.0.1"),
        "{}",
        server.log()
    );
    let neighbours = run(&lab, "one", "ip neighbour show dev tap0");
    assert!(neighbours.contains(mac), "{neighbours}");
}

#[test]
fn the_client_dials_into_the_tap_device_of_openvpn_and_joins_a_bridge() {
    let test = "the_client_dials_into_the_tap_device_of_openvpn_and_joins_a_bridge";
    let Some(lab) = ready(test) else { return };
    let folder = Folder::new();
    let line = settings(&lab, &folder, "dev tap\nproto udp4\n");
    let _server = Server::start(&lab, "one", &line, UP);
    let config = "/ip address add address=10.1.0.1/24 interface=ether1\n\
        /interface ovpn-client add name=ovpn-out1 connect-to=10.1.0.2 protocol=udp mode=ethernet user=anna \
        mac-address=02:00:00:00:00:77 password=geheim cipher=aes256-gcm disabled=no\n";
    let client = start(&lab, "left", config, None);
    until(&format!("the client connects: {}", client.log()), || {
        works(&lab, "one", "ping -q -c 1 -W 1 10.8.0.2")
    });
    assert!(works(&lab, "one", "ping -q -c 300 -i 0.004 -W 2 10.8.0.2"));
    let neighbours = run(&lab, "one", "ip neighbour show 10.8.0.2");
    assert!(neighbours.contains("02:00:00:00:00:77"), "{neighbours}");
    let routes = client.exec("/ip/route/print without-paging");
    assert!(routes.contains("198.51.100.0/24"), "{routes}");
    no_drops(&client);
    // As a port of a bridge, the client carries the frames of its hosts.
    shell(&lab, "right", "ip address add 10.8.0.50/24 dev ether2");
    client.exec("/interface/bridge/add name=lan");
    for port in ["ether2", "ovpn-out1"] {
        client.exec(&format!(
            "/interface/bridge/port/add bridge=lan interface={port}"
        ));
    }
    until("a host behind the client answers", || {
        works(&lab, "one", "ping -q -c 1 -W 1 10.8.0.50")
    });
}

#[test]
fn two_ferroutes_bridge_their_sites() {
    let test = "two_ferroutes_bridge_their_sites";
    let Some(lab) = ready(test) else { return };
    let folder = Folder::new();
    let (server, _) = serve(&lab, &folder, "mode=ethernet");
    let bridge = |router: &crate::world::Router, profile: &str| {
        router.exec("/interface/bridge/add name=lan");
        router.exec("/interface/bridge/port/add bridge=lan interface=ether1");
        router.exec(&format!("/ppp/profile/set {profile} bridge=lan"));
    };
    bridge(&server, "home remote-address=\"\" local-address=\"\"");
    let config = "/ip address add address=192.0.2.2/24 interface=ether2\n\
        /interface ovpn-client add name=ovpn-out1 connect-to=192.0.2.1 protocol=tcp mode=ethernet user=anna \
        password=geheim cipher=aes128-cbc auth=sha1\n";
    let client = start(&lab, "right", config, None);
    bridge(&client, "default");
    client.exec("/interface/ovpn-client/enable ovpn-out1");
    server.exec("/interface/ovpn-server/server/set ovpn1 protocol=tcp");
    for (host, address) in [("one", "172.16.0.1"), ("two", "172.16.0.2")] {
        shell(&lab, host, &format!("ip address add {address}/24 dev eth0"));
    }
    until("the sites are one network", || {
        works(&lab, "one", "ping -q -c 1 -W 1 172.16.0.2")
    });
    assert!(works(
        &lab,
        "one",
        "ping -q -c 300 -i 0.004 -W 2 172.16.0.2"
    ));
    no_drops(&server);
    no_drops(&client);
}
