//! `/user`: users of the router.

pub(crate) mod aaa;
pub(crate) mod active;
pub(crate) mod group;
pub(crate) mod settings;
pub(crate) mod ssh_keys;

use menu::{
    Builtin, Family, Flag, Kind, Menu, MenuShape, Policies, Property, Reason, Store, Unique,
};

use crate::fragment::{COMMENT_DISABLED, SECOND};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("name", Kind::Name, "Name of the user").required(),
            Property::new(
                "group",
                Kind::Reference("user-group"),
                "The group whose policies the user has",
            )
            .required(),
            Property::new(
                "address",
                Kind::List(&Kind::Prefix(Family::Any)),
                "Hosts and networks from which the user may log in; any if empty",
            )
            .default(""),
            Property::new(
                "password",
                Kind::Text,
                "Password; if empty, the user logs in by key or locally",
            )
            .optional()
            .sealed(),
            Property::new(
                "inactivity-timeout",
                Kind::Time {
                    min: 60 * SECOND,
                    max: 86_400 * SECOND,
                },
                "Idle timeout of a session",
            )
            .default("10m"),
            Property::new(
                "inactivity-policy",
                Kind::Words(&["none", "lockscreen", "logout"]),
                "Action for a session that is idle for too long",
            )
            .default("none"),
            Property::new("last-logged-in", Kind::Text, "Last login of the user").read_only(),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[Flag::new('X', "disabled", 0)],
    columns: &["name", "group", "address", "last-logged-in"],
    space: Some("user"),
    key: Some("name"),
    kind: "user",
    unique: &[Unique {
        properties: &["name"],
        failure: "user with the same name already exists",
    }],
    builtin: &[Builtin {
        values: &[
            ("name", "admin"),
            ("group", "full"),
            ("comment", "system default user"),
        ],
    }],
    removable: true,
    guard: Some(somebody_manages),
    conditions: crate::conditions::USER,
    policies: Policies::POLICY,
    ..Menu::new("/user", MenuShape::List, "User management")
};

/// Requires at least one enabled user with the policies `read`, `write` and `policy`, so that the router stays
/// manageable.
pub(crate) fn somebody_manages(store: &Store) -> Result<(), Reason> {
    let needed = Policies::READ | Policies::WRITE | Policies::POLICY;
    let manages = store
        .items("/user")
        .filter(|user| !user.is("disabled"))
        .filter_map(|user| store.named("user-group", user.text("group"))?.get("policy"))
        .any(|policy| Policies::from_value(policy).contains(needed));
    match manages {
        true => Ok(()),
        false => Err(Reason::failure(
            "at least one user with full rights must be left",
        )),
    }
}
