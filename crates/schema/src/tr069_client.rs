//! `/tr069-client`: remote management by the provider (TR-069).

use menu::{Effect, Kind, Menu, MenuShape, Property};

use crate::declare::{PORT, U32, idle_command, nanoseconds, no, shown, text, yes};
use crate::fragment::SECOND;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        no("enabled", "Enable the TR-069 client"),
        text("acs-url", "URL of the server (ACS)"),
        text("username", "User name for the server"),
        text("password", "Password for the server").sensitive(),
        yes("periodic-inform-enabled", "Send periodic reports"),
        Property::new(
            "periodic-inform-interval",
            nanoseconds(SECOND, i64::MAX),
            "Interval of reports",
        )
        .default("1d"),
        text("connection-request-username", "User name set by the server"),
        text("connection-request-password", "Password set by the server").sensitive(),
        Property::new(
            "connection-request-port",
            PORT,
            "Port for connection requests of the server",
        )
        .default("7547"),
        text("provisioning-code", "Provisioning code sent to the server"),
        Property::new(
            "client-certificate",
            Kind::Or(&["none"], &Kind::Reference("certificate")),
            "Certificate of the client",
        )
        .default("none"),
        yes("check-certificate", "Verify the server's certificate"),
        shown(
            "status",
            Kind::Words(&[
                "disabled",
                "initializing",
                "error",
                "waiting-url",
                "running",
            ]),
            "Status",
        ),
        shown("last-session-error", Kind::Text, "Last session error"),
        shown("retry-count", U32, "Retry count"),
    ]],
    commands: &[idle_command(
        "reset-tr069-config",
        "Reset the values set by the server",
        &[],
    )],
    effect: Effect::None,
    off: Some(("enabled", "no")),
    ..Menu::new("/tr069-client", MenuShape::Settings, "TR-069 client")
};
