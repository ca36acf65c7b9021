//! `/ip/firewall/connection/tracking`: connection tracking settings for IPv4 and IPv6.

use menu::{Kind, Menu, MenuShape};

use crate::declare::{counter, no, shown, with_default, yes};

const SPAN: Kind = Kind::SPAN;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        with_default(
            "enabled",
            Kind::Words(&["auto", "no", "yes"]),
            "auto",
            "Whether connections are tracked; auto is from the first rule on",
        ),
        shown(
            "active-ipv4",
            Kind::Bool,
            "Whether connections of IPv4 are tracked",
        ),
        shown(
            "active-ipv6",
            Kind::Bool,
            "Whether connections of IPv6 are tracked",
        ),
        with_default("tcp-syn-sent-timeout", SPAN, "5s", "After a SYN"),
        with_default(
            "tcp-syn-received-timeout",
            SPAN,
            "5s",
            "After the answer to a SYN",
        ),
        with_default(
            "tcp-established-timeout",
            SPAN,
            "1d",
            "While a connection is open",
        ),
        with_default("tcp-fin-wait-timeout", SPAN, "10s", "After a FIN"),
        with_default(
            "tcp-close-wait-timeout",
            SPAN,
            "10s",
            "After the answer to a FIN",
        ),
        with_default(
            "tcp-last-ack-timeout",
            SPAN,
            "10s",
            "Timeout after the FIN of the other side",
        ),
        with_default("tcp-time-wait-timeout", SPAN, "10s", "After both FINs"),
        with_default("tcp-close-timeout", SPAN, "10s", "After a RST"),
        with_default(
            "tcp-max-retrans-timeout",
            SPAN,
            "5m",
            "After too many packets sent again",
        ),
        with_default(
            "tcp-unacked-timeout",
            SPAN,
            "5m",
            "While data are not acknowledged",
        ),
        yes(
            "loose-tcp-tracking",
            "Pick up connections that are already established",
        ),
        no(
            "liberal-tcp-tracking",
            "Accept segments outside the window as valid, except resets",
        ),
        with_default(
            "udp-timeout",
            SPAN,
            "30s",
            "Timeout while only one side has sent",
        ),
        with_default(
            "udp-stream-timeout",
            SPAN,
            "3m",
            "Timeout when both sides have sent",
        ),
        with_default("icmp-timeout", SPAN, "10s", "After an ICMP packet"),
        with_default(
            "generic-timeout",
            SPAN,
            "10m",
            "Timeout of all other protocols",
        ),
        counter("max-entries", "Maximum number of tracked connections"),
        counter("total-entries", "Connections that are tracked"),
        counter("total-ip4-entries", "Connections of IPv4 that are tracked"),
        counter("total-ip6-entries", "Connections of IPv6 that are tracked"),
    ]],
    ..Menu::new(
        "/ip/firewall/connection/tracking",
        MenuShape::Settings,
        "Connection tracking settings",
    )
};
