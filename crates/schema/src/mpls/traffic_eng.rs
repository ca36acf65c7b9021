//! `/mpls/traffic-eng`: traffic engineering tunnels (RFC 3209).

pub(crate) mod flow;
pub(crate) mod interface;
pub(crate) mod path;
pub(crate) mod tunnel;

use menu::{Kind, Property};

use crate::declare::{U32, between, optional};

/// Link affinity and priorities of tunnels.
pub(crate) const AFFINITY: &[Property] = &[
    optional("affinity-include-all", U32, "Classes that links must have"),
    optional(
        "affinity-include-any",
        U32,
        "Classes of which links must have one",
    ),
    optional("affinity-exclude", U32, "Classes that links must not have"),
    optional("holding-priority", between(0, 7), "Who keeps a link"),
    optional("setup-priority", between(0, 7), "Who takes a link"),
    optional("record-route", Kind::Bool, "Notes the way"),
    optional(
        "reoptimize-interval",
        Kind::SPAN,
        "How often a better way is looked for",
    ),
];
