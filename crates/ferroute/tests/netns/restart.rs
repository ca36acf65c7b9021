//! Tests restarts after a kill: the router keeps assigned addresses and prefixes, and informs hosts about changes.

use std::fs;
use std::path::Path;

use lab::Lab;

use crate::dhcp_client::{HOME, bound_to, dnsmasq, segment, shows};
use crate::dhcp6::{self, LINE, RULES, begin};
use crate::world::{Folder, PACKET, Router, Server, Start, have, lab, run, until};

/// Starts a router with a persistent state folder.
fn start(lab: &Lab, state: &Path, config: &str) -> Router {
    let start = Start {
        state: Some(state),
        ..Start::with(PACKET, config)
    };
    Router::start(lab, &start)
}

/// Records the packets on a host's device that match a filter of tcpdump.
struct Capture<'a> {
    lab: &'a Lab,
    host: &'static str,
    file: String,
    _running: Server,
}

impl<'a> Capture<'a> {
    fn new(lab: &'a Lab, host: &'static str, filter: &str, file: &Path) -> Self {
        let file = file.display().to_string();
        let line = format!("exec tcpdump -U -n -i eth0 -w {file} {filter} 2>&1");
        let argv = ["sh", "-c", &line].map(str::to_owned);
        let command = lab.command_line(host, &argv);
        let command = command.expect("a host of the layout");
        Self {
            lab,
            host,
            file,
            _running: Server::begin(command, "listening on"),
        }
    }

    /// Returns the number of packets whose tcpdump output contains these words.
    fn count(&self, words: &str) -> usize {
        let line = format!("tcpdump -vvv -n -r {}", self.file);
        run(self.lab, self.host, &line).matches(words).count()
    }
}

const DISCOVER: &str = "length 1: Discover";
const REQUEST: &str = "length 1: Request";
const RELEASE: &str = "length 1: Release";

#[test]
fn a_killed_router_requests_its_previous_address() {
    let test = "a_killed_router_requests_its_previous_address";
    let Some(lab) = segment(test, &["dnsmasq", "tcpdump"]) else {
        return;
    };
    let folder = Folder::new();
    let range = "10.9.0.50,10.9.0.99,255.255.255.0,10m";
    let server = dnsmasq(&lab, &folder, "eth0", range, "");
    let heard = folder.file("heard.pcap");
    let heard = Capture::new(&lab, "server", "udp port 67", &heard);
    let state = folder.file("state");
    let config = format!("{HOME}/ip dhcp-client add interface=ether1\n");
    let router = start(&lab, &state, &config);
    until("the client is bound", || {
        shows(&router, "status") == "bound"
    });
    let address = shows(&router, "address");
    until("the four messages are recorded", || {
        heard.count(REQUEST) == 1
    });
    let discovered = heard.count(DISCOVER);

    router.kill();
    let router = start(&lab, &state, "");
    bound_to(&router, &address);
    until("its request is recorded", || heard.count(REQUEST) == 2);
    assert!(router.stop().success());
    let router = start(&lab, &state, "");
    bound_to(&router, &address);
    until("its request is recorded", || heard.count(REQUEST) == 3);
    assert_eq!(heard.count(DISCOVER), discovered);
    assert_eq!(heard.count(RELEASE), 0);

    // A server of another network refuses the old address.
    router.kill();
    drop(server);
    let range = "10.9.0.161,10.9.0.161,255.255.255.0,10m";
    let _server = dnsmasq(&lab, &folder, "eth0", range, "");
    let router = start(&lab, &state, "");
    bound_to(&router, "10.9.0.161/24");

    // A released address is not requested again.
    router.exec("/ip/dhcp-client/disable 0");
    until("the address is gone", || {
        router.rows("/ip/address/print").len() == 1
    });
    router.exec("/ip/dhcp-client/enable 0");
    bound_to(&router, "10.9.0.161/24");
}

const CLIENT: &str = "/ipv6 dhcp-client add interface=ether1 request=prefix pool-name=isp use-peer-dns=yes\n\
    /ipv6 nd set [find default=yes] ra-interval=3s-4s\n\
    /ipv6 address add address=::1/64 from-pool=isp interface=ether2\n";

/// Starts dhcpd, which delegates prefixes of this network and announces a name server.
fn dhcpd(lab: &Lab, folder: &Folder, network: &str, server: &str) -> Server {
    let config = format!(
        "default-lease-time 600;\npreferred-lifetime 500;\nauthoritative;\n\
         option dhcp6.name-servers {server};\n\
         subnet6 2001:db8:9::/64 {{\n prefix6 {network}:: {network}:ff00:: /56;\n}}\n"
    );
    let [conf, leases, pid] = ["dhcpd.conf", "leases", "pid"].map(|name| folder.file(name));
    fs::write(&conf, config).expect("a folder of our own");
    if !leases.exists() {
        fs::write(&leases, "").expect("a folder of our own");
    }
    let line = format!(
        "dhcpd -6 -f -d -user root -group root -cf {} -lf {} -pf {} eth0",
        conf.display(),
        leases.display(),
        pid.display()
    );
    begin(lab, "server", &line, "Server starting service")
}

fn bound_to_prefix(router: &Router, network: &str) -> String {
    until(&format!("a prefix of {network} is delegated"), || {
        let prefix = dhcp6::shows(router, "prefix");
        dhcp6::shows(router, "status") == "bound" && prefix.starts_with(network)
    });
    let shown = dhcp6::shows(router, "prefix");
    shown.split(',').next().unwrap_or_default().to_owned()
}

