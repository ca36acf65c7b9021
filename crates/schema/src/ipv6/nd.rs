//! `/ipv6/nd`: router advertisements (RFC 4861, 6.2).

pub(crate) mod prefix;
pub(crate) mod proxy;
pub(crate) mod settings;

use menu::{Builtin, ExportSelector, Family, Flag, Kind, Menu, MenuShape, Property, Unique};

use crate::fragment::{COMMENT_DISABLED, SECOND};

const UNSPECIFIED: &[&str] = &["unspecified"];
const MILLISECONDS: Kind = Kind::Or(UNSPECIFIED, &Kind::SPAN);

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new(
                "interface",
                Kind::Or(&["all"], &Kind::Reference("interface")),
                "Interface for advertisements; all for interfaces without an entry of their own",
            )
            .required(),
            Property::new(
                "ra-interval",
                Kind::Times {
                    min: 3 * SECOND,
                    max: 1_800 * SECOND,
                },
                "Minimum and maximum time between advertisements",
            )
            .default("3m20s-10m"),
            Property::new(
                "ra-delay",
                Kind::SPAN,
                "Minimum time between answers to solicitations",
            )
            .default("3s"),
            Property::new(
                "mtu",
                Kind::Or(
                    UNSPECIFIED,
                    &Kind::Number {
                        min: 0,
                        max: 4_294_967_295,
                    },
                ),
                "Advertised MTU of the link",
            )
            .default("unspecified"),
            Property::new(
                "reachable-time",
                MILLISECONDS,
                "Time for which a neighbour is considered reachable",
            )
            .default("unspecified"),
            Property::new(
                "retransmit-interval",
                MILLISECONDS,
                "Time between solicitations",
            )
            .default("unspecified"),
            Property::new(
                "ra-lifetime",
                Kind::Or(
                    &["none"],
                    &Kind::Time {
                        min: 0,
                        max: 65_535 * SECOND,
                    },
                ),
                "Lifetime as a default router; none: not a default router",
            )
            .default("30m"),
            Property::new(
                "ra-preference",
                Kind::Words(&["high", "low", "medium"]),
                "Preference among default routers (RFC 4191)",
            )
            .default("medium"),
            Property::new(
                "hop-limit",
                Kind::Or(UNSPECIFIED, &Kind::Number { min: 0, max: 255 }),
                "Advertised hop limit",
            )
            .default("unspecified"),
            Property::new(
                "advertise-mac-address",
                Kind::Bool,
                "Advertise the MAC address",
            )
            .default("yes"),
            Property::new(
                "advertise-dns",
                Kind::Either(&Kind::Bool, &Kind::Words(&["self"])),
                "Advertise DNS servers (RFC 8106); self: this router",
            )
            .default("yes"),
            Property::new(
                "managed-address-configuration",
                Kind::Bool,
                "Tell hosts to request addresses by DHCPv6",
            )
            .default("no"),
            Property::new(
                "other-configuration",
                Kind::Bool,
                "Tell hosts to request other settings by DHCPv6",
            )
            .default("no"),
            Property::new(
                "dns",
                Kind::List(&Kind::Address(Family::V6)),
                "DNS servers to advertise in place of the router's",
            )
            .default(""),
            Property::new(
                "pref64",
                Kind::List(&Kind::Prefix(Family::V6)),
                "NAT64 prefixes to advertise (RFC 8781)",
            )
            .optional(),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[
        Flag::new('X', "disabled", 0),
        Flag::new('I', "invalid", 0),
        Flag::new('*', "default", 1),
    ],
    unique: &[Unique {
        properties: &["interface"],
        failure: "already have such interface",
    }],
    builtin: &[Builtin {
        values: &[("interface", "all")],
    }],
    key: Some("interface"),
    pick: ExportSelector::Default,
    ..Menu::new("/ipv6/nd", MenuShape::List, "Neighbor discovery")
};
