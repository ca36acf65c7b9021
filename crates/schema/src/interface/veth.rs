//! `/interface/veth`: interfaces whose other end is in a container.

use menu::{Draft, Family, Kind, Menu, Property, Reason, Shape, Store};

use super::{FLAGS, RESET_COUNTERS};
use crate::declare::{list, mac, no};
use crate::fragment::{COMMENT_DISABLED, INTERFACE_COUNTERS, INTERFACE_STATS, LINK_TIMES};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("name", Kind::Name, "Name of the interface"),
            list(
                "address",
                &Kind::Local(Family::Any),
                "Addresses of the container",
            )
            .default(""),
            Property::new(
                "gateway",
                Kind::Address(Family::V4),
                "Gateway of the container",
            )
            .optional()
            .inert(),
            Property::new(
                "gateway6",
                Kind::Address(Family::V6),
                "IPv6 gateway of the container",
            )
            .optional()
            .inert(),
            mac("mac-address", "Hardware address of the interface"),
            mac("container-mac-address", "Hardware address of the container"),
            no("dhcp", "The container asks for its address by DHCP").inert(),
        ],
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_DISABLED,
    ],
    columns: &["name", "address", "gateway"],
    flags: FLAGS,
    stats: INTERFACE_STATS,
    space: Some("interface"),
    key: Some("name"),
    kind: "veth",
    commands: &[RESET_COUNTERS],
    check: Some(names_a_device),
    ..Menu::new("/interface/veth", Shape::List, "Interfaces of containers")
};

/// The other end is a device of the machine under the same name: 1 to 15 bytes without slash and space
/// (`dev_valid_name` of Linux).
fn names_a_device(draft: &Draft<'_>, _: &Store) -> Result<(), Reason> {
    let name = draft
        .get("name")
        .and_then(|name| name.as_str())
        .unwrap_or_default();
    let is_bad = |c: char| c.is_whitespace() || matches!(c, '/' | ':' | '%');
    if name.len() > 15 || matches!(name, "." | "..") || name.contains(is_bad) {
        return Err(Reason::failure(
            "the container's end has the name of the interface, which has to have 1 to 15 bytes without space, slash, \
             colon and percent sign",
        ));
    }
    Ok(())
}
