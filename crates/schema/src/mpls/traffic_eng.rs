//! `/mpls/traffic-eng`: tunnels with a bandwidth (RFC 3209).

pub(crate) mod flow;
pub(crate) mod interface;
pub(crate) mod path;
pub(crate) mod tunnel;

use menu::{Kind, Property};

use crate::brief::{U32, may, number};

/// Which links tunnels take, and who takes them from whom.
pub(crate) const AFFINITY: &[Property] = &[
    may("affinity-include-all", U32, "Classes that links must have"),
    may(
        "affinity-include-any",
        U32,
        "Classes of which links must have one",
    ),
    may("affinity-exclude", U32, "Classes that links must not have"),
    may("holding-priority", number(0, 7), "Who keeps a link"),
    may("setup-priority", number(0, 7), "Who takes a link"),
    may("record-route", Kind::Bool, "Notes the way"),
    may(
        "reoptimize-interval",
        Kind::SPAN,
        "How often a better way is looked for",
    ),
];
