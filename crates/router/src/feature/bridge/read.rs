//! Reads the configuration of bridges and ports from the store.

use core::net::IpAddr;
use std::collections::BTreeMap;

use dataplane::bridge::{FrameTypes, Guards};
use menu::{Item, Value};
use service::snooping;
use service::stp::{self, CostMode, Edge, Instance, Protocol};
use wire::Mac;

use crate::intent::{Interface, Name};
use crate::kind;
use crate::read;

/// Default limit of learned hosts: RouterOS's for machines with 1 GiB of memory or more.
const LEARNED_AUTO: u32 = 131_072;
/// MTU of a bridge without ports (RouterOS).
pub(super) const MTU: u32 = 1500;

/// Configuration of a bridge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BridgeConfig {
    /// The bridge as an interface: its address, MTU and link follow from its ports.
    pub(super) interface: Interface,
    /// `mtu`; `None` takes the lowest MTU of its ports.
    pub(super) mtu: Option<u32>,
    /// `auto-mac`.
    pub(super) auto_mac: bool,
    /// `admin-mac`.
    pub(super) admin_mac: Option<Mac>,
    /// `ageing-time` in seconds.
    pub(super) ageing_seconds: u32,
    /// `max-learned-entries`.
    pub(super) max_learned: u32,
    /// `fast-forward`.
    pub(super) fast_forward: bool,
    /// `forward-reserved-addresses`.
    pub(super) forward_reserved: bool,
    /// Spanning tree settings without the bridge's address and instances.
    pub(super) tree: stp::Config,
    /// `vlan-filtering`.
    pub(super) vlan_filtering: bool,
    /// `ether-type`.
    pub(super) ethertype: u16,
    /// `pvid`.
    pub(super) pvid: u16,
    /// `frame-types`.
    pub(super) frame_types: FrameTypes,
    /// `ingress-filtering`.
    pub(super) ingress_filtering: bool,
    /// Settings of IGMP and MLD snooping without the query addresses; `None` if snooping is off.
    pub(super) snooping: Option<snooping::Config>,
    /// `querier-uses-bridge-address`.
    pub(super) querier_uses_address: bool,
    /// Which protocols the bridge accepts from trusted ports only.
    pub(super) guards: Guards,
    /// Circuit id and remote id of the DHCP relay agent information, if inserted. Empty means the
    /// port's name and the bridge's address.
    pub(super) agent: Option<(String, String)>,
}

/// Configuration of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PortConfig {
    /// Name of the bridge.
    pub(super) bridge: Name,
    /// Name of the interface or of the interface list.
    pub(super) of: Name,
    /// `disabled`.
    pub(super) disabled: bool,
    /// `learn`; `None` means `auto`.
    pub(super) learn: Option<bool>,
    /// `horizon`.
    pub(super) horizon: Option<u32>,
    /// `unknown-unicast-flood`.
    pub(super) unknown_unicast_flood: bool,
    /// `unknown-multicast-flood`.
    pub(super) unknown_multicast_flood: bool,
    /// `broadcast-flood`.
    pub(super) broadcast_flood: bool,
    /// `pvid`.
    pub(super) pvid: u16,
    /// `frame-types`.
    pub(super) frame_types: FrameTypes,
    /// `ingress-filtering`.
    pub(super) ingress_filtering: bool,
    /// `tag-stacking`.
    pub(super) tag_stacking: bool,
    /// Spanning tree settings of the port, without those of single instances.
    pub(super) tree: stp::PortConfig,
    /// `multicast-router`.
    pub(super) multicast_router: MulticastRouter,
    /// `fast-leave`.
    pub(super) fast_leave: bool,
    /// `trusted`, `trusted-dhcpv6` and `trusted-ra`.
    pub(super) trusted: bool,
    pub(super) trusted_dhcp6: bool,
    pub(super) trusted_ra: bool,
}

/// Whether a multicast router is behind a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MulticastRouter {
    /// Never.
    Disabled,
    /// Always.
    Permanent,
    /// As long as the port receives queries.
    Temporary,
}

