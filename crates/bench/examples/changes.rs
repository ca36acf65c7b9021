//! Measures the CPU time of control for one more change, by the number of existing objects:
//! `cargo run --release -p bench --example changes`.
//!
//! Each row builds a router without devices, loads n objects, and runs more changes of one kind.
//! The result is the median CPU time of the thread for the command and control's follow-up. The row
//! of VLANs on bridges measures the time until all addresses have passed duplicate detection,
//! divided by n. The program exits with code 1 if a change among the most objects costs more than
//! 1.5 times as much as among the fewest, in each of three runs of the row.
//!
//! Arguments: sizes in place of 300, 3,000 and 10,000 (bridge ports: a tenth of the sizes, at least
//! 100 and at most 1,000), and words of which one must be part of a row's name for the row to run.

use core::fmt::Write as _;
use core::net::Ipv4Addr;
use std::process::ExitCode;

use machine::{Duration, Instant};
use menu::Value;
use queue::Limits;
use router::drive::{PortNews, Setup};
use router::intent::{Address4, Class, Interface, Member, Name};
use router::kind::PointToPoint;
use router::object::{DynamicQueue, ListEntry, Made, Owner, QueueTarget};
use router::{Effect, Effects, Instance, NewObject};
use script::Session;

/// Bound of the ratio of the costs among the most and the fewest objects.
const BOUND: f64 = 1.5;
/// The most measurements of a row. A row beyond the bound is measured again, because other programs
/// disturb caches; the lowest costs count.
const ATTEMPTS: usize = 3;
/// Number of warm-up changes, and number of measured changes.
const WARM: usize = 3;
const MEASURED: usize = 21;
/// Number of VLANs on one bridge.
const ON_BRIDGE: usize = 3_500;

/// A kind of change.
struct Row {
    name: &'static str,
    sizes: Sizes,
    /// Returns the configuration of n objects.
    prepare: fn(usize) -> String,
    change: Change,
}

/// The numbers of objects of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sizes {
    Usual,
    BridgePorts,
}

/// The measured operation.
#[derive(Clone, Copy)]
enum Change {
    /// Runs the command for object i of a router that began with n.
    Command(fn(usize, usize) -> String),
    /// A feature makes dynamic objects.
    Object(fn(&mut Bench, usize)),
    /// Sessions have objects, and a further session comes and goes.
    Session,
    /// The whole load settles; the time is divided by n.
    Settling,
}

