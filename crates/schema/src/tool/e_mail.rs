//! `/tool/e-mail`: sending of e-mail.

use menu::{Draft, Family, Kind, Menu, MenuShape, OldProperty, Property, Value};

use crate::declare::{AS_VALUE, PORT, argument, command, shown, text};
use crate::spelling::HOST;

/// RouterOS 6: `start-tls=tls-only`.
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
        Property::new("tls", TLS, "Use of TLS").default("no"),
        Property::new("vrf", Kind::Name, "The VRF of the mail server")
            .default("main")
            .inert(),
        Property::new("from", Kind::Text, "Sender of the mail").default("<>"),
        text("user", "Name at the mail server"),
        text("password", "Password at the mail server").sensitive(),
        Property::new(
            "certificate-verification",
            Kind::Words(&["no", "yes", "yes-without-crl"]),
            "Verify the mail server's certificate",
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
        OldProperty::renamed("address", "server"),
        OldProperty::renamed("start-tls", "tls"),
    ],
    derive: Some(starttls),
    commands: &[command(
        "send",
        "Send a mail",
        &[
            AS_VALUE,
            argument("body", Kind::Text, "Body"),
            argument("cc", Kind::List(&Kind::Text), "Cc"),
            argument(
                "certificate-verification",
                Kind::Words(&["no", "yes", "yes-without-crl"]),
                "Certificate verification",
            ),
            argument("file", Kind::List(&Kind::Text), "File"),
            argument("from", Kind::Text, "From"),
            argument("password", Kind::Text, "Password"),
            argument("port", PORT, "Port"),
            argument("server", HOST, "Server"),
            argument("subject", Kind::Text, "Subject"),
            argument("tls", Kind::Words(&["no", "yes", "starttls"]), "TLS"),
            argument("to", Kind::List(&Kind::Text), "To"),
            argument("user", Kind::Text, "User"),
        ],
    )],
    ..Menu::new("/tool/e-mail", MenuShape::Settings, "Mail")
};
