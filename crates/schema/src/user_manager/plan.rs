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
        Property::new(
            "download-limit",
            BYTES,
            "Maximum number of bytes to the user",
        )
        .default("0"),
        Property::new(
            "upload-limit",
            BYTES,
            "Maximum number of bytes from the user",
        )
        .default("0"),
        Property::new("transfer-limit", BYTES, "Maximum number of bytes in total").default("0"),
        Property::new("uptime-limit", Kind::SPAN, "Maximum uptime").default("0s"),
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
        Property::new("rate-limit-rx", Kind::Rate, "Rate limit from the user").default("0"),
        Property::new("rate-limit-tx", Kind::Rate, "Rate limit to the user").default("0"),
        Property::new(
            "rate-limit-burst-rx",
            Kind::Rate,
            "Burst rate from the user",
        )
        .default("0"),
        Property::new("rate-limit-burst-tx", Kind::Rate, "Burst rate to the user").default("0"),
        Property::new(
            "rate-limit-burst-threshold-rx",
            Kind::Rate,
            "Burst threshold from the user",
        )
        .default("0"),
        Property::new(
            "rate-limit-burst-threshold-tx",
            Kind::Rate,
            "Burst threshold to the user",
        )
        .default("0"),
        Property::new(
            "rate-limit-burst-time-rx",
            Kind::SPAN,
            "Averaging time of the burst threshold from the user",
        )
        .default("0s"),
        Property::new(
            "rate-limit-burst-time-tx",
            Kind::SPAN,
            "Averaging time of the burst threshold to the user",
        )
        .default("0s"),
        Property::new(
            "rate-limit-min-rx",
            Kind::Rate,
            "Guaranteed rate from the user",
        )
        .default("0"),
        Property::new(
            "rate-limit-min-tx",
            Kind::Rate,
            "Guaranteed rate to the user",
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
        Property::new("trans-start", DATE_TIME, "Start of the transaction").optional(),
        Property::new(
            "trans-end",
            Kind::Or(&["not-finished"], &DATE_TIME),
            "End of the transaction",
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
            "Override of the user's maximum number of sessions",
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
        Property::new("limitation", LIMITATION, "Limitation of the plan").required(),
        Property::new("from-time", Kind::SPAN, "Start time of the limitation").default("0s"),
        Property::new("till-time", Kind::SPAN, "End time of the limitation").default("23h59m59s"),
        Property::new(
            "weekdays",
            Kind::List(&Kind::Words(WEEKDAYS)),
            "Weekdays of the limitation",
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
        "Activate a user's profile now",
        &[NUMBERS],
    )],
    effect: Effect::None,
    ..Menu::new(
        "/user-manager/user-profile",
        MenuShape::List,
        "Plans of each user",
    )
};
