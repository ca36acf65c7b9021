//! `/interface/bridge/settings`: settings of all bridges.

use menu::{Kind, Menu, MenuShape};

use crate::declare::{no, shown, yes};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        no(
            "use-ip-firewall",
            "Send bridged packets through the IP firewall",
        ),
        no(
            "use-ip-firewall-for-vlan",
            "Send bridged VLAN packets through the IP firewall",
        ),
        no(
            "use-ip-firewall-for-pppoe",
            "Send bridged PPPoE packets through the IP firewall",
        ),
        yes("allow-fast-path", "Allow FastPath"),
        shown(
            "bridge-fast-path-active",
            Kind::Bool,
            "Whether FastPath is in use",
        ),
        shown(
            "bridge-slow-path-reason",
            Kind::Text,
            "Reason why FastPath is not in use",
        ),
        shown(
            "bridge-fast-path-packets",
            Kind::COUNTER,
            "Packets by FastPath",
        ),
        shown("bridge-fast-path-bytes", Kind::COUNTER, "Bytes by FastPath"),
        shown(
            "bridge-fast-forward-packets",
            Kind::COUNTER,
            "Packets by fast forwarding",
        ),
        shown(
            "bridge-fast-forward-bytes",
            Kind::COUNTER,
            "Bytes by fast forwarding",
        ),
    ]],
    ..Menu::new(
        "/interface/bridge/settings",
        MenuShape::Settings,
        "Settings of all bridges",
    )
};
