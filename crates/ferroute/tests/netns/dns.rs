//! Tests the DNS server with dig as client and dnsmasq as upstream server: clients without access get no answer, and
//! forged answers are not accepted.

use std::fs;
use std::path::{Path, PathBuf};

use lab::Lab;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

use crate::world::{
    Folder, PACKET, Router, Server, Start, have, lab, layout, output, run, text, until,
};

const CONFIG: &str = "\
/ip address
add address=203.0.113.2/24 interface=ether1
add address=192.168.88.1/24 interface=ether2
/ipv6 address
add address=2001:db8:88::1/64 advertise=no interface=ether2
/ip dns
set allow-remote-requests=yes servers=203.0.113.1
/ip dns static
add name=router.lan address=192.168.88.1
add name=alias.lan type=CNAME cname=www.example
add name=below.lan address=192.0.2.9 match-subdomain=yes
add regexp=\"^ad[0-9]*\\\\.\" type=NXDOMAIN
add name=mail.lan type=MX mx-preference=10 mx-exchange=mx.lan
/ip firewall filter
add chain=input action=accept connection-state=established,related
add chain=input action=drop in-interface=ether1
";

/// Number of addresses of a name whose answer exceeds a datagram.
const MANY: usize = 100;

/// Configuration and records of dnsmasq.
const ZONE: &str = "\
no-resolv
no-hosts
local=/example/
host-record=www.example,192.0.2.80,2001:db8::80,60
host-record=spelled.example,192.0.2.81,60
cname=other.example,www.example
";

/// Runs dig in a host. Returns its output.
fn dig(lab: &Lab, host: &str, more: &str) -> String {
    let line = format!("dig +tries=1 +time=5 {more}");
    // dig fails without an answer; its output says so.
    text(&output(lab, host, &line).stdout).trim_end().to_owned()
}

fn upstream(lab: &Lab, folder: &Folder) -> Server {
    let zone = folder.file("zone");
    let many = (1..=MANY).map(|last| format!("host-record=many.example,192.0.2.{last}\n"));
    fs::write(&zone, ZONE.to_owned() + &many.collect::<String>()).expect("a folder of our own");
    let line = format!(
        "dnsmasq --keep-in-foreground --log-facility=/dev/stdout --bind-interfaces --conf-file={}",
        zone.display()
    );
    Server::start(lab, "server", &line, "started")
}

#[test]
fn the_router_answers_hosts_from_dnsmasq_and_its_cache() {
    let test = "the_router_answers_hosts_from_dnsmasq_and_its_cache";
    let Some(lab) = have(test, &["dig", "dnsmasq"])
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    let folder = Folder::new();
    let names = upstream(&lab, &folder);
    let router = Router::start(&lab, &Start::with(PACKET, CONFIG));
    let ask = |more: &str| dig(&lab, "client", &format!("@192.168.88.1 {more}"));
    until("the router answers", || {
        ask("+short www.example") == "192.0.2.80"
    });

    assert_eq!(ask("+short www.example AAAA"), "2001:db8::80");
    assert_eq!(ask("+short other.example"), "www.example.\n192.0.2.80");
    assert_eq!(ask("+short alias.lan"), "www.example.\n192.0.2.80");
    assert_eq!(ask("+short router.lan"), "192.168.88.1");
    assert_eq!(ask("+short -x 192.168.88.1"), "router.lan.");
    assert_eq!(ask("+short q.r.below.lan"), "192.0.2.9");
    assert_eq!(ask("+short mail.lan MX"), "10 mx.lan.");
    assert!(ask("ad7.example").contains("status: NXDOMAIN"));
    assert!(ask("nothing.example").contains("status: NXDOMAIN"));
    assert!(ask("+opcode=4 www.example").contains("status: NOTIMP"));
    assert_eq!(ask("+short +tcp www.example"), "192.0.2.80");
    let six = dig(&lab, "client", "@2001:db8:88::1 +short www.example");
    assert_eq!(six, "192.0.2.80");
    // The answer is truncated by UDP on both sides of the router, and complete by TCP.
    let many = ask("+short +bufsize=1232 many.example");
    assert_eq!(many.lines().count(), MANY, "{many}");
    assert!(ask("+ignore +bufsize=1232 many.example").contains(" tc "));

    // Each client gets the name in the spelling of its query; the cache shows the spelling of the first query.
    for spelling in ["SpElLeD.eXaMpLe", "spelled.EXAMPLE", "spelled.example"] {
        let answer = ask(&format!("+noall +answer {spelling}"));
        assert!(answer.starts_with(&format!("{spelling}.")), "{answer}");
    }
    let rows = router.rows("/ip/dns/cache/print where data=192.0.2.81");
    assert_eq!(rows[0]["name"], "SpElLeD.eXaMpLe", "{rows:#?}");
    let shown = router.exec("/ip/dns/static/print without-paging");
    for column in ["CNAME", "MX-EXCHANGE", "MX-PREFERENCE"] {
        assert!(shown.contains(column), "{column}: {shown}");
    }

    // Cached names need no server.
    drop(names);
    assert_eq!(ask("+short www.example"), "192.0.2.80");
    assert_eq!(router.exec(":put [:resolve www.example]"), "192.0.2.80\n");
    let rows = router.rows("/ip/dns/cache/print where name=www.example type=A");
    assert_eq!(rows[0]["data"], "192.0.2.80");
    router.exec("/ip/dns/cache/flush");
    // dig waits for 5 s.
    router.exec("/ip/dns/set query-server-timeout=500ms query-total-timeout=2s");
    let failed = ask("www.example");
    assert!(failed.contains("status: SERVFAIL"), "{failed}");

    // Clients from outside get no answer.
    let outside = dig(&lab, "server", "@203.0.113.2 router.lan +time=1");
    assert!(outside.contains("no servers could be reached"), "{outside}");
    assert_eq!(ask("+short router.lan"), "192.168.88.1");
}