/// Configuration of a multicast group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GroupConfig {
    /// Name of the bridge.
    pub(super) bridge: Name,
    /// The group.
    pub(super) group: IpAddr,
    /// `vid`; `None` is the VLAN of the bridge's untagged frames.
    pub(super) vid: Option<u16>,
    /// `interface`: names of the listening ports.
    pub(super) ports: Vec<Name>,
    /// `disabled`.
    pub(super) disabled: bool,
}

impl BridgeConfig {
    /// Whether it is a provider bridge (IEEE 802.1Q, 5.10), whose spanning tree uses its own group
    /// address.
    pub(super) const fn is_provider(&self) -> bool {
        self.vlan_filtering && self.ethertype == 0x88a8
    }
}

/// Configuration of a VLAN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct VlanConfig {
    /// Name of the bridge.
    pub(super) bridge: Name,
    /// `vlan-ids` as inclusive ranges.
    pub(super) vids: Vec<(u16, u16)>,
    /// `tagged`.
    pub(super) tagged: Vec<Name>,
    /// `untagged`.
    pub(super) untagged: Vec<Name>,
    /// `disabled`.
    pub(super) disabled: bool,
}

impl VlanConfig {
    /// Whether the item names this VLAN.
    pub(super) fn has(&self, vid: u16) -> bool {
        let mut vids = self.vids.iter();
        vids.any(|(first, last)| (*first..=*last).contains(&vid))
    }

    pub(super) fn each_vid(&self, each: impl FnMut(u16)) {
        let vids = self.vids.iter();
        vids.flat_map(|(first, last)| *first..=*last).for_each(each);
    }
}

/// Configuration of a static host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HostConfig {
    pub(super) bridge: Name,
    pub(super) interface: Name,
    pub(super) mac: Mac,
    /// `vid`; `None` takes the VLAN of the port.
    pub(super) vid: Option<u16>,
    pub(super) disabled: bool,
}

/// Configuration of an MST instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InstanceConfig {
    pub(super) bridge: Name,
    pub(super) number: u16,
    pub(super) instance: Instance,
    pub(super) disabled: bool,
}

/// Configuration of a port in an MST instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OverrideConfig {
    pub(super) of: Name,
    pub(super) number: u16,
    pub(super) priority: u8,
    pub(super) cost: Option<u32>,
    pub(super) disabled: bool,
}

pub(super) fn bridge(item: &Item) -> Option<BridgeConfig> {
    let mtu = item.number("mtu").and_then(|mtu| u32::try_from(mtu).ok());
    let mut interface = kind::bridge::read(item)?;
    interface.mtu = mtu.unwrap_or(MTU);
    let ageing = read::span(item, "ageing-time").map_or(300, |time| time.as_secs());
    let max_learned = match item.text("max-learned-entries") {
        "unlimited" => u32::MAX,
        _ => number(item, "max-learned-entries").unwrap_or(LEARNED_AUTO),
    };
    Some(BridgeConfig {
        interface,
        mtu,
        auto_mac: item.is("auto-mac"),
        admin_mac: item.get("admin-mac").and_then(Value::as_mac).map(Mac),
        ageing_seconds: u32::try_from(ageing).unwrap_or(u32::MAX),
        max_learned,
        fast_forward: item.is("fast-forward"),
        forward_reserved: item.is("forward-reserved-addresses"),
        tree: tree(item),
        vlan_filtering: item.is("vlan-filtering"),
        ethertype: match item.text("ether-type") {
            "0x88a8" => 0x88a8,
            "0x9100" => 0x9100,
            _ => 0x8100,
        },
        pvid: vid(item),
        frame_types: frame_types(item),
        ingress_filtering: item.is("ingress-filtering"),
        snooping: snooping(item),
        querier_uses_address: item.is("querier-uses-bridge-address"),
        guards: Guards {
            dhcp: item.is("dhcp-snooping"),
            dhcp6: item.is("dhcpv6-snooping"),
            advertisements: item.is("ra-guard"),
        },
        agent: agent(item),
    })
}

