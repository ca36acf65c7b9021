//! `/routing/bgp/vpls`: BGP signalled VPLS (RFC 4761).

use menu::{Kind, Menu};

use super::TARGET;
use crate::declare::{U32, VRF, between, list, named, optional};
use crate::fragment::{COMMENT_SAID, DISABLED_INVALID, idle_list};

const BRIDGE: Kind = Kind::Reference("interface");

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            named("Name of the network"),
            optional("vrf", VRF, "VRF of the tunnels"),
            optional("rd", TARGET, "Route distinguisher"),
            optional("site-id", between(0, 65_535), "Number of the site"),
            optional(
                "cisco-id",
                Kind::Either(&U32, &Kind::Address(menu::Family::V4)),
                "Of Cisco's kind",
            ),
            list("import-route-targets", &TARGET, "Imported route targets").optional(),
            list("export-route-targets", &TARGET, "Exported route targets").optional(),
            optional("bridge", BRIDGE, "Bridge to which tunnels are added"),
            optional("bridge-cost", between(1, 200_000_000), "Path cost there"),
            optional("bridge-horizon", Kind::Or(&["none"], &U32), "Horizon there"),
            optional("bridge-pvid", between(1, 4_094), "VLAN there"),
            optional(
                "interface-list",
                Kind::Reference("interface-list"),
                "List of tunnels",
            ),
            optional("local-pref", U32, "Preference"),
            optional(
                "pw-type",
                Kind::Words(&["raw-ethernet", "tagged-ethernet", "vpls"]),
                "Tunnels",
            ),
            optional(
                "pw-control-word",
                Kind::Words(&["default", "disabled", "enabled"]),
                "Of tunnels",
            ),
            optional("pw-l2mtu", between(0, 65_535), "Largest frame"),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED_INVALID,
    columns: &["name", "rd", "site-id", "bridge"],
    ..idle_list("/routing/bgp/vpls", "Customers' Ethernet networks by BGP")
};
