//! Reads the items of `/queue`.

use dataplane::rule::{Clock, When};
use ipnet::IpNet;
use machine::Duration;
use menu::{Item, Value};
use queue::{
    Cake, CakeFlows, CakeTins, Classify, Codel, Delay, Fifo, FqCodel, Kind, Limits, Line, Pcq, Red,
    Sfq, Target,
};

use crate::firewall::value::time;
use crate::intent::Name;
use crate::read;

/// Target of a queue: a network, or an interface by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SimpleTarget {
    Network(Target),
    Interface(Name),
}

/// Limits and queue type of one direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Side {
    pub(super) limits: Limits,
    pub(super) kind: Name,
}

/// An item of `/queue/simple`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Simple {
    pub(super) name: Name,
    pub(super) disabled: bool,
    pub(super) parent: Option<Name>,
    pub(super) targets: Vec<SimpleTarget>,
    pub(super) peer: Option<SimpleTarget>,
    pub(super) marks: Vec<Name>,
    /// Times when the queue is active; `None` means always.
    pub(super) time: Option<When>,
    /// Upload, download, total.
    pub(super) sides: [Side; 3],
}

impl Simple {
    /// Whether the queue is active at this time.
    pub(super) fn is_on(&self, clock: &Clock) -> bool {
        self.time.is_none_or(|when| when.matches(clock))
    }
}

/// An item of `/queue/tree`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tree {
    pub(super) name: Name,
    pub(super) disabled: bool,
    /// `global`, or the name of a queue or an interface.
    pub(super) parent: Name,
    pub(super) marks: Vec<Name>,
    pub(super) side: Side,
}

pub(super) fn simple(item: &Item) -> Option<Simple> {
    let parent = read::name(item, "parent").filter(|parent| &**parent != "none");
    let target = match item.get("target") {
        Some(Value::List(list)) => list.iter().filter_map(whom).collect(),
        Some(one) => whom(one).into_iter().collect(),
        None => Vec::new(),
    };
    Some(Simple {
        name: read::name(item, "name")?,
        disabled: item.is("disabled"),
        parent,
        targets: target,
        peer: item.get("dst").and_then(whom),
        marks: names(item, "packet-marks"),
        time: item.get("time").and_then(time),
        sides: [
            side(item, "", 0),
            side(item, "", 1),
            side(item, "total-", 0),
        ],
    })
}

pub(super) fn tree(item: &Item) -> Option<Tree> {
    Some(Tree {
        name: read::name(item, "name")?,
        disabled: item.is("disabled"),
        parent: read::name(item, "parent")?,
        marks: names(item, "packet-mark"),
        side: side(item, "", 0),
    })
}

fn whom(value: &Value) -> Option<SimpleTarget> {
    match value {
        Value::Prefix(net) => Some(SimpleTarget::Network(network(net))),
        other => other
            .as_str()
            .map(|name| SimpleTarget::Interface(name.into())),
    }
}

/// Converts a network into a target.
pub(super) fn network(net: &IpNet) -> Target {
    let (ipv6, len) = (net.addr().is_ipv6(), net.prefix_len());
    let address = match net.network() {
        core::net::IpAddr::V4(address) => u128::from(u32::from(address)),
        core::net::IpAddr::V6(address) => address.into(),
    };
    Target::Prefix { ipv6, address, len }
}

fn names(item: &Item, property: &str) -> Vec<Name> {
    let values = match item.get(property) {
        Some(Value::List(list)) => &list[..],
        Some(one) => core::slice::from_ref(one),
        None => &[],
    };
    let names = values.iter().filter_map(Value::as_str);
    let names = names.filter(|name| !name.is_empty());
    names.map(Name::from).collect()
}

/// Returns one value of a property with up to two values; a single value applies to both
/// directions.
fn one_of<'a>(item: &'a Item, property: &str, at: usize) -> Option<&'a Value> {
    match item.get(property)? {
        Value::Tuple(_, values) => values.get(at).or_else(|| values.first()),
        one => Some(one),
    }
}

