//! Tests queues with iperf3 between a client and a server.

use std::process::Command;

use lab::Lab;

use crate::world::{
    Folder, PACKET, Router, Server, Start, binary, have, lab, layout, output, until,
};

const SERVER: &str = "203.0.113.1";
/// Maximum number of iperf3 runs per measurement.
const TRIES: usize = 4;
/// Share of payload in the counted rate: segments carry 1,448 bytes, frames have 66 more.
const PAYLOAD: f64 = 1_448.0 / 1_514.0;

fn world(test: &str, config: &str) -> Option<(Lab, Router)> {
    let lab = { have(test, &["iperf3"]) }.then(|| lab(test, layout("plain")));
    let lab = lab.flatten()?;
    let config = format!("{}\n{config}", layout("plain").config);
    let router = Router::start(&lab, &Start::with(PACKET, &config));
    Some((lab, router))
}

/// Measures the payload of one connection in Mbit/s. iperf3's own messages wait in the queue as well, and it sometimes
/// fails because of that; then the measurement is repeated.
fn rate(lab: &Lab, arguments: &str) -> f64 {
    for _ in 0..TRIES {
        // Ends when the value is dropped, which frees its port; under timeout(1) it would survive.
        let listen = "iperf3 --server --one-off --forceflush";
        let server = Server::start(lab, "server", listen, "Server listening");
        let line = format!("timeout 15 iperf3 --client {SERVER} --json --time 3 {arguments}");
        let report = output(lab, "client", &line).stdout;
        drop(server);
        let report: serde_json::Value = serde_json::from_slice(&report).unwrap_or_default();
        if let Some(bits) = report["end"]["sum_received"]["bits_per_second"].as_f64() {
            return bits / 1e6;
        }
    }
    panic!("iperf3 reports nothing, {TRIES} times");
}

/// Returns true if a TCP rate is close to a limit: at most the limit plus the bucket's share over three seconds, and
/// not much less.
fn is_held(rate: f64, megabits: f64) -> bool {
    let most = megabits * PAYLOAD * 1.05;
    (megabits * 0.7..=most).contains(&rate)
}

const MASQUERADE: &str = "/ip firewall nat add chain=srcnat action=masquerade out-interface=ether1";

#[test]
fn a_simple_queue_limits_both_directions_of_a_host_behind_masquerade() {
    let test = "a_simple_queue_limits_both_directions_of_a_host_behind_masquerade";
    let queue = "/queue simple add name=lan target=192.168.88.0/24 max-limit=8M/16M";
    let Some((lab, router)) = world(test, &format!("{MASQUERADE}\n{queue}")) else {
        return;
    };
    let (up, down) = (rate(&lab, ""), rate(&lab, "--reverse"));
    assert!(is_held(up, 8.0), "{up} up");
    assert!(is_held(down, 16.0), "{down} down");
    let row = &router.rows("/queue/simple/print stats")[0];
    let [up, down] = pair(row["bytes"].as_str());
    assert!(up > 2_000_000 && down > 4_000_000, "{row:#}");
    let [lost, _] = pair(row["dropped"].as_str());
    assert!(lost > 0, "TCP finds the limit by losses: {row:#}");

    // A new limit applies at once to existing connections.
    router.exec("/queue simple set lan max-limit=0/32M");
    let (up, down) = (rate(&lab, ""), rate(&lab, "--reverse"));
    assert!(up > 16.0, "no limit any more: {up}");
    assert!(is_held(down, 32.0), "{down} down");
    router.exec("/queue simple reset-counters lan");
    router.exec("/queue simple remove lan");
    assert!(rate(&lab, "--reverse") > 40.0);
}

#[test]
fn rates_of_queues_are_numbers_for_programs_and_have_a_unit_at_the_console() {
    let test = "rates_of_queues_are_numbers_for_programs_and_have_a_unit_at_the_console";
    let config = format!(
        "{MASQUERADE}\n\
         /queue simple add name=lan target=192.168.88.0/24 max-limit=50M/50M\n\
         /queue tree add name=wan parent=ether1 limit-at=1M max-limit=50M priority=3"
    );
    let Some((lab, router)) = world(test, &config) else {
        return;
    };
    let pings = format!("ping -i 0.01 -s 1000 {SERVER}");
    let _pings = Server::start(&lab, "client", &pings, "bytes from");
    until("both queues carry packets", || {
        let simple = &router.rows("/queue/simple/print")[0];
        let tree = &router.rows("/queue/tree/print")[0];
        let [up, down] = pair(simple["rate"].as_str());
        up > 100_000 && down > 100_000 && number(tree["rate"].as_str()) > 100_000
    });
    let simple = &router.rows("/queue/simple/print")[0];
    for property in ["rate", "packet-rate", "bytes", "dropped", "queued-bytes"] {
        let _ = pair(simple[property].as_str());
    }
    assert_eq!(simple["total-rate"], "0");
    assert_eq!(simple["max-limit"], "50000000/50000000");

    let shown = router.exec("/queue/simple/print stats without-paging");
    assert!(
        shown.contains("bps/") && shown.contains("DROPPED"),
        "{shown}"
    );
    let shown = router.exec("/queue/simple/print stats detail without-paging");
    assert!(
        shown.contains("kbps/") && shown.contains("total-rate=0bps"),
        "{shown}"
    );
    let shown = router.exec("/queue/tree/print without-paging");
    let head = "Columns: NAME, PARENT, LIMIT-AT, PRIORITY, MAX-LIMIT";
    assert!(shown.contains(head), "{shown}");
    let shown = router.exec("/queue/tree/print stats without-paging");
    assert!(shown.contains("kbps"), "{shown}");
    // Scripts can calculate with the value.
    let faster = router.exec(":put ([/queue/tree/get wan rate] > 100000)");
    assert_eq!(faster.trim(), "true");
    assert!(router.stop().success());
}

