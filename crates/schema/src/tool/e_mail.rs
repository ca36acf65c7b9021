//! `/tool/e-mail`: sends mail.

use menu::{Draft, Effect, Family, Kind, Menu, Old, Property, Shape, Value};

use crate::short::{AS_VALUE, PORT, idle, may, shown, text};
use crate::spelling::HOST;

/// RouterOS: version 6 said `start-tls=tls-only`.
const TLS: Kind = Kind::Words(&["no", "starttls", "tls-only", "yes"]);

fn starttls(draft: &mut Draft<'_>) {
    if let Some(Value::Word("tls-only")) = draft.get("tls") {
        draft.set("tls", Some(Value::Word("yes")));
    }
}

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new("server", HOST, "The mail server").default("0.0.0.0"),
        Property::new("port", PORT, "The mail server's port").default("25"),
        Property::new("tls", TLS, "Whether the connection is encrypted").default("no"),
        Property::new("vrf", Kind::Name, "The VRF of the mail server").default("main"),
        Property::new("from", Kind::Text, "Who sends the mail").default("<>"),
        text("user", "Name at the mail server"),
        text("password", "Password at the mail server").sensitive(),
        Property::new(
            "certificate-verification",
            Kind::Words(&["no", "yes", "yes-without-crl"]),
            "Checks the mail server's certificate",
        )
        .default("yes"),
        shown(
            "last-status",
            Kind::Words(&[
                "none",
                "resolving-dns",
                "in-progress",
                "failed",
                "succeeded",
            ]),
            "Last status",
        ),
        shown("last-address", Kind::Address(Family::Any), "Last address"),
    ]],
    old: &[
        Old::renamed("address", "server"),
        Old::renamed("start-tls", "tls"),
    ],
    derive: Some(starttls),
    commands: &[idle(
        "send",
        "Send a mail",
        &[
            AS_VALUE,
            may("body", Kind::Text, "Body"),
            may("cc", Kind::List(&Kind::Text), "Cc"),
            may(
                "certificate-verification",
                Kind::Words(&["no", "yes", "yes-without-crl"]),
                "Certificate verification",
            ),
            may("file", Kind::List(&Kind::Text), "File"),
            may("from", Kind::Text, "From"),
            may("password", Kind::Text, "Password"),
            may("port", PORT, "Port"),
            may("server", HOST, "Server"),
            may("subject", Kind::Text, "Subject"),
            may("tls", Kind::Words(&["no", "yes", "starttls"]), "TLS"),
            may("to", Kind::List(&Kind::Text), "To"),
            may("user", Kind::Text, "User"),
        ],
    )],
    effect: Effect::None,
    ..Menu::new("/tool/e-mail", Shape::Settings, "Mail")
};
