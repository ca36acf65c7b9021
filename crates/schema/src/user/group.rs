//! `/user/group`: user groups and their policies.

use menu::{Builtin, Kind, Menu, MenuShape, Policies, Property, Unique};

use crate::fragment::COMMENT;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name of the group").required(),
        Property::new(
            "policy",
            Kind::Marked(Policies::WORDS),
            "Policies of the group's users",
        )
        .default(
            "!local,!telnet,!ssh,!ftp,!reboot,!read,!write,!policy,!test,!winbox,!password,!web,\
             !sniff,!sensitive,!api,!romon,!rest-api,!dude,!tikapp",
        ),
        Property::new("skin", Kind::Text, "Appearance of the web pages")
            .default("default")
            .inert(),
        COMMENT,
    ]],
    columns: &["name", "policy", "skin"],
    space: Some("user-group"),
    key: Some("name"),
    kind: "group",
    unique: &[Unique {
        properties: &["name"],
        failure: "group with the same name already exists",
    }],
    builtin: &[
        Builtin {
            values: &[
                ("name", "read"),
                (
                    "policy",
                    "local,telnet,ssh,reboot,read,test,winbox,password,web,sniff,sensitive,api,\
                     romon,rest-api",
                ),
            ],
        },
        Builtin {
            values: &[
                ("name", "write"),
                (
                    "policy",
                    "local,telnet,ssh,reboot,read,write,test,winbox,password,web,sniff,sensitive,\
                     api,romon,rest-api",
                ),
            ],
        },
        Builtin {
            values: &[
                ("name", "full"),
                (
                    "policy",
                    "local,telnet,ssh,ftp,reboot,read,write,policy,test,winbox,password,web,\
                     sniff,sensitive,api,romon,rest-api",
                ),
            ],
        },
    ],
    guard: Some(super::somebody_manages),
    policies: Policies::POLICY,
    ..Menu::new("/user/group", MenuShape::List, "User groups")
};
