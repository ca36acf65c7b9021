//! `/mpls/ldp`: label distribution protocol (RFC 5036).

pub(crate) mod accept_filter;
pub(crate) mod advertise_filter;
pub(crate) mod interface;
pub(crate) mod local_mapping;
pub(crate) mod neighbor;
pub(crate) mod remote_mapping;

use menu::{Builtin, Family, Flag, Kind, Menu, OldProperty};

use crate::declare::{VRF, between, ipv4, list, maybe, optional};
use crate::dynamic_routing::FAMILIES;
use crate::fragment::{COMMENT_SAID, idle_list};

const ENABLED: OldProperty = OldProperty {
    value: Some("yes"),
    with: Some("no"),
    ..OldProperty::renamed("enabled", "disabled")
};

/// An IPv4 or IPv6 address of the router.
pub(crate) const ADDRESSES: Kind = Kind::Address(Family::Any);

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            list("afi", &FAMILIES, "Families").optional(),
            optional("vrf", VRF, "The VRF"),
            ipv4("lsr-id", "Router identifier (LSR ID)").optional(),
            list(
                "transport-addresses",
                &ADDRESSES,
                "Local transport addresses",
            )
            .optional(),
            optional(
                "preferred-afi",
                FAMILIES,
                "Preferred address family of sessions",
            ),
            maybe(
                "distribute-for-default",
                "Assign a label to the default route",
            ),
            optional(
                "path-vector-limit",
                between(0, 255),
                "Maximum number of routers on a path",
            ),
            optional(
                "hop-limit",
                between(0, 255),
                "Maximum number of hops on a path",
            ),
            maybe("loop-detect", "Detect loops"),
            maybe(
                "use-explicit-null",
                "Keep the label up to the last router (explicit null)",
            ),
        ],
        COMMENT_SAID,
    ],
    flags: &[
        Flag::new('X', "disabled", 0),
        Flag::new('I', "inactive", 0),
        Flag::new('*', "default", 1),
    ],
    columns: &["vrf", "lsr-id", "transport-addresses"],
    // RouterOS 6 had one set of settings.
    supposed: &[Builtin {
        values: &[("afi", "ip"), ("disabled", "yes")],
    }],
    old: &[
        ENABLED,
        OldProperty {
            value: Some("no"),
            with: Some("yes"),
            ..ENABLED
        },
        OldProperty::renamed("transport-address", "transport-addresses"),
        OldProperty::renamed("distribute-for-default-route", "distribute-for-default"),
    ],
    ..idle_list("/mpls/ldp", "LDP instances")
};
