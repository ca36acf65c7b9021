//! `/interface/wifi/access-list`: access control for wireless clients.

use menu::{Kind, Menu, Property};

use crate::declare::{list, mac, maybe, optional, optional_text};
use crate::fragment::{COMMENT_SAID, DISABLED, idle_rules};
use crate::radio::SIGNAL;
use crate::wifi::VLAN;

const ANY: Kind = Kind::Or(&["any"], &Kind::Reference("interface"));
const DAYS: Kind = Kind::Words(&["fri", "mon", "sat", "sun", "thu", "tue", "wed"]);
const TIMES: Kind = Kind::Range(
    "-",
    &Kind::Time {
        min: 0,
        max: 86_400_000_000_000,
    },
);

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            mac("mac-address", "Hardware address of the client").optional(),
            mac("mac-address-mask", "MAC address mask").optional(),
            optional("interface", ANY, "The interface"),
            optional("signal-range", SIGNAL, "Signal strength range"),
            optional(
                "allow-signal-out-of-range",
                Kind::Or(&["always"], &Kind::SPAN),
                "Time for which a signal out of range is accepted",
            ),
            optional_text("ssid-regexp", "Regular expression for the SSID"),
            optional("time", TIMES, "Time of day"),
            list("days", &DAYS, "Weekdays").optional(),
            optional(
                "action",
                Kind::Words(&["accept", "query-radius", "reject"]),
                "Action",
            ),
            Property::new(
                "passphrase",
                Kind::Sized { min: 0, max: 64 },
                "Private passphrase",
            )
            .optional()
            .sensitive(),
            optional_text("multi-passphrase-group", "Multi-passphrase group"),
            optional("vlan-id", VLAN, "VLAN id"),
            maybe("client-isolation", "Client isolation"),
            maybe("radius-accounting", "RADIUS accounting"),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED,
    columns: &["mac-address", "interface", "signal-range", "action"],
    old_paths: &["/interface/wifiwave2/access-list"],
    ..idle_rules(
        "/interface/wifi/access-list",
        "Access rules for wireless clients",
    )
};
