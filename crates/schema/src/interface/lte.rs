//! `/interface/lte`: mobile modems.

pub(crate) mod apn;
pub(crate) mod esim;
pub(crate) mod settings;

use menu::{Kind, Menu, MenuShape, OldProperty, Property};

use super::{AT_CHAT, IDLE_MONITOR, MODEM_UPGRADE, NUMBER, idle_command, idle_command_on_one};
use crate::declare::{list, number, optional, shown, text, words, yes};
use crate::fragment::{COMMENT_DISABLED, INTERFACE_COUNTERS, LINK_TIMES, idle_interfaces};

const MODES: Kind = Kind::Words(&["3g", "5g", "gsm", "lte", "nr"]);
const BAND: Kind = Kind::Number { min: 0, max: 512 };

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            shown("default-name", Kind::Text, "Default name of the modem"),
            Property::new("name", Kind::Name, "Name of the interface"),
            number("mtu", 68, 65_535, "Maximum transmission unit of layer 3").default("1500"),
            shown("mac-address", Kind::Mac, "Hardware address"),
            shown(
                "orig-mac-address",
                Kind::Mac,
                "The modem's own hardware address",
            ),
            Property::new("pin", Kind::Text, "PIN of the SIM card")
                .default("")
                .sensitive(),
            list(
                "apn-profiles",
                &Kind::Reference("lte-apn"),
                "Access point profiles",
            )
            .default("default"),
            text("modem-init", "AT commands for modem initialization"),
            text("operator", "Operator to use"),
            yes("allow-roaming", "Allow roaming"),
            optional("sms-read", Kind::Bool, "Receive SMS messages"),
            words("sms-protocol", &["auto", "mbim", "at"], "SMS read method").optional(),
            list("network-mode", &MODES, "Allowed network technologies").optional(),
            list("band", &BAND, "LTE bands").optional(),
            list("nr-band", &BAND, "5G bands").optional(),
        ],
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_DISABLED,
    ],
    shape: MenuShape::Fixed,
    columns: &["name", "mtu", "network-mode"],
    ports: &[("lte", "lte")],
    commands: &[
        IDLE_MONITOR,
        idle_command_on_one("at-chat", "Send a command to the modem", AT_CHAT),
        idle_command_on_one("cell-monitor", "Show cells in range", &[NUMBER]),
        idle_command_on_one("firmware-upgrade", "Upgrade the modem", MODEM_UPGRADE),
        idle_command("info", "Show modem information"),
        idle_command_on_one("scan", "Scan for networks", &[NUMBER]),
        idle_command_on_one("show-capabilities", "Show modem capabilities", &[NUMBER]),
    ],
    old: &[OldProperty::gone("mac-address")],
    conditions: crate::conditions::LTE,
    ..idle_interfaces("/interface/lte", "lte", "Mobile modems")
};
