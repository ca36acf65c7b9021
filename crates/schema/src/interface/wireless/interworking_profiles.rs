//! `/interface/wireless/interworking-profiles`: interworking profiles (IEEE 802.11u).

use menu::{Menu, Property};

use crate::declare::{maybe, named, optional_text};
use crate::fragment::{COMMENT, idle_list};
use crate::interworking::interworking;

const INTERWORKING: &[Property] = interworking!("");

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            named("Name of the profile"),
            maybe("asra", "Additional step required for access"),
            optional_text("3gpp-raw", "Mobile networks (3GPP), raw"),
        ],
        INTERWORKING,
        &[COMMENT],
    ],
    columns: &["name", "network-type", "internet"],
    space: Some("wireless-interworking"),
    key: Some("name"),
    ..idle_list(
        "/interface/wireless/interworking-profiles",
        "Interworking profiles",
    )
};