const ROWS: [Row; 21] = [
    Row {
        name: "VLANs on bridges, settling, per VLAN",
        sizes: Sizes::Usual,
        prepare: vlans_on_bridges,
        change: Change::Settling,
    },
    Row {
        name: "filter rule, among VLANs",
        sizes: Sizes::Usual,
        prepare: vlans,
        change: Change::Command(|_, i| filter_rule(i)),
    },
    Row {
        name: "filter rule that names an interface, among VLANs",
        sizes: Sizes::Usual,
        prepare: vlans,
        change: Change::Command(|_, i| {
            format!("/ip/firewall/filter/add chain=forward action=accept in-interface=v{i}")
        }),
    },
    Row {
        name: "filter rule, among filter rules",
        sizes: Sizes::Usual,
        prepare: |n| lines(n, filter_rule),
        change: Change::Command(|_, i| filter_rule(i)),
    },
    Row {
        name: "interface-list member",
        sizes: Sizes::Usual,
        prepare: members,
        change: Change::Command(|_, i| member(i)),
    },
    Row {
        name: "interface list",
        sizes: Sizes::Usual,
        prepare: |n| lines(n, interface_list),
        change: Change::Command(|_, i| interface_list(i)),
    },
    Row {
        name: "/ip/settings set, among VLANs",
        sizes: Sizes::Usual,
        prepare: vlans,
        change: Change::Command(|_, i| {
            let filter = ["no", "loose", "strict"][i % 3];
            format!("/ip/settings/set rp-filter={filter}")
        }),
    },
    Row {
        name: "IPsec policy",
        sizes: Sizes::Usual,
        prepare: policies,
        change: Change::Command(|_, i| policy(i)),
    },
    Row {
        name: "bridge port under STP",
        sizes: Sizes::BridgePorts,
        prepare: bridge_ports,
        change: Change::Command(|_, i| bridge_port(i)),
    },
    Row {
        name: "EoIP tunnel",
        sizes: Sizes::Usual,
        prepare: |n| format!("{UPLINK}{}", lines(n, eoip)),
        change: Change::Command(|_, i| eoip(i)),
    },
    Row {
        name: "VLAN with an address",
        sizes: Sizes::Usual,
        prepare: |n| lines(n, vlan),
        change: Change::Command(|_, i| vlan(i)),
    },
    Row {
        name: "simple queue",
        sizes: Sizes::Usual,
        prepare: |n| lines(n, queue),
        change: Change::Command(|_, i| queue(i)),
    },
    Row {
        name: "static route",
        sizes: Sizes::Usual,
        prepare: |n| format!("{UPLINK}{}", lines(n, route)),
        change: Change::Command(|_, i| route(i)),
    },
    Row {
        name: "route with a checked gateway",
        sizes: Sizes::Usual,
        prepare: |n| lines(n, checked_route),
        change: Change::Command(|_, i| checked_route(i)),
    },
    Row {
        name: "address-list entry",
        sizes: Sizes::Usual,
        prepare: |n| lines(n, entry),
        change: Change::Command(|_, i| entry(i)),
    },
    Row {
        name: "/ip/dns/static entry",
        sizes: Sizes::Usual,
        prepare: |n| lines(n, dns_static),
        change: Change::Command(|_, i| dns_static(i)),
    },
    Row {
        name: "DHCP lease",
        sizes: Sizes::Usual,
        prepare: |n| format!("{DHCP_SERVER}{}", lines(n, lease)),
        change: Change::Command(|_, i| lease(i)),
    },
    Row {
        name: "null interface",
        sizes: Sizes::Usual,
        prepare: |_| String::new(),
        change: Change::Object(Bench::make_interface),
    },
    Row {
        name: "null interface, among VLANs",
        sizes: Sizes::Usual,
        prepare: vlans,
        change: Change::Object(Bench::make_interface),
    },
    Row {
        name: "filter rule of a session",
        sizes: Sizes::Usual,
        prepare: |_| String::new(),
        change: Change::Object(Bench::make_rule),
    },
    Row {
        name: "session with queue, list member and list entry, comes and goes",
        sizes: Sizes::Usual,
        prepare: |_| SESSIONS.to_owned(),
        change: Change::Session,
    },
];

const UPLINK: &str = "/ip/address/add address=192.0.2.1/24 interface=ether1\n";
const SESSIONS: &str = "/interface/list/add name=inside\n\
    /ip/firewall/filter/add chain=forward action=accept in-interface-list=inside\n";
const DHCP_SERVER: &str = "/ip/address/add address=10.0.0.1/8 interface=ether1\n\
    /ip/pool/add name=pool ranges=10.200.0.1-10.200.0.100\n\
    /ip/dhcp-server/add name=server interface=ether1 address-pool=pool\n";

fn main() -> ExitCode {
    let (sizes, words): (Vec<_>, Vec<_>) = std::env::args()
        .skip(1)
        .partition(|word| word.parse::<usize>().is_ok());
    let mut sizes: Vec<usize> = sizes.iter().filter_map(|size| size.parse().ok()).collect();
    if sizes.is_empty() {
        sizes = vec![300, 3_000, 10_000];
    }
    let is_wanted =
        |row: &&Row| words.is_empty() || words.iter().any(|word| row.name.contains(word.as_str()));
    println!("microseconds of CPU time per change; n = {sizes:?}, bridge ports a tenth of it");
    let over = ROWS
        .iter()
        .filter(is_wanted)
        .filter(|row| !measure(row, &sizes))
        .count();
    match over {
        0 => ExitCode::SUCCESS,
        _ => {
            println!("{over} rows beyond {BOUND}");
            ExitCode::FAILURE
        }
    }
}

