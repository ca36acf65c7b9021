//! Tests monitoring: metrics, health, remote logs, netwatch, traffic flow, fetch.

use std::fs;
use std::path::Path;

use lab::Lab;

use crate::pair::{PAIR, PEER, ROUTER, start};
use crate::world::{Folder, Server, have, lab, run, shell, text, until};

/// Starts a lab; `None` if this machine cannot run it or a program is missing.
fn world(test: &str, programs: &[&str]) -> Option<Lab> {
    have(test, programs).then(|| lab(test, &PAIR)).flatten()
}

#[test]
fn prometheus_metrics_need_a_user_and_show_counters() {
    let test = "prometheus_metrics_need_a_user_and_show_counters";
    let Some(lab) = world(test, &["curl"]) else {
        return;
    };
    let _router = start(
        &lab,
        "/user add name=prom group=read password=prom\n\
         /ip firewall filter add chain=input action=accept comment=all\n\
         /ip service set www disabled=no\n",
    );
    let get = |path: &str, more: &str| {
        let ask = format!("curl -s -m 5 -w '%{{http_code}}' {more} http://{ROUTER}{path} || true");
        shell(&lab, "peer", &ask)
    };
    until("the router is ready", || get("/readyz", "") == "ok\n200");
    assert_eq!(get("/healthz", ""), "ok\n200");
    assert!(get("/metrics", "").ends_with("401"));

    let page = get("/metrics", "-u prom:prom");
    assert!(page.ends_with("200"), "{page}");
    let value = |row: &str| {
        let line = page.lines().find(|line| line.starts_with(row));
        let line = line.unwrap_or_else(|| panic!("no {row} in {page}"));
        line.rsplit(' ')
            .next()
            .and_then(|value| value.parse::<u64>().ok())
    };
    let received = "ferroute_interface_receive_packets_total{interface=\"ether1\"}";
    assert!(value(received).is_some_and(|packets| packets > 5));
    assert!(value("ferroute_rule_packets_total{table=\"ip/firewall/filter\"") > Some(5));
    assert!(value("ferroute_connections{family=\"ipv4\"}") > Some(0));
}

#[test]
fn logs_go_to_a_server_by_tcp_and_wait_while_it_is_unreachable() {
    let test = "logs_go_to_a_server_by_tcp_and_wait_while_it_is_unreachable";
    let Some(lab) = world(test, &["python3"]) else {
        return;
    };
    let folder = Folder::new();
    let file = folder.file("lines");
    let router = start(
        &lab,
        &format!(
            "/system logging action add name=far target=remote remote={PEER} remote-port=6514 \
             remote-protocol=tcp remote-log-format=syslog\n\
             /system logging add topics=script action=far\n"
        ),
    );
    router.exec("/log/info \"said before it is there\"");
    let program = format!(
        "import socket,sys\ns=socket.create_server((\"{PEER}\",6514))\nprint(\"listening\",flush=True)\n\
         c,_=s.accept()\nf=open(\"{}\",\"wb\",buffering=0)\n\
         while True:\n d=c.recv(999)\n if not d: break\n f.write(d)",
        file.display()
    );
    let argv = ["python3".to_owned(), "-c".to_owned(), program];
    let command = lab.command_line("peer", &argv);
    let _server = Server::begin(command.expect("a host of the layout"), "listening");

    router.exec("/log/warning \"said after\"");
    let lines = || fs::read_to_string(&file).unwrap_or_default();
    until("both entries have come", || lines().lines().count() == 2);
    let lines = lines();
    assert!(lines.contains("said before it is there\n"), "{lines}");
    assert!(
        lines.starts_with("<29>") || lines.starts_with("<30>"),
        "{lines}"
    );
}

