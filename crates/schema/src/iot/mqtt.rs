//! `/iot/mqtt`: MQTT clients.

use menu::{Effect, Flag, Kind, Menu, MenuShape, Property};

use crate::declare::{
    AS_VALUE, MONITORED, PORT, U32, argument, between, idle_command, no, required_argument, shown,
    text,
};
use crate::spelling::HOST;

const BROKER: Kind = Kind::Reference("mqtt-broker");
const QOS: Kind = between(0, 2);

pub(crate) static MENU: Menu = Menu {
    commands: &[
        idle_command(
            "connect",
            "Connect to a broker",
            &[AS_VALUE, required_argument("broker", BROKER, "Broker")],
        ),
        idle_command(
            "disconnect",
            "Disconnect from a broker",
            &[AS_VALUE, required_argument("broker", BROKER, "Broker")],
        ),
        idle_command(
            "publish",
            "Publish a message",
            &[
                AS_VALUE,
                required_argument("broker", BROKER, "Broker"),
                argument("disconnect-after", Kind::Bool, "Disconnect after"),
                argument("force", Kind::Bool, "Force"),
                argument("message", Kind::Text, "Message"),
                argument("qos", QOS, "Quality of service"),
                argument("retain", Kind::Bool, "Retain"),
                argument("topic", Kind::Text, "Topic"),
            ],
        ),
        idle_command(
            "subscribe",
            "Subscribe to a topic",
            &[
                AS_VALUE,
                required_argument("broker", BROKER, "Broker"),
                argument("force", Kind::Bool, "Force"),
                argument("qos", QOS, "Quality of service"),
                argument("topic", Kind::Text, "Topic"),
            ],
        ),
        idle_command(
            "unsubscribe",
            "Unsubscribe from a topic",
            &[
                AS_VALUE,
                required_argument("broker", BROKER, "Broker"),
                argument("topic", Kind::Text, "Topic"),
            ],
        ),
    ],
    effect: Effect::None,
    ..Menu::new("/iot/mqtt", MenuShape::Folder, "MQTT client")
};

pub(crate) static BROKERS: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name").required(),
        Property::new("address", HOST, "Address of the broker").required(),
        Property::new("port", PORT, "Port").default("1883"),
        no("ssl", "TLS"),
        text("client-id", "Client identifier"),
        text("username", "Username"),
        text("password", "Password").sensitive(),
        text("will-topic", "Topic of the will message"),
        text("will-message", "Will message"),
        Property::new("will-qos", QOS, "Quality of service of the will message").default("0"),
        no("will-retain", "Retain the will message"),
        Property::new(
            "certificate",
            Kind::Or(&["none"], &Kind::Reference("certificate")),
            "Certificate",
        )
        .default("none"),
        no("auto-connect", "Connect automatically"),
        Property::new("keep-alive", U32, "Keepalive interval").default("60"),
        Property::new(
            "parallel-scripts-limit",
            Kind::Or(&["off"], &U32),
            "Maximum number of parallel scripts",
        )
        .default("off"),
        shown("connected", Kind::Bool, "Connected"),
    ]],
    flags: &[Flag::new('W', "Will message enabled", 1)],
    columns: &["name", "address", "port"],
    space: Some("mqtt-broker"),
    key: Some("name"),
    effect: Effect::None,
    ..Menu::new("/iot/mqtt/brokers", MenuShape::List, "Brokers")
};

pub(crate) static SUBSCRIPTIONS: Menu = Menu {
    properties: &[&[
        Property::new("broker", BROKER, "Broker").required(),
        Property::new("topic", Kind::Name, "Topic").required(),
        Property::new("qos", QOS, "Quality of service").default("0"),
        text("on-message", "Script to run for a message").script(),
    ]],
    columns: &["broker", "topic", "qos"],
    commands: &[idle_command("monitor-data", "Show received messages", MONITORED).repeating()],
    effect: Effect::None,
    ..Menu::new(
        "/iot/mqtt/subscriptions",
        MenuShape::List,
        "Subscribed topics",
    )
};

pub(crate) static RECEIVED: Menu = Menu {
    properties: &[&[
        shown("broker", Kind::Text, "Broker"),
        shown("topic", Kind::Text, "Topic"),
        shown("data", Kind::Text, "Data"),
        shown("time", Kind::Text, "Time"),
    ]],
    commands: &[idle_command("clear", "Clear the list", &[])],
    effect: Effect::None,
    ..Menu::new(
        "/iot/mqtt/subscriptions/recv",
        MenuShape::Rows,
        "Received messages",
    )
};
