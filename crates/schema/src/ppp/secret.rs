//! `/ppp/secret`: PPP users.

use menu::{Family, Flag, Kind, Menu, Property, Unique};

use crate::declare::{ipv4, named, number, reference, secret, shown, text, words};
use crate::fragment::{COMMENT_DISABLED, idle_list};

const SERVICES: &[&str] = &["any", "async", "l2tp", "ovpn", "pppoe", "pptp", "sstp"];

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            named("Name of the user"),
            words("service", SERVICES, "What may carry the user's sessions").default("any"),
            text("caller-id", "Where the user must be"),
            secret("password", "Password of the user"),
            reference("profile", "ppp-profile", "Profile of the sessions").default("default"),
            ipv4("local-address", "Address of this end").optional(),
            ipv4("remote-address", "Address of the user").optional(),
            Property::new(
                "remote-ipv6-prefix",
                Kind::Prefix(Family::V6),
                "Prefix of the user",
            )
            .optional(),
            text("routes", "Routes that lead to the user"),
            text("ipv6-routes", "IPv6 routes that lead to the user"),
            number(
                "limit-bytes-in",
                0,
                i64::MAX,
                "Bytes that the user may send",
            )
            .default("0"),
            number(
                "limit-bytes-out",
                0,
                i64::MAX,
                "Bytes that the user may receive",
            )
            .default("0"),
            shown("last-logged-out", Kind::Text, "When the last session ended"),
            shown("last-caller-id", Kind::Text, "Where the user was then"),
            shown("last-disconnect-reason", Kind::Text, "Why it ended"),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[Flag::new('X', "disabled", 0)],
    columns: &[
        "name",
        "service",
        "caller-id",
        "password",
        "profile",
        "remote-address",
    ],
    key: Some("name"),
    unique: &[Unique {
        properties: &["name", "service", "caller-id"],
        failure: "secret with the same name already exists",
    }],
    ..idle_list("/ppp/secret", "Users of PPP")
};
