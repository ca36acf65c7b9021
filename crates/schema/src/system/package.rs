//! `/system/package`: installed packages and updates.

use menu::{Effect, Family, Flag, Kind, Menu, MenuShape, OldProperty, Property};

use crate::declare::{
    APPEND, AS_VALUE, DO, DURATION, FILE, FREEZE, INTERVAL, NUMBERS, ONCE, PROPLIST, U32,
    WITHOUT_PAGING, argument, command, idle_command, nanoseconds, no, shown, text,
};
use crate::fragment::SECOND;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("name", Kind::Text, "Name"),
        shown("version", Kind::Text, "Version"),
        shown("build-time", Kind::Text, "Build time"),
        shown(
            "scheduled",
            Kind::Words(&[
                "",
                "scheduled for uninstall",
                "scheduled for disable",
                "scheduled for enable",
                "Use `apply-changes` to proceed with install",
            ]),
            "Scheduled",
        ),
        shown("bundle", Kind::Text, "Bundle"),
        shown("size", U32, "Size"),
    ]],
    flags: &[
        Flag::new('X', "disabled", 1),
        Flag::new('A', "available", 1),
    ],
    columns: &["name", "version", "build-time", "size"],
    commands: &[
        idle_command(
            "apply-changes",
            "Apply the scheduled changes",
            &[argument("ignore-missing", Kind::Bool, "Ignore missing")],
        ),
        idle_command("disable", "Schedule packages to be disabled", &[NUMBERS]),
        idle_command("downgrade", "Install an older version", &[]),
        idle_command("enable", "Schedule packages to be enabled", &[NUMBERS]),
        idle_command("uninstall", "Schedule packages for removal", &[NUMBERS]),
        idle_command("unschedule", "Cancel the scheduled changes", &[NUMBERS]),
    ],
    effect: Effect::None,
    ..Menu::new("/system/package", MenuShape::Rows, "Installed packages")
};

pub(crate) static LOCAL_UPDATE: Menu = Menu {
    properties: &[&[
        shown("download", Kind::Bool, "Download"),
        shown("source", Kind::Address(Family::Any), "Source"),
        shown("name", Kind::Text, "Name"),
        shown("version", Kind::Text, "Version"),
        shown(
            "status",
            Kind::Words(&[
                "installed",
                "downloaded",
                "downloading",
                "scheduled",
                "available",
            ]),
            "Status",
        ),
        shown("completed", U32, "Completed"),
    ]],
    columns: &["source", "name", "version", "status", "completed"],
    old_paths: &["/system/upgrade"],
    commands: &[
        idle_command("download", "Download packages", &[NUMBERS]),
        idle_command(
            "download-all",
            "Download all packages",
            &[
                AS_VALUE,
                argument("download-beta", Kind::Bool, "Download beta"),
                argument("reboot-after-download", Kind::Bool, "Reboot after download"),
            ],
        ),
        idle_command("refresh", "Refresh the list of packages", &[]),
    ],
    effect: Effect::None,
    ..Menu::new(
        "/system/package/local-update",
        MenuShape::Rows,
        "Packages of another router",
    )
};

pub(crate) static MIRROR: Menu = Menu {
    properties: &[&[
        no("enabled", "Whether packages are copied"),
        Property::new(
            "primary-server",
            Kind::Address(Family::Any),
            "Primary source of packages",
        )
        .default("0.0.0.0"),
        Property::new(
            "secondary-server",
            Kind::Address(Family::Any),
            "Secondary source of packages",
        )
        .default("0.0.0.0"),
        Property::new(
            "check-interval",
            nanoseconds(300 * SECOND, i64::MAX),
            "Interval of checks for new packages",
        )
        .default("1d"),
        text("user", "User name at the primary source"),
        text("password", "Password at the primary source").sensitive(),
        shown("software-id", Kind::Text, "Software identifier"),
    ]],
    old_paths: &["/system/upgrade/mirror"],
    commands: &[idle_command("force-check", "Force check", &[])],
    effect: Effect::None,
    ..Menu::new(
        "/system/package/local-update/mirror",
        MenuShape::Settings,
        "A copy of another router's packages",
    )
};

pub(crate) static SOURCE: Menu = Menu {
    properties: &[&[
        Property::new(
            "address",
            Kind::Address(Family::Any),
            "Address of the router",
        )
        .required(),
        Property::new("user", Kind::Name, "Name at the router").required(),
        text("password", "Password at the router").sensitive(),
    ]],
    columns: &["address", "user"],
    old_paths: &["/system/upgrade/upgrade-package-source"],
    effect: Effect::None,
    ..Menu::new(
        "/system/package/local-update/update-package-source",
        MenuShape::List,
        "Routers used as sources of packages",
    )
};

pub(crate) static UPDATE: Menu = Menu {
    properties: &[&[
        Property::new(
            "channel",
            Kind::Words(&[
                "bugfix",
                "current",
                "development",
                "long-term",
                "release-candidate",
                "stable",
                "testing",
                "upgrade",
            ]),
            "Release channel",
        )
        .default("stable")
        .inert(),
        Property::new(
            "mode",
            Kind::Words(&["auto", "manual"]),
            "Whether new versions are installed automatically",
        )
        .default("manual")
        .inert(),
        Property::new(
            "check-certificate",
            Kind::Words(&["no", "yes", "yes-without-crl"]),
            "Checks the certificate of the update server",
        )
        .default("no")
        .inert(),
        Property::new(
            "ip-version",
            Kind::Words(&["any", "ipv4", "ipv6"]),
            "Access to the update server",
        )
        .default("any")
        .inert(),
        shown("installed-version", Kind::Text, "Installed version"),
        shown("latest-version", Kind::Text, "Latest version"),
        shown("status", Kind::Text, "Status"),
    ]],
    old: &[
        OldProperty {
            name: "channel",
            value: Some("bugfix"),
            becomes: "channel",
            with: Some("long-term"),
            makes: None,
        },
        OldProperty {
            name: "channel",
            value: Some("current"),
            becomes: "channel",
            with: Some("stable"),
            makes: None,
        },
        OldProperty {
            name: "channel",
            value: Some("release-candidate"),
            becomes: "channel",
            with: Some("testing"),
            makes: None,
        },
    ],
    commands: &[
        idle_command("cancel", "Stop looking or downloading", &[AS_VALUE]),
        command(
            "check-for-updates",
            "Look for a new version",
            &[
                APPEND,
                AS_VALUE,
                DO,
                DURATION,
                argument("fetch-changelog", Kind::Presence, "Fetch changelog"),
                FILE,
                FREEZE,
                INTERVAL,
                ONCE,
                PROPLIST,
                WITHOUT_PAGING,
            ],
        ),
        idle_command(
            "download",
            "Download the new version",
            &[
                APPEND,
                AS_VALUE,
                DO,
                DURATION,
                FILE,
                FREEZE,
                argument("ignore-missing", Kind::Bool, "Ignore missing"),
                INTERVAL,
                ONCE,
                PROPLIST,
                WITHOUT_PAGING,
            ],
        ),
        idle_command(
            "install",
            "Download the new version and restart with it",
            &[
                APPEND,
                AS_VALUE,
                DO,
                DURATION,
                FILE,
                FREEZE,
                argument("ignore-missing", Kind::Bool, "Ignore missing"),
                INTERVAL,
                ONCE,
                PROPLIST,
                WITHOUT_PAGING,
            ],
        ),
    ],
    ..Menu::new("/system/package/update", MenuShape::Settings, "Updates")
};
