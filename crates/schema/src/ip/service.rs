//! `/ip/service`: the ways in over the network.

use menu::{Builtin, Family, Flag, Kind, Menu, Property, Shape};

const fn service(values: &'static [(&'static str, &'static str)]) -> Builtin {
    Builtin { values }
}

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Service name").read_only(),
        Property::new(
            "port",
            Kind::Number {
                min: 1,
                max: 65_535,
            },
            "The port that the service listens on",
        )
        .default("1"),
        Property::new("proto", Kind::Words(&["tcp", "udp"]), "Transport protocol")
            .read_only()
            .default("tcp"),
        Property::new(
            "address",
            Kind::List(&Kind::Prefix(Family::Any)),
            "Networks from which the service is accessible; all if empty",
        )
        .default(""),
        Property::new(
            "certificate",
            Kind::Text,
            "The certificate of services with TLS; the self-made one serves in any case",
        )
        .default("none")
        .inert(),
        Property::new(
            "tls-version",
            Kind::Words(&["any", "only-1.2"]),
            "Which versions of TLS are accepted",
        )
        .default("any"),
        Property::new("vrf", Kind::Text, "The VRF that the service listens in")
            .default("main")
            .inert(),
        Property::new(
            "max-sessions",
            Kind::Number { min: 1, max: 1_000 },
            "How many sessions the service has at a time",
        )
        .default("20"),
        Property::new("disabled", Kind::Bool, "Whether the service is closed").default("no"),
    ]],
    flags: &[
        Flag::new('D', "dynamic", 0),
        Flag::new('X', "disabled", 1),
        Flag::new('I', "invalid", 1),
    ],
    columns: &[
        "name",
        "port",
        "proto",
        "certificate",
        "vrf",
        "max-sessions",
    ],
    key: Some("name"),
    builtin: &[
        service(&[("name", "ftp"), ("port", "21")]),
        service(&[("name", "ssh"), ("port", "22")]),
        service(&[("name", "telnet"), ("port", "23")]),
        service(&[("name", "www"), ("port", "80")]),
        service(&[("name", "www-ssl"), ("port", "443"), ("disabled", "yes")]),
        service(&[("name", "winbox"), ("port", "8291")]),
        service(&[("name", "api"), ("port", "8728")]),
        service(&[("name", "api-ssl"), ("port", "8729")]),
    ],
    ..Menu::new(
        "/ip/service",
        Shape::Fixed,
        "Services that the router offers",
    )
};