fn side(item: &Item, before: &str, at: usize) -> Side {
    let value = |name: &str| one_of(item, &format!("{before}{name}"), at);
    let rate = |name: &str| match value(name) {
        Some(Value::Rate(rate) | Value::Number(rate)) => u64::try_from(*rate).unwrap_or(0),
        _ => 0,
    };
    let burst = value("burst-time").and_then(Value::as_nanos);
    let bucket = match value("bucket-size") {
        Some(Value::Thousandths(thousandths)) => u64::try_from(*thousandths).unwrap_or(0),
        _ => 100,
    };
    let priority = value("priority").and_then(Value::as_number).unwrap_or(8);
    let limits = Limits {
        limit_at: rate("limit-at"),
        max_limit: rate("max-limit"),
        burst_limit: rate("burst-limit"),
        burst_threshold: rate("burst-threshold"),
        burst_time: Duration::from_nanos(
            burst.and_then(|nanos| nanos.try_into().ok()).unwrap_or(0),
        ),
        bucket: bucket.min(10_000),
        priority: u8::try_from(priority).unwrap_or(8),
    };
    let kind = value("queue").and_then(Value::as_str);
    let kind = kind.unwrap_or("default-small").into();
    Side { limits, kind }
}

/// Reads an item of `/queue/type`.
pub(super) fn kind(item: &Item) -> Kind {
    let number = |name: &str| u32::try_from(item.number(name).unwrap_or(0)).unwrap_or(u32::MAX);
    let rate = |name: &str| match item.get(name) {
        Some(Value::Rate(rate)) => u64::try_from(*rate).unwrap_or(0),
        _ => 0,
    };
    let span = |name: &str| read::span(item, name).unwrap_or(Duration::ZERO);
    match item.text("kind") {
        "bfifo" => fifo(u32::MAX, number("bfifo-limit").into()),
        "mq-pfifo" => fifo(number("mq-pfifo-limit"), u64::MAX),
        "red" => Kind::Red(Red {
            limit: number("red-limit"),
            least: number("red-min-threshold"),
            most: number("red-max-threshold"),
            burst: number("red-burst"),
            packet_bytes: number("red-avg-packet"),
        }),
        "sfq" => Kind::Sfq(Sfq {
            perturb: Duration::from_secs(number("sfq-perturb").into()),
            allot: number("sfq-allot"),
        }),
        "pcq" => Kind::Pcq(pcq(item)),
        "codel" => Kind::Codel(Codel {
            limit: number("codel-limit"),
            delay: delay(item, "codel"),
        }),
        "fq-codel" => Kind::FqCodel(FqCodel {
            limit: number("fq-codel-limit"),
            flows: number("fq-codel-flows"),
            quantum: number("fq-codel-quantum"),
            memory_bytes: number("fq-codel-memlimit").into(),
            delay: delay(item, "fq-codel"),
        }),
        "cake" => Kind::Cake(Cake {
            bandwidth: rate("cake-bandwidth"),
            tins: tins(item.text("cake-diffserv")),
            flows: flows(item.text("cake-flowmode")),
            rtt: rtt(item.text("cake-rtt-scheme")).unwrap_or_else(|| span("cake-rtt")),
            wash: item.is("cake-wash"),
            ack_filter: match item.text("cake-ack-filter") {
                "filter" => 1,
                "aggressive" => 2,
                _ => 0,
            },
            line: line(item),
            memory_bytes: number("cake-memlimit").into(),
        }),
        // `none` leaves queueing to the hardware, whose ring has 100 packets or more.
        "none" => fifo(100, u64::MAX),
        _ => fifo(number("pfifo-limit"), u64::MAX),
    }
}

fn fifo(packets: u32, bytes: u64) -> Kind {
    Kind::Fifo(Fifo { packets, bytes })
}

fn pcq(item: &Item) -> Pcq {
    let has = |word: &str| match item.get("pcq-classifier") {
        Some(Value::List(list)) => list.iter().any(|one| one.as_str() == Some(word)),
        Some(one) => one.as_str() == Some(word),
        None => false,
    };
    let bits = |name: &str| item.number(name).and_then(|bits| bits.try_into().ok());
    let kib = |name: &str| match item.get(name) {
        Some(Value::Kib(kib)) => u64::try_from(*kib).unwrap_or(0) * 1_024,
        _ => 0,
    };
    let rate = |name: &str| match item.get(name) {
        Some(Value::Rate(rate)) => u64::try_from(*rate).unwrap_or(0),
        _ => 0,
    };
    Pcq {
        classify: Classify {
            source: has("src-address"),
            destination: has("dst-address"),
            source_port: has("src-port"),
            destination_port: has("dst-port"),
            source_bits: (
                bits("pcq-src-address-mask").unwrap_or(32),
                bits("pcq-src-address6-mask").unwrap_or(128),
            ),
            destination_bits: (
                bits("pcq-dst-address-mask").unwrap_or(32),
                bits("pcq-dst-address6-mask").unwrap_or(128),
            ),
        },
        rate: rate("pcq-rate"),
        limit_bytes: kib("pcq-limit"),
        total_bytes: kib("pcq-total-limit"),
        burst_rate: rate("pcq-burst-rate"),
        burst_threshold: rate("pcq-burst-threshold"),
        burst_time: read::span(item, "pcq-burst-time").unwrap_or(Duration::ZERO),
    }
}

