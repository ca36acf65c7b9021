//! `/dude`: the network monitor The Dude.

use menu::{Effect, Kind, Menu, MenuShape, Property};

use crate::declare::{
    APPEND, AS_VALUE, DO, DURATION, FILE, FREEZE, INTERVAL, MONITORED, ONCE, PROPLIST,
    WITHOUT_PAGING, argument, idle_command, no, shown,
};
use crate::fragment::COMMENT;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        no("enabled", "Enable the Dude server"),
        Property::new("data-directory", Kind::Text, "Folder of the data").default("dude"),
        shown("status", Kind::Text, "Status"),
    ]],
    commands: &[
        idle_command(
            "export-db",
            "Export the database",
            &[
                APPEND,
                AS_VALUE,
                argument("backup-file", Kind::Text, "Backup file"),
                DO,
                DURATION,
                FILE,
                FREEZE,
                INTERVAL,
                ONCE,
                PROPLIST,
                WITHOUT_PAGING,
            ],
        ),
        idle_command(
            "import-db",
            "Import a database",
            &[
                APPEND,
                AS_VALUE,
                argument("backup-file", Kind::Text, "Backup file"),
                DO,
                DURATION,
                FILE,
                FREEZE,
                INTERVAL,
                ONCE,
                PROPLIST,
                WITHOUT_PAGING,
            ],
        ),
        idle_command("vacuum-db", "Compact the database", MONITORED),
    ],
    effect: Effect::None,
    ..Menu::new("/dude", MenuShape::Settings, "The Dude server")
};

pub(crate) static AGENT: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name of the agent").required(),
        COMMENT,
    ]],
    columns: &["name"],
    effect: Effect::None,
    ..Menu::new("/dude/agent", MenuShape::List, "Agents")
};

pub(crate) static DEVICE: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name of the device").required(),
        COMMENT,
    ]],
    columns: &["name"],
    space: Some("dude-device"),
    key: Some("name"),
    effect: Effect::None,
    ..Menu::new("/dude/device", MenuShape::List, "Monitored devices")
};

pub(crate) static DEVICE_TYPE: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name of the type").required(),
        COMMENT,
    ]],
    columns: &["name"],
    effect: Effect::None,
    ..Menu::new("/dude/device-type", MenuShape::List, "Types of devices")
};

pub(crate) static NOTIFICATION: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name of the notification").required(),
        COMMENT,
    ]],
    columns: &["name"],
    effect: Effect::None,
    ..Menu::new("/dude/notification", MenuShape::List, "Notifications")
};

pub(crate) static PROBE: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name of the probe").required(),
        COMMENT,
    ]],
    columns: &["name"],
    effect: Effect::None,
    ..Menu::new("/dude/probe", MenuShape::List, "Probes")
};

pub(crate) static SERVICE: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name of the service").required(),
        COMMENT,
    ]],
    columns: &["name"],
    effect: Effect::None,
    ..Menu::new("/dude/service", MenuShape::List, "Services")
};

pub(crate) static SETTINGS: Menu = Menu {
    effect: Effect::None,
    ..Menu::new(
        "/dude/settings",
        MenuShape::Status,
        "Settings of the server",
    )
};
