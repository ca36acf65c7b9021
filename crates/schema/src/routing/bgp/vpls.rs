//! `/routing/bgp/vpls`: BGP signalled VPLS (RFC 4761).

use menu::{Kind, Menu};

use super::TARGET;
use crate::declare::{U32, VRF, between, list, named, optional};
use crate::fragment::{COMMENT_SAID, DISABLED_INVALID, idle_list};

const BRIDGE: Kind = Kind::Reference("interface");

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            named("Name of the VPLS instance"),
            optional("vrf", VRF, "VRF of the pseudowires"),
            optional("rd", TARGET, "Route distinguisher"),
            optional("site-id", between(0, 65_535), "Site identifier"),
            optional(
                "cisco-id",
                Kind::Either(&U32, &Kind::Address(menu::Family::V4)),
                "VPLS identifier of Cisco-style BGP VPLS",
            ),
            list("import-route-targets", &TARGET, "Imported route targets").optional(),
            list("export-route-targets", &TARGET, "Exported route targets").optional(),
            optional("bridge", BRIDGE, "Bridge to which pseudowires are added"),
            optional(
                "bridge-cost",
                between(1, 200_000_000),
                "Path cost of the bridge ports",
            ),
            optional(
                "bridge-horizon",
                Kind::Or(&["none"], &U32),
                "Horizon of the bridge ports",
            ),
            optional("bridge-pvid", between(1, 4_094), "PVID of the bridge ports"),
            optional(
                "interface-list",
                Kind::Reference("interface-list"),
                "Interface list to which pseudowires are added",
            ),
            optional("local-pref", U32, "Local preference"),
            optional(
                "pw-type",
                Kind::Words(&["raw-ethernet", "tagged-ethernet", "vpls"]),
                "Pseudowire type",
            ),
            optional(
                "pw-control-word",
                Kind::Words(&["default", "disabled", "enabled"]),
                "Use of the control word",
            ),
            optional(
                "pw-l2mtu",
                between(0, 65_535),
                "Layer 2 MTU of the pseudowires",
            ),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED_INVALID,
    columns: &["name", "rd", "site-id", "bridge"],
    ..idle_list("/routing/bgp/vpls", "BGP VPLS instances")
};