/// A server that sends many wrong answers before the right one: a wrong identifier, a wrong port, a wrong name, and a
/// wrong source address.
const FORGER: &str = "
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('203.0.113.1', 53))
other = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
other.bind(('203.0.113.1', 54))
print('listening', flush=True)
def answer(q, last):
    return q[:2] + b'\\x81\\x80\\0\\1\\0\\1\\0\\0\\0\\0' + q[12:] + b'\\xc0\\x0c\\0\\1\\0\\1\\0\\0\\0\\x3c\\0\\4\\xc0\\0\\2' + bytes([last])
while True:
    q, who = s.recvfrom(512)
    q = q[:17 + q[12:].index(0)]
    bad = answer(q, 66)
    for n in range(1, 9):
        s.sendto(bytes([bad[0] ^ n]) + bad[1:], who)
    s.sendto(bad, (who[0], 32768 + (who[1] + 1) % 32768))
    s.sendto(bad[:13] + bytes([bad[13] ^ 1]) + bad[14:], who)
    other.sendto(bad, who)
    s.sendto(answer(q, 1), who)
";

#[test]
fn answers_that_do_not_match_the_query_are_ignored() {
    let test = "answers_that_do_not_match_the_query_are_ignored";
    let Some(lab) = have(test, &["dig", "python3"])
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    let argv = ["python3", "-c", FORGER].map(str::to_owned);
    let forger = lab.command_line("server", &argv);
    let _forger = Server::begin(forger.expect("a host of the layout"), "listening");
    let router = Router::start(&lab, &Start::with(PACKET, CONFIG));
    let ask = |name: &str| dig(&lab, "client", &format!("@192.168.88.1 +short {name}"));
    until("the router answers", || ask("first.example") == "192.0.2.1");

    for number in 0..20 {
        assert_eq!(ask(&format!("n{number}.example")), "192.0.2.1");
    }
    let cache = router.exec("/ip/dns/cache/print");
    assert!(!cache.contains("192.0.2.66"), "{cache}");
}

/// A DNS server over HTTPS: every name has one address.
const SECURE: &str = "
import http.server, ssl, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_POST(self):
        q = self.rfile.read(int(self.headers['Content-Length']))
        assert self.headers['Content-Type'] == 'application/dns-message' and self.path == '/dns-query'
        q = q[:17 + q[12:].index(0)]
        a = q[:2] + b'\\x81\\x80\\0\\1\\0\\1\\0\\0\\0\\0' + q[12:]
        a += b'\\xc0\\x0c\\0\\1\\0\\1\\0\\0\\0\\x3c\\0\\4\\xc0\\0\\2\\x2c'
        self.send_response(200)
        self.send_header('Content-Type', 'application/dns-message')
        self.send_header('Content-Length', str(len(a)))
        self.end_headers()
        self.wfile.write(a)
    def log_message(self, *_): pass
