//! Property fragments of profiles of the package `wifi`. A configuration may also set them inline, with the
//! profile's kind as a prefix of the name (`security.passphrase`).

use menu::Kind;

/// Bands and standards.
pub(crate) const BANDS: &[&str] = &[
    "2ghz-ax", "2ghz-be", "2ghz-g", "2ghz-n", "5ghz-a", "5ghz-ac", "5ghz-an", "5ghz-ax", "5ghz-be",
    "5ghz-n", "6ghz-ax", "6ghz-be",
];

/// Channel widths.
pub(crate) const WIDTHS: &[&str] = &[
    "20mhz",
    "20/40mhz",
    "20/40mhz-Ce",
    "20/40mhz-eC",
    "20/40/80mhz",
    "20/40/80+80mhz",
    "20/40/80/160mhz",
    "20/40/80/160/320mhz",
    "20/40/80/160/320mhz-1",
    "20/40/80/160/320mhz-2",
];

/// Authentication types.
pub(crate) const AUTHENTICATION: Kind = Kind::Words(&[
    "owe",
    "wpa-eap",
    "wpa-psk",
    "wpa2-eap",
    "wpa2-psk",
    "wpa2-psk-sha2",
    "wpa3-eap",
    "wpa3-eap-192",
    "wpa3-psk",
    "wpa3-psk-gd",
    "dpp",
]);

/// Frequencies in MHz: a single one, or a range with an optional step: `5180-5300:20`.
pub(crate) const FREQUENCY: Kind = Kind::Parts(&[
    menu::Part::new("", MHZ),
    menu::Part::new("-", MHZ).or(menu::Absent::Left),
    menu::Part::new(":", Kind::Number { min: 1, max: 1_000 }).or(menu::Absent::Left),
]);

/// A frequency in MHz.
pub(crate) const MHZ: Kind = Kind::Number {
    min: 2_000,
    max: 8_000,
};

/// A VLAN, or none.
pub(crate) const VLAN: Kind = Kind::Or(&["none"], &Kind::Number { min: 1, max: 4_095 });

/// Channel properties.
macro_rules! channel {
    ($start:literal) => {{
        use menu::Kind;

        use crate::declare::{list, maybe, optional, seconds};
        use crate::wifi::{BANDS, FREQUENCY, MHZ, WIDTHS};
        const INTERVAL: Kind = Kind::Range("..", &seconds(1, 25_920_000));
        const TIMES: Kind = Kind::Range("..", &seconds(0, 86_400));
        const SECONDARY: Kind = Kind::Or(&["disabled"], &Kind::List(&MHZ));
        &[
            optional(
                concat!($start, "band"),
                Kind::Words(BANDS),
                "Band and standards",
            ),
            list(
                concat!($start, "frequency"),
                &FREQUENCY,
                "Frequencies in MHz",
            )
            .optional(),
            optional(
                concat!($start, "secondary-frequency"),
                SECONDARY,
                "Of a split channel",
            ),
            optional(
                concat!($start, "width"),
                Kind::Words(WIDTHS),
                "Width of the channel",
            ),
            optional(
                concat!($start, "skip-dfs-channels"),
                Kind::Words(&["10min-cac", "all", "disabled"]),
                "Exclude radar (DFS) channels",
            ),
            optional(
                concat!($start, "reselect-interval"),
                INTERVAL,
                "Interval of channel reselection",
            ),
            optional(
                concat!($start, "reselect-time"),
                TIMES,
                "Time of channel reselection",
            ),
            maybe(
                concat!($start, "deprioritize-unii-3-4"),
                "Deprioritize those channels",
            ),
            maybe(
                concat!($start, "preamble-puncturing"),
                "Exclude busy channels",
            ),
            maybe(
                concat!($start, "afc"),
                "Query free frequencies from a database",
            ),
        ]
    }};
}

