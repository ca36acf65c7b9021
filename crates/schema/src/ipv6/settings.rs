//! `/ipv6/settings`: global IPv6 settings.

use menu::{Kind, Menu, MenuShape, Property};

const ACCEPT: Kind = Kind::Words(&["no", "yes", "yes-if-forwarding-disabled"]);
const ENTRIES: Kind = Kind::Number {
    min: 0,
    max: 4_294_967_295,
};
const PACKETS: Kind = Kind::COUNTER;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new("disable-ipv6", Kind::Bool, "Disable IPv6").default("no"),
        Property::new("forward", Kind::Bool, "Forward packets between interfaces").default("yes"),
        Property::new("accept-redirects", ACCEPT, "Accept ICMPv6 redirects")
            .default("yes-if-forwarding-disabled")
            .inert(),
        Property::new(
            "accept-router-advertisements",
            ACCEPT,
            "Accept router advertisements",
        )
        .default("yes-if-forwarding-disabled"),
        Property::new(
            "accept-router-advertisements-on",
            Kind::Reference("interface-list"),
            "Interfaces on which router advertisements are accepted",
        )
        .default("all"),
        Property::new(
            "disable-link-local-address",
            Kind::Bool,
            "Do not create link-local addresses automatically",
        )
        .default("no"),
        Property::new(
            "stale-neighbor-timeout",
            ENTRIES,
            "Seconds after which a stale neighbour is removed",
        )
        .default("60"),
        Property::new(
            "stale-neighbor-detect-interval",
            ENTRIES,
            "Seconds between checks for stale neighbours",
        )
        .default("30"),
        Property::new(
            "min-neighbor-entries",
            ENTRIES,
            "Number of neighbours below which none is removed",
        )
        .default("4096"),
        Property::new(
            "soft-max-neighbor-entries",
            ENTRIES,
            "Number of neighbours above which the oldest are removed",
        )
        .default("8192"),
        Property::new(
            "max-neighbor-entries",
            ENTRIES,
            "Maximum number of neighbours",
        )
        .default("16384"),
        Property::new(
            "multipath-hash-policy",
            Kind::Words(&["l3", "l3-inner", "l4"]),
            "Hash policy for routes with several gateways",
        )
        .default("l3"),
        Property::new("allow-fast-path", Kind::Bool, "Allow FastPath").default("yes"),
        Property::new(
            "ipv6-fast-path-active",
            Kind::Bool,
            "Whether FastPath is in use",
        )
        .read_only(),
        Property::new(
            "ipv6-slow-path-reason",
            Kind::Text,
            "Reason for the slow path, by ingress interface",
        )
        .read_only(),
        Property::new("ipv6-fast-path-packets", PACKETS, "Packets by FastPath").read_only(),
        Property::new("ipv6-fast-path-bytes", PACKETS, "Bytes by FastPath").read_only(),
        Property::new(
            "ipv6-fast-path-xdp-packets",
            PACKETS,
            "FastPath packets forwarded in the kernel (XDP)",
        )
        .read_only(),
        Property::new(
            "ipv6-fast-path-xdp-bytes",
            PACKETS,
            "FastPath bytes forwarded in the kernel (XDP)",
        )
        .read_only(),
        Property::new(
            "ipv6-fasttrack-active",
            Kind::Bool,
            "Whether FastTrack is in use",
        )
        .read_only(),
        Property::new("ipv6-fasttrack-packets", PACKETS, "Packets by FastTrack").read_only(),
        Property::new("ipv6-fasttrack-bytes", PACKETS, "Bytes by FastTrack").read_only(),
        Property::new(
            "ipv6-fasttrack-xdp-packets",
            PACKETS,
            "FastTrack packets forwarded in the kernel (XDP)",
        )
        .read_only(),
        Property::new(
            "ipv6-fasttrack-xdp-bytes",
            PACKETS,
            "FastTrack bytes forwarded in the kernel (XDP)",
        )
        .read_only(),
        Property::new(
            "ipv6-firewall-xdp-packets",
            PACKETS,
            "Packets of accepted connections forwarded in the kernel (XDP)",
        )
        .read_only(),
        Property::new(
            "ipv6-firewall-xdp-bytes",
            PACKETS,
            "Bytes of accepted connections forwarded in the kernel (XDP)",
        )
        .read_only(),
    ]],
    ..Menu::new("/ipv6/settings", MenuShape::Settings, "IPv6 settings")
};
