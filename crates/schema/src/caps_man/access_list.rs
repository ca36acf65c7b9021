//! `/caps-man/access-list`: access control for wireless clients of CAPs.

use menu::{Kind, Menu, Property};

use crate::declare::{
    TIME_OF_WEEK, U32, between, mac, maybe, optional, optional_text, text, words,
};
use crate::fragment::{COMMENT_DISABLED, DISABLED, idle_rules};
use crate::interface::wireless::VLAN_MODES;
use crate::radio::SIGNAL;

const ANY: Kind = Kind::Or(&["any"], &Kind::Reference("interface"));

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            mac("mac-address", "Hardware address of the client").optional(),
            mac("mac-address-mask", "The bits of it that count").optional(),
            Property::new("interface", ANY, "The interface").default("any"),
            optional("signal-range", SIGNAL, "How strong the client is"),
            optional(
                "allow-signal-out-of-range",
                Kind::Or(&["always"], &Kind::SPAN),
                "For how long it may be otherwise",
            ),
            text("ssid-regexp", "Names of networks"),
            optional("time", TIME_OF_WEEK, "When the rule counts"),
            words(
                "action",
                &["accept", "query-radius", "reject"],
                "What happens",
            )
            .default("accept"),
            optional("ap-tx-limit", U32, "Bits a second to it"),
            optional("client-tx-limit", U32, "Bits a second from it"),
            maybe("client-to-client-forwarding", "Lets it reach others"),
            optional_text("private-passphrase", "Its own passphrase").sensitive(),
            maybe("radius-accounting", "Tells a RADIUS server what it uses"),
            optional("vlan-mode", Kind::Words(VLAN_MODES), "Its tag"),
            optional("vlan-id", between(1, 4_095), "Its VLAN"),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED,
    columns: &["mac-address", "interface", "signal-range", "action"],
    ..idle_rules("/caps-man/access-list", "Clients of other devices' radios")
};
