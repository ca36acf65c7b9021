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
            optional_text("name", "Name of the VPN"),
            reference("instance", "bgp-instance", "The instance").optional(),
            optional("vrf", VRF, "VRF of the VPN"),
            optional("route-distinguisher", TARGET, "Route distinguisher"),
            optional("label-allocation-policy", LABELS, "Labels"),
            list("import.route-targets", &TARGET, "Imported route targets").optional(),
            chain("import.filter-chain", "Filter chain for imported routes"),
            list("export.route-targets", &TARGET, "Exported route targets").optional(),
            list("export.redistribute", &SOURCES, "Redistributed routes").optional(),
            chain("export.filter-chain", "Filter chain for exported routes"),
            chain(
                "export.filter-select",
                "Filter chain that selects exported routes",
            ),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED_INVALID,
    columns: &["name", "vrf", "route-distinguisher"],
    ..idle_list("/routing/bgp/vpn", "BGP VPNs (RFC 4364)")
};
