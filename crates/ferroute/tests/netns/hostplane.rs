//! Tests the host plane: ordinary programs with ordinary sockets, reached at the router's addresses.

use std::process::{Command, Stdio};

use ::lab::Lab;

use crate::world::{Folder, PACKET, Router, Server, Start, binary, have, lab, layout, run, until};

const ASK: &str = "import sys,http.client;\
                   c=http.client.HTTPConnection(sys.argv[1],8080,timeout=20);\
                   c.request('GET','/greeting');r=c.getresponse();print(r.status,r.read().decode())";

#[test]
fn a_web_server_in_the_host_plane_is_reached_at_every_address_of_the_router() {
    let test = "a_web_server_in_the_host_plane_is_reached_at_every_address_of_the_router";
    let Some(lab) = have(test, &["python3"])
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    let router = Router::start(&lab, &Start::with(PACKET, layout("plain").config));
    let folder = Folder::new();
    let _server = serve(&router, &folder);

    for address in [
        "192.168.88.1",
        "203.0.113.2",
        "2001:db8:88::1",
        "2001:db8:1::2",
        "fe80::ff:fe00:201%eth0",
    ] {
        assert_eq!(greeting(&lab, address), "200 from inside", "{address}");
    }
    run(&lab, "client", "ping -q -c 3 -i 0.01 -W 10 192.168.88.1");
}

/// Starts a web server in the host plane, on port 8080 of all addresses.
fn serve(router: &Router, folder: &Folder) -> Server {
    std::fs::write(folder.file("greeting"), "from inside").expect("a folder of our own");
    let mut server = Command::new(binary());
    server
        .args(["host", "exec", "--control"])
        .arg(router.control());
    server.args([
        "--",
        "python3",
        "-u",
        "-m",
        "http.server",
        "--bind",
        "::",
        "--directory",
    ]);
    server.arg(folder.file("")).arg("8080");
    server.stdin(Stdio::null()).stderr(Stdio::null());
    Server::begin(server, "Serving HTTP")
}

/// Fetches the page of that server from the client.
fn greeting(lab: &Lab, address: &str) -> String {
    let argv = ["python3", "-c", ASK, address].map(str::to_owned);
    let output = lab
        .command_line("client", &argv)
        .expect("a host of the layout")
        .output();
    let output = output.expect("nsenter is there: it made the lab");
    crate::world::text(&output.stdout).trim().to_owned()
}

#[test]
fn interfaces_with_a_common_name_prefix_have_separate_mirrors() {
    let test = "interfaces_with_a_common_name_prefix_have_separate_mirrors";
    let Some(lab) = have(test, &["python3"])
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    let router = Router::start(&lab, &Start::with(PACKET, layout("plain").config));
    let interfaces = [
        ("vlan-guest-floor1", "10.77.1.1"),
        ("vlan-guest-floor2", "10.77.2.1"),
        ("lo", "10.77.3.1"),
    ];
    for (number, (name, address)) in (101..).zip(interfaces) {
        if name != "lo" {
            router.exec(&format!(
                "/interface/vlan/add name={name} interface=ether2 vlan-id={number}"
            ));
        }
        router.exec(&format!(
            "/ip/address/add address={address}/24 interface={name}"
        ));
    }
    let folder = Folder::new();
    let _server = serve(&router, &folder);

    for (name, address) in interfaces {
        until(name, || greeting(&lab, address) == "200 from inside");
    }
}

#[test]
fn interfaces_with_addresses_have_mirrors_which_follow_them() {
    let test = "interfaces_with_addresses_have_mirrors_which_follow_them";
    let Some(lab) = have(test, &["ip"])
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    let router = Router::start(&lab, &Start::with(PACKET, layout("plain").config));
    let mirrors = |wanted: &[&str]| {
        until(&format!("{wanted:?}"), || aliases(&router) == wanted);
    };
    // With IPv6 disabled, interfaces have no link-local addresses.
    router.exec("/ipv6/settings/set disable-ipv6=yes");
    router.exec("/interface/vlan/add name=nobody-asks interface=ether2 vlan-id=100");
    router.exec("/interface/vlan/add name=guests interface=ether2 vlan-id=101");
    router.exec("/ip/address/add address=10.77.1.1/24 interface=guests");
    mirrors(&["ether1", "ether2", "guests"]);

    router.exec("/interface/vlan/set guests name=visitors");
    mirrors(&["ether1", "ether2", "visitors"]);
    for _ in 0..3 {
        router.exec("/ip/address/remove [find interface=visitors]");
        mirrors(&["ether1", "ether2"]);
        router.exec("/ip/address/add address=10.77.1.1/24 interface=visitors");
        mirrors(&["ether1", "ether2", "visitors"]);
    }
    router.exec("/interface/vlan/remove visitors");
    mirrors(&["ether1", "ether2"]);
}