s = http.server.ThreadingHTTPServer(('203.0.113.1', 443), Handler)
c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
c.load_cert_chain(sys.argv[1], sys.argv[2])
s.socket = c.wrap_socket(s.socket, server_side=True)
print('listening', flush=True)
s.serve_forever()
";

/// Creates a certificate of `doh.lan`, its key, and the authority that signed it, as files.
pub(crate) fn certificate(folder: &Folder) -> [PathBuf; 3] {
    let key = KeyPair::generate().expect("a key");
    let mut wanted = CertificateParams::new(Vec::new()).expect("no names");
    wanted.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = wanted.self_signed(&key).expect("it signs itself").pem();
    let issuer = Issuer::new(wanted, key);
    let own = KeyPair::generate().expect("a key");
    let wanted = CertificateParams::new(vec![String::from("doh.lan")]).expect("a name");
    let certificate = wanted.signed_by(&own, &issuer).expect("it is signed").pem();
    let texts = [
        ("certificate", certificate),
        ("key", own.serialize_pem()),
        ("authority", authority),
    ];
    texts.map(|(name, text)| {
        let path = folder.file(name);
        fs::write(&path, text).expect("a folder of our own");
        path
    })
}

#[test]
fn names_are_resolved_by_https_only_from_a_server_with_a_valid_certificate() {
    let test = "names_are_resolved_by_https_only_from_a_server_with_a_valid_certificate";
    let Some(lab) = have(test, &["dig", "python3"])
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    let folder = Folder::new();
    let [certificate, key, authority] = certificate(&folder);
    let argv = ["python3", "-c", SECURE, path(&certificate), path(&key)].map(str::to_owned);
    let server = lab.command_line("server", &argv);
    let _server = Server::begin(server.expect("a host of the layout"), "listening");
    let router = Router::start(&lab, &Start::with(PACKET, CONFIG));
    router.exec("/ip/dns/static/add name=doh.lan address=203.0.113.1");
    router.exec("/ip/dns/static/add name=other.lan address=203.0.113.1");
    let ask = |more: &str| dig(&lab, "client", &format!("@192.168.88.1 +short {more}"));

    router.exec("/ip/dns/set use-doh-server=https://doh.lan/dns-query verify-doh-cert=yes");
    let refused = dig(&lab, "client", "@192.168.88.1 z.example");
    assert!(
        refused.contains("SERVFAIL"),
        "nobody knows the authority: {refused}"
    );
    router.import(&authority);
    until("the server is asked", || ask("a.example") == "192.0.2.44");
    // Many simultaneous queries share few connections.
    let names: Vec<_> = (0..40).map(|n| format!("n{n}.example")).collect();
    assert_eq!(ask(&names.join(" ")).matches("192.0.2.44").count(), 40);

    // The certificate does not contain this name.
    router.exec("/ip/dns/set use-doh-server=https://other.lan/dns-query");
    let refused = dig(&lab, "client", "@192.168.88.1 b.example");
    assert!(refused.contains("SERVFAIL"), "{refused}");
    router.exec("/ip/dns/set verify-doh-cert=no; /ip/dns/cache/flush");
    until("it is not checked", || ask("b.example") == "192.0.2.44");
}

#[test]
fn names_of_a_downloaded_adlist_are_blocked() {
    let test = "names_of_a_downloaded_adlist_are_blocked";
    let Some(lab) = have(test, &["dig", "python3"])
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    let folder = Folder::new();
    let names = (0..100_000).map(|n| format!("0.0.0.0 n{n}.unwanted.example\r\n"));
    let names = String::from("# unwanted\n127.0.0.1 localhost\n") + &names.collect::<String>();
    fs::write(folder.file("list"), names).expect("a folder of our own");
    let served = folder.file("");
    let line = format!(
        "python3 -u -m http.server 80 --bind 203.0.113.1 --directory {}",
        path(&served)
    );
    let _pages = Server::start(&lab, "server", &line, "Serving HTTP");
    let router = Router::start(&lab, &Start::with(PACKET, CONFIG));
    let ask = |more: &str| dig(&lab, "client", &format!("@192.168.88.1 +short {more}"));

    router.exec("/ip/dns/adlist/add url=http://203.0.113.1/list ssl-verify=no");
    until("the list is there", || {
        ask("n99999.unwanted.example") == "0.0.0.0"
    });
    assert_eq!(ask("n7.unwanted.example AAAA"), "::");
    let rows = router.rows("/ip/dns/adlist/print");
    assert_eq!(rows[0]["name-count"], "100000");
    assert_eq!(rows[0]["match-count"], "2");
    router.exec("/ip/dns/static/add name=n7.unwanted.example address=192.0.2.7");
    assert_eq!(ask("n7.unwanted.example"), "192.0.2.7");
    router.exec("/ip/dns/adlist/disable 0");
    let other = dig(&lab, "client", "@192.168.88.1 n8.unwanted.example");
    assert!(!other.contains("0.0.0.0"), "{other}");
}

