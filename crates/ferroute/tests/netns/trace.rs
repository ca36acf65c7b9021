//! Tests `ferroute trace` on a running router.

use std::process::Command;

use lab::Lab;

use crate::home::{hits, home};
use crate::ipsec;
use crate::world::{Router, Server, binary, have, lab, run, until, works};

/// Traces a TCP segment. Returns the exit code and the answer.
fn trace(router: &Router, ingress: &str, src: &str, dst: &str) -> (Option<i32>, serde_json::Value) {
    trace_more(router, ingress, src, dst, &[])
}

/// Traces a packet with more options. Returns the exit code and the answer.
pub(crate) fn trace_more(
    router: &Router,
    ingress: &str,
    src: &str,
    dst: &str,
    more: &[&str],
) -> (Option<i32>, serde_json::Value) {
    let mut command = Command::new(binary());
    command.args(["trace", "--json", "--control"]);
    command.arg(router.control());
    command.args(["--in", ingress, "--src", src, "--dst", dst]);
    command.args(more);
    let output = command.output().expect("the binary runs");
    let said = serde_json::from_slice::<serde_json::Value>(&output.stdout);
    (output.status.code(), said.expect("JSON"))
}

#[test]
fn a_trace_on_a_running_router_shows_the_path_of_a_packet() {
    let Some((_lab, router)) = home("a_trace_on_a_running_router_shows_the_path_of_a_packet")
    else {
        return;
    };
    until("the router's links are up", || {
        trace(&router, "bridge", "192.168.88.10:5000", "198.51.100.80:443").0 == Some(0)
    });
    let (code, said) = trace(&router, "ether1", "198.51.100.80:5000", "192.168.88.10:22");

    assert_eq!(code, Some(10), "{said:#}");
    assert_eq!(said["verdict"], "discarded");
    let last = said["steps"].as_array().and_then(|steps| {
        let mut rules = steps.iter().filter(|step| !step["rule"].is_null());
        rules.next_back().cloned()
    });
    assert_eq!(
        last.map(|step| step["comment"].clone()),
        Some("defconf: drop all from WAN not DSTNATed".into())
    );
    let dropped = "defconf: drop all from WAN not DSTNATed";
    assert_eq!(hits(&router, "/ip/firewall/filter", dropped), 0);
}

/// Starts a TCP client with connections marked for FastTrack. Returns it with the source port of one connection.
fn talk(lab: &Lab, router: &Router) -> (Server, String) {
    let line = "iperf3 --client 203.0.113.1 --bitrate 1M --length 1000 --time 600 --forceflush";
    let client = Server::start(lab, "client", line, "connected to");
    let mut port = None;
    until("a connection is marked for FastTrack", || {
        let rows = router.rows("/ip/firewall/connection/print where fasttrack and dst-port=5201");
        let found = rows.first();
        port = found.and_then(|row| row["src-port"].as_str().map(str::to_owned));
        port.is_some()
    });
    (client, port.unwrap_or_default())
}

#[test]
fn a_trace_on_a_running_router_finds_the_packets_connection() {
    let test = "a_trace_on_a_running_router_finds_the_packets_connection";
    let Some((lab, router)) = have(test, &["iperf3"]).then(|| home(test)).flatten() else {
        return;
    };
    let listen = "iperf3 --server --one-off --forceflush";
    let _server = Server::start(&lab, "server", listen, "Server listening");
    let (_client, port) = talk(&lab, &router);

    let client = format!("192.168.88.10:{port}");
    let (code, said) = trace(&router, "bridge", &client, "203.0.113.1:5201");
    let step = |said: &serde_json::Value, at: usize| said["steps"][at]["decision"].to_string();
    assert_eq!(code, Some(0), "{said:#}");
    assert!(
        step(&said, 0).contains("of the connection 192.168.88.10:"),
        "{said:#}"
    );
    assert!(
        said.to_string().contains("connection-state is established"),
        "{said:#}"
    );
    let path = said["path"].as_str().unwrap_or_default();
    assert!(path.starts_with("fast: FastTrack carries it"), "{said:#}");
    for (more, why) in [
        (["--ttl", "1"], "it is not forwarded unchanged"),
        (["--size", "3000"], "it is longer than its link's MTU"),
        (
            ["--flags", "fin,ack"],
            "SYN, FIN and RST change the connection's state",
        ),
    ] {
        let (_, said) = trace_more(&router, "bridge", &client, "203.0.113.1:5201", &more);
        let path = said["path"].as_str().unwrap_or_default();
        assert!(path.starts_with("slow: ") && path.contains(why), "{said:#}");
    }

    // The reply has the router's address as destination; without the connection it would be dropped.
    let outside = format!("203.0.113.2:{port}");
    let (code, said) = trace(&router, "ether1", "203.0.113.1:5201", &outside);
    assert_eq!(code, Some(0), "{said:#}");
    assert!(
        step(&said, 0).contains("a reply in the connection"),
        "{said:#}"
    );
    let translated = "the connection is translated: 203.0.113.1:5201->203.0.113.2:";
    assert!(said.to_string().contains(translated), "{said:#}");
    assert_eq!(said["decision"], "sent by bridge");
    let (code, said) = trace(&router, "ether1", "203.0.113.9:5201", &outside);
    assert_eq!(code, Some(10), "{said:#}");
}

