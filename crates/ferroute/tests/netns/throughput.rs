//! TCP and UDP at whatever speed the machine has: what was sent arrives.

use lab::Lab;

use crate::world::{PACKET, Router, Server, Start, have, lab, layout, run};

/// One run of iperf3 from the client to the server: what the client reports.
pub(crate) fn iperf(lab: &Lab, address: &str, arguments: &str) -> serde_json::Value {
    let listen = "iperf3 --server --one-off --forceflush";
    let _server = Server::start(lab, "server", listen, "Server listening");
    let line = format!("iperf3 --client {address} --json {arguments}");
    serde_json::from_str(&run(lab, "client", &line)).expect("--json prints JSON")
}

/// Sends so many MB of TCP each way, and says so if less arrives.
pub(crate) fn tcp_both_ways(lab: &Lab, address: &str, megabytes: u64) {
    for direction in ["", " --reverse"] {
        let arguments = format!("--bytes {megabytes}M --window 256K{direction}");
        let report = iperf(lab, address, &arguments);
        let received = report["end"]["sum_received"]["bytes"].as_u64();
        // iperf3 stops counting when the sender is done, with a window or two still on the way.
        let expected = megabytes * 1_000_000 - 2_000_000;
        assert!(
            received >= Some(expected),
            "{address} {arguments}: {received:?} of {expected}"
        );
    }
}

/// Sends so many MB of UDP in datagrams of this length; at most a twentieth may be lost, which a
/// busy machine does to its own sockets.
pub(crate) fn udp(lab: &Lab, address: &str, megabytes: u64, length: u32) {
    let arguments = format!("--udp --bitrate 50M --bytes {megabytes}M --length {length}");
    let report = iperf(lab, address, &arguments);
    let sum = &report["end"]["sum"];
    let (packets, lost) = (sum["packets"].as_f64(), sum["lost_percent"].as_f64());
    assert!(
        packets > Some(0.0) && lost < Some(5.0),
        "{address}: {sum:#}"
    );
}

fn everything(address: &str, test: &str) {
    let Some(lab) = have(test, &["iperf3"])
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    let _router = Router::start(&lab, &Start::with(PACKET, layout("plain").config));

    tcp_both_ways(&lab, address, 50);
    udp(&lab, address, 10, 1400);
}

#[test]
fn iperf3_passes_over_ipv4() {
    everything("203.0.113.1", "iperf3_passes_over_ipv4");
}

#[test]
fn iperf3_passes_over_ipv6() {
    everything("2001:db8:1::1", "iperf3_passes_over_ipv6");
}
