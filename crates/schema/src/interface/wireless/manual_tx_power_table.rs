//! `/interface/wireless/manual-tx-power-table`: transmit power by rate.

use menu::{FollowedMenu, Kind, Menu};

use crate::declare::{list, reference};
use crate::fragment::idle_fixed;

const POWER: Kind = Kind::Tuple(":", &[Kind::Name, Kind::Number { min: -30, max: 40 }]);

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        reference("name", "interface", "The radio").read_only(),
        list("manual-tx-powers", &POWER, "Transmit power in dBm per rate").optional(),
    ]],
    columns: &["name", "manual-tx-powers"],
    key: Some("name"),
    follows: &[FollowedMenu {
        path: "/interface/wireless",
        values: &[],
    }],
    ..idle_fixed(
        "/interface/wireless/manual-tx-power-table",
        "Transmit power per rate",
    )
};
