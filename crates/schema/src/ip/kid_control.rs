//! `/ip/kid-control`: time-based network access for children.

pub(crate) mod device;

use menu::{Absent, Effect, Flag, Kind, Menu, MenuShape, Part, Property};

use crate::declare::{
    ONLY_DISABLED, argument, command, on_items, seconds, shown, text, with_default,
};

/// Hours of a day: `8h-20h`; `0s-0s` and an empty value mean never.
const HOURS: Kind = Kind::List(&Kind::Parts(&[
    Part::new("", seconds(0, 86_400)),
    Part::new("-", seconds(0, 86_400)).or(Absent::Left),
]));

const fn day(name: &'static str) -> Property {
    with_default(name, HOURS, "", "Hours with access")
}

const fn slow(name: &'static str) -> Property {
    with_default(name, HOURS, "", "Hours without a rate limit")
}

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("name", Kind::Name, "Name of the child"),
            day("sun"),
            day("mon"),
            day("tue"),
            day("wed"),
            day("thu"),
            day("fri"),
            day("sat"),
            text("rate-limit", "Rate limit"),
            slow("tur-sun"),
            slow("tur-mon"),
            slow("tur-tue"),
            slow("tur-wed"),
            slow("tur-thu"),
            slow("tur-fri"),
            slow("tur-sat"),
            shown("pause-left", Kind::SPAN, "Remaining time of the pause"),
            shown("pause-till", Kind::Text, "End of the pause"),
        ],
        ONLY_DISABLED,
    ],
    flags: &[
        Flag::new('X', "disabled", 0),
        Flag::new('P', "paused", 1),
        Flag::new('B', "blocked", 2),
        Flag::new('L', "rate-limited", 3),
    ],
    columns: &["name", "sun", "mon", "tue", "wed", "thu", "fri", "sat"],
    space: Some("kid"),
    key: Some("name"),
    kind: "kid",
    commands: &[
        command(
            "pause",
            "Pause access",
            &[
                crate::interface::NUMBERS,
                argument("duration", seconds(0, 604_800), "Length of the pause"),
                argument("till", Kind::Text, "End of the pause"),
            ],
        ),
        on_items("resume", "End a pause"),
    ],
    effect: Effect::None,
    ..Menu::new(
        "/ip/kid-control",
        MenuShape::List,
        "Hours of network access for children",
    )
};
