//! `/routing/pimsm/instance`: PIM instances.

use menu::{Family, Kind, Menu};

use crate::declare::{U32, VRF, between, maybe, named, optional, span};
use crate::dynamic_routing::FAMILIES;
use crate::fragment::{COMMENT_SAID, DISABLED_INVALID, idle_list};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            named("Name of the instance"),
            optional("afi", FAMILIES, "Family"),
            optional("vrf", VRF, "The VRF that it is in"),
            maybe(
                "bsm-forward-back",
                "Sends messages back where they came from",
            ),
            optional(
                "crp-advertise-contained",
                Kind::Bool,
                "Tells of groups within others",
            ),
            optional(
                "rp-hash-mask-length",
                between(0, 128),
                "Groups that share a meeting point",
            ),
            maybe("rp-static-override", "Meeting points by hand come first"),
            optional(
                "ssm-range",
                Kind::Prefix(Family::Any),
                "Groups with one sender",
            ),
            maybe("switch-to-spt", "Changes to the shortest way"),
            optional("switch-to-spt-bytes", U32, "Bytes at which it does"),
            span("switch-to-spt-interval", "Time of those bytes").optional(),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED_INVALID,
    columns: &["name", "vrf", "afi"],
    space: Some("pimsm-instance"),
    key: Some("name"),
    ..idle_list("/routing/pimsm/instance", "PIM instances")
};
