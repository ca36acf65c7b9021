//! `/tool/sms`: text messages through a modem.

use menu::{Effect, Kind, Menu, MenuShape, OldProperty, Property};

use crate::declare::{
    AS_VALUE, NUMBERS, U32, argument, idle_command, no, required_argument, shown, text,
};

/// A serial port or a modem.
const MODEM: Kind = Kind::Or(
    &["none"],
    &Kind::Either(&Kind::Reference("interface"), &Kind::Reference("port")),
);

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        no("receive-enabled", "Receive SMS messages"),
        Property::new("port", MODEM, "The modem").default("none"),
        Property::new("channel", U32, "Channel of the modem").default("0"),
        text("secret", "Secret with which a command message must begin").sensitive(),
        text("allowed-number", "Numbers that may send commands"),
        text("sim-pin", "PIN of the SIM card").sensitive(),
        Property::new(
            "sms-storage",
            Kind::Words(&["modem", "sim", "combined"]),
            "Storage of messages",
        )
        .default("modem"),
        no("polling", "Poll the modem for messages"),
        no(
            "remove-sent-sms-after-send",
            "Delete messages after sending",
        ),
        shown("status", Kind::Bool, "Status"),
        shown("last-ussd", Kind::Text, "Last USSD message"),
    ]],
    old: &[OldProperty::gone("auto-erase")],
    commands: &[idle_command(
        "send",
        "Send a message",
        &[
            AS_VALUE,
            argument("channel", U32, "Channel"),
            argument("message", Kind::Text, "Message"),
            argument("phone-number", Kind::Text, "Phone number"),
            required_argument("port", MODEM, "Port"),
            argument("smsc", Kind::Text, "Smsc"),
            argument("status-report-request", Kind::Bool, "Status report request"),
            argument("type", Kind::Words(&["class-1", "class-0", "ussd"]), "Type"),
        ],
    )],
    effect: Effect::None,
    ..Menu::new("/tool/sms", MenuShape::Settings, "Short messages")
};

pub(crate) static INBOX: Menu = Menu {
    properties: &[&[
        shown("source", Kind::Text, "Source"),
        shown("phone", Kind::Text, "Phone"),
        shown("type", Kind::Words(&["class-0"]), "Type"),
        shown("timestamp", Kind::Text, "Timestamp"),
        shown("message", Kind::Text, "Message"),
        shown("pdu", Kind::Text, "Pdu"),
    ]],
    columns: &["phone", "timestamp", "message"],
    commands: &[idle_command("remove", "Remove items", &[NUMBERS])],
    effect: Effect::None,
    ..Menu::new("/tool/sms/inbox", MenuShape::Rows, "Received messages")
};
