//! `/interface/bridge/port`: bridge ports.

pub(crate) mod mst_override;

use menu::{Draft, Flag, Kind, Menu, MenuShape, OldProperty, Property, Reason, Store, Unique};

use super::{BRIDGE, FRAME_TYPES, MONITOR, MULTICAST_ROUTER};
use crate::declare::{no, number, shown, words, yes};
use crate::fragment::COMMENT_DISABLED;

/// An interface, or all members of an interface list.
pub(crate) const PORT: Kind = Kind::Either(
    &Kind::Reference("interface"),
    &Kind::Reference("interface-list"),
);

/// Path cost of a port in the spanning tree.
pub(crate) const fn cost(name: &'static str, help: &'static str) -> Property {
    number(name, 1, 200_000_000, help).optional()
}

/// Port priority in the spanning tree.
pub(crate) const PRIORITY: Property = Property::new(
    "priority",
    Kind::Hex { max: 0xff },
    "Priority of the port in the spanning tree",
)
.default("0x80");

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("interface", PORT, "Interface, or list of interfaces").required(),
            BRIDGE,
            PRIORITY,
            cost("path-cost", "Path cost of the port"),
            cost("internal-path-cost", "Internal path cost of the port"),
            words(
                "edge",
                &["auto", "no", "no-discover", "yes", "yes-discover"],
                "Edge port",
            )
            .default("auto"),
            words(
                "point-to-point",
                &["auto", "yes", "no"],
                "Point-to-point link",
            )
            .default("auto"),
            words("learn", &["auto", "no", "yes"], "Learn hosts").default("auto"),
            Property::new(
                "horizon",
                Kind::Or(
                    &["none"],
                    &Kind::Number {
                        min: 0,
                        max: 4_294_967_295,
                    },
                ),
                "Split horizon: no forwarding between ports with equal values",
            )
            .default("none"),
            yes("hw", "Hardware offload to a switch chip"),
            shown("hw-offload-group", Kind::Text, "Switch chip of the port"),
            shown(
                "hw-offload-reason",
                Kind::Text,
                "Reason why the port is not offloaded",
            ),
            no(
                "auto-isolate",
                "Isolate the port until a spanning tree message arrives",
            )
            .inert(),
            no("restricted-role", "Never become the root port"),
            no("restricted-tcn", "Do not propagate topology changes"),
            number("pvid", 1, 4_094, "VLAN of untagged frames").default("1"),
            words("frame-types", FRAME_TYPES, "Accepted frame types").default("admit-all"),
            yes(
                "ingress-filtering",
                "Drop frames of VLANs that the port is not a member of",
            ),
            no("tag-stacking", "Treat every frame as untagged"),
            yes("unknown-unicast-flood", "Flood frames to unknown hosts"),
            yes(
                "unknown-multicast-flood",
                "Flood frames of unknown multicast groups",
            ),
            yes("broadcast-flood", "Flood broadcasts"),
            no(
                "bpdu-guard",
                "BPDU guard: disable the port on spanning tree messages",
            ),
            no("trusted", "Trusted for DHCP server messages"),
            no("trusted-dhcpv6", "Trusted for DHCPv6 server messages"),
            no("trusted-ra", "Trusted for router advertisements"),
            no("fast-leave", "Fast leave of multicast groups"),
            words(
                "multicast-router",
                MULTICAST_ROUTER,
                "Multicast router state of the port",
            )
            .default("temporary-query"),
            words(
                "mvrp-applicant-state",
                &["non-participant", "normal-participant"],
                "MVRP applicant state",
            )
            .default("normal-participant")
            .inert(),
            words(
                "mvrp-registrar-state",
                &["fixed", "normal"],
                "MVRP registrar state",
            )
            .default("normal")
            .inert(),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[
        Flag::new('X', "disabled", 0),
        Flag::new('I', "inactive", 0),
        Flag::new('D', "dynamic", 1),
        Flag::new('H', "hw-offload", 2),
    ],
    columns: &["interface", "bridge", "hw", "pvid", "priority", "horizon"],
    unique: &[Unique {
        properties: &["interface"],
        failure: "device already added as bridge port",
    }],
    commands: &[MONITOR],
    old: &[OldProperty::gone("external-fdb")],
    check: Some(joins),
    ..Menu::new(
        "/interface/bridge/port",
        MenuShape::Ordered,
        "Ports of bridges",
    )
};

/// Refuses the built-in lists `all` and `static`, whose members change with every added interface. The list
/// `dynamic` is harmless: its members have no MAC address.
pub(crate) fn names_no_built_in_list(draft: &Draft<'_>, property: &str) -> Result<(), Reason> {
    let value = draft.get(property);
    let names = value.map(|value| value.as_list()).unwrap_or_default();
    let mut names = names.iter().chain(value).filter_map(|name| name.as_str());
    match names.find(|name| ["all", "static"].contains(name)) {
        Some(list) => Err(Reason::failure(format!(
            "list {list} can not be a bridge port; use interfaces or a list with its own members"
        ))),
        None => Ok(()),
    }
}

/// Refuses a bridge as a port of a bridge.
fn joins(draft: &Draft<'_>, store: &Store) -> Result<(), Reason> {
    let is_bridge = |property: &str| {
        let name = draft.get(property).and_then(|name| name.as_str());
        let item = name.and_then(|name| store.named("interface", name));
        item.map(|item| item.menu.path == "/interface/bridge")
    };
    names_no_built_in_list(draft, "interface")?;
    match (is_bridge("bridge"), is_bridge("interface")) {
        (Some(false), _) => Err(Reason::failure("the interface is no bridge")),
        (_, Some(true)) => Err(Reason::failure("can not add bridge to bridge")),
        _ => Ok(()),
    }
}
