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
            optional("vrf", VRF, "The VRF"),
            maybe(
                "bsm-forward-back",
                "Forward bootstrap messages on the interface on which they were received",
            ),
            optional(
                "crp-advertise-contained",
                Kind::Bool,
                "Announce groups contained in others",
            ),
            optional(
                "rp-hash-mask-length",
                between(0, 128),
                "Length of the hash mask for rendezvous points",
            ),
            maybe("rp-static-override", "Prefer static rendezvous points"),
            optional(
                "ssm-range",
                Kind::Prefix(Family::Any),
                "Range of source-specific multicast",
            ),
            maybe("switch-to-spt", "Switch to the shortest-path tree"),
            optional(
                "switch-to-spt-bytes",
                U32,
                "Bytes after which traffic switches to the shortest-path tree",
            ),
            span(
                "switch-to-spt-interval",
                "Counting interval of the switch to the shortest-path tree",
            )
            .optional(),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED_INVALID,
    columns: &["name", "vrf", "afi"],
    space: Some("pimsm-instance"),
    key: Some("name"),
    ..idle_list("/routing/pimsm/instance", "PIM instances")
};
