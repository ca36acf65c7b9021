//! `/ppp/secret`: PPP users.

use menu::{Family, Flag, Kind, Menu, MenuShape, Property, Unique};

use crate::declare::{ipv4, named, number, reference, secret, shown, text, words};
use crate::fragment::COMMENT_DISABLED;

const SERVICES: &[&str] = &["any", "async", "l2tp", "ovpn", "pppoe", "pptp", "sstp"];

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            named("Name of the user"),
            words("service", SERVICES, "Services that the user may use").default("any"),
            text("caller-id", "Required address or number of the caller"),
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
            text("routes", "Routes through the user"),
            text("ipv6-routes", "IPv6 routes through the user"),
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
            shown("last-logged-out", Kind::Text, "End of the last session"),
            shown("last-caller-id", Kind::Text, "Caller of the last session"),
            shown(
                "last-disconnect-reason",
                Kind::Text,
                "Reason for which the last session ended",
            ),
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
    ..Menu::new("/ppp/secret", MenuShape::List, "Users of PPP")
};