/// RouterOS 7.23 replaces `add-dhcp-option82` by these ids; the old property is still read.
fn agent(item: &Item) -> Option<(String, String)> {
    let of = |name| item.text(name).to_owned();
    let (circuit, remote) = (of("dhcp-agent-circuit-id"), of("dhcp-agent-remote-id"));
    let is_said = !circuit.is_empty() || !remote.is_empty();
    (item.is("add-dhcp-option82") || is_said).then_some((circuit, remote))
}

/// The properties have the names of the fields of [`snooping::Config`].
fn snooping(item: &Item) -> Option<snooping::Config> {
    let usual = snooping::Config::default();
    let span = |name, usual| read::span(item, name).unwrap_or(usual);
    item.is("igmp-snooping").then(|| snooping::Config {
        querier: item.is("multicast-querier"),
        igmp_v3: item.number("igmp-version") == Some(3),
        mld_v2: item.number("mld-version") == Some(2),
        last_member_query_count: number(item, "last-member-query-count").unwrap_or(2),
        last_member_interval: span("last-member-interval", usual.last_member_interval),
        membership_interval: span("membership-interval", usual.membership_interval),
        querier_interval: span("querier-interval", usual.querier_interval),
        query_interval: span("query-interval", usual.query_interval),
        query_response_interval: span("query-response-interval", usual.query_response_interval),
        startup_query_count: number(item, "startup-query-count").unwrap_or(2),
        startup_query_interval: span("startup-query-interval", usual.startup_query_interval),
        ..usual
    })
}

pub(super) fn group(item: &Item) -> Option<GroupConfig> {
    let ports = item.get("interface").map(Value::as_list);
    let ports = ports.unwrap_or_default().iter().filter_map(Value::as_str);
    let vid = item.number("vid").and_then(|vid| u16::try_from(vid).ok());
    Some(GroupConfig {
        bridge: read::name(item, "bridge")?,
        group: item.get("group").and_then(Value::as_address)?,
        vid,
        ports: ports.map(Name::from).collect(),
        disabled: item.is("disabled"),
    })
}

pub(super) fn port(item: &Item) -> Option<PortConfig> {
    Some(PortConfig {
        bridge: read::name(item, "bridge")?,
        of: read::name(item, "interface")?,
        disabled: item.is("disabled"),
        learn: match item.text("learn") {
            "yes" => Some(true),
            "no" => Some(false),
            _ => None,
        },
        horizon: number(item, "horizon"),
        unknown_unicast_flood: item.is("unknown-unicast-flood"),
        unknown_multicast_flood: item.is("unknown-multicast-flood"),
        broadcast_flood: item.is("broadcast-flood"),
        pvid: vid(item),
        frame_types: frame_types(item),
        ingress_filtering: item.is("ingress-filtering"),
        tag_stacking: item.is("tag-stacking"),
        tree: tree_port(item),
        multicast_router: match item.text("multicast-router") {
            "disabled" => MulticastRouter::Disabled,
            "permanent" => MulticastRouter::Permanent,
            _ => MulticastRouter::Temporary,
        },
        fast_leave: item.is("fast-leave"),
        trusted: item.is("trusted"),
        trusted_dhcp6: item.is("trusted-dhcpv6"),
        trusted_ra: item.is("trusted-ra"),
    })
}

fn tree(item: &Item) -> stp::Config {
    let seconds = |name: &str, usual: u16| {
        let time = read::span(item, name).map(|time| time.as_secs());
        time.and_then(|time| u16::try_from(time).ok())
            .unwrap_or(usual)
    };
    let small = |name: &str, usual: u16| {
        let number = item.number(name);
        number
            .and_then(|number| u16::try_from(number).ok())
            .unwrap_or(usual)
    };
    stp::Config {
        protocol: match item.text("protocol-mode") {
            "none" => Protocol::None,
            "stp" => Protocol::Stp,
            "mstp" => Protocol::Mstp,
            _ => Protocol::Rstp,
        },
        priority: hex(item, "priority", 0x8000),
        max_age: seconds("max-message-age", 20),
        forward_delay: seconds("forward-delay", 15),
        transmit_hold_count: small("transmit-hold-count", 6),
        max_hops: small("max-hops", 20) as u8,
        cost_mode: match item.text("port-cost-mode") {
            "short" => CostMode::Short,
            _ => CostMode::Long,
        },
        region_name: item.text("region-name").to_owned(),
        region_revision: small("region-revision", 0),
        ..stp::Config::default()
    }
}

