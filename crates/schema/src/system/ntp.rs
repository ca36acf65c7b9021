//! `/system/ntp`: NTP client and server.

use menu::{Effect, Family, Flag, Item, Kind, Menu, MenuShape, OldProperty, Property, Unique};

use crate::declare::{
    AS_VALUE, DURATION, FREEZE, PROPLIST, U32, WITHOUT_PAGING, between, command, idle_command, no,
    shown, yes,
};
use crate::fragment::{COMMENT, COMMENT_DISABLED};
use crate::spelling::HOST;

pub(crate) static MENU: Menu = Menu {
    commands: &[idle_command(
        "monitor-peers",
        "Show the servers in use",
        &[AS_VALUE, DURATION, FREEZE, PROPLIST, WITHOUT_PAGING],
    )
    .repeating()],
    effect: Effect::None,
    ..Menu::new("/system/ntp", MenuShape::Folder, "Network time")
};

pub(crate) static CLIENT: Menu = Menu {
    properties: &[&[
        no("enabled", "Enable the NTP client"),
        Property::new(
            "mode",
            Kind::Words(&["unicast", "broadcast", "multicast", "manycast"]),
            "Mode of the client",
        )
        .default("unicast"),
        Property::new(
            "servers",
            Kind::List(&HOST),
            "NTP servers, as in /system/ntp/client/servers",
        )
        .default(""),
        Property::new("vrf", Kind::Name, "The VRF of the servers")
            .default("main")
            .inert(),
        shown("freq-drift", Kind::Text, "Frequency error of the clock"),
        shown(
            "status",
            Kind::Words(&["stopped", "waiting", "synchronized", "using-local-clock"]),
            "Status",
        ),
        shown("synced-server", HOST, "Synced server"),
        shown("synced-stratum", U32, "Synced stratum"),
        shown("system-offset", Kind::Text, "System offset"),
    ]],
    old: &[
        OldProperty {
            name: "primary-ntp",
            value: Some("0.0.0.0"),
            becomes: "",
            with: None,
            makes: None,
        },
        OldProperty {
            name: "secondary-ntp",
            value: Some("0.0.0.0"),
            becomes: "",
            with: None,
            makes: None,
        },
        OldProperty::renamed("primary-ntp", "servers"),
        OldProperty::renamed("secondary-ntp", "servers"),
        OldProperty::renamed("server-dns-names", "servers"),
    ],
    idle: Some(unheard),
    commands: &[command(
        "reset-freq-drift",
        "Reset the frequency error of the clock",
        &[],
    )],
    ..Menu::new("/system/ntp/client", MenuShape::Settings, "NTP client")
};

/// Returns the mode that is not implemented: servers can only be discovered by broadcast.
fn unheard(item: &Item) -> Option<&'static str> {
    match item.text("mode") {
        "multicast" => Some("mode=multicast"),
        "manycast" => Some("mode=manycast"),
        _ => None,
    }
}

pub(crate) static SERVERS: Menu = Menu {
    properties: &[
        &[
            Property::new("address", HOST, "The server").required(),
            Property::new(
                "min-poll",
                between(3, 17),
                "Minimum poll interval as a power of two, in seconds",
            )
            .default("6"),
            Property::new(
                "max-poll",
                between(3, 17),
                "Maximum poll interval as a power of two, in seconds",
            )
            .default("10"),
            yes("iburst", "Send several requests at the beginning"),
            Property::new(
                "auth-key",
                Kind::Or(&["none"], &between(1, 65_535)),
                "Key for authentication of the server",
            )
            .default("none"),
            shown(
                "resolved-address",
                Kind::Address(Family::Any),
                "Resolved address",
            ),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[Flag::new('D', "dynamic", 0), Flag::new('X', "disabled", 1)],
    columns: &[
        "address",
        "resolved-address",
        "min-poll",
        "max-poll",
        "iburst",
        "auth-key",
    ],
    unique: &[Unique {
        properties: &["address"],
        failure: "already have such server",
    }],
    ..Menu::new(
        "/system/ntp/client/servers",
        MenuShape::List,
        "Time servers",
    )
};

pub(crate) static KEY: Menu = Menu {
    properties: &[&[
        Property::new("key-id", between(1, 65_535), "Key ID").required(),
        Property::new("key-val", Kind::Name, "The key")
            .required()
            .sensitive(),
        COMMENT,
    ]],
    columns: &["key-id"],
    ..Menu::new("/system/ntp/key", MenuShape::List, "Authentication keys")
};

pub(crate) static SERVER: Menu = Menu {
    properties: &[&[
        no("enabled", "Enable the NTP server"),
        no("broadcast", "Send the time to the broadcast addresses"),
        no("multicast", "Send the time to a multicast group").inert(),
        no("manycast", "Answer manycast requests").inert(),
        Property::new(
            "broadcast-addresses",
            Kind::List(&Kind::Address(Family::V4)),
            "Broadcast addresses to which the time is sent",
        )
        .default(""),
        Property::new("vrf", Kind::Name, "VRF of the clients")
            .default("main")
            .inert(),
        no(
            "use-local-clock",
            "Use the local clock when no server is reachable",
        ),
        Property::new(
            "local-clock-stratum",
            between(0, 16),
            "Stratum of the local clock",
        )
        .default("5"),
        Property::new(
            "auth-key",
            Kind::Or(&["none"], &between(1, 65_535)),
            "Key for authentication of the router",
        )
        .default("none"),
    ]],
    ..Menu::new("/system/ntp/server", MenuShape::Settings, "NTP server")
};
