//! Tests DNS names in address lists: a list follows the answers of a DNS server, and a silent server delays nothing.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use lab::Lab;

use super::{ask, serve};
use crate::world::{Folder, PACKET, Router, Server, Start, have, lab, layout, until};

const CONFIG: &str = "\
/ip address
add address=203.0.113.2/24 interface=ether1
add address=192.168.88.1/24 interface=ether2
/ip route
add dst-address=198.51.100.80/32 gateway=203.0.113.1
/ip firewall filter
add chain=forward action=accept connection-state=established,related
add chain=forward action=reject reject-with=tcp-reset protocol=tcp dst-address-list=blocked
add chain=forward action=accept
/ipv6 address
add address=2001:2:0:1::2/64 advertise=no interface=ether1
add address=2001:2:0:88::1/64 advertise=no interface=ether2
/ipv6 route
add dst-address=2001:2:0:80::80/128 gateway=2001:2:0:1::1
/ipv6 firewall filter
add chain=forward action=accept connection-state=established,related
add chain=forward action=reject reject-with=tcp-reset protocol=tcp dst-address-list=blocked
";

/// A DNS server: answers with the addresses in a file, with a TTL of one second, after a CNAME record (RFC 1035, 4.1).
const ANSWER: &str = "
import ipaddress, socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('', 53))
print('listening', flush=True)
alias = b'\\xc0\\x0c\\0\\5\\0\\1\\0\\0\\0\\1\\0\\4\\1h\\xc0\\x0c'
while True:
    q, who = s.recvfrom(512)
    q = q[:17 + q[12:].index(0)]
    kind = q[-3]
    own = [ipaddress.ip_address(a).packed for a in open(sys.argv[1]).read().split()]
    own = [a for a in own if len(a) == (4 if kind == 1 else 16)]
    owner = (0xc000 | len(q) + 12).to_bytes(2, 'big')
    rows = [owner + bytes([0, kind, 0, 1, 0, 0, 0, 1, 0, len(a)]) + a for a in own]
    head = q[:2] + b'\\x81\\x80\\0\\1' + (1 + len(rows)).to_bytes(2, 'big') + bytes(4)
    s.sendto(head + q[12:] + alias + b''.join(rows), who)
";

const FIRST: [&str; 2] = ["203.0.113.1", "2001:2:0:1::1"];
const SECOND: [&str; 2] = ["198.51.100.80", "2001:2:0:80::80"];

#[test]
fn an_address_list_follows_the_addresses_of_its_names() {
    let test = "an_address_list_follows_the_addresses_of_its_names";
    let Some(lab) = have(test, &["python3"])
        .then(|| lab(test, layout("static")))
        .flatten()
    else {
        return;
    };
    let folder = Folder::new();
    let zone = folder.file("zone");
    fs::write(&zone, FIRST.join(" ")).expect("a folder of our own");
    let names = name_server(&lab, &zone);
    let _server = serve(&lab, "server", &["80"]);
    let router = Router::start(&lab, &Start::with(PACKET, CONFIG));
    until("packets pass", || outcomes(&lab) == ["passes"; 4]);

    router.exec("/ip dns set servers=203.0.113.1");
    router.exec("/ip firewall address-list add list=blocked address=www.example");
    router.exec("/ipv6 firewall address-list add list=blocked address=www.example");

    until("the first addresses are rejected", || {
        outcomes(&lab) == ["rejected", "rejected", "passes", "passes"]
    });
    let rows = router.rows("/ip/firewall/address-list/print where dynamic");
    let row = rows.first().expect("an address of the name");
    assert_eq!(
        (&row["comment"], &row["address"]),
        (&"www.example".into(), &FIRST[0].into())
    );
    assert_eq!(
        router.exec(":put [:resolve www.example]"),
        format!("{}\n", FIRST[0])
    );

    // After a change of a name's addresses the rule matches the new ones; a name may have addresses of both families.
    fs::write(&zone, SECOND.join(" ")).expect("a folder of our own");
    until("the rule has moved to the second ones", || {
        outcomes(&lab) == ["passes", "passes", "rejected", "rejected"]
    });
    let both = [FIRST, SECOND].concat().join("\n");
    fs::write(&zone, both).expect("a folder of our own");
    until("all are rejected", || outcomes(&lab) == ["rejected"; 4]);

    // Without answers, the addresses are removed after their TTL.
    drop(names);
    until("nothing is rejected", || outcomes(&lab) == ["passes"; 4]);
    a_silent_server_delays_nothing(&lab, &router);
}

fn name_server(lab: &Lab, zone: &Path) -> Server {
    let argv = ["python3", "-c", ANSWER, &zone.display().to_string()].map(str::to_owned);
    let listening = lab.command_line("server", &argv);
    let mut listening = listening.expect("a host of the layout");
    listening.stdin(Stdio::null());
    Server::begin(listening, "listening")
}

/// Sends packets from the client to all addresses. Returns the result for each.
fn outcomes(lab: &Lab) -> Vec<&'static str> {
    let probes: Vec<_> = [FIRST, SECOND]
        .concat()
        .into_iter()
        .map(|to| format!("tcp {to} 80 1"))
        .collect();
    let said = ask(lab, "client", &probes);
    let outcome = |said: &String| match said.as_str() {
        "reset" => "rejected",
        said if said.starts_with("192.168.88.10 ") || said.starts_with("2001:2:0:88::10 ") => {
            "passes"
        }
        _ => "something else",
    };
    said.iter().map(outcome).collect()
}

/// Tests names whose server does not answer: the console answers meanwhile, and packets pass.
fn a_silent_server_delays_nothing(lab: &Lab, router: &Router) {
    router.exec(
        "/ip dns set servers=203.0.113.77 query-server-timeout=1h query-total-timeout=1h; \
         :for i from=1 to=300 do={/ip firewall address-list add list=many address=\"h$i.example\"}",
    );
    let count = router.exec("/ip firewall address-list print count-only where list=many");
    let passed = outcomes(lab);

    assert_eq!((&*count, &*passed), ("300\n", &["passes"; 4][..]));
    assert!(router.threads("name").is_empty(), "questions are packets");
}