fn tree_port(item: &Item) -> stp::PortConfig {
    stp::PortConfig {
        priority: hex(item, "priority", 0x80) as u8,
        path_cost: number(item, "path-cost"),
        internal_path_cost: number(item, "internal-path-cost"),
        edge: match item.text("edge") {
            "yes" => Edge::Yes,
            "no" => Edge::No,
            "yes-discover" => Edge::YesDiscover,
            "no-discover" => Edge::NoDiscover,
            _ => Edge::Auto,
        },
        point_to_point: match item.text("point-to-point") {
            "yes" => Some(true),
            "no" => Some(false),
            _ => None,
        },
        bpdu_guard: item.is("bpdu-guard"),
        restricted_role: item.is("restricted-role"),
        restricted_tcn: item.is("restricted-tcn"),
        overrides: BTreeMap::new(),
    }
}

pub(super) fn vlan(item: &Item) -> Option<VlanConfig> {
    let names = |property: &str| -> Vec<Name> {
        let names = item.get(property).map(Value::as_list).unwrap_or_default();
        let names = names.iter().filter_map(Value::as_str);
        names.map(Name::from).collect()
    };
    Some(VlanConfig {
        bridge: read::name(item, "bridge")?,
        vids: read::vlan_ranges(item, "vlan-ids"),
        tagged: names("tagged"),
        untagged: names("untagged"),
        disabled: item.is("disabled"),
    })
}

pub(super) fn host(item: &Item) -> Option<HostConfig> {
    let vid = item.number("vid").and_then(|vid| u16::try_from(vid).ok());
    Some(HostConfig {
        bridge: read::name(item, "bridge")?,
        interface: read::name(item, "interface")?,
        mac: Mac(item.get("mac-address").and_then(Value::as_mac)?),
        vid,
        disabled: item.is("disabled"),
    })
}

pub(super) fn instance(item: &Item) -> Option<InstanceConfig> {
    Some(InstanceConfig {
        bridge: read::name(item, "bridge")?,
        number: u16::try_from(item.number("identifier")?).ok()?,
        instance: Instance {
            priority: hex(item, "priority", 0x8000),
            vlans: read::vlan_ranges(item, "vlan-mapping"),
        },
        disabled: item.is("disabled"),
    })
}

pub(super) fn port_in_instance(item: &Item) -> Option<OverrideConfig> {
    Some(OverrideConfig {
        of: read::name(item, "interface")?,
        number: u16::try_from(item.number("identifier")?).ok()?,
        priority: hex(item, "priority", 0x80) as u8,
        cost: number(item, "internal-path-cost"),
        disabled: item.is("disabled"),
    })
}

fn hex(item: &Item, property: &str, usual: u16) -> u16 {
    match item.get(property) {
        Some(Value::Hex(number)) => u16::try_from(*number).unwrap_or(usual),
        Some(Value::Number(number)) => u16::try_from(*number).unwrap_or(usual),
        _ => usual,
    }
}

fn number(item: &Item, name: &str) -> Option<u32> {
    item.number(name)
        .and_then(|number| u32::try_from(number).ok())
}

fn vid(item: &Item) -> u16 {
    let vid = item.number("pvid").and_then(|vid| u16::try_from(vid).ok());
    vid.unwrap_or(1)
}

fn frame_types(item: &Item) -> FrameTypes {
    match item.text("frame-types") {
        "admit-only-vlan-tagged" => FrameTypes::Tagged,
        "admit-only-untagged-and-priority-tagged" => FrameTypes::UntaggedAndPriority,
        _ => FrameTypes::All,
    }
}