/// Returns the names of the interfaces with a mirror in the host plane.
fn aliases(router: &Router) -> Vec<String> {
    let mut shown = Command::new(binary());
    shown
        .args(["host", "exec", "--control"])
        .arg(router.control());
    shown.args(["--", "ip", "-o", "link", "show"]);
    let output = shown.output().expect("the binary is there");
    let said = crate::world::text(&output.stdout);
    let alias = |line: &str| Some(line.split_once("alias ")?.1.trim().to_owned());
    let mut aliases: Vec<_> = said.lines().filter_map(alias).collect();
    aliases.sort();
    aliases
}

#[test]
fn removing_the_first_address_of_a_network_keeps_the_second() {
    let test = "removing_the_first_address_of_a_network_keeps_the_second";
    let Some(lab) = have(test, &["ip"])
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    let router = Router::start(&lab, &Start::with(PACKET, layout("plain").config));
    let shows = |wanted: &[&str]| {
        let mut shown = Command::new(binary());
        shown
            .args(["host", "exec", "--control"])
            .arg(router.control());
        shown.args([
            "--",
            "ip",
            "-4",
            "-o",
            "address",
            "show",
            "to",
            "203.0.113.0/24",
        ]);
        let output = shown.output().expect("the binary is there");
        let said = crate::world::text(&output.stdout);
        let addresses = |line: &str| line.split_whitespace().nth(3).map(str::to_owned);
        let mut shown: Vec<_> = said.lines().filter_map(addresses).collect();
        shown.sort();
        shown == wanted
    };
    until("the first is there", || shows(&["203.0.113.2/24"]));

    router.exec("/ip/address/add address=203.0.113.9/24 interface=ether1");
    until("both are there", || {
        shows(&["203.0.113.2/24", "203.0.113.9/24"])
    });
    router.exec("/ip/address/set [find address=203.0.113.2/24] address=203.0.113.3/24");

    until("the second is left, and the new one there", || {
        shows(&["203.0.113.3/24", "203.0.113.9/24"])
    });
}

/// Connects by TCP, then by UDP, to these addresses and ports; prints the results.
const KNOCK: &str = "import socket,sys,errno\n\
                     for to in sys.argv[1:]:\n\
                     \x20how,host,port=to.split()\n\
                     \x20kind={'tcp':socket.SOCK_STREAM,'udp':socket.SOCK_DGRAM}[how]\n\
                     \x20family=socket.AF_INET6 if ':' in host else socket.AF_INET\n\
                     \x20s=socket.socket(family,kind);s.settimeout(20)\n\
                     \x20try: s.connect((host,int(port)));s.send(b'?');s.recv(9);print('answer')\n\
                     \x20except OSError as e: print(errno.errorcode.get(e.errno,e))\n";

#[test]
fn the_routers_own_processes_get_errors_of_reject_rules() {
    let test = "the_routers_own_processes_get_errors_of_reject_rules";
    let Some(lab) = have(test, &["python3"])
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    let router = Router::start(&lab, &Start::with(PACKET, layout("plain").config));
    for (menu, rule) in [
        ("ip", "protocol=tcp dst-port=9"),
        ("ip", "protocol=tcp dst-port=10 reject-with=tcp-reset"),
        ("ip", "protocol=udp reject-with=icmp-port-unreachable"),
        (
            "ipv6",
            "protocol=tcp dst-port=9 reject-with=icmp-admin-prohibited",
        ),
        ("ipv6", "protocol=tcp dst-port=10 reject-with=tcp-reset"),
        ("ipv6", "protocol=udp reject-with=icmp-port-unreachable"),
    ] {
        router.exec(&format!(
            "/{menu}/firewall/filter/add chain=output action=reject {rule}"
        ));
    }
    let (v4, v6) = ("203.0.113.1", "2001:db8:1::1");
    let knocks = [v4, v6].map(|host| {
        ["tcp", "tcp", "udp"]
            .iter()
            .zip([9, 10, 9])
            .map(|(how, port)| format!("{how} {host} {port}"))
            .collect::<Vec<_>>()
    });

    let mut inside = Command::new(binary());
    inside
        .args(["host", "exec", "--control"])
        .arg(router.control());
    inside.args(["--", "python3", "-c", KNOCK]);
    let output = inside.args(knocks.concat()).output();
    let output = output.expect("the binary is there");

    let said = crate::world::text(&output.stdout);
    assert_eq!(
        said.split_whitespace().collect::<Vec<_>>(),
        [
            "ENETUNREACH",
            "ECONNREFUSED",
            "ECONNREFUSED",
            "EACCES",
            "ECONNREFUSED",
            "ECONNREFUSED"
        ],
        "{output:?}"
    );
}

