//! `ferroute trace`: path of a packet through a configuration, or through a running router.
//!
//! Both cases run the console command `/tool/trace`; a configuration is loaded into a router without devices,
//! whose ports all have a link.

use std::fmt::Write as _;

use console::protocol::Message;
use frame::Offloads;
use machine::{Duration, Instant};
use menu::{Store, quote_always};
use router::Instance;
use router::drive::{PortNews, Setup};
use router::mirror::NewMirror;
use script::Session;
use serde_json::Value;
use wire::Mac;

use crate::cli::Trace;
use crate::cli::location::Location;
use crate::cli::output;
use crate::command::assumption::Assumption;

/// Exit codes of verdicts; packets that are sent or delivered give 0.
const DISCARDED: u8 = 10;
const REFUSED: u8 = 11;
const UNKNOWN: u8 = 12;

/// Connection states. A user who passes one to `--state` means another option.
const STATES: [&str; 5] = ["established", "invalid", "new", "related", "untracked"];

/// Runs `ferroute trace`; returns the exit code.
pub(crate) fn trace(trace: &Trace) -> Result<u8, String> {
    check_place(trace)?;
    let command = command(trace)?;
    let steps = match &trace.file {
        Some(file) => offline(file, &trace.assume)?.trace(&command)?,
        None => steps(&ask(&Location::of(&trace.reach), &command)?)?,
    };
    let shown = match trace.json {
        true => format!("{}\n", to_json(&steps)),
        false => to_text(&steps),
    };
    output::text(shown)?;
    Ok(code(&steps))
}

/// Rejects options of a running router that are invalid here.
fn check_place(trace: &Trace) -> Result<(), String> {
    match trace.reach.state.as_deref() {
        Some(state) if STATES.contains(&state) => Err(format!(
            "--state {state}: --state is the folder of a router's state; the state of the packet's connection is \
             --connection-state {state} (a folder of this name is ./{state})"
        )),
        Some(_) if trace.file.is_some() => Err(ONLY_WITH_FILE.to_owned()),
        _ if trace.file.is_some() && trace.reach.control.is_some() => {
            Err(ONLY_WITH_FILE.to_owned())
        }
        _ => Ok(()),
    }
}

const ONLY_WITH_FILE: &str =
    "a trace uses a file or a running router: omit --state and --control, or the file";

/// Parses the steps of an answer.
fn steps(answer: &str) -> Result<Vec<Value>, String> {
    let answer = answer.trim();
    serde_json::from_str(answer).map_err(|_| format!("the router's answer is no trace: {answer}"))
}

/// Returns the console command for a packet with these arguments of `/tool/trace`.
pub(crate) fn question<'a>(packet: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut command = String::from(":put [:serialize to=json value=[/tool/trace as-value");
    for (name, value) in packet {
        let _ = write!(command, " {name}={}", quote_always(value));
    }
    command.push_str("]]");
    command
}

/// Returns the console command for the options.
fn command(trace: &Trace) -> Result<String, String> {
    let mut packet: Vec<(&str, &str)> = Vec::new();
    let mut add = |name, value| packet.push((name, value));
    let (source, source_port) = end("--src", &trace.src)?;
    let (destination, destination_port) = end("--dst", &trace.dst)?;
    add("in-interface", &trace.ingress);
    add("src-address", source);
    add("dst-address", destination);
    add("protocol", &trace.proto);
    let icmp = trace
        .icmp
        .as_deref()
        .map(|icmp| match icmp.split_once(':') {
            Some((kind, code)) => (kind, Some(code)),
            None => (icmp, None),
        });
    for (name, value) in [
        ("src-port", source_port),
        ("dst-port", destination_port),
        ("tcp-flags", trace.flags.as_deref()),
        ("icmp-type", icmp.map(|(kind, _)| kind)),
        ("icmp-code", icmp.and_then(|(_, code)| code)),
        ("icmp-id", trace.icmp_id.as_deref()),
        ("packet-size", trace.size.as_deref()),
        ("ttl", trace.ttl.as_deref()),
        ("dscp", trace.dscp.as_deref()),
        ("src-mac-address", trace.mac.as_deref()),
        ("dst-mac-address", trace.dst_mac.as_deref()),
        ("ipsec", trace.ipsec.then_some("yes")),
        ("vlan-id", trace.vlan.as_deref()),
        ("connection-state", trace.connection_state.as_deref()),
        (
            "connection-nat-state",
            trace.connection_nat_state.as_deref(),
        ),
        ("connection-mark", trace.connection_mark.as_deref()),
        ("packet-mark", trace.packet_mark.as_deref()),
        ("routing-mark", trace.routing_mark.as_deref()),
    ] {
        if let Some(value) = value {
            add(name, value);
        }
    }
    Ok(question(packet.into_iter()))
}

