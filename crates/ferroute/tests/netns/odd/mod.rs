//! Tests unusual packets with ferroute and with the kernel's router.
//!
//! `cases.rs` lists the outcome of each packet in both routers, and the reason for each difference. Two tests send all
//! packets from the client: one through the kernel, to verify its column, and one through ferroute.

mod cases;
mod packet;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use lab::{End, Host, Lab, Layout, Link};

use self::cases::{Case, Outcome};
use crate::world::{PACKET, Router, Start, have, lab, layout, run, shell};

/// Prints each frame received at `eth0`, in hexadecimal.
const LISTEN: &str = "\
import socket
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
s.bind(('eth0', 0))
print('ready', flush=True)
while True:
    frame, (_, _, direction, *_) = s.recvfrom(65536)
    if direction != socket.PACKET_OUTGOING:
        print(frame.hex(), flush=True)
";

/// Sends each line of standard input as a frame.
const SEND: &str = "\
import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind(('eth0', 0))
for line in sys.stdin:
    s.send(bytes.fromhex(line))
";

/// A process that records the frames of a host's device.
#[derive(Debug)]
struct Listener {
    child: Child,
    frames: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Listener {
    fn start(lab: &Lab, host: &str) -> Self {
        let mut command = lab.command(host, "python3").expect("a host of the layout");
        command
            .args(["-c", LISTEN])
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut child = command.spawn().expect("nsenter is there: it made the lab");
        let mut lines = BufReader::new(child.stdout.take().expect("asked for above")).lines();
        let ready = lines.next().and_then(Result::ok);
        assert_eq!(ready.as_deref(), Some("ready"));
        let frames = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&frames);
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                heard
                    .lock()
                    .expect("nobody panics with it")
                    .push(bytes(&line));
            }
        });
        Self { child, frames }
    }

    fn frames(&self) -> Vec<Vec<u8>> {
        self.frames.lock().expect("nobody panics with it").clone()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // Fails only if the process has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("Python wrote it");
    (0..hex.len()).step_by(2).map(byte).collect()
}

fn send<'a>(lab: &Lab, frames: impl IntoIterator<Item = &'a Vec<u8>>) {
    let mut command = lab
        .command("client", "python3")
        .expect("a host of the layout");
    let mut child = command
        .args(["-c", SEND])
        .stdin(Stdio::piped())
        .spawn()
        .expect("as above");
    let mut input = child.stdin.take().expect("asked for above");
    for frame in frames {
        let hex: String = frame.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(input, "{hex}").expect("it reads until we are done");
    }
    drop(input);
    assert!(child.wait().expect("our child").success());
}

/// Returns the outcome of each packet, by the name of its case.
fn fates(cases: &[Case], client: &Listener, server: &Listener) -> BTreeMap<&'static str, Outcome> {
    let (back, through) = (client.frames(), server.frames());
    let fate = |case: &Case| {
        let forwarded = through
            .iter()
            .any(|frame| packet::is_marked(frame, case.name));
        let mut answers = back
            .iter()
            .filter(|frame| packet::is_marked(frame, case.name));
        match (forwarded, answers.find_map(|frame| packet::icmp(frame))) {
            (false, None) => Outcome::Silent,
            (true, None) => Outcome::Forwarded,
            (false, Some((kind, code))) => Outcome::Answered(kind, code),
            (true, Some((kind, code))) => Outcome::Both(kind, code),
        }
    };
    cases.iter().map(|case| (case.name, fate(case))).collect()
}

/// Sends the packets of all cases and compares their outcomes with the expected ones.
fn compare(lab: &Lab, expected: impl Fn(&Case) -> Outcome) {
    for address in ["203.0.113.1", "2001:db8:1::1"] {
        run(
            lab,
            "client",
            &format!("ping -q -c 2 -i 0.01 -W 10 {address}"),
        );
    }
    let cases = cases::all();
    let (client, server) = (
        Listener::start(lab, "client"),
        Listener::start(lab, "server"),
    );
    let wanted: BTreeMap<_, _> = cases
        .iter()
        .map(|case| (case.name, expected(case)))
        .collect();

    send(lab, cases.iter().flat_map(|case| &case.frames));

    // Waits until the outcomes match. Unexpected packets would arrive before the answer to a packet sent last.
    let mut found = BTreeMap::new();
    for _ in 0..100 {
        run(lab, "client", "ping -q -c 1 -W 10 203.0.113.1");
        found = fates(&cases, &client, &server);
        if found == wanted {
            break;
        }
    }
    let differing: Vec<_> = wanted
        .iter()
        .filter(|(name, fate)| found[*name] != **fate)
        .collect();
    let shown = |(name, fate): &(&&str, &Outcome)| {
        format!("{name}: expected {fate:?}, found {:?}", found[**name])
    };
    let shown: Vec<_> = differing.iter().map(shown).collect();
    assert!(shown.is_empty(), "\n{}", shown.join("\n"));
    for frame in server.frames() {
        assert!(
            !packet::has_trailer(&frame),
            "what lies behind a packet is no part of it"
        );
    }
}

/// Returns the lab `home` with the kernel as router.
fn kernel_layout() -> Layout {
    let plain = layout("plain");
    let host = |host: &Host| Host {
        forwards: host.forwards || host.name == "router",
        ..*host
    };
    let link = |link: &Link| {
        let addresses: &[&str] = match link.ends[0].device {
            "ether1" => &["203.0.113.2/24", "2001:db8:1::2/64"],
            _ => &["192.168.88.1/24", "2001:db8:88::1/64"],
        };
        Link {
            ends: [
                End {
                    addresses,
                    ..link.ends[0]
                },
                link.ends[1],
            ],
            ..*link
        }
    };
    Layout {
        name: "kernel",
        hosts: Box::leak(plain.hosts.iter().map(host).collect()),
        links: Box::leak(plain.links.iter().map(link).collect()),
        ..*plain
    }
}

#[test]
fn the_kernels_router_treats_unusual_packets_as_listed() {
    let test = "the_kernels_router_treats_unusual_packets_as_listed";
    let Some(lab) = have(test, &["python3", "ping"])
        .then(|| lab(test, &kernel_layout()))
        .flatten()
    else {
        return;
    };
    for device in ["all", "ether1", "ether2"] {
        shell(
            &lab,
            "router",
            &format!("echo 0 > /proc/sys/net/ipv4/conf/{device}/rp_filter"),
        );
    }
    // The test needs more errors to one host than the kernel's rate limit permits.
    let limit = "echo 0 > /proc/sys/net/ipv6/icmp/ratelimit";
    shell(&lab, "router", limit);
    run(&lab, "router", "ip route add default via 203.0.113.1");
    run(&lab, "router", "ip route add default via 2001:db8:1::1");

    compare(&lab, |case| case.kernel);
}

#[test]
fn ferroute_treats_unusual_packets_as_listed() {
    let test = "ferroute_treats_unusual_packets_as_listed";
    let Some(lab) = have(test, &["python3", "ping"])
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    let _router = Router::start(&lab, &Start::with(PACKET, layout("plain").config));
    compare(&lab, |case| {
        case.ferroute.map_or(case.kernel, |(fate, _)| fate)
    });
}

#[test]
fn every_listed_difference_from_the_kernel_is_real_and_has_a_reason() {
    for case in cases::all() {
        if let Some((fate, why)) = case.ferroute {
            assert_ne!(fate, case.kernel, "{}", case.name);
            assert!(why.ends_with('.'), "{}: a reason is a sentence", case.name);
        }
    }
}
