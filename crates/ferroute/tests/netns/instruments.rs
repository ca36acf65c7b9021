//! Tests sniffer, torch, ip-scan and flood-ping against other tools that observe the same traffic.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use lab::Lab;

use crate::pair::{self, PAIR};
use crate::world::{Folder, PACKET, Router, Server, Start, have, lab, layout, run, text, until};

const SERVER: &str = "203.0.113.1";
const CLIENT: &str = "192.168.88.10";

fn world(test: &str, programs: &[&str], folder: &Folder) -> Option<(Lab, Router)> {
    let lab = { have(test, programs) }.then(|| lab(test, layout("plain")));
    let lab = lab.flatten()?;
    let state = folder.file("state");
    let start = Start {
        state: Some(&state),
        ..Start::with(PACKET, layout("plain").config)
    };
    let router = Router::start(&lab, &start);
    Some((lab, router))
}

fn count(router: &Router, filter: &str) -> usize {
    let rows = router.rows("/tool/sniffer/packet/print");
    let has = |row: &&serde_json::Value| row.to_string().contains(filter);
    rows.iter().filter(has).count()
}

/// Starts a TZSP collector of a host at an address, which writes the bytes of each datagram as a line of a file.
fn collector(lab: &Lab, host: &str, address: &str, file: &Path) -> Server {
    let family = if address.contains(':') {
        "AF_INET6"
    } else {
        "AF_INET"
    };
    let program = format!(
        "import socket\ns=socket.socket(socket.{family},socket.SOCK_DGRAM)\ns.bind((\"{address}\",37008))\n\
         print(\"listening\",flush=True)\nf=open(\"{}\",\"w\")\n\
         while True:\n d=s.recv(9999)\n f.write(d.hex()+\"\\n\")\n f.flush()",
        file.display()
    );
    let argv = ["python3".to_owned(), "-c".to_owned(), program];
    let command = lab.command_line(host, &argv);
    Server::begin(command.expect("a host of the layout"), "listening")
}

#[test]
fn the_sniffer_streams_frames_and_writes_a_file_that_tcpdump_reads() {
    let test = "the_sniffer_streams_frames_and_writes_a_file_that_tcpdump_reads";
    let folder = Folder::new();
    let Some((lab, router)) = world(test, &["tcpdump", "python3"], &folder) else {
        return;
    };
    let streamed = folder.file("streamed");
    let _collector = collector(&lab, "server", SERVER, &streamed);
    router.exec(&format!(
        "/tool/sniffer/set file-name=seen.pcapng streaming-enabled=yes streaming-server={SERVER}"
    ));
    router.exec("/tool/sniffer/start interface=ether2 ip-protocol=icmp,udp");
    let again = "/tool/sniffer/start";
    assert!(text(&router.command(again).stderr).contains("sniffer is running"));
    run(
        &lab,
        "client",
        &format!("ping -c 10 -i 0.02 -s 200 {SERVER}"),
    );
    until("all packets have come", || count(&router, "\"icmp\"") == 20);
    router.exec("/tool/sniffer/stop");

    let requests = format!("src {CLIENT} and icmp[icmptype]=icmp-echo");
    let file = folder.file("state").join("files/seen.pcapng");
    let read = |filter: &str| {
        let mut command = Command::new("tcpdump");
        command.args(["-n", "-r"]).arg(&file).arg(filter);
        let output = command.stderr(Stdio::null()).output();
        text(&output.expect("tcpdump is there").stdout)
    };
    assert_eq!(read(&requests).lines().count(), 10, "{}", read(""));
    assert_eq!(read("icmp").lines().count(), 20);
    assert!(
        read(&requests).contains("length 208"),
        "{}",
        read(&requests)
    );

    // Each datagram has a TZSP header of five bytes and a frame of 242 bytes. The file must contain 2 × 10 of them.
    let frames = || fs::read_to_string(&streamed).unwrap_or_default();
    let whole = |line: &&str| line.starts_with("0100000101") && line.len() == 2 * (5 + 242);
    until("all are streamed", || {
        frames().lines().filter(whole).count() == 20
    });

    shows_what_passed(&router);
    // Saving the captured packets gives an equal file.
    router.exec("/tool/sniffer/save file-name=again.pcapng");
    let again = fs::read(folder.file("state").join("files/again.pcapng")).expect("a file");
    assert_eq!(again, fs::read(&file).expect("a file"));
    assert!(router.stop().success());
}