/// Parses `10.0.0.1`, `10.0.0.1:80`, `2001:db8::1` or `[2001:db8::1]:80` into address and port.
pub(crate) fn end<'a>(option: &str, text: &'a str) -> Result<(&'a str, Option<&'a str>), String> {
    let bad = || format!("{option} {text}: expected an address, address:port or [address]:port");
    let parts = if let Some(rest) = text.strip_prefix('[') {
        let (address, port) = rest.split_once(']').ok_or_else(bad)?;
        match port {
            "" => (address, None),
            port => (address, Some(port.strip_prefix(':').ok_or_else(bad)?)),
        }
    } else if text.matches(':').count() == 1 {
        let (address, port) = text.split_once(':').ok_or_else(bad)?;
        (address, Some(port))
    } else {
        (text, None)
    };
    match parts.0.parse::<std::net::IpAddr>() {
        Ok(_) => Ok(parts),
        Err(_) => Err(bad()),
    }
}

/// Asks a running router.
fn ask(place: &Location, command: &str) -> Result<String, String> {
    let request = Message::Exec {
        command: command.to_owned(),
        json: false,
    };
    crate::command::client::answer(&place.control, &request)
}

/// Builds a router from a file, with assumed addresses.
fn offline(file: &std::path::Path, assumptions: &[Assumption]) -> Result<OfflineRouter, String> {
    let mut store = schema::store();
    crate::run::config::import_file(&mut store, file)?;
    OfflineRouter::new(store, assumptions)
}

/// A router without devices, for queries: all its ports have a link.
pub(crate) struct OfflineRouter(Instance);

impl OfflineRouter {
    /// Builds a router from a configuration, with assumed addresses.
    pub(crate) fn new(store: Store, assumptions: &[Assumption]) -> Result<Self, String> {
        let ports: Vec<_> = store
            .members("interface")
            .filter(|item| item.is_port())
            .map(|item| item.text("default-name").to_owned())
            .collect();
        let setup = Setup::offline(crate::run::shared::local_clock(&store));
        let made = Instance::new(&setup, store);
        let (mut instance, _workers) = made.map_err(|error| format!("memory: {error}"))?;
        for (number, port) in ports.iter().enumerate() {
            let news = PortNews {
                up: true,
                mac: Mac([2, 0, 0, 0, 1, number as u8]),
                mtu: 0,
            };
            instance
                .attach_port(port, news, Offloads::default(), Vec::new())
                .map_err(|reason| format!("{port}: {reason}"))?;
        }
        let mut router = Self(instance);
        for assumption in assumptions {
            assumption.apply(&mut router)?;
        }
        router.settle();
        Ok(router)
    }

    /// Advances time until addresses and listening sockets are usable.
    fn settle(&mut self) {
        let instance = &mut self.0;
        // IPv6 addresses become usable after duplicate address detection.
        for second in 1..=5 {
            while instance.poll(Instant::ZERO + Duration::from_secs(second)) {}
        }
        // Broadcasts and multicasts are accepted where a socket may listen, as on a running router.
        let control = instance.control();
        let changes = control.take_mirror_changes(usize::MAX);
        let wanted = changes.unwrap_or_default().mirrors.into_iter();
        let wanted = wanted.filter_map(|(id, wanted)| Some((id, wanted?)));
        let (shared, own): (Vec<_>, Vec<_>) = wanted.partition(|(_, mirror)| mirror.shared);
        if !shared.is_empty() {
            control.attach_shared_mirror(Offloads::default(), Vec::new());
        }
        let made = own.into_iter().map(|(interface, _)| NewMirror {
            interface,
            offloads: Offloads::default(),
            queues: Vec::new(),
        });
        control.attach_mirrors(made.collect());
    }

    /// Returns the steps of the packet in this command.
    pub(crate) fn trace(&mut self, command: &str) -> Result<Vec<Value>, String> {
        let mut steps = steps(&self.ask(command)?)?;
        for step in &mut steps {
            without_addresses(step);
        }
        Ok(steps)
    }

