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
            named("Name of the path"),
            maybe("use-cspf", "Compute the path on this router"),
            list("hops", &HOP, "Routers on the path: 10.0.0.1/strict").optional(),
        ],
        AFFINITY,
        COMMENT_SAID,
    ],
    flags: DISABLED,
    columns: &["name", "use-cspf", "hops"],
    space: Some("tunnel-path"),
    key: Some("name"),
    ..idle_list("/mpls/traffic-eng/path", "Paths of tunnels")
};
