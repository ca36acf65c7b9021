//! `/interface/vxlan/vteps`: remote endpoints of VXLAN interfaces.

use menu::{Draft, Menu, MenuShape, Reason, Store, Unique, Value};

use crate::declare::{address, number};
use crate::fragment::{COMMENT_DISABLED, DISABLED_DYNAMIC, interface};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            interface("The VXLAN interface"),
            address("remote-ip", "Address of the remote endpoint").required(),
            number("port", 1, 65_535, "UDP port of the remote endpoint").optional(),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_DYNAMIC,
    columns: &["interface", "remote-ip"],
    unique: &[Unique {
        properties: &["interface", "remote-ip"],
        failure: "already have such vtep",
    }],
    check: Some(is_an_end),
    ..Menu::new(
        "/interface/vxlan/vteps",
        MenuShape::List,
        "Remote endpoints of VXLAN interfaces",
    )
};

/// Requires a unicast address and a VXLAN interface.
fn is_an_end(draft: &Draft<'_>, store: &Store) -> Result<(), Reason> {
    let name = draft.get("interface").and_then(Value::as_str);
    let interface = name.and_then(|name| store.named("interface", name));
    let address = draft.get("remote-ip").and_then(Value::as_address);
    if interface.is_some_and(|item| item.menu.path != super::MENU.path) {
        Err(Reason::failure("interface is not a vxlan"))
    } else if address.is_some_and(|address| address.is_multicast() || address.is_unspecified()) {
        Err(Reason::failure("remote-ip must be the address of one host"))
    } else {
        Ok(())
    }
}
