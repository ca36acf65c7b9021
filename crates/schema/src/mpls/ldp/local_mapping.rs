//! `/mpls/ldp/local-mapping`: local label bindings.

use menu::{Family, Flag, Kind, Menu, Property};

use crate::declare::{VRF, between, optional, shown};
use crate::fragment::{COMMENT_SAID, idle_list};

/// A label, or a reserved label by name.
pub(crate) const LABEL: Kind = Kind::Or(
    &["alert", "expl-null", "expl-null6", "impl-null", "none"],
    &between(0, 1_048_575),
);

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("dst-address", Kind::Prefix(Family::Any), "The network").required(),
            optional("label", LABEL, "Label"),
            optional("vrf", VRF, "The VRF"),
            shown(
                "peers",
                Kind::Text,
                "Neighbours to which the label was advertised",
            ),
        ],
        COMMENT_SAID,
    ],
    flags: &[
        Flag::new('X', "disabled", 0),
        Flag::new('D', "dynamic", 1),
        Flag::new('E', "egress", 2),
        Flag::new('G', "gateway", 3),
        Flag::new('L', "local", 4),
    ],
    columns: &["vrf", "dst-address", "label", "peers"],
    ..idle_list("/mpls/ldp/local-mapping", "Labels assigned by this router")
};