    /// Opens the session of a PPPoE client. Returns true if the client adds a default route; `None` for other
    /// interfaces.
    pub(crate) fn assume_session(&mut self, interface: &str) -> Option<bool> {
        self.0.assume_session(interface)
    }

    /// Runs a console command; returns its output.
    pub(crate) fn ask(&mut self, command: &str) -> Result<String, String> {
        let mut out = String::new();
        let ran = self.0.run(&mut Session::new("admin"), command, &mut out);
        ran.map_err(|refusal| refusal.to_string())?;
        Ok(out)
    }
}

/// Removes a verdict that depends on addresses missing in the file.
fn without_addresses(step: &mut Value) {
    let missing = text(step, "missing").to_owned();
    let Some(first) = missing
        .split([',', ' '])
        .next()
        .filter(|first| !first.is_empty())
    else {
        return;
    };
    let decision = format!(
        "unknown: the file lacks the dynamic addresses of {missing}; add --assume \
         {first}=ADDRESS/LENGTH,gateway=ADDRESS"
    );
    if let Some(step) = step.as_object_mut() {
        step.insert("verdict".to_owned(), "unknown".into());
        step.insert("decision".to_owned(), decision.into());
    }
}

pub(crate) fn text<'a>(step: &'a Value, name: &str) -> &'a str {
    step.get(name).and_then(Value::as_str).unwrap_or_default()
}

pub(crate) fn verdict(steps: &[Value]) -> Option<&Value> {
    steps.iter().find(|step| text(step, "stage") == "verdict")
}

fn code(steps: &[Value]) -> u8 {
    match verdict(steps).map(|step| text(step, "verdict")) {
        Some("sent" | "delivered") => 0,
        Some("refused") => REFUSED,
        Some("unknown") => UNKNOWN,
        _ => DISCARDED,
    }
}

/// Builds one object: the verdict, and the steps that lead to it.
fn to_json(steps: &[Value]) -> Value {
    let of = |stage: &str, name: &str| {
        let step = steps.iter().find(|step| text(step, "stage") == stage);
        step.map(|step| text(step, name)).unwrap_or_default()
    };
    let way: Vec<_> = steps
        .iter()
        .filter(|step| !["verdict", "path"].contains(&text(step, "stage")))
        .collect();
    serde_json::json!({
        "verdict": of("verdict", "verdict"),
        "decision": of("verdict", "decision"),
        "path": of("path", "decision"),
        "steps": way,
    })
}