/// Returns true if the client has an address with this prefix and uses it for new connections. After a prefix is
/// withdrawn, some kernels deprecate the address and others remove it.
fn uses(lab: &Lab, network: &str) -> bool {
    let said = run(lab, "client", "ip -6 -o address show dev eth0 scope global");
    let mut own = said.lines().filter(|line| line.contains(network));
    own.any(|line| !line.contains("deprecated"))
}

fn line(test: &str) -> Option<Lab> {
    have(test, &["dhcpd", "tcpdump"])
        .then(|| lab(test, &LINE))
        .flatten()
}

const SOLICIT: &str = "dhcp6 solicit";
const REBIND: &str = "dhcp6 rebind";

#[test]
fn a_killed_router_keeps_its_duid_and_its_prefix() {
    let test = "a_killed_router_keeps_its_duid_and_its_prefix";
    let Some(lab) = line(test) else {
        return;
    };
    let folder = Folder::new();
    let _server = dhcpd(&lab, &folder, "2001:db8:100", "2001:db8:9::53");
    let heard = folder.file("heard.pcap");
    let heard = Capture::new(&lab, "server", "udp port 547", &heard);
    let state = folder.file("state");
    let router = start(&lab, &state, &format!("{RULES}{CLIENT}"));
    let prefix = bound_to_prefix(&router, "2001:db8:100:");
    let duid = dhcp6::shows(&router, "duid");
    until("a host has an address of the prefix", || {
        uses(&lab, "2001:db8:100:")
    });
    until("the request is recorded", || {
        heard.count("dhcp6 request") > 0
    });
    let solicited = heard.count(SOLICIT);

    router.kill();
    // The port from whose MAC address the DUID was derived gets another MAC address.
    run(&lab, "router", "ip link set dev ether1 down");
    run(
        &lab,
        "router",
        "ip link set dev ether1 address 02:00:00:00:77:01",
    );
    run(&lab, "router", "ip link set dev ether1 up");
    let router = start(&lab, &state, "");
    assert_eq!(bound_to_prefix(&router, "2001:db8:100:"), prefix);
    assert_eq!(dhcp6::shows(&router, "duid"), duid);
    until("the question is recorded", || heard.count(REBIND) > 0);
    assert_eq!(heard.count(SOLICIT), solicited);
    assert!(uses(&lab, "2001:db8:100:"));
}

#[test]
fn hosts_learn_that_a_prefix_changed_while_the_router_was_down() {
    let test = "hosts_learn_that_a_prefix_changed_while_the_router_was_down";
    let Some(lab) = line(test) else {
        return;
    };
    let folder = Folder::new();
    let server = dhcpd(&lab, &folder, "2001:db8:100", "2001:db8:9::53");
    let state = folder.file("state");
    let router = start(&lab, &state, &format!("{RULES}{CLIENT}"));
    bound_to_prefix(&router, "2001:db8:100:");
    until("a host has an address of the prefix", || {
        uses(&lab, "2001:db8:100:")
    });

    router.kill();
    drop(server);
    fs::remove_file(folder.file("leases")).expect("dhcpd keeps it");
    let server = dhcpd(&lab, &folder, "2001:db8:200", "2001:db8:9::53");
    let router = start(&lab, &state, "");
    bound_to_prefix(&router, "2001:db8:200:");
    until("hosts use the new prefix and not the old one", || {
        uses(&lab, "2001:db8:200:") && !uses(&lab, "2001:db8:100:")
    });

    // The same happens while the router runs.
    drop(server);
    fs::remove_file(folder.file("leases")).expect("dhcpd keeps it");
    let _server = dhcpd(&lab, &folder, "2001:db8:300", "2001:db8:9::53");
    router.exec("/ipv6/dhcp-client/release 0");
    bound_to_prefix(&router, "2001:db8:300:");
    until("hosts use the new prefix and not the old ones", || {
        uses(&lab, "2001:db8:300:") && !uses(&lab, "2001:db8:200:")
    });
    assert!(!uses(&lab, "2001:db8:100:"));

    // And if no other prefix replaces the old one.
    router.exec("/ipv6/dhcp-client/disable 0");
    until("hosts use none of them, and no router", || {
        let routes = run(&lab, "client", "ip -6 route show default proto ra");
        !uses(&lab, "2001:db8:300:") && routes.is_empty()
    });
}

#[test]
fn hosts_learn_name_servers_of_the_providers_network() {
    let test = "hosts_learn_name_servers_of_the_providers_network";
    let Some(lab) = line(test) else {
        return;
    };
    let folder = Folder::new();
    let server = dhcpd(&lab, &folder, "2001:db8:100", "2001:db8:9::53");
    let config = format!("{RULES}{CLIENT}/ip dns set servers=2001:db8::77\n");
    let router = Router::start(&lab, &Start::with(PACKET, &config));
    bound_to_prefix(&router, "2001:db8:100:");
    let tells = |words: &str| {
        let capture = "timeout 20 tcpdump -vvv -l -n -i eth0 -c 1 icmp6 and ip6[40] == 134";
        run(&lab, "client", capture).contains(words)
    };
    until("hosts are told of both servers", || {
        tells("lifetime 12s, addr: 2001:db8::77 addr: 2001:db8:9::53")
    });

    drop(server);
    let _server = dhcpd(&lab, &folder, "2001:db8:100", "2001:db8:9::54");
    router.exec("/ipv6/dhcp-client/renew 0");
    until(
        "hosts are told of the other server, and that the former is gone",
        || tells("lifetime 0s, addr: 2001:db8:9::53"),
    );
    assert!(tells(
        "lifetime 12s, addr: 2001:db8::77 addr: 2001:db8:9::54"
    ));

    router.exec("/ipv6/dhcp-client/set 0 use-peer-dns=no");
    until("hosts are told of the configured server alone", || {
        tells("length 24 (3):  lifetime 12s, addr: 2001:db8::77")
    });
}
