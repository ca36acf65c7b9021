//! `/system/license`: software licence.

use menu::{Effect, Kind, Menu, MenuShape};

use crate::declare::{
    APPEND, AS_VALUE, DO, DURATION, FILE, FREEZE, INTERVAL, ONCE, WITHOUT_PAGING, argument,
    idle_command, shown,
};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("software-id", Kind::Text, "Software identifier"),
        shown(
            "features",
            Kind::List(&Kind::Words(&[
                "AP",
                "synchronous",
                "radiolan",
                "wireless",
                "extra-channels",
            ])),
            "Features",
        ),
        shown("expires-in", Kind::SPAN, "Expires in"),
        shown("system-id", Kind::Text, "System identifier"),
        shown(
            "level",
            Kind::Words(&["free", "p1", "p10", "p-unlimited"]),
            "Level",
        ),
        shown("next-renewal-at", Kind::Text, "Next renewal at"),
        shown("deadline-at", Kind::Text, "Deadline at"),
    ]],
    commands: &[
        idle_command("generate-new-id", "Assign a new system identifier", &[]),
        idle_command(
            "renew",
            "Renew the license",
            &[
                argument("account", Kind::Text, "Account"),
                APPEND,
                AS_VALUE,
                DO,
                DURATION,
                FILE,
                FREEZE,
                INTERVAL,
                argument("level", Kind::Words(&["p1", "p10", "p-unlimited"]), "Level"),
                ONCE,
                argument("password", Kind::Text, "Password"),
                WITHOUT_PAGING,
            ],
        ),
    ],
    effect: Effect::None,
    ..Menu::new("/system/license", MenuShape::Status, "License")
};
