//! `/interface/vrrp`: VRRP interfaces (RFC 9568).

use menu::{Draft, Flag, Kind, Menu, MenuShape, OldProperty, Property, Reason, Store, Unique};

use crate::declare::{ipv4, no, number, shown, text, within, words, yes};
use crate::fragment::{
    ARP, COMMENT_DISABLED, INTERFACE_COUNTERS, INTERFACE_STATS, LINK_TIMES, interface,
};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("name", Kind::Name, "Name of the interface"),
            shown("mtu", Kind::COUNTER, "Maximum transmission unit of layer 3"),
            shown(
                "mac-address",
                Kind::Mac,
                "Hardware address of the virtual router",
            ),
        ],
        ARP,
        &[
            interface("Shared interface"),
            number("vrid", 1, 255, "Number of the virtual router").default("1"),
            number("priority", 1, 254, "Priority for the master election").default("100"),
            within("interval", 10, 255_000, "Time between advertisements").default("1s"),
            yes(
                "preemption-mode",
                "Take over from a master with lower priority",
            ),
            words(
                "authentication",
                &["ah", "none", "simple"],
                "VRRP version 2 authentication",
            )
            .default("none"),
            Property::new(
                "password",
                Kind::Sized { min: 0, max: 16 },
                "Authentication password",
            )
            .default("")
            .sensitive(),
            text("on-backup", "Script that runs on becoming a backup").script(),
            text("on-master", "Script that runs on becoming the master").script(),
            text("on-fail", "Script that runs when the interface fails").script(),
            number("version", 2, 3, "Version of VRRP").default("3"),
            words(
                "v3-protocol",
                &["ipv4", "ipv6"],
                "VRRP version 3 protocol: IPv4 or IPv6",
            )
            .default("ipv4"),
            no(
                "v3-checksum-as-v2",
                "Compute the VRRP version 3 checksum like version 2",
            ),
            Property::new(
                "group-authority",
                Kind::Or(&["none", "self"], &Kind::Reference("interface")),
                "Interface that represents the group",
            )
            .or_itself()
            .default("none"),
            no(
                "sync-connection-tracking",
                "Synchronise connection tracking with the backups",
            ),
            words(
                "connection-tracking-mode",
                &["active-active", "passive-active"],
                "Addresses for connection tracking synchronisation",
            )
            .default("passive-active")
            .inert(),
            number(
                "connection-tracking-port",
                0,
                65_535,
                "Port for connection tracking synchronisation",
            )
            .default("8275")
            .inert(),
            ipv4(
                "remote-address",
                "Peer address for connection tracking synchronisation",
            )
            .optional()
            .inert(),
        ],
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_DISABLED,
    ],
    flags: &[
        Flag::new('X', "disabled", 0),
        Flag::new('I', "invalid", 0),
        Flag::new('R', "running", 0),
        Flag::new('M', "master", 1),
        Flag::new('B', "backup", 1),
    ],
    columns: &[
        "name",
        "interface",
        "mac-address",
        "vrid",
        "priority",
        "interval",
        "version",
    ],
    old: &[
        OldProperty::renamed("group-master", "group-authority"),
        OldProperty {
            value: Some(""),
            with: Some("none"),
            ..OldProperty::renamed("group-authority", "group-authority")
        },
    ],
    stats: INTERFACE_STATS,
    space: Some("interface"),
    key: Some("name"),
    // Two such interfaces would share a MAC address.
    unique: &[Unique {
        properties: &["interface", "vrid", "v3-protocol"],
        failure: "already have vrrp with such vrid on this interface",
    }],
    kind: "vrrp",
    check: Some(can_be),
    ..Menu::new("/interface/vrrp", MenuShape::List, "VRRP interfaces")
};

/// Checks the settings of a virtual router.
fn can_be(draft: &Draft<'_>, store: &Store) -> Result<(), Reason> {
    let is = |name| {
        draft
            .get(name)
            .is_some_and(|value| value.to_string() == "yes")
    };
    if is("sync-connection-tracking") {
        return Err(Reason::failure(
            "sync-connection-tracking is not supported: its protocol is not published; set it to no, \
             and let rules accept connections that began on the other router",
        ));
    }
    super::has_a_link(draft, store)
}
