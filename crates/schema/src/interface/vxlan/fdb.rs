//! `/interface/vxlan/fdb`: the MAC address table of VXLAN interfaces.

use menu::{Flag, Kind, Menu, MenuShape};

use crate::declare::shown;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("interface", Kind::Text, "The VXLAN interface"),
        shown("mac-address", Kind::Mac, "Hardware address of the host"),
        shown("remote-ip", Kind::Text, "Address of the remote endpoint"),
    ]],
    flags: &[Flag::new('D', "dynamic", 0)],
    columns: &["interface", "mac-address", "remote-ip"],
    ..Menu::new(
        "/interface/vxlan/fdb",
        MenuShape::Rows,
        "Hosts behind VXLAN interfaces",
    )
};