fn path(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// Number of names that dnsperf queries in turn.
const NAMES: usize = 1000;

/// Runs dnsperf. Returns the answered queries per second and the number of lost queries.
fn measured(lab: &Lab, questions: &str) -> (f64, u64) {
    let line = format!("dnsperf -s 192.168.88.1 -d {questions} -l 5 -c 4 -q 200 -t 1");
    let said = text(&output(lab, "client", &line).stdout);
    let value = |name: &str| {
        let line = said.lines().find(|line| line.trim().starts_with(name));
        let value = line.and_then(|line| line.split(':').nth(1));
        let value = value.and_then(|value| value.split_whitespace().next());
        value
            .and_then(|value| value.parse().ok())
            .unwrap_or_else(|| panic!("{name}: {said}"))
    };
    (value("Queries per second"), value("Queries lost") as u64)
}

/// Measures cached answers per second of the router, and of dnsmasq in its place: `cargo test -p ferroute --test netns
/// -- --ignored --nocapture dns::cached`.
#[test]
#[ignore = "it measures"]
fn cached_answers_a_second_beside_dnsmasq() {
    let test = "cached_answers_a_second_beside_dnsmasq";
    let Some(lab) = have(test, &["dnsperf", "dnsmasq"])
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    let folder = Folder::new();
    let file = |name: &str, lines: &mut dyn Iterator<Item = String>| {
        let path = folder.file(name);
        fs::write(&path, lines.collect::<String>()).expect("a folder of our own");
        path.display().to_string()
    };
    let hosts = (0..NAMES).map(|n| format!("192.0.2.{} n{n}.example\n", n % 250 + 1));
    let hosts = file("hosts", &mut hosts.into_iter());
    let questions = (0..NAMES).map(|n| format!("n{n}.example A\n"));
    let questions = file("questions", &mut questions.into_iter());
    let serve = |host: &str, more: &str| {
        let line = format!(
            "dnsmasq --keep-in-foreground --log-facility=/dev/stdout --conf-file=/dev/null --no-resolv \
             --no-hosts --pid-file= --cache-size=10000 --dns-forward-max=10000 {more}"
        );
        Server::start(&lab, host, &line, "started")
    };
    let _upstream = serve("server", &format!("--addn-hosts={hosts} --local-ttl=3600"));

    for line in [
        "ip address add 203.0.113.2/24 dev ether1",
        "ip address add 192.168.88.1/24 dev ether2",
    ] {
        run(&lab, "router", line);
    }
    let peer = serve("router", "--server=203.0.113.1");
    let [_, dnsmasq] = [(); 2].map(|()| measured(&lab, &questions));
    drop(peer);
    for device in ["ether1", "ether2"] {
        run(&lab, "router", &format!("ip address flush dev {device}"));
    }
    let router = Router::start(&lab, &Start::with(PACKET, CONFIG));
    until("the router answers", || {
        !dig(&lab, "client", "@192.168.88.1 +short n1.example").is_empty()
    });
    router.exec("/ip/dns/set max-concurrent-queries=10000");
    let [_, ours] = [(); 2].map(|()| measured(&lab, &questions));

    println!(
        "cached answers a second (lost): dnsmasq {:.0} ({}), router {:.0} ({}): {:.2} times",
        dnsmasq.0,
        dnsmasq.1,
        ours.0,
        ours.1,
        ours.0 / dnsmasq.0
    );
    println!("{}", router.exec("/tool/drop/print without-paging"));
}