/// Prints the costs of a row. Returns false if they exceed the bound.
fn measure(row: &Row, sizes: &[usize]) -> bool {
    let size = |size: &usize| match row.sizes {
        Sizes::Usual => *size,
        Sizes::BridgePorts => (size / 10).clamp(100, 1_000),
    };
    let mut costs = vec![f64::INFINITY; sizes.len()];
    let mut ratio = f64::INFINITY;
    for _ in 0..ATTEMPTS {
        for (least, n) in costs.iter_mut().zip(sizes) {
            *least = least.min(cost(row, size(n)));
        }
        ratio = costs.last().unwrap_or(&0.0) / costs.first().unwrap_or(&1.0);
        if ratio <= BOUND {
            break;
        }
    }
    let mut line = format!("{:50}", row.name);
    for cost in &costs {
        let _ = write!(line, "{cost:10.0}");
    }
    let is_flat = ratio <= BOUND;
    let note = if is_flat { "" } else { "  beyond the bound" };
    println!("{line}{ratio:9.2}{note}");
    is_flat
}

/// Returns the microseconds of CPU time for one more change among n objects.
fn cost(row: &Row, n: usize) -> f64 {
    let mut bench = Bench::new();
    let script = (row.prepare)(n);
    let change = match row.change {
        Change::Command(change) => change,
        Change::Settling => {
            bench.load(&script);
            let begun = micros();
            bench.settle();
            return (micros() - begun) / n as f64;
        }
        Change::Object(make) => {
            (0..n).for_each(|i| make(&mut bench, i));
            |_: usize, _: usize| String::new()
        }
        Change::Session => |_: usize, _: usize| String::new(),
    };
    bench.load(&script);
    if matches!(row.change, Change::Session) {
        (0..n).for_each(|i| bench.make_session(i));
    }
    bench.settle();
    let mut costs: Vec<f64> = (n..n + WARM + MEASURED)
        .map(|i| {
            let text = change(n, i);
            let begun = micros();
            match row.change {
                Change::Object(make) => make(&mut bench, i),
                Change::Session => {
                    bench.make_session(i);
                    bench.end_session(i);
                }
                _ => bench.run(&text),
            }
            bench.poll();
            micros() - begun
        })
        .skip(WARM)
        .collect();
    costs.sort_by(f64::total_cmp);
    costs[costs.len() / 2]
}

/// A router with one port, a console session and a clock.
struct Bench {
    router: Instance,
    session: Session,
    now: Instant,
}

impl Bench {
    fn new() -> Self {
        let mut store = schema::store();
        store.ensure_port("ether1", None).expect("a new name");
        let made = Instance::new(&Setup::offline(menu::Clock::utc(0)), store);
        let (mut router, _) = made.expect("memory for one worker");
        let news = PortNews {
            up: true,
            mac: wire::Mac([2, 0, 0, 0, 0, 1]),
            mtu: 1_600,
        };
        let offloads = frame::Offloads::default();
        router
            .control()
            .attach_port("ether1", news, offloads, Vec::new());
        Self {
            router,
            session: Session::new("admin"),
            now: Instant::ZERO,
        }
    }

    /// Loads a configuration in one transaction.
    fn load(&mut self, script: &str) {
        let mut out = String::new();
        let loaded = self.router.import(&mut self.session, script, &mut out);
        loaded.unwrap_or_else(|refusal| panic!("{refusal}"));
    }

    fn run(&mut self, text: &str) {
        let mut out = String::new();
        let ran = self.router.run(&mut self.session, text, &mut out);
        ran.unwrap_or_else(|refusal| panic!("{text}: {refusal}"));
    }

    fn poll(&mut self) {
        self.now += Duration::from_millis(1);
        self.router.poll(self.now);
    }

    /// Runs the router for a minute: duplicate detection and spanning trees come to rest.
    fn settle(&mut self) {
        let end = self.now + Duration::from_secs(60);
        while let Some(at) = self.router.deadline().filter(|at| *at <= end) {
            self.now = at.max(self.now + Duration::from_millis(1));
            self.router.poll(self.now);
        }
        self.now = end;
        self.router.poll(end);
    }