#[test]
fn a_trace_on_a_running_router_finds_an_echo_by_its_identifier() {
    let test = "a_trace_on_a_running_router_finds_an_echo_by_its_identifier";
    let Some((lab, router)) = have(test, &["ping"]).then(|| home(test)).flatten() else {
        return;
    };
    let _ping = Server::start(&lab, "client", "ping 203.0.113.1", "icmp_seq=2");
    let rows = router.rows("/ip/firewall/connection/print where protocol=icmp");
    let id = rows.first().and_then(|row| row["icmp-id"].as_str());
    let echo = |ingress, src, dst, icmp| {
        let more = ["--proto", "icmp", "--icmp", icmp, "--icmp-id"];
        let more = [&more[..], &[id.unwrap_or_default()]].concat();
        trace_more(&router, ingress, src, dst, &more)
    };

    let (code, said) = echo("bridge", "192.168.88.10", "203.0.113.1", "8");
    assert_eq!(code, Some(0), "{said:#}");
    let known = "of the connection 192.168.88.10";
    assert!(said.to_string().contains(known), "{said:#}");
    let (code, said) = echo("ether1", "203.0.113.1", "203.0.113.2", "0");
    assert_eq!(code, Some(0), "{said:#}");
    assert!(said.to_string().contains("a reply in"), "{said:#}");
    assert_eq!(said["decision"], "sent by bridge");
}

/// FTP server: answers one command and keeps the connection open.
const FTP_SERVER: &str = "\
import socket
listener = socket.create_server(('203.0.113.1', 21))
print('listening', flush=True)
connection = listener.accept()[0]
connection.makefile().readline()
connection.sendall(b'200 Okay.\\r\\n')
connection.recv(1)
";

/// FTP client: announces a port for an active transfer, and keeps the connection open.
const FTP_CLIENT: &str = "\
import socket
connection = socket.create_connection(('203.0.113.1', 21))
connection.sendall(b'PORT 192,168,88,10,19,137\\r\\n')
print(connection.makefile().readline(), flush=True)
connection.recv(1)
";

#[test]
fn a_trace_on_a_running_router_finds_expectations_of_helpers() {
    let test = "a_trace_on_a_running_router_finds_expectations_of_helpers";
    let Some((lab, router)) = have(test, &["python3"]).then(|| home(test)).flatten() else {
        return;
    };
    let python = |host: &str, script: &str, sign: &str| {
        let argv = ["python3", "-c", script].map(str::to_owned);
        let command = lab.command_line(host, &argv);
        Server::begin(command.expect("a host of the layout"), sign)
    };
    let _server = python("server", FTP_SERVER, "listening");
    let _client = python("client", FTP_CLIENT, "200 Okay.");

    // Port 5001 is 19 × 256 + 137.
    let (code, said) = trace(&router, "ether1", "203.0.113.1:20", "203.0.113.2:5001");
    assert_eq!(code, Some(0), "{said:#}");
    for known in [
        "expected by ftp over the connection 192.168.88.10:",
        "connection-state is related",
        "becomes 203.0.113.1:20->192.168.88.10:5001",
    ] {
        assert!(said.to_string().contains(known), "{said:#}");
    }
    assert_eq!(said["decision"], "sent by bridge");
    let (code, said) = trace(&router, "ether1", "203.0.113.1:20", "203.0.113.2:5002");
    assert_eq!(code, Some(10), "{said:#}");
    assert!(
        said.to_string().contains("connection-state is new"),
        "{said:#}"
    );
}

/// Returns the number of packets with this drop reason.
fn drops(router: &Router, name: &str) -> u64 {
    let rows = router.rows("/tool/drop/print");
    let row = rows.iter().find(|row| row["reason"] == name);
    let count = row.and_then(|row| row["packets"].as_str());
    count.map_or(0, |count| count.parse().expect("a number"))
}

/// Sends a datagram from the client.
fn send(lab: &Lab, to: &str, port: u16) {
    let script = format!(
        "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'7', ('{to}', {port}))"
    );
    let argv = ["python3", "-c", &script].map(str::to_owned);
    let mut command = lab
        .command_line("client", &argv)
        .expect("a host of the layout");
    assert!(command.status().expect("python runs").success());
}

