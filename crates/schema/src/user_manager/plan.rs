//! User profiles and limits.

use menu::{Effect, Kind, Menu, MenuShape, OldProperty, Property};

use super::{PROFILE, USER};
use crate::declare::{NUMBERS, between, idle_command, shown, text};
use crate::fragment::COMMENT;
use crate::spelling::{DATE_TIME, DECIMAL, WEEKDAYS};

const LIMITATION: Kind = Kind::Reference("user-manager-limitation");
/// A size in bytes, with an optional suffix `k`, `M` or `G`.
const BYTES: Kind = Kind::Number {
    min: 0,
    max: i64::MAX,
};
/// A price.
const PRICE: Kind = DECIMAL;

pub(crate) static LIMITATION_MENU: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name of the limit").required(),
        Property::new("download-limit", BYTES, "Bytes to the user").default("0"),
        Property::new("upload-limit", BYTES, "Bytes from the user").default("0"),
        Property::new("transfer-limit", BYTES, "Bytes in both directions").default("0"),
        Property::new("uptime-limit", Kind::SPAN, "Time of use").default("0s"),
        Property::new("reset-counters-start-time", DATE_TIME, "Start of counting")
            .default("1970-01-01 00:00:00"),
        Property::new(
            "reset-counters-interval",
            Kind::Or(
                &["daily", "disabled", "hourly", "monthly", "weekly"],
                &Kind::SPAN,
            ),
            "Reset interval of counters",
        )
        .default("disabled"),
        Property::new("rate-limit-rx", Kind::Rate, "Speed from the user").default("0"),
        Property::new("rate-limit-tx", Kind::Rate, "Speed to the user").default("0"),
        Property::new(
            "rate-limit-burst-rx",
            Kind::Rate,
            "Rate limit burst received",
        )
        .default("0"),
        Property::new(
            "rate-limit-burst-tx",
            Kind::Rate,
            "Rate limit burst transmitted",
        )
        .default("0"),
        Property::new(
            "rate-limit-burst-threshold-rx",
            Kind::Rate,
            "Rate limit burst threshold received",
        )
        .default("0"),
        Property::new(
            "rate-limit-burst-threshold-tx",
            Kind::Rate,
            "Rate limit burst threshold transmitted",
        )
        .default("0"),
        Property::new(
            "rate-limit-burst-time-rx",
            Kind::SPAN,
            "Rate limit burst time received",
        )
        .default("0s"),
        Property::new(
            "rate-limit-burst-time-tx",
            Kind::SPAN,
            "Rate limit burst time transmitted",
        )
        .default("0s"),
        Property::new("rate-limit-min-rx", Kind::Rate, "Rate limit least received").default("0"),
        Property::new(
            "rate-limit-min-tx",
            Kind::Rate,
            "Rate limit least transmitted",
        )
        .default("0"),
        Property::new("rate-limit-priority", between(0, 8), "Priority among users").default("0"),
        COMMENT,
    ]],
    columns: &["name", "download-limit", "upload-limit", "uptime-limit"],
    space: Some("user-manager-limitation"),
    key: Some("name"),
    old_paths: &["/user-manager/profile/limitation"],
    effect: Effect::None,
    ..Menu::new(
        "/user-manager/limitation",
        MenuShape::List,
        "Limits of plans",
    )
};

pub(crate) static PAYMENT: Menu = Menu {
    properties: &[&[
        Property::new("user", USER, "User who pays").required(),
        Property::new("profile", PROFILE, "Profile that is paid for").required(),
        Property::new("price", PRICE, "Amount").default("0"),
        Property::new("currency", Kind::Text, "Currency").default("USD"),
        Property::new("trans-start", DATE_TIME, "Trans start").optional(),
        Property::new(
            "trans-end",
            Kind::Or(&["not-finished"], &DATE_TIME),
            "Trans end",
        )
        .optional(),
        Property::new(
            "trans-status",
            Kind::Words(&[
                "started",
                "pending",
                "approved",
                "declined",
                "error",
                "timeout",
                "aborted",
                "user-approved",
            ]),
            "Status of the payment",
        )
        .optional(),
        Property::new(
            "method",
            Kind::Words(&["authorize-net", "paypal"]),
            "Payment method",
        )
        .optional(),
        text("user-message", "User message"),
    ]],
    columns: &["user", "profile", "price", "currency", "trans-status"],
    effect: Effect::None,
    ..Menu::new("/user-manager/payment", MenuShape::List, "Payments")
};

pub(crate) static PROFILE_MENU: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name of the plan").required(),
        Property::new(
            "validity",
            Kind::Or(&["unlimited"], &Kind::SPAN),
            "Validity of the plan",
        )
        .default("unlimited"),
        text("name-for-users", "Name shown to users"),
        Property::new(
            "starts-when",
            Kind::Words(&["first-auth", "assigned"]),
            "Start of validity",
        )
        .default("assigned"),
        Property::new("price", PRICE, "Price").default("0"),
        Property::new(
            "override-shared-users",
            Kind::Or(&["off", "unlimited"], &between(1, 65_535)),
            "Devices at once, in place of the user's",
        )
        .default("off"),
        COMMENT,
    ]],
    columns: &["name", "validity", "price"],
    space: Some("user-manager-profile"),
    key: Some("name"),
    old: &[OldProperty::renamed("starts", "starts-when")],
    effect: Effect::None,
    ..Menu::new("/user-manager/profile", MenuShape::List, "Plans")
};

pub(crate) static PROFILE_LIMITATION: Menu = Menu {
    properties: &[&[
        Property::new("profile", PROFILE, "The plan").required(),
        Property::new("limitation", LIMITATION, "The limit").required(),
        Property::new(
            "from-time",
            Kind::SPAN,
            "Time of day from which it is in force",
        )
        .default("0s"),
        Property::new(
            "till-time",
            Kind::SPAN,
            "Time of day until which it is in force",
        )
        .default("23h59m59s"),
        Property::new(
            "weekdays",
            Kind::List(&Kind::Words(WEEKDAYS)),
            "Days on which it is in force",
        )
        .default("sunday,monday,tuesday,wednesday,thursday,friday,saturday"),
        COMMENT,
    ]],
    columns: &[
        "profile",
        "limitation",
        "from-time",
        "till-time",
        "weekdays",
    ],
    old_paths: &["/user-manager/profile/profile-limitation"],
    effect: Effect::None,
    ..Menu::new(
        "/user-manager/profile-limitation",
        MenuShape::List,
        "Limits of each plan",
    )
};

pub(crate) static USER_PROFILE: Menu = Menu {
    properties: &[&[
        Property::new("user", USER, "The user").required(),
        Property::new("profile", PROFILE, "The plan").required(),
        shown(
            "state",
            Kind::Words(&["waiting", "running", "running-active", "used"]),
            "State",
        ),
        shown(
            "end-time",
            Kind::Or(&["not-yet-running", "unlimited"], &Kind::Text),
            "End time",
        ),
    ]],
    columns: &["user", "profile", "state", "end-time"],
    commands: &[idle_command(
        "activate-user-profile",
        "Begin a plan now",
        &[NUMBERS],
    )],
    effect: Effect::None,
    ..Menu::new(
        "/user-manager/user-profile",
        MenuShape::List,
        "Plans of each user",
    )
};
