//! `/mpls/traffic-eng`: traffic engineering tunnels (RFC 3209).

pub(crate) mod flow;
pub(crate) mod interface;
pub(crate) mod path;
pub(crate) mod tunnel;

use menu::{Kind, Property};

use crate::declare::{U32, between, optional};

/// Link affinity and priorities of tunnels.
pub(crate) const AFFINITY: &[Property] = &[
    optional(
        "affinity-include-all",
        U32,
        "Affinity bits of which a link must have all",
    ),
    optional(
        "affinity-include-any",
        U32,
        "Affinity bits of which a link must have one",
    ),
    optional(
        "affinity-exclude",
        U32,
        "Affinity bits of which a link must have none",
    ),
    optional("holding-priority", between(0, 7), "Holding priority"),
    optional("setup-priority", between(0, 7), "Setup priority"),
    optional("record-route", Kind::Bool, "Record the route"),
    optional("reoptimize-interval", Kind::SPAN, "Reoptimization interval"),
];