#[test]
fn logs_go_by_tls_only_to_a_server_with_a_valid_certificate() {
    let test = "logs_go_by_tls_only_to_a_server_with_a_valid_certificate";
    let Some(lab) = world(test, &["python3"]) else {
        return;
    };
    let folder = Folder::new();
    let file = folder.file("entries");
    let [certificate, key, authority] = crate::dns::certificate(&folder);
    let program = format!(
        "import socket,ssl\ncontext=ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)\n\
         context.load_cert_chain(\"{}\",\"{}\")\ns=socket.create_server((\"{PEER}\",6514))\n\
         print(\"listening\",flush=True)\nf=open(\"{}\",\"wb\",buffering=0)\n\
         while True:\n try:\n  c=context.wrap_socket(s.accept()[0],server_side=True)\n\
         \u{20} while d:=c.recv(999): f.write(d)\n except OSError: f.write(b\"refused\\n\")",
        certificate.display(),
        key.display(),
        file.display()
    );
    let argv = ["python3".to_owned(), "-c".to_owned(), program];
    let command = lab.command_line("peer", &argv);
    let _server = Server::begin(command.expect("a host of the layout"), "listening");
    let router = start(
        &lab,
        &format!(
            "/ip dns static add name=doh.lan address={PEER}\n\
             /system logging action add name=far target=remote remote=doh.lan remote-port=6514 \
             remote-protocol=tls check-certificate=yes remote-log-format=syslog\n\
             /system logging add topics=script action=far\n"
        ),
    );
    let said = || fs::read_to_string(&file).unwrap_or_default();
    until("the router does not believe the server", || {
        router.exec("/log/info \"nobody\"");
        said().contains("refused")
    });
    assert!(!said().contains("nobody"), "{}", said());
    router.import(&authority);
    until("what waited has come", || said().contains("nobody"));
    router.exec("/log/warning \"by TLS\"");
    until("what is said comes", || said().contains("by TLS"));

    // Each message follows its length (RFC 5425, 4.3).
    let said = said();
    let first = said.rfind("refused\n").map_or(0, |at| at + 8);
    let mut rest = &said[first..];
    while !rest.is_empty() {
        let (length, behind) = rest.split_once(' ').expect("a length");
        let length = length.parse().expect("a number");
        let (entry, others) = behind.split_at(length);
        assert!(entry.starts_with('<') && entry.len() > 10, "{entry}");
        rest = others;
    }
}

#[test]
fn netwatch_probes_hosts_by_echo_tcp_and_http_and_runs_scripts() {
    let test = "netwatch_probes_hosts_by_echo_tcp_and_http_and_runs_scripts";
    let Some(lab) = world(test, &["python3"]) else {
        return;
    };
    let router = start(
        &lab,
        &format!(
            "/tool netwatch\n\
             add name=echo host={PEER} interval=1s timeout=500ms start-delay=0s startup-delay=0s \
             up-script=\":log info (\\\"\\$name is \\$status \\\" . \\$\\\"done-tests\\\")\" \
             down-script=\":log info \\\"\\$host is gone\\\"\"\n\
             add name=icmp type=icmp host={PEER} interval=2s timeout=500ms packet-count=4 packet-interval=20ms \
             start-delay=0s startup-delay=0s\n\
             add name=tcp type=tcp-conn host={PEER} port=8080 interval=1s start-delay=0s startup-delay=0s\n\
             add name=web type=http-get host={PEER} port=8080 interval=1s start-delay=0s startup-delay=0s\n"
        ),
    );
    let status = |name: &str| router.value("/tool/netwatch/print", name, "status");
    until("echoes are answered", || {
        status("echo") == "up" && status("icmp") == "up"
    });
    until("nobody listens yet", || {
        status("tcp") == "down" && status("web") == "down"
    });
    assert_eq!(
        router.number("/tool/netwatch/print", "icmp", "loss-percent"),
        0
    );
    let log = || router.exec("/log/print without-paging");
    until("the script has run", || log().contains("echo is up 1"));

    let serve = format!("python3 -u -m http.server --bind {PEER} 8080");
    let server = Server::start(&lab, "peer", &serve, "Serving");
    until("the page is there", || {
        status("tcp") == "up" && status("web") == "up"
    });
    assert_eq!(
        router.number("/tool/netwatch/print", "web", "http-status-code"),
        200
    );
    drop(server);
    until("it is not any more", || {
        status("tcp") == "down" && status("web") == "down"
    });

    shell(&lab, "peer", "ip link set eth0 down");
    until("the host is gone", || {
        status("echo") == "down" && status("icmp") == "down"
    });
    until("the other script has run", || {
        log().contains(&format!("{PEER} is gone"))
    });
}