#[test]
fn the_sniffer_streams_to_a_collector_by_ipv6() {
    let test = "the_sniffer_streams_to_a_collector_by_ipv6";
    let lab = { have(test, &["python3"]) }.then(|| lab(test, &PAIR));
    let Some(lab) = lab.flatten() else {
        return;
    };
    let folder = Folder::new();
    let streamed = folder.file("streamed");
    let router = pair::start(&lab, "");
    let _collector = collector(&lab, "peer", "2001:db8:2::12", &streamed);
    router.exec(
        "/tool/sniffer/set streaming-enabled=yes streaming-server=\"[2001:db8:2::12]:37008\"",
    );
    router.exec("/tool/sniffer/start interface=ether1 ip-protocol=icmp");
    run(
        &lab,
        "peer",
        &format!("ping -c 5 -i 0.02 -s 200 {}", pair::ROUTER),
    );

    let frames = || fs::read_to_string(&streamed).unwrap_or_default();
    let whole = |line: &&str| line.starts_with("0100000101") && line.len() == 2 * (5 + 242);
    until("all are streamed", || {
        frames().lines().filter(whole).count() == 10
    });
    assert!(router.stop().success());
}

/// Checks the first packet and the hosts of ten echo requests of 200 bytes and their answers.
fn shows_what_passed(router: &Router) {
    let packet = &router.rows("/tool/sniffer/packet/print")[0];
    let cell = |name: &str| packet[name].as_str().unwrap_or_default().to_owned();
    assert_eq!(
        [cell("src-address"), cell("dst-address")],
        [CLIENT, SERVER],
        "{packet:#}"
    );
    assert_eq!(
        [cell("direction"), cell("path")],
        ["rx", "ingress"],
        "{packet:#}"
    );
    assert_eq!(
        [cell("size"), cell("ip-packet-size")],
        ["242", "228"],
        "{packet:#}"
    );
    let hosts = router.rows("/tool/sniffer/host/print");
    let host = hosts
        .iter()
        .find(|row| row["address"] == CLIENT)
        .expect("the client");
    assert_eq!(host["total"], "2420/2420");
}

#[test]
fn the_sniffers_file_ends_at_its_limit_and_quick_uses_the_settings() {
    let test = "the_sniffers_file_ends_at_its_limit_and_quick_uses_the_settings";
    let folder = Folder::new();
    let Some((lab, router)) = world(test, &["tcpdump"], &folder) else {
        return;
    };
    router.exec("/tool/sniffer/set file-name=short.pcapng file-limit=1KiB quick-show-frame=yes quick-rows=1");
    router.exec("/tool/sniffer/start interface=ether2 ip-protocol=icmp");
    let line = format!("ping -i 0.2 -s 200 {SERVER}");
    let _ping = Server::start(&lab, "client", &line, "bytes from");
    until("the limit is told of", || {
        let log = router.exec("/log/print without-paging");
        log.contains("short.pcapng: file-limit is reached")
    });
    let settings = router.exec("/tool/sniffer/print");
    assert!(
        settings.contains("no more packets are written to short.pcapng: file-limit is reached"),
        "{settings}"
    );
    // The file contains as many complete packets as fit.
    let file = folder.file("state").join("files/short.pcapng");
    let bytes = fs::read(&file).expect("a file").len();
    assert!((700..=1_024).contains(&bytes), "{bytes}");
    let read = Command::new("tcpdump").arg("-nr").arg(&file).output();
    let read = read.expect("tcpdump is there");
    assert_eq!(
        text(&read.stdout).lines().count(),
        3,
        "{}",
        text(&read.stderr)
    );

    let quick = router.exec("/tool/sniffer/quick interface=ether2 ip-protocol=icmp duration=2s");
    assert!(quick.contains("    0010  "), "{quick}");
    let without = "/tool/sniffer/quick interface=ether2 ip-protocol=icmp duration=2s show-frame=no";
    assert!(!router.exec(without).contains("    0010  "));
    assert!(router.stop().success());
}

