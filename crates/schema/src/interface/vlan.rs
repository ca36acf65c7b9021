//! `/interface/vlan`: VLAN interfaces (IEEE 802.1Q).

use menu::{Draft, Kind, Menu, MenuShape, Property, Reason, Store, Unique};

use super::{FLAGS, RESET_COUNTERS};
use crate::fragment::{
    ARP, COMMENT_DISABLED, INTERFACE_COUNTERS, INTERFACE_STATS, LINK_TIMES, LOOP_PROTECT, interface,
};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("name", Kind::Name, "Name of the interface"),
            Property::new(
                "mtu",
                Kind::Number {
                    min: 68,
                    max: 65_535,
                },
                "Maximum transmission unit of layer 3",
            )
            .default("1500"),
            Property::new(
                "l2mtu",
                Kind::COUNTER,
                "Maximum transmission unit of layer 2",
            )
            .read_only(),
            Property::new("mac-address", Kind::Mac, "Hardware address").read_only(),
        ],
        ARP,
        LOOP_PROTECT,
        &[
            Property::new(
                "vlan-id",
                Kind::Number { min: 1, max: 4_095 },
                "VLAN of the tag",
            )
            .default("1"),
            interface("Parent interface"),
            Property::new(
                "use-service-tag",
                Kind::Bool,
                "Use the service tag of IEEE 802.1ad",
            )
            .default("no"),
            Property::new("mvrp", Kind::Bool, "Declare the VLAN by MVRP")
                .default("no")
                .inert(),
            Property::new("l3-hw-offloading", Kind::Bool, "Layer 3 hardware offload")
                .optional()
                .inert(),
        ],
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_DISABLED,
    ],
    flags: FLAGS,
    columns: &["name", "mtu", "arp", "vlan-id", "interface"],
    stats: INTERFACE_STATS,
    space: Some("interface"),
    key: Some("name"),
    // RouterOS: "each with a unique VLAN ID, per interface".
    unique: &[Unique {
        properties: &["interface", "vlan-id", "use-service-tag"],
        failure: "already have vlan with such vlan-id on this interface",
    }],
    kind: "vlan",
    commands: &[RESET_COUNTERS],
    check: Some(not_on_itself),
    ..Menu::new("/interface/vlan", MenuShape::List, "VLAN interfaces")
};

/// Refuses a VLAN interface that runs on itself, directly or through other interfaces.
fn not_on_itself(draft: &Draft<'_>, store: &Store) -> Result<(), Reason> {
    let name = draft
        .get("name")
        .and_then(|name| name.as_str())
        .unwrap_or_default();
    let mut below = draft
        .get("interface")
        .and_then(|name| name.as_str())
        .map(str::to_owned);
    // Limits the number of nested VLANs, so that loops are detected.
    for _ in 0..64 {
        let Some(interface) = below else {
            return Ok(());
        };
        if interface == name {
            break;
        }
        let item = store.named("interface", &interface);
        below = item
            .filter(|i| i.menu.path == MENU.path)
            .map(|i| i.text("interface").to_owned());
    }
    Err(Reason::failure("interface can not be its own parent"))
}