#[test]
fn nfdump_reads_the_flows_of_all_versions() {
    let test = "nfdump_reads_the_flows_of_all_versions";
    let Some(lab) = world(test, &["nfcapd", "nfdump", "ping"]) else {
        return;
    };
    for (version, port) in [("5", 2055), ("9", 2056), ("ipfix", 2057)] {
        let folder = Folder::new();
        let (at, pid) = (folder.file(""), folder.file("pid"));
        let (at, pid) = (at.display(), pid.display());
        let line = format!("exec nfcapd -w {at} -p {port} -P {pid} -b {PEER} 2>&1");
        let argv = ["sh", "-c", &line].map(str::to_owned);
        let command = lab.command_line("peer", &argv);
        let _collector = Server::begin(command.expect("a host of the layout"), "Startup");
        let router = start(
            &lab,
            &format!(
                "/ip firewall connection tracking set enabled=yes\n\
                 /ip traffic-flow set enabled=yes inactive-flow-timeout=5s\n\
                 /ip traffic-flow target add dst-address={PEER} port={port} version={version}\n"
            ),
        );
        run(&lab, "peer", &format!("ping -q -c 7 -i 0.05 {ROUTER}"));
        until("the collector has been told", || {
            let rows = router.rows("/ip/firewall/connection/print");
            rows.iter()
                .any(|row| row.to_string().contains(&format!("{port}")))
        });
        // nfcapd writes its flows to a file when it ends.
        shell(&lab, "peer", &format!("kill -TERM $(cat {pid})"));
        let filter = format!("proto icmp and src ip {PEER} and dst ip {ROUTER} and packets 7");
        until("nfdump has read the file", || {
            let read = format!("nfdump -q -R {at} -o line '{filter}' 2>&1 || true");
            shell(&lab, "peer", &read).contains(&format!("{PEER}:"))
        });
    }
}

#[test]
fn pages_are_fetched_into_variables_and_files() {
    let test = "pages_are_fetched_into_variables_and_files";
    let Some(lab) = world(test, &["python3"]) else {
        return;
    };
    let folder = Folder::new();
    fs::write(folder.file("page"), "forty-two").expect("a folder of our own");
    fs::write(folder.file("long"), vec![b'x'; 200_000]).expect("a folder of our own");
    let at = folder.file("").display().to_string();
    let serve = format!("python3 -u -m http.server --bind {PEER} --directory {at} 8080");
    let _server = Server::start(&lab, "peer", &serve, "Serving");
    let router = start(&lab, "");

    let page = format!("/tool/fetch url=http://{PEER}:8080/page");
    let shown = router.exec(&format!(":put ([{page} output=user as-value]->\"data\")"));
    assert_eq!(shown.trim(), "forty-two");
    router.exec(&format!("{page} dst-path=kept.txt"));
    let kept = router.exec(":put [/file/get kept.txt contents]");
    assert_eq!(kept.trim(), "forty-two");

    let fails = |line: &str| {
        let output = router.command(line);
        text(&output.stderr) + &text(&output.stdout)
    };
    let missing = fails(&format!(
        "/tool/fetch url=http://{PEER}:8080/none output=none"
    ));
    assert!(
        missing.contains("Fetch failed with status 404"),
        "{missing}"
    );
    let long = fails(&format!(
        "/tool/fetch url=http://{PEER}:8080/long output=user as-value"
    ));
    assert!(long.contains("more than 64512 bytes"), "{long}");
    // A page that is only counted has no size limit.
    let counted = format!("/tool/fetch url=http://{PEER}:8080/long output=none as-value");
    let counted = router.exec(&format!(":put ([{counted}]->\"downloaded\")"));
    assert_eq!(counted.trim(), "196");
    let refused = fails(&format!("/tool/fetch url=http://{PEER}:8081/ output=none"));
    assert!(refused.contains("refused"), "{refused}");
    assert!(!refused.contains("os error"), "{refused}");
    // Header field values with commas and semicolons, in a list and in one text.
    let fields = "http-header-field=({ \"User-Agent: Router/1 (https://a.example/; b, c)\" })";
    let text = "http-header-field=\"Accept: text/html;q=1, text/plain, X-Other: 1\"";
    for header in [fields, text] {
        let shown = router.exec(&format!(
            ":put ([{page} output=user as-value {header}]->\"data\")"
        ));
        assert_eq!(shown.trim(), "forty-two", "{header}");
    }
}

