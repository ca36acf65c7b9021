//! `/mpls/traffic-eng/path`: tunnel paths.

use menu::{Family, Kind, Menu};

use super::AFFINITY;
use crate::declare::{list, maybe, named};
use crate::fragment::{COMMENT_SAID, DISABLED, idle_list};

const HOP: Kind = Kind::Tuple(
    "/",
    &[Kind::Address(Family::V4), Kind::Words(&["loose", "strict"])],
);

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            named("Name of the way"),
            maybe("use-cspf", "Finds the way here"),
            list("hops", &HOP, "Routers on the way: 10.0.0.1/strict").optional(),
        ],
        AFFINITY,
        COMMENT_SAID,
    ],
    flags: DISABLED,
    columns: &["name", "use-cspf", "hops"],
    space: Some("tunnel-path"),
    key: Some("name"),
    ..idle_list("/mpls/traffic-eng/path", "Ways of tunnels")
};
