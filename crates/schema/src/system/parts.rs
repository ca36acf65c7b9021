//! `/system/resource`: hardware components.

use menu::{Effect, ExportSelector, Flag, FollowedMenu, Kind, Menu, MenuShape, Property};

use crate::declare::{DURATION, NUMBERS, U32, argument, between, idle_command, no, shown, yes};

pub(crate) static CPU: Menu = Menu {
    properties: &[&[
        shown("cpu", Kind::Text, "CPU"),
        shown("load", between(0, 100), "Load"),
        shown("irq", between(0, 100), "IRQ"),
        shown("disk", between(0, 100), "Disk"),
    ]],
    columns: &["cpu", "load", "irq", "disk"],
    effect: Effect::None,
    ..Menu::new("/system/resource/cpu", MenuShape::Rows, "CPU load per core")
};

pub(crate) static HARDWARE: Menu = Menu {
    properties: &[&[
        shown("location", Kind::Text, "Location"),
        shown("parent", Kind::Text, "Parent"),
        shown(
            "type",
            Kind::Words(&["usb", "pci", "scsi", "serial"]),
            "Type",
        ),
        shown("vendor", Kind::Text, "Vendor"),
        shown("name", Kind::Text, "Name"),
        shown("category", Kind::Text, "Category"),
        shown("serial-number", Kind::Text, "Serial number"),
        shown("vendor-id", Kind::Text, "Vendor identifier"),
        shown("device-id", Kind::Text, "Device identifier"),
        shown("speed", Kind::Text, "Speed"),
        shown("ports", U32, "Ports"),
        shown("usb-version", Kind::Text, "USB version"),
        shown(
            "manufacturer-reported-max-power",
            Kind::Text,
            "Maximum power reported by the manufacturer",
        ),
        shown("irq", U32, "IRQ"),
        shown("memory", Kind::Text, "Memory"),
        shown("io", Kind::Text, "I/O"),
        shown("owner", Kind::Text, "Owner"),
        shown("device-path", Kind::List(&Kind::Text), "Device path"),
    ]],
    flags: &[Flag::new('I', "inactive", 1)],
    columns: &["location", "type", "category", "vendor", "name"],
    commands: &[
        idle_command(
            "authorize",
            "Authorize a USB device",
            &[argument("allow", Kind::Bool, "Allow"), NUMBERS],
        ),
        idle_command(
            "usb-power-reset",
            "Switch the power of a USB port off for a while",
            &[
                argument("bus", U32, "Bus"),
                DURATION,
                argument("slot", U32, "Slot"),
            ],
        ),
    ],
    effect: Effect::None,
    ..Menu::new(
        "/system/resource/hardware",
        MenuShape::Rows,
        "Devices of the machine",
    )
};

pub(crate) static USB_SETTINGS: Menu = Menu {
    properties: &[&[no("authorization", "Allow authorized devices only")]],
    old_paths: &["/system/resource/usb/settings"],
    effect: Effect::None,
    ..Menu::new(
        "/system/resource/hardware/usb-settings",
        MenuShape::Settings,
        "USB devices",
    )
};

pub(crate) static IRQ: Menu = Menu {
    properties: &[&[
        Property::new(
            "cpu",
            Kind::Or(&["auto"], &between(0, 255)),
            "The processor",
        )
        .default("auto"),
        shown("irq", U32, "IRQ"),
        shown("users", Kind::Text, "Devices that share the interrupt"),
        shown(
            "active-cpu",
            Kind::Or(&["auto"], &between(0, 255)),
            "Active CPU",
        ),
        shown("count", U32, "Number of interrupts"),
        shown("per-cpu-count", Kind::List(&U32), "Per CPU count"),
    ]],
    flags: &[Flag::new('o', "read-only", 0)],
    columns: &["irq", "users", "cpu", "active-cpu", "count"],
    parts: 64,
    effect: Effect::None,
    ..Menu::new(
        "/system/resource/irq",
        MenuShape::Fixed,
        "Interrupts and their processors",
    )
};

pub(crate) static RPS: Menu = Menu {
    properties: &[&[
        shown("name", Kind::Reference("interface"), "Name"),
        yes("disabled", "Defines whether item is ignored or used"),
    ]],
    flags: &[Flag::new('X', "disabled", 1)],
    columns: &["name"],
    key: Some("name"),
    pick: ExportSelector::Name,
    follows: &[FollowedMenu {
        path: "/interface/ethernet",
        values: &[],
    }],
    effect: Effect::None,
    ..Menu::new(
        "/system/resource/irq/rps",
        MenuShape::Fixed,
        "Processors for received packets",
    )
};

pub(crate) static RTRACE: Menu = Menu {
    properties: &[&[shown(
        "state",
        Kind::Words(&["stopped", "running", "stopping"]),
        "State",
    )]],
    commands: &[
        idle_command("start", "Start the trace", &[]),
        idle_command("stop", "Stop the trace", &[]),
    ],
    effect: Effect::None,
    ..Menu::new("/system/rtrace", MenuShape::Status, "Trace for support")
};

pub(crate) static DEFAULTS: Menu = Menu {
    properties: &[&[
        shown("script", Kind::Text, "Script"),
        shown(
            "caps-mode-script",
            Kind::Text,
            "Script of the CAPs mode configuration",
        ),
        shown(
            "wps-sync-mode-script",
            Kind::Text,
            "Script of the WPS sync mode configuration",
        ),
        shown(
            "custom-script",
            Kind::Text,
            "Custom factory configuration script",
        ),
    ]],
    effect: Effect::None,
    ..Menu::new(
        "/system/default-configuration",
        MenuShape::Status,
        "Factory configuration",
    )
};

pub(crate) static DEFAULTS_SCRIPT: Menu = Menu {
    properties: &[&[shown("script", Kind::Text, "Script")]],
    effect: Effect::None,
    ..Menu::new(
        "/system/default-configuration/script",
        MenuShape::Status,
        "Factory configuration script",
    )
};

pub(crate) static DEFAULTS_CAPS: Menu = Menu {
    properties: &[&[shown(
        "caps-mode-script",
        Kind::Text,
        "Script of the CAPs mode configuration",
    )]],
    effect: Effect::None,
    ..Menu::new(
        "/system/default-configuration/caps-mode-script",
        MenuShape::Status,
        "Script of the CAPs mode configuration",
    )
};

pub(crate) static DEFAULTS_CUSTOM: Menu = Menu {
    properties: &[&[shown(
        "custom-script",
        Kind::Text,
        "Custom factory configuration script",
    )]],
    effect: Effect::None,
    ..Menu::new(
        "/system/default-configuration/custom-script",
        MenuShape::Status,
        "Custom factory configuration script",
    )
};