#[test]
fn fasttrack_bypasses_simple_queues_and_passes_interface_trees() {
    let test = "fasttrack_bypasses_simple_queues_and_passes_interface_trees";
    let config = format!(
        "{MASQUERADE}\n\
         /queue simple add name=lan target=192.168.88.0/24 max-limit=4M/4M\n\
         /ip firewall filter add chain=forward action=fasttrack-connection connection-state=established,related\n\
         /ip firewall filter add chain=forward action=accept connection-state=established,related"
    );
    let Some((lab, router)) = world(test, &config) else {
        return;
    };
    let trace = "/tool/trace in-interface=ether2 src-address=192.168.88.2 dst-address=203.0.113.1";
    let said = router.exec(trace);
    assert!(
        said.contains("simple queue lan, upload: max-limit=4M"),
        "{said}"
    );
    let fast = rate(&lab, "");
    assert!(fast > 20.0, "FastTrack passes simple queues: {fast}");
    router.exec("/queue tree add name=wan parent=ether1 max-limit=8M queue=default");
    let held = rate(&lab, "");
    assert!(is_held(held, 8.0), "and no queue of an interface: {held}");
    let rows = router.rows("/queue/interface/print where interface=ether1");
    assert_eq!(rows[0]["active-queue"], "queue-tree", "{rows:#?}");
    router.exec("/queue tree remove wan");
    let free = rate(&lab, "");
    assert!(free > 20.0, "{free}");
}

#[test]
fn a_queue_tree_divides_rates_by_marks_and_priority() {
    let test = "a_queue_tree_divides_rates_by_marks_and_priority";
    let config = "/ip firewall mangle\n\
         add chain=forward protocol=udp dst-port=5202 action=mark-packet new-packet-mark=voice passthrough=no\n\
         add chain=forward action=mark-packet new-packet-mark=rest passthrough=no\n\
         /queue tree\n\
         add name=wan parent=ether1 max-limit=10M\n\
         add name=voice parent=wan packet-mark=voice priority=1 limit-at=2M max-limit=10M queue=default\n\
         add name=rest parent=wan packet-mark=rest priority=8 max-limit=10M queue=default";
    let Some((lab, router)) = world(test, config) else {
        return;
    };
    let alone = rate(&lab, "");
    assert!(is_held(alone, 10.0), "{alone}");
    let rows = router.rows("/queue/tree/print stats");
    let bytes = |name: &str| {
        let row = rows
            .iter()
            .find(|row| row["name"] == name)
            .expect("a queue");
        number(row["bytes"].as_str())
    };
    assert_eq!(bytes("voice"), 0);
    assert!(bytes("rest") > 2_000_000);
    assert_eq!(
        bytes("wan"),
        bytes("rest"),
        "what lies in it is its own as well"
    );
    until("nothing waits any more", || {
        router.value("/queue/tree/print stats", "rest", "queued-packets") == "0"
    });
}

#[test]
fn plots_of_queues_show_the_measured_traffic() {
    let test = "plots_of_queues_show_the_measured_traffic";
    if lab(test, layout("plain")).is_none() {
        return;
    }
    let folder = Folder::new();
    let pictures = folder.file("pictures");
    let done = Command::new(binary())
        .args([
            "bench",
            "queues",
            "pfifo",
            "fq-codel",
            "--seconds",
            "2",
            "--plot",
        ])
        .arg(&pictures)
        .output()
        .expect("the program");
    let said = String::from_utf8_lossy(&done.stdout);
    let complaint = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}{complaint}");
    for (name, lines) in [("rate", 2), ("latency", 2), ("bucket", 3)] {
        let path = pictures.join(name).with_extension("svg");
        let picture = std::fs::read_to_string(path).expect("a picture");
        let drawn = picture.lines().filter(|line| line.starts_with("<polyline"));
        let points = drawn.map(|line| line.matches(',').count());
        let points: Vec<_> = points.collect();
        assert_eq!(points.len(), lines, "{picture}");
        assert!(points.iter().all(|points| *points > 5), "{points:?}");
    }
}

fn number(text: Option<&str>) -> u64 {
    let number = text.and_then(|text| text.parse().ok());
    number.unwrap_or_else(|| panic!("{text:?} is a count"))
}

fn pair(text: Option<&str>) -> [u64; 2] {
    let (up, down) = text.and_then(|text| text.split_once('/')).expect("up/down");
    [up, down].map(|text| number(Some(text)))
}
