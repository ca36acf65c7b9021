//! `/system/routerboard`: board, boot loader and buttons.

use menu::{Effect, Family, Kind, Menu, MenuShape, OldProperty, Property, Spelling};

use crate::declare::{idle_command, nanoseconds, no, shown, text, yes};
use crate::fragment::SECOND;

const DISABLED_OR_ENABLED: Kind = Kind::Words(&["disabled", "enabled"]);
const HOLD: Kind = Kind::Range("..", &Kind::SPAN);
const FREQUENCY: Kind = Kind::Spelled(&Spelling {
    describe: "number with MHz",
    canonical: |text| {
        let number = text.strip_suffix("MHz").unwrap_or(text);
        let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| format!("{number}MHz"))
    },
});

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("routerboard", Kind::Bool, "Routerboard"),
        shown("board-name", Kind::Text, "Board name"),
        shown("model", Kind::Text, "Model"),
        shown("revision", Kind::Text, "Revision"),
        shown("serial-number", Kind::Text, "Serial number"),
        shown("firmware-type", Kind::Text, "Firmware type"),
        shown("factory-firmware", Kind::Text, "Factory firmware"),
        shown("current-firmware", Kind::Text, "Current firmware"),
        shown("upgrade-firmware", Kind::Text, "Upgrade firmware"),
    ]],
    commands: &[idle_command(
        "upgrade",
        "Write the new boot loader, used after a restart",
        &[],
    )],
    effect: Effect::None,
    ..Menu::new(
        "/system/routerboard",
        MenuShape::Status,
        "RouterBOARD information",
    )
};

pub(crate) static SETTINGS: Menu = Menu {
    properties: &[&[
        no(
            "auto-upgrade",
            "Update the boot loader with each new version",
        ),
        Property::new(
            "baud-rate",
            Kind::Words(&[
                "115200", "57600", "38400", "19200", "9600", "4800", "2400", "1200",
            ]),
            "Speed of the serial console",
        )
        .default("115200"),
        Property::new(
            "boot-delay",
            Kind::SPAN,
            "Time in which a key press interrupts booting",
        )
        .default("2s"),
        Property::new("init-delay", Kind::SPAN, "Boot delay for slow devices").default("0s"),
        Property::new(
            "enter-setup-on",
            Kind::Words(&["any-key", "delete-key"]),
            "Key that opens the boot loader's menu",
        )
        .default("any-key"),
        Property::new(
            "boot-device",
            Kind::Words(&[
                "nand-if-fail-then-ethernet",
                "nand-only",
                "ethernet",
                "try-ethernet-once-then-nand",
                "flash-boot",
                "flash-boot-once-then-nand",
                "ether-once-then-nand",
            ]),
            "Boot device",
        )
        .default("nand-if-fail-then-ethernet"),
        Property::new(
            "preboot-etherboot",
            Kind::Or(&["disabled"], &nanoseconds(SECOND, 30 * SECOND)),
            "Duration of the initial network boot attempt",
        )
        .default("disabled"),
        Property::new(
            "preboot-etherboot-server",
            Kind::Or(&["any"], &Kind::Address(Family::V4)),
            "Network boot server",
        )
        .default("any"),
        Property::new(
            "etherboot-port",
            Kind::Words(&["ether1", "ether2"]),
            "Network boot port",
        )
        .default("ether1"),
        Property::new(
            "boot-os",
            Kind::Words(&["router-os", "swos"]),
            "Operating system to boot",
        )
        .default("router-os"),
        no(
            "regulatory-domain-ce",
            "Restrict the radio to European rules",
        ),
        Property::new(
            "cpu-mode",
            Kind::Words(&["power-save", "regular"]),
            "CPU power mode",
        )
        .default("power-save"),
        Property::new(
            "cpu-frequency",
            Kind::Or(&["auto"], &FREQUENCY),
            "Clock of the processor",
        )
        .default("auto"),
        Property::new(
            "memory-frequency",
            Kind::Or(&["auto"], &FREQUENCY),
            "Clock of the memory",
        )
        .default("auto"),
        Property::new(
            "memory-data-rate",
            Kind::Or(&["auto"], &FREQUENCY),
            "Data rate of the memory",
        )
        .default("auto"),
        Property::new(
            "preferred-architecture",
            Kind::Words(&["arm32", "arm64"]),
            "Architecture of the next installation",
        ),
        Property::new(
            "boot-protocol",
            Kind::Words(&["bootp", "dhcp"]),
            "Network boot protocol",
        )
        .default("bootp"),
        yes(
            "enable-jumper-reset",
            "Allow the jumper to reset the configuration",
        ),
        no("force-backup-booter", "Boot with the backup boot loader"),
        no("silent-boot", "Boot without a beep and without output"),
        no("disable-pci", "Disable the PCI bus"),
        Property::new(
            "gpio-function",
            Kind::List(&Kind::Words(&["serial1"])),
            "Function of the pins",
        )
        .default(""),
        Property::new(
            "protected-routerboot",
            DISABLED_OR_ENABLED,
            "Lock the boot loader's menu and its reset",
        )
        .default("disabled"),
        Property::new(
            "reformat-hold-button",
            nanoseconds(5 * SECOND, 600 * SECOND),
            "Hold time of the button that reformats the flash",
        )
        .default("20s"),
        Property::new(
            "reformat-hold-button-max",
            nanoseconds(5 * SECOND, 600 * SECOND),
            "Maximum hold time of the button",
        )
        .default("10m"),
        shown("safe-cpu-frequency", Kind::Text, "Safe CPU frequency"),
    ]],
    old: &[OldProperty {
        name: "boot-os",
        value: Some("routeros"),
        becomes: "boot-os",
        with: Some("router-os"),
        makes: None,
    }],
    effect: Effect::None,
    ..Menu::new(
        "/system/routerboard/settings",
        MenuShape::Settings,
        "Boot loader settings",
    )
};

