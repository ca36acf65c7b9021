//! Reads the configuration of bonds.

use core::net::{IpAddr, Ipv4Addr};

use dataplane::bond::HashPolicy;
use machine::Duration;
use menu::{Item, Value};
use service::bond::Watch;
use wire::Mac;

use crate::intent::{Interface, Name};
use crate::kind::bond;
use crate::read;

/// `mode`: how a bond chooses the slave for a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    RoundRobin,
    ActiveBackup,
    Xor,
    Broadcast,
    Lacp,
    Tlb,
    Alb,
}

/// Configuration of a bond.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    /// The bond as an interface.
    pub(super) interface: Interface,
    /// Names of its slaves, without duplicates.
    pub(super) slaves: Vec<Name>,
    pub(super) mode: Mode,
    pub(super) policy: HashPolicy,
    pub(super) primary: Option<Name>,
    pub(super) watch: Watch,
    /// `link-monitoring=arp` is set, but the mode does not support it.
    pub(super) unwatched: bool,
    pub(super) up_delay: Duration,
    pub(super) down_delay: Duration,
    pub(super) targets: Vec<Ipv4Addr>,
    pub(super) min_links: usize,
    pub(super) forced_mac: Option<Mac>,
    pub(super) lacp: LacpSettings,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LacpSettings {
    pub(super) active: bool,
    pub(super) fast: bool,
    pub(super) system: Option<Mac>,
    pub(super) priority: u16,
    pub(super) user_key: u16,
}

impl Mode {
    fn read(word: &str) -> Self {
        match word {
            "802.3ad" => Self::Lacp,
            "active-backup" => Self::ActiveBackup,
            "balance-alb" => Self::Alb,
            "balance-tlb" => Self::Tlb,
            "balance-xor" => Self::Xor,
            "broadcast" => Self::Broadcast,
            _ => Self::RoundRobin,
        }
    }

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::RoundRobin => "balance-rr",
            Self::ActiveBackup => "active-backup",
            Self::Xor => "balance-xor",
            Self::Broadcast => "broadcast",
            Self::Lacp => "802.3ad",
            Self::Tlb => "balance-tlb",
            Self::Alb => "balance-alb",
        }
    }

    /// Whether the mode has an active slave.
    pub(super) const fn has_active(self) -> bool {
        matches!(self, Self::ActiveBackup | Self::Tlb | Self::Alb)
    }

    /// Whether the mode distributes peers over the slaves.
    pub(super) const fn shares_out(self) -> bool {
        matches!(self, Self::Tlb | Self::Alb)
    }
}

/// Reads an item of `/interface/bonding`.
pub(super) fn settings(item: &Item) -> Option<Settings> {
    let mode = Mode::read(item.text("mode"));
    // RouterOS: ARP monitoring does not work with LACP or load balancing.
    let by_arp = item.text("link-monitoring") == "arp";
    let unwatched = by_arp && (mode == Mode::Lacp || mode.shares_out());
    let interval = |name| read::span(item, name).unwrap_or(Duration::from_millis(100));
    let watch = match item.text("link-monitoring") {
        "none" => Watch::Nothing,
        "arp" if !unwatched => Watch::Arp(interval("arp-interval")),
        _ => Watch::Links(interval("mii-interval")),
    };
    let mut slaves: Vec<Name> = Vec::new();
    for value in item.get("slaves").map_or(&[][..], Value::as_list) {
        if let Some(name) = value.as_str().map(Name::from)
            && !slaves.contains(&name)
        {
            slaves.push(name);
        }
    }
    let targets = item.get("arp-ip-targets").map_or(&[][..], Value::as_list);
    let targets = targets.iter().filter_map(|value| match value.as_address() {
        Some(IpAddr::V4(address)) => Some(address),
        _ => None,
    });
    let number = |name: &str| item.number(name).unwrap_or_default();
    let mac = |name: &str| item.get(name).and_then(Value::as_mac).map(Mac);
    Some(Settings {
        interface: bond::read(item)?,
        slaves,
        mode,
        policy: policy(item.text("transmit-hash-policy")),
        primary: read::name(item, "primary").filter(|name| &**name != "none"),
        watch,
        unwatched,
        up_delay: read::span(item, "up-delay").unwrap_or_default(),
        down_delay: read::span(item, "down-delay").unwrap_or_default(),
        targets: targets.collect(),
        min_links: usize::try_from(number("min-links")).unwrap_or_default(),
        forced_mac: mac("forced-mac-address"),
        lacp: LacpSettings {
            active: item.text("lacp-mode") != "passive",
            fast: item.text("lacp-rate") == "1sec",
            system: mac("lacp-system-id"),
            priority: u16::try_from(number("lacp-system-priority")).unwrap_or(u16::MAX),
            user_key: u16::try_from(number("lacp-user-key")).unwrap_or_default(),
        },
    })
}

fn policy(word: &str) -> HashPolicy {
    match word {
        "layer-2-and-3" => HashPolicy::Layer23,
        "layer-3-and-4" => HashPolicy::Layer34,
        "encap-2-and-3" => HashPolicy::Encap23,
        "encap-3-and-4" => HashPolicy::Encap34,
        _ => HashPolicy::Layer2,
    }
}
