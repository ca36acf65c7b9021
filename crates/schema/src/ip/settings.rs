//! `/ip/settings`: global IPv4 settings.

use menu::{Kind, Menu, MenuShape, OldProperty, Property};

use crate::fragment::SECOND;

const PACKETS: Kind = Kind::COUNTER;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new(
            "ip-forward",
            Kind::Bool,
            "Forward packets between interfaces",
        )
        .default("yes"),
        Property::new("send-redirects", Kind::Bool, "Send ICMP redirects").default("yes"),
        Property::new(
            "accept-source-route",
            Kind::Bool,
            "Accept source-routed packets; no effect: always dropped (RFC 7126)",
        )
        .default("no")
        .inert(),
        Property::new(
            "accept-redirects",
            Kind::Bool,
            "Accept ICMP redirects; no effect: routes are never changed by redirects",
        )
        .default("no")
        .inert(),
        Property::new(
            "secure-redirects",
            Kind::Bool,
            "Accept ICMP redirects of gateways only; no effect, as accept-redirects",
        )
        .default("yes")
        .inert(),
        Property::new(
            "rp-filter",
            Kind::Words(&["loose", "no", "strict"]),
            "Reverse path filter by the source address (RFC 3704)",
        )
        .default("no"),
        Property::new(
            "tcp-syncookies",
            Kind::Bool,
            "Answer SYN floods to the router's own services with SYN cookies",
        )
        .default("no"),
        Property::new(
            "tcp-timestamps",
            Kind::Words(&["disabled", "enabled", "random-offset"]),
            "TCP timestamps of the router's own connections",
        )
        .default("random-offset")
        .inert(),
        Property::new(
            "max-neighbor-entries",
            Kind::Number {
                min: 0,
                max: 4_294_967_295,
            },
            "Maximum number of neighbours",
        )
        .default("16384"),
        Property::new(
            "arp-timeout",
            Kind::SPAN,
            "Time after which a silent neighbour is removed",
        )
        .default("30s"),
        Property::new(
            "icmp-rate-limit",
            Kind::Number {
                min: 0,
                max: 4_294_967_295,
            },
            "Milliseconds between ICMP errors to a host; 0: no limit",
        )
        .default("10"),
        Property::new(
            "icmp-rate-mask",
            Kind::Hex { max: 0xffff_ffff },
            "ICMP types that are limited",
        )
        .default("0x1818"),
        Property::new(
            "icmp-errors-use-inbound-interface-address",
            Kind::Bool,
            "Send ICMP errors from the address of the interface that received the packet",
        )
        .default("no"),
        Property::new(
            "ipv4-high-fragment-thresh",
            Kind::Number {
                min: 0,
                max: 4_294_967_295,
            },
            "Memory in bytes for incomplete packets",
        )
        .default("4194304")
        .unit("B"),
        Property::new(
            "ipv4-fragment-time",
            Kind::Time {
                min: SECOND,
                max: i64::MAX,
            },
            "Time after which incomplete packets are dropped",
        )
        .default("30s"),
        Property::new(
            "ipv4-multipath-hash-policy",
            Kind::Words(&["l3", "l3-inner", "l4"]),
            "Hash policy for routes with several gateways",
        )
        .default("l3"),
        Property::new("allow-fast-path", Kind::Bool, "Allow FastPath").default("yes"),
        Property::new(
            "ipv4-fast-path-active",
            Kind::Bool,
            "Whether FastPath is in use",
        )
        .read_only(),
        Property::new(
            "ipv4-slow-path-reason",
            Kind::Text,
            "Reason for the slow path, by ingress interface",
        )
        .read_only(),
        Property::new("ipv4-fast-path-packets", PACKETS, "Packets by FastPath").read_only(),
        Property::new("ipv4-fast-path-bytes", PACKETS, "Bytes by FastPath").read_only(),
        Property::new(
            "ipv4-fast-path-xdp-packets",
            PACKETS,
            "FastPath packets forwarded in the kernel (XDP)",
        )
        .read_only(),
        Property::new(
            "ipv4-fast-path-xdp-bytes",
            PACKETS,
            "FastPath bytes forwarded in the kernel (XDP)",
        )
        .read_only(),
        Property::new(
            "ipv4-fasttrack-active",
            Kind::Bool,
            "Whether FastTrack is in use",
        )
        .read_only(),
        Property::new("ipv4-fasttrack-packets", PACKETS, "Packets by FastTrack").read_only(),
        Property::new("ipv4-fasttrack-bytes", PACKETS, "Bytes by FastTrack").read_only(),
        Property::new(
            "ipv4-fasttrack-xdp-packets",
            PACKETS,
            "FastTrack packets forwarded in the kernel (XDP)",
        )
        .read_only(),
        Property::new(
            "ipv4-fasttrack-xdp-bytes",
            PACKETS,
            "FastTrack bytes forwarded in the kernel (XDP)",
        )
        .read_only(),
        Property::new(
            "ipv4-firewall-xdp-packets",
            PACKETS,
            "Packets of accepted connections forwarded in the kernel (XDP)",
        )
        .read_only(),
        Property::new(
            "ipv4-firewall-xdp-bytes",
            PACKETS,
            "Bytes of accepted connections forwarded in the kernel (XDP)",
        )
        .read_only(),
    ]],
    old: &[
        OldProperty::gone("route-cache"),
        OldProperty::renamed("max-arp-entries", "max-neighbor-entries"),
    ],
    ..Menu::new("/ip/settings", MenuShape::Settings, "IPv4 settings")
};
