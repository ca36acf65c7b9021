//! The traffic generator and `ferroute bench through` measure devices with known answers.
//!
//! ```text
//! tester ══ device     both links lead from the tester to the device
//! ```
//!
//! A program on the device decides by the numbers of the frames, so that counts do not depend on the machine's load.

use lab::{End, Host, Lab, Layout, Link, Offloads};
use serde_json::Value;

use crate::world::{PACKET, Router, Server, Start, binary, have, lab, shell, text, until};

const fn host(name: &'static str, forwards: bool) -> Host {
    Host {
        name,
        forwards,
        loopback: &[],
        routes: &[],
    }
}

const fn link(tester: &'static str, device: &'static str) -> Link {
    Link {
        mtu: 1500,
        queues: 1,
        offloads: Offloads::Off,
        ends: [
            End {
                host: "tester",
                device: tester,
                addresses: &[],
            },
            End {
                host: "router",
                device,
                addresses: &[],
            },
        ],
    }
}

const BED: Layout = Layout {
    name: "bed",
    summary: "a tester with both of its ports at one device",
    hosts: &[host("router", true), host("tester", false)],
    links: &[link("gen0", "ether1"), link("gen1", "ether2")],
    config: "",
};

/// Addresses of the device, IPv4 and IPv6, by port (RFC 2544, C.2.2; RFC 5180, 8).
const ADDRESSES: [(&str, &str, &str); 2] = [
    ("ether1", "198.18.0.1/24", "2001:2:0:1::1/64"),
    ("ether2", "198.19.0.1/24", "2001:2:0:2::1/64"),
];

/// A bridge of two devices. The statement `RULE` sets `drop` or `delay` by `sequence`, the number of a frame in its
/// trial.
const BRIDGE: &str = "import socket, select, time, heapq, sys
ports = []
for name in ('ether1', 'ether2'):
    port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    port.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)
    port.bind((name, 3))
    ports.append(port)
waiting = []
print('bridging', flush=True)
while True:
    left = max(0, waiting[0][0] - time.monotonic()) if waiting else None
    for port in select.select(ports, [], [], left)[0]:
        frame, origin = port.recvfrom(9999)
        if origin[2] == 4:
            continue
        delay, drop = 0, False
        if frame[-18:-15] == bytes([0xfe, 0x44, 0x7e]):
            sequence = int.from_bytes(frame[-12:-8], 'big')
            RULE
        if not drop:
            heapq.heappush(waiting, (time.monotonic() + delay, len(waiting), port is ports[0], frame))
    while waiting and waiting[0][0] <= time.monotonic():
        _, _, to_second, frame = heapq.heappop(waiting)
        ports[1 if to_second else 0].send(frame)
";

/// Starts the bridge with a rule.
fn device(lab: &Lab, rule: &str) -> Server {
    let argv = [
        "python3".to_owned(),
        "-c".to_owned(),
        BRIDGE.replace("RULE", rule),
    ];
    let command = lab.command_line("router", &argv);
    Server::begin(command.expect("a host of the layout"), "bridging")
}

fn bed(test: &str, programs: &[&str]) -> Option<Lab> {
    let lab = have(test, programs).then(|| lab(test, &BED));
    lab.flatten()
}

/// Runs `ferroute bench through` on the tester, and returns its report.
fn through(lab: &Lab, arguments: &str) -> Value {
    let program = binary();
    let program = program.to_str().expect("a path in UTF-8");
    let mut command = lab
        .command("tester", program)
        .expect("a host of the layout");
    command.args(["bench", "through", "packet:gen0", "packet:gen1", "--json"]);
    let done = command
        .args(arguments.split(' '))
        .output()
        .expect("it runs");
    assert!(done.status.success(), "{arguments}: {}", text(&done.stderr));
    serde_json::from_str(&text(&done.stdout)).expect("--json prints JSON")
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is a number"))
}

/// Starts a router on the tester.
fn tester(lab: &Lab, config: &str) -> Router {
    let start = Start {
        host: "tester",
        ports: vec![
            format!("ether1={PACKET}:gen0"),
            format!("ether2={PACKET}:gen1"),
        ],
        ..Start::with(PACKET, config)
    };
    Router::start(lab, &start)
}

const STREAM: &str = "/tool/traffic-generator/port add name=out interface=ether1\n\
    /tool/traffic-generator/packet-template add name=udp header-stack=mac,ip,udp port=out \
    mac-dst=02:00:00:00:00:99/FF:FF:FF:FF:FF:FF ip-src=198.18.0.2 ip-dst=198.19.0.2-198.19.0.20 udp-dst-port=7,9-12\n\
    /tool/traffic-generator/stream add name=one id=5 tx-template=udp packet-size=100 pps=2000 \
    packet-count=1000\n";

