//! Tests that bulk TCP and UDP traffic arrives completely, at any speed.

use lab::Lab;

use crate::world::{PACKET, Router, Server, Start, have, lab, layout, run, until};

/// Runs iperf3 from the client to the server. Returns the client's report.
pub(crate) fn iperf(lab: &Lab, address: &str, arguments: &str) -> serde_json::Value {
    let listen = "iperf3 --server --one-off --forceflush";
    let _server = Server::start(lab, "server", listen, "Server listening");
    let line = format!("iperf3 --client {address} --json {arguments}");
    serde_json::from_str(&run(lab, "client", &line)).expect("--json prints JSON")
}

/// Sends this amount of TCP data in each direction; fails if less arrives.
pub(crate) fn tcp_both_ways(lab: &Lab, address: &str, megabytes: u64) {
    for direction in ["", " --reverse"] {
        let arguments = format!("--bytes {megabytes}M --window 256K{direction}");
        let report = iperf(lab, address, &arguments);
        let received = report["end"]["sum_received"]["bytes"].as_u64();
        // iperf3 stops counting when the sender is done; a window or two is still in flight.
        let expected = megabytes * 1_000_000 - 2_000_000;
        assert!(
            received >= Some(expected),
            "{address} {arguments}: {received:?} of {expected}"
        );
    }
}

/// Sends this amount of UDP data in datagrams of this length through these routers. A busy machine may lose datagrams
/// and counts each loss; the test fails if more are lost than counted.
pub(crate) fn udp(lab: &Lab, routers: &[Router], address: &str, megabytes: u64, length: u32) {
    let before = counted_losses(lab, routers);
    let arguments = format!("--udp --bitrate 50M --bytes {megabytes}M --length {length}");
    let report = iperf(lab, address, &arguments);

    let sum = &report["end"]["sum"];
    let [packets, lost] = ["packets", "lost_packets"].map(|name| {
        let count = sum[name].as_u64();
        count.unwrap_or_else(|| panic!("{address}: no {name} in {sum:#}"))
    });
    assert!(lost < packets, "{address}: {sum:#}");
    let what = format!("each of {lost} lost on the way to {address} is counted: {sum:#}");
    until(&what, || counted_losses(lab, routers) - before >= lost);
}

/// Returns the number of frames lost in full queues: of the routers' ports, the hosts' devices and sockets.
fn counted_losses(lab: &Lab, routers: &[Router]) -> u64 {
    let ports = routers
        .iter()
        .flat_map(|router| router.rows("/tool/drop/print"));
    let ports = ports.filter(|row| row["reason"].as_str().is_some_and(of_a_port));
    let ports = ports.map(|row| number(row["packets"].as_str()));
    let hosts = lab.hosts().map(|host| host_losses(lab, host));
    ports.chain(hosts).sum()
}

fn of_a_port(reason: &str) -> bool {
    reason.starts_with("port-")
}

/// Returns the losses of a host's devices and UDP sockets.
fn host_losses(lab: &Lab, host: &str) -> u64 {
    let devices = run(lab, host, "cat /proc/net/dev");
    // Fields: name, then for each direction bytes, packets, errors, drops, …
    let drops = devices.lines().skip(2).flat_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        [4, 12].map(|at| number(fields.get(at).copied()))
    });
    let sockets = run(lab, host, "nstat -asz UdpRcvbufErrors Udp6RcvbufErrors");
    let sockets = sockets.lines().filter(|line| line.starts_with("Udp"));
    let sockets = sockets.map(|line| number(line.split_whitespace().nth(1)));
    drops.chain(sockets).sum()
}

fn number(text: Option<&str>) -> u64 {
    let number = text.and_then(|text| text.parse().ok());
    number.unwrap_or_else(|| panic!("{text:?} is a count"))
}

fn everything(address: &str, test: &str) {
    let Some(lab) = have(test, &["iperf3"])
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    let router = Router::start(&lab, &Start::with(PACKET, layout("plain").config));

    tcp_both_ways(&lab, address, 50);
    udp(&lab, &[router], address, 10, 1400);
}

#[test]
fn iperf3_passes_over_ipv4() {
    everything("203.0.113.1", "iperf3_passes_over_ipv4");
}

#[test]
fn iperf3_passes_over_ipv6() {
    everything("2001:db8:1::1", "iperf3_passes_over_ipv6");
}