#[test]
fn torch_shows_a_flow_once_with_both_directions() {
    let test = "torch_shows_a_flow_once_with_both_directions";
    let folder = Folder::new();
    let Some((lab, router)) = world(test, &["python3"], &folder) else {
        return;
    };
    // A server that answers a datagram of 1,000 bytes with one of 100, and a client that sends requests continuously.
    let program = format!(
        "import socket\ns=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\ns.bind((\"{SERVER}\",5000))\n\
         print(\"listening\",flush=True)\nwhile True:\n d,a=s.recvfrom(9999)\n s.sendto(b\"y\"*100,a)"
    );
    let argv = ["python3".to_owned(), "-c".to_owned(), program];
    let server = lab.command_line("server", &argv);
    let _server = Server::begin(server.expect("a host of the layout"), "listening");
    let program = format!(
        "import socket,time\ns=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\ns.bind((\"{CLIENT}\",4000))\n\
         s.connect((\"{SERVER}\",5000))\nprint(\"asking\",flush=True)\n\
         while True:\n s.send(b\"x\"*1000)\n time.sleep(0.005)"
    );
    let argv = ["python3".to_owned(), "-c".to_owned(), program];
    let client = lab.command_line("client", &argv);
    let _client = Server::begin(client.expect("a host of the layout"), "asking");

    let torch = "/tool/torch ether2 src-address=0.0.0.0/0 dst-address=0.0.0.0/0 ip-protocol=udp port=any \
                 duration=3s as-value";
    let script = format!(":put [:serialize to=json value=[{torch}]]");
    let said = router.exec(&script);
    let rows: Vec<serde_json::Value> = serde_json::from_str(&said).expect("a list of rows");
    let number = |row: &serde_json::Value, name: &str| {
        let cell = &row[name];
        let text = cell
            .as_str()
            .map(str::to_owned)
            .unwrap_or_else(|| cell.to_string());
        text.parse::<u64>()
            .unwrap_or_else(|_| panic!("{name} of {said}"))
    };
    let flow = rows
        .iter()
        .find(|row| row["dst-address"] == SERVER)
        .expect("the flow");
    assert_eq!(flow["src-address"], CLIENT, "{said}");
    assert_eq!(flow["src-port"].as_f64(), Some(4_000.0), "{said}");
    let [packets, back] = [number(flow, "rx-packets"), number(flow, "tx-packets")];
    assert!(packets > 10 && back > 10, "{said}");
    // Whole frames count: 42 bytes more than the payload. Rates are rounded.
    let [rx, tx] = [
        number(flow, "rx") / packets / 8,
        number(flow, "tx") / back / 8,
    ];
    assert!(
        (990..1_100).contains(&rx) && (130..155).contains(&tx),
        "{said}"
    );
    let total = rows.last().expect("the sum");
    assert_eq!(number(total, "rx-packets"), packets, "{said}");

    let refused = router.command("/tool/torch ether9");
    assert!(text(&refused.stderr).contains("input does not match any value of interface"));
    assert!(router.stop().success());
}

#[test]
fn ip_scan_and_flood_ping_find_hosts_that_answer() {
    let test = "ip_scan_and_flood_ping_find_hosts_that_answer";
    let folder = Folder::new();
    let Some((_lab, router)) = world(test, &[], &folder) else {
        return;
    };
    let rows = |command: &str| -> Vec<serde_json::Value> {
        let said = router.exec(&format!(":put [:serialize to=json value=[{command}]]"));
        serde_json::from_str(&said).unwrap_or_else(|_| panic!("a list of rows: {said}"))
    };
    let found = rows("/tool/ip-scan ether2 address-range=192.168.88.0/28 duration=3s as-value");
    let client = found.iter().find(|row| row["address"] == CLIENT);
    let mac = client.and_then(|row| row["mac-address"].as_str());
    assert!(mac.is_some_and(|mac| mac.len() == 17), "{found:?}");
    // The default range is the interface's network.
    let own = rows("/tool/ip-scan ether2 duration=3s as-value");
    assert!(own.iter().any(|row| row["address"] == CLIENT), "{own:?}");
    let refused = router.command("/tool/ip-scan ether2 address-range=10.0.0.0/8");
    assert!(text(&refused.stderr).contains("more than 65536 addresses"));

    let received = router.exec(&format!(":put [/tool/flood-ping {CLIENT} count=200]"));
    assert!(received.trim_end().ends_with("200"), "{received}");
    let speed = format!(":put ([/tool/ping-speed {CLIENT} duration=3s as-value]->\"current\")");
    let speed = router.exec(&speed);
    // Scripts get the speed as a number in bits per second.
    assert!(speed.trim().parse::<u64>().is_ok(), "{speed}");
    assert!(router.stop().success());
}