#[test]
fn the_traffic_generator_counts_the_frames_that_a_device_loses_copies_and_reorders() {
    let test = "the_traffic_generator_counts_the_frames_that_a_device_loses_copies_and_reorders";
    let Some(lab) = bed(test, &["python3"]) else {
        return;
    };
    // One frame in fifty is lost: two percent.
    let _device = device(&lab, "drop = sequence % 50 == 7");
    let router = tester(&lab, STREAM);
    let row = |router: &Router| {
        let rows = router.rows("/tool/traffic-generator/stats/stream/print");
        rows.into_iter()
            .find(|row| row["id"] == "5")
            .unwrap_or_default()
    };
    let count = |name: &str| row(&router)[name].as_str().map(str::to_owned);
    router.exec("/tool/traffic-generator/start");
    until("all frames have returned", || {
        count("rx-packet").as_deref() == Some("980")
    });
    assert_eq!(
        count("tx-packet").as_deref(),
        Some("1000"),
        "{}",
        row(&router)
    );
    assert_eq!(
        count("lost-packet").as_deref(),
        Some("20"),
        "{}",
        row(&router)
    );
    assert_eq!(count("rx-ooo").as_deref(), Some("0"), "{}", row(&router));
    let again = router.command("/tool/traffic-generator/start");
    assert!(
        text(&again.stderr).contains("is running"),
        "{}",
        text(&again.stderr)
    );
    router.exec("/tool/traffic-generator/stop");

    // `quick` ends a second after the last frame; its last rows have the streams and their sum.
    let shown = router.exec("/tool/traffic-generator/quick");
    for heading in ["TX-PACKET", "RX-RATE", "LOST-PACKET", "LAT-AVG", "JITTER"] {
        assert!(shown.contains(heading), "{shown}");
    }
    assert!(
        shown.contains("sent=1000 received=980 lost-or-pending=20"),
        "{shown}"
    );
    refuses_what_it_cannot_do(&router);
    assert!(router.stop().success());
}

/// Invalid streams and arguments without effect are refused by name.
fn refuses_what_it_cannot_do(router: &Router) {
    for (line, reason) in [
        ("start packet-size=50", "packet-size: 60 to 9014"),
        ("start cpu-core=77", "cpu-core 77"),
        (
            "quick entries-to-show=3",
            "entries-to-show is not supported",
        ),
        ("start tx-template=udp interface=nowhere", "nowhere"),
        ("inject interface=ether1 data=xyz", "data"),
    ] {
        let done = router.command(&format!("/tool/traffic-generator/{line}"));
        let said = format!("{}{}", text(&done.stderr), text(&done.stdout));
        assert!(said.contains(reason), "{line}: {said}");
    }
}

#[test]
fn limiters_with_known_answers_are_measured() {
    let test = "limiters_with_known_answers_are_measured";
    let Some(lab) = bed(test, &["python3"]) else {
        return;
    };
    let device_of_loss = device(&lab, "drop = sequence % 50 == 7");
    let report = through(
        &lab,
        "--frames 512 --max-pps 1000 --seconds 0.5 --settle-ms 200",
    );
    let result = &report["results"][0];
    assert_eq!(report["path"], "bridged");
    assert_eq!(
        result["no_loss"]["upper_pps"].as_f64().map(|pps| pps > 0.0),
        Some(true)
    );
    // 500 frames in half a second: those with the numbers 7, 57 … 457 are lost.
    let curve = result["loss_by_load"].as_array().expect("a list");
    let last = curve.last().expect("the highest load was tried");
    assert!((number(&last[1]) - 0.02).abs() < 1e-9, "{result:#}");
    drop(device_of_loss);

    let device_of_delay = device(&lab, "delay = 0.005");
    let report = through(&lab, "--frames 512 --max-pps 100 --seconds 1");
    let latency = &report["results"][0]["latency"];
    let min = number(&latency["min_ns"]);
    assert!((5.0e6..1.0e7).contains(&min), "{report:#}");
    drop(device_of_delay);
}

#[test]
fn throughput_and_burst_of_a_bucket_without_refill_are_found_within_one_percent() {
    let test = "throughput_and_burst_of_a_bucket_without_refill_are_found_within_one_percent";
    let Some(lab) = bed(test, &["python3"]) else {
        return;
    };
    // Each trial passes its first 300 frames: in half a second that is a throughput of 600 per second.
    let _device = device(&lab, "drop = sequence >= 300");
    let report = through(
        &lab,
        "--frames 512 --max-pps 2000 --seconds 0.5 --settle-ms 200",
    );
    let result = &report["results"][0];
    for goal in ["no_loss", "loss_0.5_percent"] {
        let found = number(&result[goal]["throughput_pps"]);
        assert!(
            (found / 600.0 - 1.0).abs() < 0.01,
            "{found} of 600: {result:#}"
        );
    }
    let burst = number(&result["back_to_back"]);
    assert!((297.0..=300.0).contains(&burst), "{result:#}");
}

#[test]
fn the_kernel_and_our_own_router_are_measured_as_routers() {
    let test = "the_kernel_and_our_own_router_are_measured_as_routers";
    let Some(lab) = bed(test, &[]) else { return };
    for (device, address, address6) in ADDRESSES {
        shell(
            &lab,
            "router",
            &format!(
                "ip address add {address} dev {device}; ip address add {address6} dev {device} nodad"
            ),
        );
    }
    passes_everything(&lab);
    for (device, address, address6) in ADDRESSES {
        shell(
            &lab,
            "router",
            &format!(
                "ip address del {address} dev {device}; ip address del {address6} dev {device}"
            ),
        );
    }
    let config = ADDRESSES.map(|(port, address, address6)| {
        format!(
            "/ip address add address={address} interface={port}\n\
             /ipv6 address add address={address6} interface={port} advertise=no\n"
        )
    });
    let config = config.concat();
    let _router = Router::start(&lab, &Start::with(PACKET, &config));
    passes_everything(&lab);
}

/// At a low rate all frames pass: the router is faster than the highest load.
fn passes_everything(lab: &Lab) {
    for family in ["--gateway 198.18.0.1", "--gateway 2001:2:0:1::1 --ipv6"] {
        let report = through(
            lab,
            &format!("{family} --frames 128,1518 --max-pps 200 --seconds 0.5"),
        );
        assert_eq!(report["path"], "routed");
        for result in report["results"].as_array().expect("a list") {
            let found = number(&result["loss_0.5_percent"]["throughput_pps"]);
            assert!((found - 200.0).abs() < 1e-9, "{family}: {report:#}");
        }
    }
}
