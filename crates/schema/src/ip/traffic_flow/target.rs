//! `/ip/traffic-flow/target`: flow collectors.

use menu::{Family, Kind, Menu, MenuShape};

use crate::declare::{DISABLED, ONLY_DISABLED, PORT, U32, property, seconds, with_default};

const ANY: Kind = Kind::Address(Family::Any);

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            with_default(
                "src-address",
                ANY,
                "0.0.0.0",
                "Source address of the export packets",
            ),
            property("dst-address", ANY, "The collector").required(),
            with_default("port", PORT, "2055", "The collector's port"),
            with_default(
                "version",
                Kind::Words(&["1", "5", "9", "ipfix"]),
                "9",
                "NetFlow version",
            ),
            with_default(
                "v9-template-refresh",
                U32,
                "20",
                "Packets after which the template is sent again",
            ),
            with_default(
                "v9-template-timeout",
                seconds(1, 4_294_967_295),
                "30m",
                "Time after which the template is sent again",
            ),
        ],
        ONLY_DISABLED,
    ],
    flags: DISABLED,
    columns: &["src-address", "dst-address", "port", "version"],
    ..Menu::new(
        "/ip/traffic-flow/target",
        MenuShape::List,
        "Collectors of flows",
    )
};
