//! `ferroute trace` asks a router that runs.

use std::process::Command;

use lab::Lab;

use crate::home::{hits, home};
use crate::world::{Router, Server, binary, have, until};

/// The exit code and what was said of a segment.
fn trace(router: &Router, ingress: &str, src: &str, dst: &str) -> (Option<i32>, serde_json::Value) {
    trace_more(router, ingress, src, dst, &[])
}

/// The same of one that is told more of.
fn trace_more(
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
fn a_running_router_says_which_way_a_packet_would_take() {
    let Some((_lab, router)) = home("a_running_router_says_which_way_a_packet_would_take") else {
        return;
    };
    until("the router's links are up", || {
        trace(&router, "ether2", "192.168.88.10:5000", "198.51.100.80:443").0 == Some(0)
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

/// A client that talks TCP to the server, by connections that are marked for FastTrack, and the port of one.
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
fn a_running_router_knows_the_connection_of_a_packet() {
    let test = "a_running_router_knows_the_connection_of_a_packet";
    let Some((lab, router)) = have(test, &["iperf3"]).then(|| home(test)).flatten() else {
        return;
    };
    let listen = "iperf3 --server --one-off --forceflush";
    let _server = Server::start(&lab, "server", listen, "Server listening");
    let (_client, port) = talk(&lab, &router);

    let client = format!("192.168.88.10:{port}");
    let (code, said) = trace(&router, "ether2", &client, "203.0.113.1:5201");
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
        (["--ttl", "1"], "it does not leave as it came"),
        (["--size", "3000"], "it is longer than its link's MTU"),
        (["--flags", "fin,ack"], "SYN, FIN and RST are followed"),
    ] {
        let (_, said) = trace_more(&router, "ether2", &client, "203.0.113.1:5201", &more);
        let path = said["path"].as_str().unwrap_or_default();
        assert!(path.starts_with("slow: ") && path.contains(why), "{said:#}");
    }

    // The answer comes to the address that the client was given, and would be dropped as a stranger's.
    let outside = format!("203.0.113.2:{port}");
    let (code, said) = trace(&router, "ether1", "203.0.113.1:5201", &outside);
    assert_eq!(code, Some(0), "{said:#}");
    assert!(
        step(&said, 0).contains("an answer in the connection"),
        "{said:#}"
    );
    let translated = "the connection is translated: 203.0.113.1:5201->203.0.113.2:";
    assert!(said.to_string().contains(translated), "{said:#}");
    assert_eq!(said["decision"], "sent by ether2");
    let (code, said) = trace(&router, "ether1", "203.0.113.9:5201", &outside);
    assert_eq!(code, Some(10), "{said:#}");
}