#[test]
fn frames_from_a_bridge_port_get_the_verdict_of_their_trace() {
    let test = "frames_from_a_bridge_port_get_the_verdict_of_their_trace";
    let programs = have(test, &["ping", "python3"]);
    let Some((lab, router)) = programs.then(|| home(test)).flatten() else {
        return;
    };
    run(&lab, "client", "ping -q -c 1 -W 10 203.0.113.1");
    run(&lab, "client", "ping -q -c 1 -W 10 192.168.88.11");
    router.exec(
        "/ip/firewall/filter/add chain=forward protocol=udp dst-port=7 action=drop place-before=0",
    );
    let udp = |dst: &str| {
        let more = ["--proto", "udp"];
        trace_more(&router, "ether2", "192.168.88.10:5000", dst, &more)
    };

    // The bridge has its own MAC address, different from those of its ports.
    let (code, said) = udp("203.0.113.1:9");
    assert_eq!(
        (code, &said["decision"]),
        (Some(0), &"sent by ether1".into()),
        "{said:#}"
    );
    let (code, said) = udp("203.0.113.1:7");
    assert_eq!(code, Some(10), "{said:#}");
    assert!(
        said["decision"].to_string().contains("(firewall-filter)"),
        "{said:#}"
    );
    let before = drops(&router, "firewall-filter");
    send(&lab, "203.0.113.1", 7);
    until("the datagram is dropped by the rule", || {
        drops(&router, "firewall-filter") == before + 1
    });
    assert_eq!(drops(&router, "ethernet-other-host"), 0);

    // The laptop is in the bridge's network: IP rules do not see frames between the two hosts.
    let (code, said) = udp("192.168.88.11:7");
    assert_eq!(
        (code, &said["decision"]),
        (Some(0), &"sent by ether3".into()),
        "{said:#}"
    );
    assert!(
        said.to_string().contains("so bridge bridges it"),
        "{said:#}"
    );
    send(&lab, "192.168.88.11", 7);
    run(&lab, "client", "ping -q -c 1 -W 10 192.168.88.11");
    assert_eq!(drops(&router, "firewall-filter"), before + 1);
}

#[test]
fn a_trace_on_a_running_router_includes_ipsec_in_both_directions() {
    let test = "a_trace_on_a_running_router_includes_ipsec_in_both_directions";
    let Some(lab) = have(test, &["ping"])
        .then(|| lab(test, &ipsec::SITES))
        .flatten()
    else {
        return;
    };
    let site = |own: u8, other: u8| {
        let policy = ipsec::policy(own, other, "exchange-mode=ike2", "");
        ipsec::base(own, other) + &policy
    };
    let left = ipsec::router(&lab, "left", &site(1, 2));
    let right = ipsec::router(&lab, "right", &site(2, 1));
    until("a packet gets through", || ipsec::reaches(&lab, ""));

    let (code, said) = trace(&left, "ether1", "10.1.0.2:5000", "10.2.0.2:443");
    assert_eq!(code, Some(0), "{said:#}");
    for words in [
        "IPsec protects it: tunnel to 192.0.2.2, SPI",
        "becomes a packet of",
        "bytes fit",
    ] {
        assert!(said.to_string().contains(words), "{words}: {said:#}");
    }

    // An unencrypted packet is dropped, in the trace as in reality.
    let (code, said) = trace(&left, "ether2", "10.2.0.2:5000", "10.1.0.1:443");
    assert_eq!(code, Some(10), "{said:#}");
    assert!(
        said["decision"].to_string().contains("(ipsec-unprotected)"),
        "{said:#}"
    );
    right.exec("/ip/ipsec/policy/disable [find dst-address=10.1.0.0/24]");
    assert!(!works(&lab, "two", "ping -q -c 1 -W 1 10.1.0.1"));
    until("what came in the clear is dropped", || {
        drops(&left, "ipsec-unprotected") > 0
    });
    let more = ["--ipsec"];
    let (code, said) = trace_more(&left, "ether2", "10.2.0.2:5000", "10.1.0.2:443", &more);
    assert_eq!(code, Some(0), "{said:#}");
    assert!(
        said.to_string()
            .contains("came out of IPsec, by the policy"),
        "{said:#}"
    );

    left.exec("/ip/firewall/nat/add chain=srcnat out-interface=ether2 action=masquerade");
    let (_, said) = trace(&left, "ether1", "10.1.0.2:5000", "10.2.0.2:443");
    assert!(
        said.to_string()
            .contains("leaves in the clear: the IPsec policy"),
        "{said:#}"
    );
}
