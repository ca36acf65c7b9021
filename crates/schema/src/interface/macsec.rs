//! `/interface/macsec`: MACsec interfaces (IEEE 802.1AE).

pub(crate) mod profile;

use menu::{Kind, Menu, Property};

use crate::declare::reference;
use crate::fragment::{
    COMMENT_DISABLED, INTERFACE_COUNTERS, LINK_TIMES, idle_interfaces, interface, name_mtu,
};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &name_mtu("1468"),
        &[
            interface("Parent interface"),
            Property::new(
                "cak",
                Kind::Sized { min: 0, max: 32 },
                "Connectivity association key (CAK), in hexadecimal",
            )
            .sensitive(),
            Property::new(
                "ckn",
                Kind::Sized { min: 0, max: 64 },
                "Connectivity association key name (CKN), in hexadecimal",
            ),
            reference("profile", "macsec-profile", "Profile").default("default"),
        ],
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_DISABLED,
    ],
    columns: &["name", "mtu", "interface"],
    ..idle_interfaces("/interface/macsec", "macsec", "MACsec interfaces")
};
