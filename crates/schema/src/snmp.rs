//! `/snmp`: SNMP agent.

use menu::{Builtin, ExportSelector, Family, Flag, Kind, Menu, MenuShape, OldProperty, Property};

use crate::declare::{argument, command, no, shown, text, yes};
use crate::fragment::COMMENT_DISABLED;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        no("enabled", "Enable the SNMP agent"),
        text("contact", "Contact person for the router"),
        text("location", "Location of the router"),
        text("engine-id-suffix", "Suffix of the engine ID"),
        Property::new(
            "src-address",
            Kind::Address(Family::Any),
            "Source address of traps",
        )
        .default("::"),
        Property::new(
            "trap-target",
            Kind::List(&Kind::Address(Family::Any)),
            "Recipients of traps",
        )
        .default(""),
        Property::new(
            "trap-community",
            Kind::Reference("snmp-community"),
            "Community of traps",
        )
        .default("public"),
        Property::new(
            "trap-version",
            Kind::Words(&["1", "2", "3"]),
            "SNMP version of traps",
        )
        .default("1"),
        Property::new(
            "trap-generators",
            Kind::List(&Kind::Words(&[
                "interfaces",
                "start-trap",
                "temp-exception",
            ])),
            "Events that cause traps",
        )
        .default("temp-exception"),
        Property::new(
            "trap-interfaces",
            Kind::List(&Kind::Or(&["all"], &Kind::Reference("interface"))),
            "Interfaces whose changes cause traps",
        )
        .default(""),
        Property::new("vrf", Kind::Name, "VRF of the requests")
            .default("main")
            .inert_for(|vrf| vrf != "main"),
        shown("engine-id", Kind::Text, "Engine identifier"),
    ]],
    old: &[OldProperty::renamed("engine-id", "engine-id-suffix")],
    commands: &[command(
        "send-trap",
        "Send a trap",
        &[
            argument("oid", Kind::Text, "Oid"),
            argument(
                "type",
                Kind::Words(&[
                    "integer",
                    "string",
                    "nullobj",
                    "obj-id",
                    "ip-address",
                    "counter32",
                    "timeticks",
                    "unsigned",
                ]),
                "Type",
            ),
            argument("value", Kind::Text, "Value"),
        ],
    )],
    ..Menu::new("/snmp", MenuShape::Settings, "SNMP")
};

pub(crate) static COMMUNITY: Menu = Menu {
    properties: &[
        &[
            Property::new("name", Kind::Name, "Name of the community").required(),
            Property::new(
                "addresses",
                Kind::List(&Kind::Prefix(Family::Any)),
                "Networks with access; all if empty",
            )
            .default("::/0"),
            Property::new(
                "security",
                Kind::Words(&["none", "authorized", "private"]),
                "Required security level",
            )
            .default("none"),
            yes("read-access", "Allow reading"),
            no("write-access", "Allow writing"),
            Property::new(
                "authentication-protocol",
                Kind::Words(&["MD5", "SHA1"]),
                "Authentication protocol of messages",
            )
            .default("MD5"),
            Property::new(
                "encryption-protocol",
                Kind::Words(&["DES", "AES"]),
                "Encryption protocol of messages",
            )
            .default("DES"),
            text("authentication-password", "Authentication password").sensitive(),
            text("encryption-password", "Encryption password").sensitive(),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[Flag::new('*', "default", 0), Flag::new('X', "disabled", 1)],
    columns: &[
        "name",
        "addresses",
        "security",
        "read-access",
        "write-access",
    ],
    space: Some("snmp-community"),
    key: Some("name"),
    builtin: &[Builtin {
        values: &[("name", "public")],
    }],
    pick: ExportSelector::Default,
    ..Menu::new(
        "/snmp/community",
        MenuShape::List,
        "Communities and users of SNMP",
    )
};
