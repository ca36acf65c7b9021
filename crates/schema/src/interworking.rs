//! Interworking properties: network information for clients before they associate (IEEE 802.11u, Hotspot 2.0).

use menu::Kind;

/// Venue types.
pub(crate) const VENUES: &[&str] = &[
    "assembly-amphitheater",
    "assembly-amusement-park",
    "assembly-arena",
    "assembly-bar",
    "assembly-coffee-shop",
    "assembly-convention-center",
    "assembly-emergency-coordination-center",
    "assembly-library",
    "assembly-museum",
    "assembly-passenger-terminal",
    "assembly-place-of-worship",
    "assembly-restaurant",
    "assembly-stadium",
    "assembly-theater",
    "assembly-unspecified",
    "assembly-zoo",
    "business-attorney-office",
    "business-bank",
    "business-doctor-office",
    "business-fire-station",
    "business-police-station",
    "business-post-office",
    "business-professional-office",
    "business-research-and-development",
    "business-unspecified",
    "educational-school-primary",
    "educational-school-secondary",
    "educational-university",
    "educational-unspecified",
    "factory-unspecified",
    "institutional-group-home",
    "institutional-hospital",
    "institutional-long-term-care",
    "institutional-prison",
    "institutional-rehab",
    "institutional-unspecified",
    "mercantile-automotive-service-station",
    "mercantile-gas-station",
    "mercantile-grocery-market",
    "mercantile-retail-store",
    "mercantile-shopping-mall",
    "mercantile-unspecified",
    "outdoor-bus-stop",
    "outdoor-city-park",
    "outdoor-kiosk",
    "outdoor-mesh-network",
    "outdoor-rest-area",
    "outdoor-traffic-control",
    "outdoor-unspecified",
    "residential-boarding-house",
    "residential-dormitory",
    "residential-hotel",
    "residential-private-residence",
    "residential-unspecified",
    "storage-unspecified",
    "unspecified",
    "utility-unspecified",
    "vehicular-airplane",
    "vehicular-automobile",
    "vehicular-bus",
    "vehicular-ferry",
    "vehicular-motor-bike",
    "vehicular-ship",
    "vehicular-train",
    "vehicular-unspecified",
];

/// An authentication type, some with a URL: `http-redirect:http://a.example`.
pub(crate) const AUTHENTICATION: Kind = Kind::Filled;

/// Connection capability: protocol, port and state, such as `6:443:open`.
pub(crate) const CONNECTION: Kind = Kind::Tuple(
    ":",
    &[
        Kind::Number { min: 0, max: 255 },
        Kind::Number {
            min: 0,
            max: 65_535,
        },
        Kind::Words(&["closed", "open", "unknown"]),
    ],
);

/// Interworking properties, each with this name prefix.
macro_rules! interworking {
    ($start:literal) => {{
        use menu::Kind;

        use crate::declare::{list, maybe, optional, optional_text};
        use crate::interworking::{AUTHENTICATION, CONNECTION, VENUES};
        use crate::radio::{IPV4, IPV6, NETWORKS};
        const LOAD: Kind = Kind::Number { min: 0, max: 255 };
        const RATE: Kind = Kind::Number {
            min: 0,
            max: 4_294_967_295,
        };
        const MINUTES: Kind = Kind::Number {
            min: 0,
            max: 65_535,
        };
        const STATUS: Kind = Kind::Words(&["down", "reserved", "test", "up"]);
        &[
            list(
                concat!($start, "3gpp-info"),
                &Kind::Name,
                "Mobile networks (3GPP)",
            )
            .optional(),
            optional_text(
                concat!($start, "3gpp-info-raw"),
                "Mobile networks (3GPP), raw",
            ),
            list(
                concat!($start, "authentication-types"),
                &AUTHENTICATION,
                "Authentication types",
            )
            .optional(),
            list(
                concat!($start, "connection-capabilities"),
                &CONNECTION,
                "Connection capabilities",
            )
            .optional(),
            list(concat!($start, "domain-names"), &Kind::Name, "Domains").optional(),
            maybe(concat!($start, "esr"), "Emergency services are reachable"),
            optional(
                concat!($start, "hessid"),
                Kind::Mac,
                "Hardware address of the network",
            ),
            maybe(concat!($start, "hotspot20"), "Announce Hotspot 2.0"),
            maybe(
                concat!($start, "hotspot20-dgaf"),
                "Downstream group-addressed forwarding",
            ),
            maybe(concat!($start, "internet"), "Internet access"),
            optional(
                concat!($start, "ipv4-availability"),
                Kind::Words(IPV4),
                "IPv4",
            ),
            optional(
                concat!($start, "ipv6-availability"),
                Kind::Words(IPV6),
                "IPv6",
            ),
            optional(
                concat!($start, "network-type"),
                Kind::Words(NETWORKS),
                "Network type",
            ),
            list(
                concat!($start, "operational-classes"),
                &LOAD,
                "Operating classes",
            )
            .optional(),
            list(
                concat!($start, "operator-names"),
                &Kind::Name,
                "Operator names with language",
            )
            .optional(),
            list(
                concat!($start, "realms"),
                &Kind::Name,
                "Realms with EAP methods",
            )
            .optional(),
            optional_text(concat!($start, "realms-raw"), "Realms, raw"),
            list(
                concat!($start, "roaming-ois"),
                &Kind::Name,
                "Organization identifiers of roaming partners",
            )
            .optional(),
            maybe(
                concat!($start, "uesa"),
                "Unauthenticated emergency service access",
            ),
            optional(concat!($start, "venue"), Kind::Words(VENUES), "Venue type"),
            list(concat!($start, "venue-names"), &Kind::Name, "Venue names").optional(),
            maybe(
                concat!($start, "wan-at-capacity"),
                "WAN link is at capacity",
            ),
            optional(
                concat!($start, "wan-downlink"),
                RATE,
                "WAN downlink rate in kbit/s",
            ),
            optional(
                concat!($start, "wan-downlink-load"),
                LOAD,
                "WAN downlink load, 0..255",
            ),
            optional(
                concat!($start, "wan-measurement-duration"),
                MINUTES,
                "WAN measurement duration",
            ),
            optional(concat!($start, "wan-status"), STATUS, "WAN status"),
            maybe(concat!($start, "wan-symmetric"), "WAN link is symmetric"),
            optional(
                concat!($start, "wan-uplink"),
                RATE,
                "WAN uplink rate in kbit/s",
            ),
            optional(
                concat!($start, "wan-uplink-load"),
                LOAD,
                "WAN uplink load, 0..255",
            ),
        ]
    }};
}

pub(crate) use interworking;