/// Security properties.
macro_rules! security {
    ($start:literal) => {{
        use menu::Kind;

        use crate::declare::{HOST_LIMIT, list, maybe, optional, optional_text, seconds};
        use crate::wifi::AUTHENTICATION;
        const GROUPS: Kind = Kind::Words(&["19", "20", "21"]);
        const CIPHERS: &[&str] = &["ccmp", "ccmp-256", "gcmp", "gcmp-256", "tkip"];
        const MANAGEMENT: Kind = Kind::Words(&["cmac", "cmac-256", "gmac", "gmac-256"]);
        const CERTIFICATES: Kind = Kind::Words(&[
            "dont-verify-certificate",
            "no-certificates",
            "verify-certificate",
            "verify-certificate-with-crl",
        ]);
        const METHODS: Kind = Kind::Words(&["peap", "tls", "ttls"]);
        const PROTECTION: Kind = Kind::Words(&["allowed", "disabled", "required"]);
        const PWE: Kind = Kind::Words(&["both", "hash-to-element", "hunting-and-pecking"]);
        const PRIORITY: Kind = Kind::Parts(&[
            menu::Part::new("", Kind::COUNTER),
            menu::Part::new("/", Kind::COUNTER).or(menu::Absent::Left),
        ]);
        const TRANSITION: Kind = Kind::Or(&["auto"], &Kind::Name);
        const CERTIFICATE: Kind = Kind::Or(&["none"], &Kind::Name);
        &[
            list(
                concat!($start, "authentication-types"),
                &AUTHENTICATION,
                "Authentication types",
            )
            .optional(),
            optional(
                concat!($start, "passphrase"),
                Kind::Sized { min: 0, max: 64 },
                "Passphrase of the network",
            )
            .sensitive(),
            maybe(concat!($start, "beacon-protection"), "Signs beacons"),
            optional_text(
                concat!($start, "connect-group"),
                "Group of networks in which a client has one connection only",
            ),
            optional(
                concat!($start, "connect-priority"),
                PRIORITY,
                "Holder of the client's keys",
            ),
            list(
                concat!($start, "dh-groups"),
                &GROUPS,
                "Groups of key exchange",
            )
            .optional(),
            maybe(
                concat!($start, "disable-pmkid"),
                "Omit the PMKID from the handshake",
            ),
            maybe(
                concat!($start, "eap-accounting"),
                "Account sessions by RADIUS",
            ),
            optional_text(
                concat!($start, "eap-anonymous-identity"),
                "Identity sent unencrypted",
            ),
            optional(
                concat!($start, "eap-certificate-mode"),
                CERTIFICATES,
                "Check of certificates",
            ),
            list(concat!($start, "eap-methods"), &METHODS, "EAP methods").optional(),
            optional_text(concat!($start, "eap-password"), "Password of EAP").sensitive(),
            optional(
                concat!($start, "eap-tls-certificate"),
                CERTIFICATE,
                "Certificate of EAP",
            ),
            optional_text(concat!($start, "eap-username"), "User name of EAP"),
            list(
                concat!($start, "encryption"),
                &Kind::Words(CIPHERS),
                "Ciphers for unicast",
            )
            .optional(),
            maybe(concat!($start, "ft"), "Clients move fast (IEEE 802.11r)"),
            optional(
                concat!($start, "ft-mobility-domain"),
                Kind::Hex { max: 0xffff },
                "Fast transition domain",
            ),
            optional(
                concat!($start, "ft-nas-identifier"),
                Kind::Sized { min: 2, max: 96 },
                "NAS identifier in fast transitions",
            ),
            maybe(
                concat!($start, "ft-over-ds"),
                "Use fast transition over the wired network",
            ),
            maybe(
                concat!($start, "ft-preserve-vlanid"),
                "Keep the VLAN in fast transitions",
            ),
            optional(
                concat!($start, "ft-r0-key-lifetime"),
                seconds(1, 3_931_200),
                "Lifetime of keys",
            ),
            optional(
                concat!($start, "ft-reassociation-deadline"),
                seconds(0, 70),
                "Maximum duration of a fast transition",
            ),
            optional(
                concat!($start, "group-encryption"),
                Kind::Words(CIPHERS),
                "Cipher for many",
            ),
            optional(
                concat!($start, "group-key-update"),
                seconds(30, 4_294_967_295),
                "Change of keys",
            ),
            optional(
                concat!($start, "management-encryption"),
                MANAGEMENT,
                "Cipher of management",
            ),
            optional(
                concat!($start, "management-protection"),
                PROTECTION,
                "Protects management",
            ),
            optional_text(
                concat!($start, "multi-passphrase-group"),
                "Passphrases of a group",
            ),
            optional(
                concat!($start, "owe-transition-interface"),
                TRANSITION,
                "The open network",
            ),
            optional(
                concat!($start, "sae-anti-clogging-threshold"),
                HOST_LIMIT,
                "Handshakes at a time",
            ),
            optional(
                concat!($start, "sae-max-failure-rate"),
                HOST_LIMIT,
                "Failures a minute",
            ),
            optional(
                concat!($start, "sae-pwe"),
                PWE,
                "Method of deriving SAE points from passwords",
            ),
            optional(
                concat!($start, "wps"),
                Kind::Words(&["disable", "push-button"]),
                "WPS",
            ),
        ]
    }};
}

