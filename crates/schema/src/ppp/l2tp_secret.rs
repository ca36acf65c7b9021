//! `/ppp/l2tp-secret`: L2TP tunnel secrets.

use menu::{Family, Kind, Menu, MenuShape, Property};

use crate::declare::secret;
use crate::fragment::COMMENT;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new(
            "address",
            Kind::Prefix(Family::Any),
            "Network of the other ends",
        )
        .default("0.0.0.0/0"),
        secret("secret", "Shared secret"),
        COMMENT,
    ]],
    columns: &["address"],
    ..Menu::new(
        "/ppp/l2tp-secret",
        MenuShape::List,
        "Secrets of L2TP tunnels",
    )
};
