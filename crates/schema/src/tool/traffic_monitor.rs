//! `/tool/traffic-monitor`: scripts triggered by traffic volume.

use menu::{Effect, Flag, Kind, Menu, MenuShape, Property};

use crate::declare::text;
use crate::fragment::COMMENT_DISABLED;

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("name", Kind::Name, "Name of the rule"),
            Property::new("interface", Kind::Reference("interface"), "The interface").required(),
            Property::new(
                "traffic",
                Kind::Words(&["transmitted", "received"]),
                "Direction of traffic",
            )
            .default("transmitted"),
            Property::new(
                "trigger",
                Kind::Words(&["above", "below", "always"]),
                "When the script runs: always, above or below the threshold",
            )
            .default("above"),
            Property::new("threshold", Kind::Rate, "Threshold in bits per second").default("0"),
            text("on-event", "Script to run").script(),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[Flag::new('X', "disabled", 1), Flag::new('I', "invalid", 1)],
    columns: &["name", "interface", "traffic", "trigger", "threshold"],
    effect: Effect::None,
    ..Menu::new(
        "/tool/traffic-monitor",
        MenuShape::List,
        "Scripts to run at a given traffic rate",
    )
};