    /// Adds a point-to-point interface with an address, as a session does.
    fn make_interface(&mut self, number: usize) {
        let name = format!("null{number}");
        let interface = Interface {
            name: name.as_str().into(),
            disabled: false,
            mtu: 1_480,
            arp: service::neighbour::Mode::Enabled,
            arp_timeout: None,
            kind: PointToPoint.into(),
            class: Class::Ppp,
        };
        let address = Address4 {
            addr: Ipv4Addr::from(0x0a40_0000 + number as u32),
            len: 32,
            network: Ipv4Addr::from(0x0a80_0000 + number as u32),
            interface: name.into(),
            disabled: false,
        };
        let owner = Owner {
            feature: "bench",
            number: number as u64,
        };
        let mut out = Effects::default();
        out.object(owner, Made::Interface("/interface/pppoe-server", interface));
        out.object(owner, Made::Address4(address));
        self.router.control().carry_out(out);
    }

    /// Adds an interface with an address and the objects that a profile asks for, as a session does.
    fn make_session(&mut self, number: usize) {
        self.make_interface(number);
        let interface: Name = format!("null{number}").into();
        let limits = Limits {
            max_limit: 1_000_000,
            bucket: 100,
            priority: 8,
            ..Limits::default()
        };
        let owner = Owner {
            feature: "bench",
            number: number as u64,
        };
        let mut out = Effects::default();
        out.object(
            owner,
            Made::Queue(Box::new(DynamicQueue {
                name: format!("<{interface}>").into(),
                target: QueueTarget::Interface(interface.clone()),
                limits: [limits; 2],
                kinds: [None, None],
                parent: None,
                first: false,
            })),
        );
        out.object(
            owner,
            Made::Member(Member {
                list: "inside".into(),
                interface,
                disabled: false,
            }),
        );
        let entry = ListEntry {
            list: "clients".into(),
            address: address(number).into(),
        };
        out.object(owner, Made::ListEntry(entry));
        self.router.control().carry_out(out);
    }

    /// Removes everything that a session added.
    fn end_session(&mut self, number: usize) {
        let mut out = Effects::default();
        out.push(Effect::Gone(Owner {
            feature: "bench",
            number: number as u64,
        }));
        self.router.control().carry_out(out);
    }

    /// Adds a rule, as a session does.
    fn make_rule(&mut self, number: usize) {
        let owner = Owner {
            feature: "bench",
            number: number as u64,
        };
        let host = Value::Address(address(number).into());
        let object = NewObject {
            owner,
            made: Made::Rule("/ip/firewall/filter"),
            cells: vec![
                ("chain", Value::text("forward")),
                ("action", Value::Word("drop")),
                (
                    "dst-address",
                    Value::Tuple("-", [host.clone(), host].into()),
                ),
            ],
            removable: false,
        };
        let mut out = Effects::default();
        out.push(Effect::Object(Box::new(object)));
        self.router.control().carry_out(out);
    }
}

/// Returns the CPU time of this thread in microseconds.
fn micros() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    now.tv_sec as f64 * 1e6 + now.tv_nsec as f64 / 1e3
}

/// Returns one command per line for objects 0 to n.
fn lines(n: usize, command: impl Fn(usize) -> String) -> String {
    (0..n).map(|i| command(i) + "\n").collect()
}

/// Returns address i of 2^24: 10.x.y.z.
fn address(i: usize) -> Ipv4Addr {
    Ipv4Addr::from(0x0a00_0000 + i as u32)
}

/// Returns commands for VLANs on `ether1`, on as many VLANs with inner tags as needed, each with an
/// address, and for some more than n, which the changes refer to.
fn vlans(n: usize) -> String {
    lines(n + WARM + MEASURED, vlan)
}

