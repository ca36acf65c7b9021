//! `/routing/bgp/evpn`: EVPN instances (RFC 7432).

use menu::Menu;

use super::TARGET;
use crate::declare::{VRF, between, list, named, optional, reference};
use crate::fragment::{COMMENT_SAID, DISABLED_INVALID, idle_rules};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            named("Name of the EVPN instance"),
            reference("instance", "bgp-instance", "The instance").optional(),
            optional("vrf", VRF, "The VRF"),
            list(
                "vni",
                &menu::Kind::Range("-", &between(0, 16_777_215)),
                "VXLAN network identifiers (VNI)",
            )
            .optional(),
            optional("rd", TARGET, "Route distinguisher"),
            list("import.route-targets", &TARGET, "Imported route targets").optional(),
            list("export.route-targets", &TARGET, "Exported route targets").optional(),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED_INVALID,
    columns: &["name", "instance", "vni"],
    ..idle_rules("/routing/bgp/evpn", "BGP EVPN instances")
};