/// An HTTPS server of a folder. Arguments: address, port, certificate, key.
const SECURE: &str = "\
import http.server, os, ssl, sys
at, port, folder, certificate, key = sys.argv[1:]
os.chdir(folder)
class Page(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        if self.path == '/leads':
            self.send_response(302)
            self.send_header('Location', '/page')
            self.end_headers()
        else:
            super().do_GET()
server = http.server.ThreadingHTTPServer((at, int(port)), Page)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
server.socket = context.wrap_socket(server.socket, server_side=True)
print('Serving', flush=True)
server.serve_forever()
";

/// Starts an HTTPS server of the folder's pages on the peer, at port 8443.
fn secure_pages(lab: &Lab, folder: &Folder, certificate: &Path, key: &Path) -> Server {
    let path = |path: &Path| path.display().to_string();
    let at = folder.file("");
    let argv = [
        "python3",
        "-c",
        SECURE,
        PEER,
        "8443",
        &path(&at),
        &path(certificate),
        &path(key),
    ];
    let server = lab.command_line("peer", &argv.map(str::to_owned));
    Server::begin(server.expect("a host of the layout"), "Serving")
}

#[test]
fn pages_are_fetched_and_watched_by_https_only_with_a_valid_certificate() {
    let test = "pages_are_fetched_and_watched_by_https_only_with_a_valid_certificate";
    let Some(lab) = world(test, &["python3"]) else {
        return;
    };
    let folder = Folder::new();
    let [certificate, key, authority] = crate::dns::certificate(&folder);
    fs::write(folder.file("page"), "forty-two").expect("a folder of our own");
    let _server = secure_pages(&lab, &folder, &certificate, &key);
    let router = start(&lab, "");
    for name in ["doh.lan", "other.lan"] {
        router.exec(&format!("/ip/dns/static/add name={name} address={PEER}"));
    }
    let fetch = |url: &str, more: &str| {
        let fetched = format!("/tool/fetch url=https://{url} output=user as-value {more}");
        let output = router.command(&format!(":put ([{fetched}]->\"data\")"));
        text(&output.stdout).trim().to_owned() + text(&output.stderr).trim()
    };

    assert_eq!(
        fetch("doh.lan:8443/page", ""),
        "forty-two",
        "nobody has to prove anything"
    );
    let unknown = fetch("doh.lan:8443/page", "check-certificate=yes");
    assert!(unknown.contains("certificate"), "{unknown}");
    router.import(&authority);
    assert_eq!(
        fetch("doh.lan:8443/page", "check-certificate=yes"),
        "forty-two"
    );
    assert_eq!(
        fetch("doh.lan:8443/leads", "http-max-redirect-count=1"),
        "forty-two"
    );
    let other = fetch("other.lan:8443/page", "check-certificate=yes-without-crl");
    assert!(other.contains("certificate"), "{other}");
    let plain = fetch(&format!("{PEER}:8444/page"), "");
    assert!(plain.contains("refused"), "{plain}");

    let watch =
        "/tool/netwatch/add type=https-get port=8443 interval=1s start-delay=0s startup-delay=0s";
    router.exec(&format!(
        "{watch} name=good host=doh.lan check-certificate=yes"
    ));
    router.exec(&format!(
        "{watch} name=bad host=other.lan check-certificate=yes"
    ));
    let status = |name: &str| {
        router.exec(&format!(
            ":put [/tool/netwatch/get [find name={name}] status]"
        ))
    };
    until("who proves it is up", || status("good").trim() == "up");
    until("who does not is down", || status("bad").trim() == "down");
    let code = router.exec(":put [/tool/netwatch/get [find name=good] http-status-code]");
    assert_eq!(code.trim(), "200");
}
