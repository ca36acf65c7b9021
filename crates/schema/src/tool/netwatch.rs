//! `/tool/netwatch`: monitors hosts and runs scripts when their state changes.

use menu::{Family, Flag, Item, Kind, Menu, MenuShape, Property};

use crate::declare::{PORT, U32, between, nanoseconds, no, shown, text};
use crate::fragment::{COMMENT_DISABLED, SECOND};
use crate::spelling::HOST;

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            text("name", "Name of the watch"),
            Property::new("host", HOST, "The host").required(),
            Property::new(
                "type",
                Kind::Words(&["simple", "icmp", "tcp-conn", "http-get", "https-get", "dns"]),
                "Type of the test",
            )
            .default("simple"),
            Property::new(
                "src-address",
                Kind::Address(Family::Any),
                "Source address of tests",
            )
            .optional(),
            Property::new(
                "interval",
                nanoseconds(SECOND, i64::MAX),
                "Time between two tests",
            )
            .default("10s"),
            Property::new(
                "timeout",
                nanoseconds(SECOND / 100, i64::MAX),
                "Timeout of a test",
            )
            .default("3s"),
            Property::new("start-delay", Kind::SPAN, "Delay of the first test").default("3s"),
            Property::new(
                "startup-delay",
                Kind::SPAN,
                "Delay of the first test after the router's start",
            )
            .default("5m"),
            no(
                "ignore-initial-up",
                "Do not run the script if the host is up at the first test",
            ),
            no(
                "ignore-initial-down",
                "Do not run the script if the host is down at the first test",
            ),
            text("up-script", "Script to run when the host comes up").script(),
            text("down-script", "Script to run when the host goes down").script(),
            text("test-script", "Script to run after every test").script(),
            Property::new(
                "packet-interval",
                Kind::SPAN,
                "Time between two echo requests",
            )
            .default("50ms"),
            Property::new("packet-count", U32, "Number of echo requests per test").default("10"),
            Property::new("packet-size", between(28, 65_535), "Size of echo requests")
                .default("54"),
            Property::new("ttl", between(1, 255), "TTL of echo requests")
                .default("255")
                .quiet(),
            no(
                "accept-icmp-time-exceeded",
                "Count an expired TTL as an answer",
            ),
            no(
                "early-success-detection",
                "End the test as soon as it can no longer fail",
            ),
            no(
                "early-failure-detection",
                "End the test as soon as it can no longer succeed",
            ),
            Property::new(
                "thr-max",
                Kind::SPAN,
                "Maximum round-trip time of a good test",
            )
            .default("1s"),
            Property::new(
                "thr-avg",
                Kind::SPAN,
                "Maximum average round-trip time of a good test",
            )
            .default("100ms"),
            Property::new(
                "thr-stdev",
                Kind::SPAN,
                "Maximum standard deviation of a good test",
            )
            .default("250ms"),
            Property::new("thr-jitter", Kind::SPAN, "Maximum jitter of a good test").default("1s"),
            Property::new(
                "thr-loss-percent",
                between(0, 100),
                "Maximum loss of a good test in percent",
            )
            .default("85"),
            Property::new(
                "thr-loss-count",
                U32,
                "Maximum loss of a good test in packets",
            )
            .default("4294967295"),
            Property::new("port", PORT, "Port of the host").optional(),
            Property::new(
                "thr-tcp-conn-time",
                Kind::SPAN,
                "Maximum time for the connection",
            )
            .default("1s"),
            Property::new("thr-http-time", Kind::SPAN, "Maximum time for the page").default("10s"),
            Property::new(
                "http-codes",
                Kind::List(&Kind::Range("-", &between(100, 599))),
                "Status codes of a good test",
            )
            .default("100-299"),
            Property::new(
                "certificate",
                Kind::Or(&["none"], &Kind::Reference("certificate")),
                "Client certificate sent to the host",
            )
            .default("none")
            .inert(),
            Property::new(
                "check-certificate",
                Kind::Words(&["no", "yes", "yes-without-crl"]),
                "Verify the host's certificate",
            )
            .default("no"),
            Property::new(
                "record-type",
                Kind::Words(&["A", "AAAA", "MX", "NS"]),
                "DNS record type",
            )
            .default("A"),
            Property::new("dns-server", Kind::Address(Family::Any), "DNS server").optional(),
            shown("status", Kind::Words(&["unknown", "down", "up"]), "Status"),
            shown("since", Kind::Text, "Since"),
            shown("done-tests", U32, "Done tests"),
            shown("failed-tests", U32, "Failed tests"),
            shown("sent-count", U32, "Sent count"),
            shown("response-count", U32, "Response count"),
            shown("loss-count", U32, "Loss count"),
            shown("loss-percent", U32, "Loss percent"),
            shown("rtt-avg", Kind::SPAN, "Average round-trip time"),
            shown("rtt-min", Kind::SPAN, "Minimum round-trip time"),
            shown("rtt-max", Kind::SPAN, "Maximum round-trip time"),
            shown("rtt-jitter", Kind::SPAN, "Jitter of the round-trip time"),
            shown(
                "rtt-stdev",
                Kind::SPAN,
                "Standard deviation of the round-trip time",
            ),
            shown("tcp-connect-time", Kind::SPAN, "TCP connect time"),
            shown("http-status-code", U32, "HTTP status code"),
            shown("http-resp-time", Kind::SPAN, "HTTP response time"),
            shown("ip", Kind::Address(Family::V4), "IP"),
            shown("ip6", Kind::Address(Family::V6), "Ip6"),
            shown("name-servers", Kind::List(&Kind::Text), "Name servers"),
            shown("mail-servers", Kind::List(&Kind::Text), "Mail servers"),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[Flag::new('D', "dynamic", 0), Flag::new('X', "disabled", 1)],
    columns: &["type", "host", "timeout", "interval", "status", "since"],
    idle: Some(not_asked),
    conditions: crate::conditions::NETWATCH,
    ..Menu::new("/tool/netwatch", MenuShape::List, "Monitored hosts")
};

/// Returns the part of a probe that is not implemented.
fn not_asked(item: &Item) -> Option<&'static str> {
    match (item.text("type"), item.text("record-type")) {
        ("dns", "MX" | "NS") => Some("record-type other than A and AAAA"),
        _ => None,
    }
}
