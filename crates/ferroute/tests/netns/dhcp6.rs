//! Tests DHCPv6 clients with third-party servers: a prefix from dhcpd, an address from dnsmasq.
//!
//! ```text
//! client ── router (ferroute) ── server
//! ```

use std::fs;

use lab::{End, Host, Lab, Layout, Link, Offloads};

use crate::world::{Folder, PACKET, Router, Server, Start, have, lab, run, until, works};

const fn host(name: &'static str) -> Host {
    Host {
        name,
        forwards: false,
        loopback: &[],
        routes: &[],
    }
}

const fn wire(near: End, far: End) -> Link {
    Link {
        mtu: 1500,
        queues: 1,
        offloads: Offloads::Off,
        ends: [near, far],
    }
}

const fn end(host: &'static str, device: &'static str, addresses: &'static [&'static str]) -> End {
    End {
        host,
        device,
        addresses,
    }
}

pub(crate) const LINE: Layout = Layout {
    name: "dhcp6",
    summary: "a router between a client and a DHCPv6 server",
    hosts: &[host("client"), host("router"), host("server")],
    links: &[
        wire(end("client", "eth0", &[]), end("router", "ether2", &[])),
        wire(
            end("router", "ether1", &[]),
            end("server", "eth0", &["2001:db8:9::1/64"]),
        ),
    ],
    config: "",
};

pub(crate) fn begin(lab: &Lab, host: &str, line: &str, sign: &str) -> Server {
    let script = format!("exec {line} 2>&1");
    let argv = ["sh", "-c", &script].map(str::to_owned);
    let command = lab.command_line(host, &argv);
    Server::begin(command.expect("a host of the layout"), sign)
}

/// Rules of RouterOS's default configuration that accept traffic from outside.
pub(crate) const RULES: &str = "/ipv6 firewall filter add chain=input action=accept protocol=icmpv6\n\
    /ipv6 firewall filter add chain=input action=accept protocol=udp dst-port=546 src-address=fe80::/10\n\
    /ipv6 firewall filter add chain=input action=drop in-interface=ether1\n";

fn start(lab: &Lab, config: &str) -> Router {
    Router::start(lab, &Start::with(PACKET, &format!("{RULES}{config}")))
}

pub(crate) fn shows(router: &Router, property: &str) -> String {
    let rows = router.rows("/ipv6/dhcp-client/print detail");
    rows[0][property].as_str().unwrap_or_default().to_owned()
}

#[test]
fn hosts_get_addresses_of_a_prefix_that_a_server_delegates() {
    let test = "hosts_get_addresses_of_a_prefix_that_a_server_delegates";
    let Some(lab) = have(test, &["dhcpd", "ping"])
        .then(|| lab(test, &LINE))
        .flatten()
    else {
        return;
    };
    let folder = Folder::new();
    let config = "default-lease-time 600;\npreferred-lifetime 500;\nauthoritative;\n\
        option dhcp6.name-servers 2001:db8:9::53;\n\
        subnet6 2001:db8:9::/64 {\n prefix6 2001:db8:100:: 2001:db8:100:ff00:: /56;\n}\n";
    fs::write(folder.file("dhcpd.conf"), config).expect("a folder of our own");
    fs::write(folder.file("leases"), "").expect("a folder of our own");
    let (conf, leases) = (folder.file("dhcpd.conf"), folder.file("leases"));
    let line = format!(
        "dhcpd -6 -f -d -user root -group root -cf {} -lf {} -pf {} eth0",
        conf.display(),
        leases.display(),
        folder.file("pid").display()
    );
    let server = begin(&lab, "server", &line, "Server starting service");
    let router = start(
        &lab,
        "/ipv6 dhcp-client add interface=ether1 request=prefix pool-name=isp add-default-route=yes\n\
         /ipv6 address add address=::1/64 from-pool=isp interface=ether2\n",
    );
    until("a prefix is delegated", || {
        shows(&router, "status") == "bound" && shows(&router, "prefix").contains("/56")
    });
    let pools = router.rows("/ipv6/pool/print detail");
    assert_eq!(
        (&pools[0]["name"], &pools[0]["dynamic"]),
        (&"isp".into(), &"true".into())
    );
    let used = router.rows("/ipv6/pool/used/print");
    assert_eq!(
        (&used[0]["pool"], &used[0]["info"]),
        (&"isp".into(), &"ether2".into())
    );

    // Hosts behind the router get the prefix by router advertisements, and reach the router by their new address.
    until("a host has an address of the prefix", || {
        run(&lab, "client", "ip -6 address show dev eth0 scope global").contains("2001:db8:100:")
    });
    let prefix = used[0]["prefix"].as_str().expect("a prefix").to_owned();
    let own = prefix.replace("::/64", "::1");
    until("the router answers there", || {
        works(&lab, "client", &format!("ping -q -c 1 -W 1 {own}"))
    });
    let routes = router.rows("/ipv6/route/print");
    let default = routes.iter().find(|row| row["dst-address"] == "::/0");
    assert!(
        default.is_some_and(|row| row["dynamic"] == "true"),
        "{routes:?}"
    );

    // The client renews and releases the prefix.
    router.exec("/ipv6/dhcp-client/renew 0");
    until("it is renewed", || shows(&router, "status") == "bound");
    router.exec("/ipv6/dhcp-client/disable 0");
    until("the address is gone", || {
        let rows = router.rows("/ipv6/address/print");
        !rows.iter().any(|row| row["address"] == format!("{own}/64"))
    });
    drop(server);
}

#[test]
fn a_router_gets_an_address_and_servers_from_dnsmasq() {
    let test = "a_router_gets_an_address_and_servers_from_dnsmasq";
    let Some(lab) = have(test, &["dnsmasq", "ping"])
        .then(|| lab(test, &LINE))
        .flatten()
    else {
        return;
    };
    let folder = Folder::new();
    let line = format!(
        "dnsmasq --keep-in-foreground --conf-file=/dev/null --port=0 --interface=eth0 --bind-interfaces \
         --log-dhcp --log-facility=- --dhcp-leasefile={} --dhcp-option=option6:dns-server,[2001:db8:9::53] \
         --dhcp-range=2001:db8:9::100,2001:db8:9::1ff,64,10m",
        folder.file("leases").display()
    );
    let _server = begin(
        &lab,
        "server",
        &line,
        "sockets bound exclusively to interface",
    );
    let router = start(
        &lab,
        "/ipv6 dhcp-client add interface=ether1 request=address rapid-commit=yes add-default-route=yes\n",
    );
    until("an address is given", || {
        shows(&router, "status") == "bound"
            && shows(&router, "address").starts_with("2001:db8:9::1")
    });
    let address = shows(&router, "address");
    let address = address.split(',').next().expect("an address").to_owned();
    let server = shows(&router, "dhcp-server-v6");
    assert!(server.starts_with("fe80:"), "{server}");
    until("the server reaches it", || {
        works(&lab, "server", &format!("ping -q -c 1 -W 1 {address}"))
    });
    assert!(shows(&router, "duid").starts_with("0x00030001"));
}