fn vlan(i: usize) -> String {
    const OF_ONE: usize = 4_000;
    let outer = i / OF_ONE;
    let mut text = String::new();
    if i.is_multiple_of(OF_ONE) {
        let vid = 4_001 + outer;
        let _ = writeln!(
            text,
            "/interface/vlan/add name=o{outer} interface=ether1 vlan-id={vid}"
        );
    }
    let (vid, network) = (i % OF_ONE + 1, address(i * 4 + 1));
    text + &format!(
        "/interface/vlan/add name=v{i} interface=o{outer} vlan-id={vid}; \
         /ip/address/add address={network}/30 interface=v{i}"
    )
}

fn vlans_on_bridges(n: usize) -> String {
    lines(n, |i| {
        let (bridge, vid) = (i / ON_BRIDGE, i % ON_BRIDGE + 1);
        let mut text = String::new();
        if vid == 1 {
            let _ = writeln!(
                text,
                "/interface/bridge/add name=bridge{bridge} vlan-filtering=yes"
            );
        }
        text + &format!("/interface/vlan/add name=v{i} interface=bridge{bridge} vlan-id={vid}")
    })
}

fn members(n: usize) -> String {
    let members = lines(n, member);
    let rule = "/ip/firewall/filter/add chain=forward action=accept in-interface-list=inside\n";
    format!(
        "{}/interface/list/add name=inside\n{members}{rule}",
        vlans(n)
    )
}

fn member(i: usize) -> String {
    format!("/interface/list/member/add list=inside interface=v{i}")
}

fn interface_list(i: usize) -> String {
    format!("/interface/list/add name=list{i}")
}

fn filter_rule(i: usize) -> String {
    format!(
        "/ip/firewall/filter/add chain=forward action=drop dst-address={}",
        address(i)
    )
}

fn policies(n: usize) -> String {
    let peer = "/ip/ipsec/peer/add name=peer address=192.0.2.2/32 passive=yes\n\
        /ip/ipsec/identity/add peer=peer secret=secret\n";
    format!("{UPLINK}{peer}{}", lines(n, policy))
}

fn policy(i: usize) -> String {
    let (from, to) = (address(i * 4), address((1 << 22) + i * 4));
    format!("/ip/ipsec/policy/add peer=peer tunnel=yes src-address={from}/30 dst-address={to}/30")
}

fn bridge_ports(n: usize) -> String {
    let vlans = lines(n + WARM + MEASURED, |i| {
        format!(
            "/interface/vlan/add name=v{i} interface=ether1 vlan-id={}",
            i + 1
        )
    });
    let bridge = "/interface/bridge/add name=bridge protocol-mode=stp\n";
    format!("{vlans}{bridge}{}", lines(n, bridge_port))
}

fn bridge_port(i: usize) -> String {
    format!("/interface/bridge/port/add bridge=bridge interface=v{i}")
}

fn eoip(i: usize) -> String {
    let remote = address(i);
    format!("/interface/eoip/add name=eoip{i} remote-address={remote} tunnel-id={i}")
}

fn queue(i: usize) -> String {
    format!(
        "/queue/simple/add name=queue{i} target={}/32 max-limit=1M/1M",
        address(i)
    )
}

fn route(i: usize) -> String {
    format!(
        "/ip/route/add dst-address={}/32 gateway=192.0.2.2",
        address(i)
    )
}

/// Returns a route with a gateway of its own, which no route leads to.
fn checked_route(i: usize) -> String {
    let (to, gateway) = (address(i), address((1 << 22) + i));
    format!("/ip/route/add dst-address={to}/32 gateway={gateway} check-gateway=ping")
}

fn entry(i: usize) -> String {
    format!(
        "/ip/firewall/address-list/add list=hosts address={}",
        address(i)
    )
}

fn dns_static(i: usize) -> String {
    format!(
        "/ip/dns/static/add name=host{i}.example.com address={}",
        address(i)
    )
}

fn lease(i: usize) -> String {
    let mac = format!(
        "02:00:00:{:02X}:{:02X}:{:02X}",
        i >> 16,
        i >> 8 & 0xff,
        i & 0xff
    );
    format!(
        "/ip/dhcp-server/lease/add server=server address={} mac-address={mac}",
        address(i + 16)
    )
}