/// Formats the steps like the console.
pub(crate) fn to_text(steps: &[Value]) -> String {
    script::trace_text(steps, |step, name| match step.get(name)? {
        Value::String(text) => Some(text.clone()),
        value => Some(value.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_and_destination_may_have_a_port() {
        assert_eq!(end("--src", "10.0.0.1"), Ok(("10.0.0.1", None)));
        assert_eq!(end("--src", "10.0.0.1:80"), Ok(("10.0.0.1", Some("80"))));
        assert_eq!(end("--src", "fd00::1"), Ok(("fd00::1", None)));
        assert_eq!(end("--src", "[fd00::1]:53"), Ok(("fd00::1", Some("53"))));
        assert!(end("--src", "router").is_err());
    }

    fn home(packet: &[&str]) -> (String, u8) {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../lab/configs/static.rsc");
        asked(file, packet)
    }

    fn asked(file: &str, packet: &[&str]) -> (String, u8) {
        let words = [&["ferroute", "trace", file], packet].concat();
        let cli: crate::cli::Cli = clap::Parser::parse_from(words);
        let crate::cli::Command::Trace(asked) = cli.command else {
            panic!("it is a trace");
        };
        let router = offline(std::path::Path::new(file), &asked.assume);
        let command = command(&asked).expect("a command");
        let steps = router.expect("a router").trace(&command).expect("a trace");
        (to_text(&steps), code(&steps))
    }

    #[test]
    fn the_default_firewall_accepts_from_the_lan_and_drops_from_the_wan() {
        let (out, code) = home(&[
            "--in",
            "bridge",
            "--src",
            "192.168.88.10:5000",
            "--dst",
            "1.1.1.1:443",
        ]);
        assert_eq!(code, 0, "{out}");
        assert!(
            out.contains("routing      0.0.0.0/0 of table main: leaves by ether1"),
            "{out}"
        );
        assert!(out.contains("masquerade"), "{out}");

        let (out, code) = home(&[
            "--in",
            "ether1",
            "--src",
            "198.51.100.80:5000",
            "--dst",
            "192.168.88.10:22",
        ]);
        assert_eq!(code, DISCARDED, "{out}");
        assert!(
            out.contains(";;; defconf: drop all from WAN not DSTNATed"),
            "{out}"
        );

        let (out, code) = home(&[
            "--in",
            "ether1",
            "--src",
            "198.51.100.80:443",
            "--dst",
            "192.168.88.10:5000",
            "--flags",
            "syn,ack",
            "--connection-state",
            "established",
        ]);
        assert_eq!(code, 0, "{out}");
    }

    /// The default configuration as RouterOS exports it: with `admin-mac`, and an address by DHCP.
    const HOME: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../lab/configs/home.rsc");
    const ASSUMED: [&str; 2] = ["--assume", "ether1=203.0.113.2/24,gateway=203.0.113.1"];

    #[test]
    fn the_example_of_the_readme_works_on_the_default_configuration() {
        let packet = [
            "--in",
            "ether2",
            "--src",
            "192.168.88.10:5000",
            "--dst",
            "1.1.1.1:443",
        ];
        let (out, code) = asked(HOME, &[&packet[..], &ASSUMED].concat());
        assert_eq!(code, 0, "{out}");
        for said in [
            "frame        is sent to 02:00:00:00:02:01 of bridge",
            "comes into bridge by ether2",
            "masquerade",
            "verdict      sent to 203.0.113.1%ether1 when its link address is known",
        ] {
            assert!(
                out.to_lowercase().contains(&said.to_lowercase()),
                "{said}: {out}"
            );
        }

        // Without the address the answer names the missing interface.
        let (out, code) = asked(HOME, &packet);
        assert_eq!(code, UNKNOWN, "{out}");
        for said in [
            "ether1 (DHCP)",
            "--assume ether1=ADDRESS/LENGTH,gateway=ADDRESS",
        ] {
            assert!(out.contains(said), "{said}: {out}");
        }
    }

    #[test]
    fn a_wan_by_pppoe_is_named_and_may_be_assumed() {
        let folder = std::env::temp_dir().join(format!("ferroute-trace-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let file = folder.join("pppoe.rsc");
        let dial = "/ip dhcp-client disable [find]\n\
            /interface pppoe-client add name=pppoe-out1 interface=ether1 user=anna add-default-route=yes disabled=no\n\
            /interface list member add list=WAN interface=pppoe-out1\n";
        let home = std::fs::read_to_string(HOME).expect("the default configuration");
        std::fs::write(&file, format!("{home}{dial}")).expect("a file");
        let file = file.to_str().expect("a name in UTF-8");
        let out = [
            "--src",
            "192.168.88.10:5000",
            "--dst",
            "1.1.1.1:443",
            "--in",
        ];
        let (said, code) = asked(file, &[&out[..], &["ether2"]].concat());
        assert_eq!(code, UNKNOWN, "{said}");
        assert!(said.contains("pppoe-out1 (PPPoE)"), "{said}");
        let back = [
            "--src",
            "1.1.1.1:443",
            "--dst",
            "203.0.113.2:22",
            "--in",
            "pppoe-out1",
        ];
        let (said, code) = asked(file, &back);
        assert_eq!(code, UNKNOWN, "{said}");

        let assumed = ["--assume", "pppoe-out1=203.0.113.2/32"];
        let (said, code) = asked(file, &[&out[..], &["ether2"], &assumed].concat());
        assert_eq!(code, 0, "{said}");
        assert!(
            said.contains("masquerade") && said.contains("sent by pppoe-out1"),
            "{said}"
        );
        let (said, code) = asked(file, &[&back[..], &assumed].concat());
        assert_eq!(code, DISCARDED, "{said}");
        assert!(said.contains("firewall-filter"), "{said}");
        std::fs::remove_dir_all(&folder).expect("our own folder");
    }

    #[test]
    fn what_two_hosts_of_a_bridge_send_each_other_is_bridged() {
        let hosts = ["--src", "192.168.88.10:5000", "--dst", "192.168.88.20:443"];
        let (out, code) = asked(HOME, &[&["--in", "ether2"], &hosts[..]].concat());
        assert_eq!(code, 0, "{out}");
        for said in [
            "both are in 192.168.88.0/24, so bridge bridges it",
            "copies leave by ether3",
            "fast: it is bridged",
        ] {
            assert!(out.contains(said), "{said}: {out}");
        }
        let (out, code) = asked(HOME, &[&["--in", "bridge"], &hosts[..]].concat());
        assert_eq!(code, 0, "{out}");
        assert!(out.contains("its assumed ingress port is ether2"), "{out}");

        // Packets to the router's MAC address are routed nevertheless.
        let to = ["--dst-mac", "02:00:00:00:02:01"];
        let (out, code) = asked(HOME, &[&["--in", "ether2"], &hosts[..], &to].concat());
        assert_eq!(code, 0, "{out}");
        assert!(
            out.contains("as requested") && out.contains("goes up to the router"),
            "{out}"
        );
    }

    #[test]
    fn the_folder_of_the_state_is_not_the_state_of_a_connection() {
        let packet = [
            "--in",
            "ether2",
            "--src",
            "192.168.88.10",
            "--dst",
            "1.1.1.1",
        ];
        let refused = |more: &[&str]| {
            let words = [&["ferroute", "trace"], more, &packet].concat();
            let cli: crate::cli::Cli = clap::Parser::parse_from(words);
            let crate::cli::Command::Trace(asked) = cli.command else {
                panic!("it is a trace");
            };
            trace(&asked).expect_err("it is refused")
        };
        for more in [&["--state", "invalid"][..], &[HOME, "--state", "invalid"]] {
            let said = refused(more);
            assert!(said.contains("--connection-state invalid"), "{said}");
        }
        let said = refused(&[HOME, "--state", "/var/lib/ferroute"]);
        assert!(said.contains("omit --state"), "{said}");
    }

    #[test]
    fn the_console_shows_the_same_lines_without_inner_words() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../lab/configs/static.rsc");
        let packet = "in-interface=bridge src-address=192.168.88.10 dst-address=1.1.1.1 protocol=tcp \
                      src-port=5000 dst-port=443";
        for more in ["", " ttl=1"] {
            let command = format!("/tool/trace {packet}{more}");
            let router = offline(std::path::Path::new(file), &[]);
            let console = router.expect("a router").ask(&command).expect("an answer");
            let ttl: &[&str] = if more.is_empty() {
                &[]
            } else {
                &["--ttl", "1"]
            };
            let words = [
                "--in",
                "bridge",
                "--src",
                "192.168.88.10:5000",
                "--dst",
                "1.1.1.1:443",
            ];
            let (tool, _) = home(&[&words, ttl].concat());

            assert_eq!(console.trim_end(), tool.trim_end());
            assert!(!console.contains("to control"), "{console}");
        }
    }

    #[test]
    fn a_connection_mark_may_be_assumed_for_a_new_connection() {
        let name = format!("ferroute-trace-{}.rsc", std::process::id());
        let file = std::env::temp_dir().join(name);
        let text = "/ip/address add address=10.0.0.1/24 interface=ether1\n\
             /ip/firewall/filter\n\
             add chain=input connection-mark=guest connection-state=new action=drop comment=guests\n";
        std::fs::write(&file, text).expect("a file");
        let packet = ["--in", "ether1", "--src", "10.0.0.2", "--dst", "10.0.0.1"];
        let verdict = |mark: &[&str]| {
            let file = file.to_str().expect("a name");
            asked(file, &[&packet[..], mark].concat())
        };

        let marked = verdict(&["--connection-mark", "guest"]);
        let others = [
            &[][..],
            &["--connection-mark", "no-mark"],
            &["--connection-mark", "other"],
        ];
        let others = others.map(verdict);
        std::fs::remove_file(&file).expect("it is there");
        assert_eq!(marked.1, DISCARDED, "{}", marked.0);
        assert!(others.iter().all(|(_, code)| *code == 0), "{others:?}");
    }

    #[test]
    fn what_is_for_everybody_on_a_link_meets_the_rules_of_input() {
        let asks = |port, destination| {
            let packet = ["--in", port, "--src", "0.0.0.0:68", "--dst", destination];
            home(&[&packet[..], &["--proto", "udp"]].concat())
        };

        let (out, code) = asks("bridge", "255.255.255.255:67");
        assert_eq!(code, 0, "{out}");
        let (out, code) = asks("ether1", "255.255.255.255:67");
        assert_eq!(code, DISCARDED, "{out}");
        assert!(
            out.contains(";;; defconf: drop all not coming from LAN"),
            "{out}"
        );
    }
}
