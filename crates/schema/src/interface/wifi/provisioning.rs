//! `/interface/wifi/provisioning`: rules that assign configurations to CAP radios.

use menu::{Family, Kind, Menu};

use crate::declare::{list, optional, optional_text};
use crate::fragment::{COMMENT_SAID, DISABLED, idle_rules};
use crate::wifi::BANDS;

const ACTIONS: Kind = Kind::Words(&[
    "create-disabled",
    "create-dynamic-enabled",
    "create-enabled",
    "none",
    "use-network-config",
]);
const CONFIGURATION: Kind = Kind::Reference("wifi-configuration");
const CAPABILITIES: Kind = Kind::Words(&["mlo"]);

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            optional("action", ACTIONS, "Action"),
            optional(
                "master-configuration",
                CONFIGURATION,
                "Configuration profile of the radio",
            ),
            list(
                "slave-configurations",
                &CONFIGURATION,
                "Configuration profiles of virtual interfaces",
            )
            .optional(),
            optional_text("name-format", "Format of interface names"),
            optional_text("slave-name-format", "Format of virtual interfaces' names"),
            list("supported-bands", &Kind::Words(BANDS), "Bands of the radio").optional(),
            list("supported-hw-caps", &CAPABILITIES, "Supported modes").optional(),
            optional_text(
                "identity-regexp",
                "Regular expression for the identity of the CAP",
            ),
            optional_text(
                "common-name-regexp",
                "Regular expression for the common name of the certificate",
            ),
            list(
                "address-ranges",
                &Kind::Addresses(Family::Any),
                "Address ranges of the CAPs",
            )
            .optional(),
            optional("radio-mac", Kind::Mac, "Hardware address of the radio"),
            optional(
                "multi-link-mode",
                Kind::Words(&["disabled", "enabled"]),
                "Multi-link operation (MLO)",
            ),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED,
    columns: &[
        "action",
        "master-configuration",
        "supported-bands",
        "identity-regexp",
    ],
    old_paths: &["/interface/wifiwave2/provisioning"],
    ..idle_rules("/interface/wifi/provisioning", "Provisioning rules")
};
