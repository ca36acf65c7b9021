//! `/interface/wireless/channels`: named channels.

use menu::{Kind, Menu, Property};

use super::MHZ;
use crate::declare::{named, text, words};
use crate::fragment::{COMMENT_DISABLED, DISABLED_DYNAMIC, idle_rules};
use crate::radio::BANDS;

const WIDTH: Kind = Kind::Either(
    &Kind::Thousandths,
    &Kind::Words(&["5mhz", "10mhz", "20mhz", "40mhz"]),
);

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            text("list", "Channel list"),
            named("Name of the channel"),
            Property::new(
                "frequency",
                Kind::Either(&MHZ, &Kind::Thousandths),
                "Frequency in MHz",
            )
            .required(),
            Property::new("width", WIDTH, "Width in MHz").default("20"),
            words("band", BANDS, "Band and standards").required(),
            words(
                "extension-channel",
                &[
                    "Ce", "Ceee", "XX", "XXXX", "disabled", "eC", "eCee", "eeCe", "eeeC",
                ],
                "Position of the extension channel",
            )
            .default("disabled"),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_DYNAMIC,
    columns: &[
        "list",
        "name",
        "frequency",
        "width",
        "band",
        "extension-channel",
    ],
    space: Some("wireless-channel"),
    key: Some("name"),
    ..idle_rules("/interface/wireless/channels", "Named channels")
};