fn delay(item: &Item, kind: &str) -> Delay {
    let span = |name: &str| read::span(item, &format!("{kind}-{name}"));
    Delay {
        target: span("target").unwrap_or(Duration::from_millis(5)),
        interval: span("interval").unwrap_or(Duration::from_millis(100)),
        ecn: item.is(&format!("{kind}-ecn")),
        ce_threshold: span("ce-threshold"),
    }
}

fn tins(word: &str) -> CakeTins {
    match word {
        "besteffort" => CakeTins::BestEffort,
        "precedence" => CakeTins::Precedence,
        "diffserv4" => CakeTins::Diffserv4,
        "diffserv8" => CakeTins::Diffserv8,
        _ => CakeTins::Diffserv3,
    }
}

fn flows(word: &str) -> CakeFlows {
    match word {
        "flowblind" => CakeFlows::Blind,
        "srchost" => CakeFlows::SourceHost,
        "dsthost" => CakeFlows::DestinationHost,
        "hosts" => CakeFlows::Hosts,
        "flows" => CakeFlows::Flows,
        "dual-srchost" => CakeFlows::DualSource,
        "dual-dsthost" => CakeFlows::DualDestination,
        _ => CakeFlows::Triple,
    }
}

/// Returns the round-trip time of `cake-rtt-scheme`.
fn rtt(word: &str) -> Option<Duration> {
    let micros = match word {
        "datacentre" => 100,
        "lan" => 1_000,
        "metro" => 10_000,
        "regional" => 30_000,
        "internet" => 100_000,
        "oceanic" => 300_000,
        "satellite" => 1_000_000,
        "interplanetary" => 3_600_000_000,
        _ => return None,
    };
    Some(Duration::from_micros(micros))
}

/// Reads the link overhead: the words of `cake-overhead-scheme` as Linux defines them, then the
/// numeric properties.
fn line(item: &Item) -> Line {
    let mut line = Line::default();
    let words = match item.get("cake-overhead-scheme") {
        Some(Value::List(list)) => &list[..],
        Some(one) => core::slice::from_ref(one),
        None => &[],
    };
    for word in words.iter().filter_map(Value::as_str) {
        let (bytes, least, cells) = match word {
            "conservative" => (48, 0, 'a'),
            "ethernet" => (38, 84, 'n'),
            "docsis" => (18, 64, 'n'),
            "ether-vlan" => (4, 0, ' '),
            "ipoa-vcmux" => (8, 0, 'a'),
            "ipoa-llcsnap" => (16, 0, 'a'),
            "bridged-vcmux" => (24, 0, 'a'),
            "bridged-llcsnap" => (32, 0, 'a'),
            "pppoa-vcmux" => (10, 0, 'a'),
            "pppoa-llc" => (14, 0, 'a'),
            "pppoe-vcmux" => (32, 0, 'a'),
            "pppoe-llcsnap" => (40, 0, 'a'),
            "pppoe-ptm" => (30, 0, 'p'),
            "bridged-ptm" => (22, 0, 'p'),
            _ => continue,
        };
        line.overhead = Some(line.overhead.unwrap_or(0) + bytes);
        line.least = line.least.max(least);
        (line.atm, line.ptm) = match cells {
            'a' => (true, false),
            'p' => (false, true),
            'n' => (false, false),
            _ => (line.atm, line.ptm),
        };
    }
    let number = |name: &str| item.number(name).unwrap_or(0);
    match number("cake-overhead") {
        0 => {}
        bytes => line.overhead = i16::try_from(bytes).ok(),
    }
    if let Ok(least @ 1..) = u16::try_from(number("cake-mpu")) {
        line.least = least;
    }
    match item.text("cake-atm") {
        "atm" => (line.atm, line.ptm) = (true, false),
        "ptm" => (line.atm, line.ptm) = (false, true),
        _ => {}
    }
    line
}
