//! `/ip/accounting/web-access`: web access to traffic accounting.

use menu::{Effect, Family, Kind, Menu, MenuShape};

use crate::declare::{no, with_default};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        no(
            "accessible-via-web",
            "Whether counters are available by HTTP",
        ),
        with_default(
            "address",
            Kind::Prefix(Family::V4),
            "0.0.0.0/0",
            "Networks with access",
        ),
    ]],
    effect: Effect::None,
    older: true,
    ..Menu::new(
        "/ip/accounting/web-access",
        MenuShape::Settings,
        "Access to the counters by HTTP",
    )
};
