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
            "Connection tracking; auto: on if a rule requires it",
        ),
        shown("active-ipv4", Kind::Bool, "IPv4 connections are tracked"),
        shown("active-ipv6", Kind::Bool, "IPv6 connections are tracked"),
        with_default("tcp-syn-sent-timeout", SPAN, "5s", "Timeout after a SYN"),
        with_default(
            "tcp-syn-received-timeout",
            SPAN,
            "5s",
            "Timeout after a SYN and its SYN-ACK",
        ),
        with_default(
            "tcp-established-timeout",
            SPAN,
            "1d",
            "Timeout of established TCP connections",
        ),
        with_default(
            "tcp-fin-wait-timeout",
            SPAN,
            "10s",
            "Timeout after the first FIN",
        ),
        with_default(
            "tcp-close-wait-timeout",
            SPAN,
            "10s",
            "Timeout after the acknowledgement of the first FIN",
        ),
        with_default(
            "tcp-last-ack-timeout",
            SPAN,
            "10s",
            "Timeout after the second FIN",
        ),
        with_default(
            "tcp-time-wait-timeout",
            SPAN,
            "10s",
            "Timeout after both FINs are acknowledged",
        ),
        with_default("tcp-close-timeout", SPAN, "10s", "Timeout after a RST"),
        with_default(
            "tcp-max-retrans-timeout",
            SPAN,
            "5m",
            "Timeout after too many retransmissions",
        ),
        with_default(
            "tcp-unacked-timeout",
            SPAN,
            "5m",
            "Timeout while data are unacknowledged",
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
        with_default("icmp-timeout", SPAN, "10s", "Timeout of ICMP connections"),
        with_default(
            "generic-timeout",
            SPAN,
            "10m",
            "Timeout of all other protocols",
        ),
        counter("max-entries", "Maximum number of tracked connections"),
        counter("total-entries", "Number of tracked connections"),
        counter("total-ip4-entries", "Number of tracked IPv4 connections"),
        counter("total-ip6-entries", "Number of tracked IPv6 connections"),
    ]],
    ..Menu::new(
        "/ip/firewall/connection/tracking",
        MenuShape::Settings,
        "Connection tracking settings",
    )
};
