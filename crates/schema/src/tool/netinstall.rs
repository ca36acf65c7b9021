//! `/tool/netinstall`: network installation of other routers.

use menu::{Effect, Family, Kind, Menu, MenuShape, Property};

use crate::declare::{AS_VALUE, NUMBERS, argument, idle_command, no, shown, text, yes};
use crate::fragment::COMMENT_DISABLED;

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            yes(
                "allow-etherboot",
                "Answer routers that start from the network",
            ),
            no(
                "allow-flashfig",
                "Answer routers that ask for a configuration",
            ),
            yes(
                "apply-default-configuration",
                "Apply the factory configuration to the new router",
            ),
            yes("auto-reboot", "Restart the router after installation"),
            Property::new("branding-package", Kind::Text, "Branding package").optional(),
            Property::new(
                "extra-packages",
                Kind::List(&Kind::Text),
                "Further packages",
            )
            .default(""),
            no("install-once", "Install each router once"),
            Property::new(
                "interface",
                Kind::Reference("interface"),
                "Interface of the routers",
            )
            .optional(),
            Property::new(
                "ip-range",
                Kind::Addresses(Family::V4),
                "Addresses assigned to routers",
            )
            .optional(),
            no("keep-old-configuration", "Keep the router's configuration"),
            Property::new("mac-address", Kind::Mac, "The router's hardware address").optional(),
            Property::new("mode-file", Kind::Text, "File with the device mode").optional(),
            no("remove-branding", "Remove existing branding"),
            Property::new("script-file", Kind::Text, "Script of the configuration").optional(),
            Property::new("version", Kind::Text, "Version to install").optional(),
            no("wait", "Wait for a command before installing"),
        ],
        COMMENT_DISABLED,
    ],
    columns: &["interface", "mac-address", "version"],
    effect: Effect::None,
    ..Menu::new("/tool/netinstall", MenuShape::Ordered, "Routers to install")
};

pub(crate) static CACHE: Menu = Menu {
    properties: &[&[
        Property::new(
            "arch",
            Kind::Words(&[
                "arm", "arm64", "mipsbe", "mmips", "ppc", "smips", "tile", "x86",
            ]),
            "Architecture",
        ),
        Property::new("packages", Kind::List(&Kind::Text), "Packages").default(""),
        Property::new("version", Kind::Text, "Version"),
    ]],
    columns: &["version", "arch", "packages"],
    effect: Effect::None,
    ..Menu::new("/tool/netinstall/cache", MenuShape::List, "Stored packages")
};

pub(crate) static DEVICES: Menu = Menu {
    properties: &[&[
        shown("mac-address", Kind::Text, "MAC address"),
        shown("interface", Kind::Text, "Interface"),
        shown("architecture", Kind::Text, "Architecture"),
        shown("status", Kind::Text, "Status"),
    ]],
    columns: &["mac-address", "interface", "architecture", "status"],
    commands: &[
        idle_command("clear", "Remove routers from the list", &[AS_VALUE]),
        idle_command(
            "install",
            "Install a router",
            &[
                argument("auto-reboot", Kind::Bool, "Auto reboot"),
                argument("extra-packages", Kind::List(&Kind::Text), "Extra packages"),
                NUMBERS,
                argument("version", Kind::Text, "Version"),
            ],
        ),
    ],
    effect: Effect::None,
    ..Menu::new("/tool/netinstall/devices", MenuShape::Rows, "Routers found")
};

pub(crate) static SETTINGS: Menu = Menu {
    properties: &[&[text("cache-directory", "Folder of stored packages")]],
    effect: Effect::None,
    ..Menu::new(
        "/tool/netinstall/settings",
        MenuShape::Settings,
        "Settings of installation",
    )
};
