//! OpenVPN with IPv6: in the tunnel, and below it.
//!
//! ```text
//! one ── left (server) ── right (client) ── two
//! ```

use crate::ovpn::{dial, no_drops, ready, serve};
use crate::pppoe::start;
use crate::world::{Folder, run, shell, until, works};

/// Settings of a server with IPv6 in its tunnels.
const IPV6: &str = "enable-tun-ipv6=yes tun-server-ipv6=fd00:88::1 ipv6-prefix-len=64 \
    push-routes-ipv6=\"2001:db8:77::/48\"";

#[test]
fn clients_get_ipv6_addresses_and_routes() {
    let test = "clients_get_ipv6_addresses_and_routes";
    let Some(lab) = ready(test) else { return };
    let folder = Folder::new();
    let (server, authority) = serve(&lab, &folder, IPV6);
    let client = dial(&lab, &folder, &authority, "");
    assert!(
        works(&lab, "one", "ping -q -c 3 -W 2 fd00:88::1"),
        "{}",
        server.log()
    );
    let route = run(&lab, "one", "ip -6 route get 2001:db8:77::7");
    assert!(route.contains("dev tun0"), "{route}");
    no_drops(&server);
    drop(client);
    let config = "/ip address add address=192.0.2.2/24 interface=ether2\n\
        /interface ovpn-client add name=ovpn-out1 connect-to=192.0.2.1 protocol=tcp user=anna password=geheim \
        cipher=aes128-gcm disabled=no\n";
    server.exec("/ppp/active/remove [find]");
    server.exec("/interface/ovpn-server/server/set ovpn1 protocol=tcp");
    let client = start(&lab, "right", config, None);
    until(&format!("the server answers: {}", client.log()), || {
        client
            .exec("/ping fd00:88::1 count=1")
            .contains("received=1")
    });
    let routes = client.exec("/ipv6/route/print without-paging");
    assert!(routes.contains("2001:db8:77::/48"), "{routes}");
    no_drops(&client);
}

#[test]
fn servers_and_clients_reach_each_other_over_ipv6() {
    let test = "servers_and_clients_reach_each_other_over_ipv6";
    let Some(lab) = ready(test) else { return };
    let folder = Folder::new();
    let (server, authority) = serve(&lab, &folder, "");
    server.exec("/ipv6/address/add address=2001:db8:1::1/64 interface=ether1 advertise=no");
    server.exec("/ipv6/address/add address=2001:db8:2::1/64 interface=ether2 advertise=no");
    shell(
        &lab,
        "one",
        "ip address add 2001:db8:1::2/64 dev eth0 nodad",
    );
    let config = "/ipv6 address add address=2001:db8:2::2/64 interface=ether2 advertise=no\n\
        /interface ovpn-client add name=ovpn-out1 connect-to=2001:db8:2::1 user=anna password=geheim \
        cipher=aes128-gcm\n";
    let client = start(&lab, "right", config, None);
    for (protocol, proto) in [("udp", "udp6"), ("tcp", "tcp6-client")] {
        server.exec(&format!(
            "/interface/ovpn-server/server/set ovpn1 protocol={protocol}"
        ));
        until("the server answers by IPv6", || {
            works(&lab, "one", "ping -q -c 1 -W 1 2001:db8:1::1")
        });
        // Later options win.
        let options = format!("--proto {proto} --remote 2001:db8:1::1 1194");
        let openvpn = dial_first(&lab, &folder, &authority, &options);
        assert!(works(&lab, "one", "ping -q -c 3 -W 2 10.64.0.1"));
        let row = &server.rows("/ppp/active/print")[0];
        assert_eq!(row["caller-id"], "2001:db8:1::2");
        drop(openvpn);
        server.exec("/ppp/active/remove [find]");
        client.exec(&format!(
            "/interface/ovpn-client/set ovpn-out1 protocol={protocol} disabled=no"
        ));
        until(&format!("the server answers: {}", client.log()), || {
            client
                .exec("/ping 10.64.0.1 count=1")
                .contains("received=1")
        });
        client.exec("/interface/ovpn-client/disable ovpn-out1");
        until("the session ends", || {
            server.rows("/ppp/active/print").is_empty()
        });
        no_drops(&client);
    }
    no_drops(&server);
}

/// Dials a remote that stands in front of the usual one.
fn dial_first(
    lab: &lab::Lab,
    folder: &Folder,
    authority: &str,
    options: &str,
) -> crate::world::Server {
    let login = folder.file("login");
    std::fs::write(&login, "anna\ngeheim\n").expect("a folder of our own");
    let line = format!(
        "/usr/sbin/openvpn --client --dev tun --nobind {options} --ca {authority} --auth-user-pass {} --verb 3",
        login.display()
    );
    crate::world::Server::start(lab, "one", &line, crate::ovpn::UP)
}