/// Configuration properties, except references to profiles.
macro_rules! configuration {
    ($start:literal) => {{
        use menu::Kind;

        use crate::declare::{between, list, maybe, optional, within};
        use crate::radio::CHAINS;
        const MODES: Kind =
            Kind::Words(&["ap", "station", "station-bridge", "station-pseudobridge"]);
        const MANAGERS: Kind = Kind::Words(&["capsman", "capsman-or-local", "local"]);
        const PROTECTION: Kind = Kind::Words(&["cts-to-self", "none", "rts-cts"]);
        const QOS: Kind = Kind::Words(&["dscp-high-3-bits", "priority"]);
        &[
            optional(concat!($start, "mode"), MODES, "Mode of the radio"),
            optional(
                concat!($start, "ssid"),
                Kind::Sized { min: 0, max: 32 },
                "Name of the network",
            ),
            optional(
                concat!($start, "antenna-gain"),
                between(0, 30),
                "Gain in dBi",
            ),
            within(
                concat!($start, "beacon-interval"),
                100,
                1_000,
                "Time between beacons",
            )
            .optional(),
            list(concat!($start, "chains"), &CHAINS, "Antennas").optional(),
            optional(
                concat!($start, "country"),
                Kind::Name,
                "Country whose regulations apply",
            ),
            optional(
                concat!($start, "distance"),
                between(0, 1_000),
                "The farthest host, in km",
            ),
            optional(
                concat!($start, "dtim-period"),
                between(1, 255),
                "Beacons between multicasts",
            ),
            maybe(concat!($start, "hide-ssid"), "Hide the network name"),
            optional(
                concat!($start, "hw-protection-mode"),
                PROTECTION,
                "Protection of frames",
            ),
            optional(
                concat!($start, "installation"),
                Kind::Words(&["any", "indoor", "outdoor"]),
                "Location of the antenna",
            ),
            optional(concat!($start, "manager"), MANAGERS, "Manager of the radio"),
            optional(
                concat!($start, "max-clients"),
                between(0, 65_535),
                "Maximum number of clients",
            ),
            optional(
                concat!($start, "multicast-enhance"),
                Kind::Words(&["disabled", "enabled"]),
                "Multicast as unicast",
            ),
            optional(
                concat!($start, "qos-classifier"),
                QOS,
                "Classification of priorities",
            ),
            maybe(
                concat!($start, "station-roaming"),
                "Looks for better access points",
            ),
            list(
                concat!($start, "tx-chains"),
                &CHAINS,
                "Antennas for sending",
            )
            .optional(),
            optional(concat!($start, "tx-power"), between(0, 40), "Power in dBm"),
        ]
    }};
}

/// Datapath properties.
macro_rules! datapath {
    ($start:literal) => {{
        use menu::Kind;

        use crate::declare::{U32, between, maybe, optional};
        use crate::wifi::VLAN;
        const BRIDGE: Kind = Kind::Or(&["none"], &Kind::Reference("interface"));
        const LISTS: Kind = Kind::Or(&["none"], &Kind::Reference("interface-list"));
        const PROCESSING: Kind = Kind::Words(&["on-cap", "on-capsman", "on-capsman-secure"]);
        &[
            optional(
                concat!($start, "bridge"),
                BRIDGE,
                "Bridge to which the interface is added",
            ),
            optional(
                concat!($start, "bridge-cost"),
                between(1, 200_000_000),
                "Path cost there",
            ),
            optional(
                concat!($start, "bridge-horizon"),
                Kind::Or(&["none"], &U32),
                "Horizon there",
            ),
            maybe(
                concat!($start, "client-isolation"),
                "Isolate clients from each other",
            ),
            optional(
                concat!($start, "interface-list"),
                LISTS,
                "Interface list to which the interface is added",
            ),
            optional(
                concat!($start, "openflow-switch"),
                Kind::Name,
                "OpenFlow switch",
            ),
            optional(
                concat!($start, "traffic-processing"),
                PROCESSING,
                "Datapath of frames",
            ),
            optional(concat!($start, "vlan-id"), VLAN, "VLAN of clients"),
        ]
    }};
}

/// AAA properties.
macro_rules! aaa {
    ($start:literal) => {{
        use menu::Kind;

        use crate::declare::{optional, optional_text};
        const TIME: Kind = Kind::Or(&["disabled"], &Kind::SPAN);
        &[
            optional_text(concat!($start, "called-format"), "Name of the access point"),
            optional_text(concat!($start, "calling-format"), "Name of the client"),
            optional(
                concat!($start, "interim-update"),
                TIME,
                "Interim update interval",
            ),
            optional(
                concat!($start, "mac-caching"),
                TIME,
                "Lifetime of cached answers",
            ),
            optional_text(concat!($start, "nas-identifier"), "Name of this device"),
            optional_text(concat!($start, "password-format"), "Format of passwords"),
            optional_text(concat!($start, "username-format"), "Format of user names"),
        ]
    }};
}

/// Steering properties.
macro_rules! steering {
    ($start:literal) => {{
        use menu::Kind;

        use crate::declare::{between, list, maybe, optional, span};
        &[
            maybe(
                concat!($start, "2g-probe-delay"),
                "Answers later at 2.4 GHz",
            ),
            list(
                concat!($start, "neighbor-group"),
                &Kind::Name,
                "Access points around",
            )
            .optional(),
            maybe(concat!($start, "rrm"), "Measures (IEEE 802.11k)"),
            optional(
                concat!($start, "transition-request-count"),
                between(0, 255),
                "Requests",
            ),
            span(
                concat!($start, "transition-request-period"),
                "Time between them",
            )
            .optional(),
            optional(
                concat!($start, "transition-threshold"),
                between(-127, 0),
                "Signal in dBm",
            ),
            span(
                concat!($start, "transition-threshold-time"),
                "Time below the threshold before the client is asked to roam",
            )
            .optional(),
            optional(
                concat!($start, "transition-time"),
                between(0, 4_294_967_295),
                "Seconds to go",
            ),
            maybe(concat!($start, "wnm"), "Ask clients to roam (IEEE 802.11v)"),
        ]
    }};
}

pub(crate) use {aaa, channel, configuration, datapath, security, steering};
