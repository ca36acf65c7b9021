//! `/routing/bgp/vpls`: customers' Ethernet networks (RFC 4761).

use menu::{Kind, Menu};

use super::TARGET;
use crate::brief::{U32, may, number};
use crate::fragment::{COMMENT_SAID, DISABLED_INVALID, idle_list};
use crate::terms::{VRF, list, named};

const BRIDGE: Kind = Kind::Reference("interface");

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            named("Name of the network"),
            may("vrf", VRF, "The VRF of its tunnels"),
            may("rd", TARGET, "What tells customers apart"),
            may("site-id", number(0, 65_535), "Number of the site"),
            may(
                "cisco-id",
                Kind::Either(&U32, &Kind::Address(menu::Family::V4)),
                "Of Cisco's kind",
            ),
            list("import-route-targets", &TARGET, "Sites that are taken").optional(),
            list(
                "export-route-targets",
                &TARGET,
                "What others know the site by",
            )
            .optional(),
            may("bridge", BRIDGE, "Bridge that tunnels are put into"),
            may("bridge-cost", number(1, 200_000_000), "Path cost there"),
            may("bridge-horizon", Kind::Or(&["none"], &U32), "Horizon there"),
            may("bridge-pvid", number(1, 4_094), "VLAN there"),
            may(
                "interface-list",
                Kind::Reference("interface-list"),
                "List of tunnels",
            ),
            may("local-pref", U32, "Preference"),
            may(
                "pw-type",
                Kind::Words(&["raw-ethernet", "tagged-ethernet", "vpls"]),
                "Tunnels",
            ),
            may(
                "pw-control-word",
                Kind::Words(&["default", "disabled", "enabled"]),
                "Of tunnels",
            ),
            may("pw-l2mtu", number(0, 65_535), "Largest frame"),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED_INVALID,
    columns: &["name", "rd", "site-id", "bridge"],
    ..idle_list("/routing/bgp/vpls", "Customers' Ethernet networks by BGP")
};
