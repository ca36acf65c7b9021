//! `/routing/bgp/vpn`: BGP/MPLS IP VPNs (RFC 4364).

use menu::{Kind, Menu};

use super::TARGET;
use crate::declare::{VRF, list, optional, optional_text, reference};
use crate::dynamic_routing::{SOURCES, chain};
use crate::fragment::{COMMENT_SAID, DISABLED_INVALID, idle_list};

const LABELS: Kind = Kind::Words(&["per-prefix", "per-vrf"]);

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            optional_text("name", "Name of the customer"),
            reference("instance", "bgp-instance", "The instance").optional(),
            optional("vrf", VRF, "The customer's VRF"),
            optional(
                "route-distinguisher",
                TARGET,
                "What tells customers' routes apart",
            ),
            optional("label-allocation-policy", LABELS, "Labels"),
            list("import.route-targets", &TARGET, "Routes that are taken").optional(),
            chain("import.filter-chain", "Chain that they pass"),
            list(
                "export.route-targets",
                &TARGET,
                "What others know the routes by",
            )
            .optional(),
            list(
                "export.redistribute",
                &SOURCES,
                "Routes that others are told",
            )
            .optional(),
            chain("export.filter-chain", "Chain that they pass"),
            chain("export.filter-select", "Chain that chooses them"),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED_INVALID,
    columns: &["name", "vrf", "route-distinguisher"],
    ..idle_list("/routing/bgp/vpn", "Customers' routes by BGP")
};
