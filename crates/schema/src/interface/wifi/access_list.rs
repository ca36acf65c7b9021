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
            mac("mac-address-mask", "The bits of it that count").optional(),
            optional("interface", ANY, "The interface"),
            optional("signal-range", SIGNAL, "How strong the client is"),
            optional(
                "allow-signal-out-of-range",
                Kind::Or(&["always"], &Kind::SPAN),
                "For how long it may be otherwise",
            ),
            optional_text("ssid-regexp", "Names of networks"),
            optional("time", TIMES, "When the rule counts"),
            list("days", &DAYS, "On which days").optional(),
            optional(
                "action",
                Kind::Words(&["accept", "query-radius", "reject"]),
                "What happens",
            ),
            Property::new(
                "passphrase",
                Kind::Sized { min: 0, max: 64 },
                "Its own passphrase",
            )
            .optional()
            .sensitive(),
            optional_text("multi-passphrase-group", "Its group of passphrases"),
            optional("vlan-id", VLAN, "Its VLAN"),
            maybe("client-isolation", "Keeps it apart"),
            maybe("radius-accounting", "Tells a RADIUS server what it uses"),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED,
    columns: &["mac-address", "interface", "signal-range", "action"],
    old_paths: &["/interface/wifiwave2/access-list"],
    ..idle_rules(
        "/interface/wifi/access-list",
        "Clients of wireless networks",
    )
};
