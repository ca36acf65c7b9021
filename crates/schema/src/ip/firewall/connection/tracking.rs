//! `/ip/firewall/connection/tracking`: how connections are tracked, of both families.

use menu::{Kind, Menu, Shape};

use crate::brief::{count, no, read, with, yes};

const SPAN: Kind = Kind::SPAN;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        with(
            "enabled",
            Kind::Words(&["auto", "no", "yes"]),
            "auto",
            "Whether connections are tracked; auto is from the first rule on",
        ),
        read(
            "active-ipv4",
            Kind::Bool,
            "Whether connections of IPv4 are tracked",
        ),
        read(
            "active-ipv6",
            Kind::Bool,
            "Whether connections of IPv6 are tracked",
        ),
        with("tcp-syn-sent-timeout", SPAN, "5s", "After a SYN"),
        with(
            "tcp-syn-received-timeout",
            SPAN,
            "5s",
            "After the answer to a SYN",
        ),
        with(
            "tcp-established-timeout",
            SPAN,
            "1d",
            "While a connection is open",
        ),
        with("tcp-fin-wait-timeout", SPAN, "10s", "After a FIN"),
        with(
            "tcp-close-wait-timeout",
            SPAN,
            "10s",
            "After the answer to a FIN",
        ),
        with(
            "tcp-last-ack-timeout",
            SPAN,
            "10s",
            "After the FIN of the other side",
        ),
        with("tcp-time-wait-timeout", SPAN, "10s", "After both FINs"),
        with("tcp-close-timeout", SPAN, "10s", "After a RST"),
        with(
            "tcp-max-retrans-timeout",
            SPAN,
            "5m",
            "After too many packets sent again",
        ),
        with(
            "tcp-unacked-timeout",
            SPAN,
            "5m",
            "While data are not acknowledged",
        ),
        yes("loose-tcp-tracking", "Takes up connections in their middle"),
        no(
            "liberal-tcp-tracking",
            "Takes segments outside the window for valid, but for resets",
        ),
        with("udp-timeout", SPAN, "30s", "While only one side has sent"),
        with(
            "udp-stream-timeout",
            SPAN,
            "3m",
            "When both sides have sent",
        ),
        with("icmp-timeout", SPAN, "10s", "After an ICMP packet"),
        with("generic-timeout", SPAN, "10m", "Of all other protocols"),
        count("max-entries", "Most connections that are tracked"),
        count("total-entries", "Connections that are tracked"),
        count("total-ip4-entries", "Connections of IPv4 that are tracked"),
        count("total-ip6-entries", "Connections of IPv6 that are tracked"),
    ]],
    ..Menu::new(
        "/ip/firewall/connection/tracking",
        Shape::Settings,
        "Connection tracking settings",
    )
};