pub(crate) static MODE_BUTTON: Menu = Menu {
    properties: &[&[
        no("enabled", "Enable the button's script"),
        Property::new("hold-time", HOLD, "Hold time of the button").default("0s..1m"),
        text("on-event", "Script to run").script(),
    ]],
    effect: Effect::None,
    ..Menu::new(
        "/system/routerboard/mode-button",
        MenuShape::Settings,
        "The mode button",
    )
};

pub(crate) static RESET_BUTTON: Menu = Menu {
    properties: &[&[
        no("enabled", "Enable the button's script"),
        Property::new("hold-time", HOLD, "Hold time of the button").default("0s..1m"),
        text("on-event", "Script to run").script(),
    ]],
    effect: Effect::None,
    ..Menu::new(
        "/system/routerboard/reset-button",
        MenuShape::Settings,
        "The reset button",
    )
};

pub(crate) static WPS_BUTTON: Menu = Menu {
    properties: &[&[
        no("enabled", "Enable the button's script"),
        Property::new("hold-time", HOLD, "Hold time of the button").default("0s..1m"),
        text("on-event", "Script to run").script(),
    ]],
    effect: Effect::None,
    ..Menu::new(
        "/system/routerboard/wps-button",
        MenuShape::Settings,
        "The WPS button",
    )
};

pub(crate) static USB: Menu = Menu {
    properties: &[&[
        Property::new(
            "type",
            Kind::Words(&["USB-type-A", "mini-PCIe", "auto"]),
            "USB type: port or mini-PCIe slot",
        )
        .default("auto"),
        Property::new(
            "usb-mode",
            Kind::Words(&["automatic", "force-host"]),
            "USB role of the board",
        )
        .default("automatic"),
        shown(
            "auto-type",
            Kind::Words(&["USB-type-A", "mini-PCIe"]),
            "Auto type",
        ),
        shown(
            "bootstrap",
            Kind::Words(&["host-mode", "device-mode"]),
            "Bootstrap",
        ),
    ]],
    commands: &[idle_command(
        "power-reset",
        "Switch the power of USB off for a while",
        &[],
    )],
    effect: Effect::None,
    ..Menu::new(
        "/system/routerboard/usb",
        MenuShape::Settings,
        "The USB port",
    )
};