/// A log server: writes each message received at port 514 as a line of a file.
const LISTEN: &str = "import socket,sys;\
                      s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM);s.bind(('',514));\
                      print('listening',flush=True);f=open(sys.argv[1],'ab',0);\
                      [f.write(s.recv(2000)+b'\\n') for _ in iter(int,1)]";

#[test]
fn a_log_server_receives_log_lines_of_rules() {
    let test = "a_log_server_receives_log_lines_of_rules";
    let Some(lab) = have(test, &["python3"])
        .then(|| lab(test, layout("static")))
        .flatten()
    else {
        return;
    };
    let folder = Folder::new();
    let heard = folder.file("heard");
    let argv = ["python3", "-c", LISTEN, &heard.display().to_string()].map(str::to_owned);
    let listening = lab.command_line("server", &argv);
    let mut listening = listening.expect("a host of the layout");
    listening.stdin(Stdio::null()).stderr(Stdio::null());
    let _server = Server::begin(listening, "listening");
    let router = Router::start(&lab, &Start::with(PACKET, layout("static").config));

    router.exec(
        "/system logging action set remote remote=203.0.113.1 src-address=192.168.88.1; \
         /system logging add topics=script,!debug action=remote prefix=says",
    );
    router.exec("/log debug \"not this\"; /log warning \"the first\"; /log info \"the second\"");

    let text = || std::fs::read_to_string(&heard).unwrap_or_default();
    until("two messages were heard", || text().lines().count() >= 2);
    assert_eq!(
        text(),
        "script,warning says: the first\nscript,info says: the second\n"
    );
}

/// A DNS server at port 53: answers each query with 192.0.2.7 (RFC 1035, 4.1) and prints the client's address.
const ANSWER: &str = "import socket;\
                      s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM);s.bind(('',53));\
                      print('listening',flush=True);\
                      [s.sendto(q[:2]+b'\\x81\\x80'+q[4:6]+b'\\0\\1\\0\\0\\0\\0'+q[12:]\
                      +b'\\xc0\\x0c\\0\\1\\0\\1\\0\\0\\0\\x3c\\0\\4\\xc0\\0\\2\\7',a) \
                      for q,a in iter(lambda:s.recvfrom(512),None)]";

#[test]
fn a_script_resolves_a_name_at_a_server_of_the_network() {
    let test = "a_script_resolves_a_name_at_a_server_of_the_network";
    let Some(lab) = have(test, &["python3"])
        .then(|| lab(test, layout("static")))
        .flatten()
    else {
        return;
    };
    let argv = ["python3", "-c", ANSWER].map(str::to_owned);
    let listening = lab.command_line("server", &argv);
    let mut listening = listening.expect("a host of the layout");
    listening.stdin(Stdio::null()).stderr(Stdio::null());
    let _server = Server::begin(listening, "listening");
    let router = Router::start(&lab, &Start::with(PACKET, layout("static").config));

    let found = router.exec(":put [:resolve www.example.org server=203.0.113.1]");

    assert_eq!(found, "192.0.2.7\n");
}

#[test]
fn syn_cookies_of_the_routers_services_follow_the_settings() {
    let test = "syn_cookies_of_the_routers_services_follow_the_settings";
    let Some(lab) = lab(test, layout("plain")) else {
        return;
    };
    let router = Router::start(&lab, &Start::with(PACKET, layout("plain").config));
    let cookies = || {
        let mut inside = Command::new(binary());
        inside
            .args(["host", "exec", "--control"])
            .arg(router.control())
            .args(["--", "cat", "/proc/sys/net/ipv4/tcp_syncookies"]);
        let output = inside.stdin(Stdio::null()).output().expect("our binary");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    for (word, value) in [("no", "0"), ("yes", "1"), ("no", "0")] {
        router.exec(&format!("/ip/settings/set tcp-syncookies={word}"));
        until("the namespace has the setting", || cookies() == value);
    }
}
