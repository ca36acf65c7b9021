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
                "Secondary frequencies of an 80+80 MHz channel",
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
                "Deprioritize channels of U-NII-3 and U-NII-4",
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
            maybe(concat!($start, "beacon-protection"), "Sign beacons"),
            optional_text(
                concat!($start, "connect-group"),
                "Group of networks that allow one connection per client",
            ),
            optional(
                concat!($start, "connect-priority"),
                PRIORITY,
                "Priority for taking over a client's connection",
            ),
            list(
                concat!($start, "dh-groups"),
                &GROUPS,
                "Diffie-Hellman groups for SAE and OWE",
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
                "TLS certificate verification mode",
            ),
            list(concat!($start, "eap-methods"), &METHODS, "EAP methods").optional(),
            optional_text(concat!($start, "eap-password"), "Password of EAP").sensitive(),
            optional(
                concat!($start, "eap-tls-certificate"),
                CERTIFICATE,
                "TLS certificate for EAP",
            ),
            optional_text(concat!($start, "eap-username"), "User name of EAP"),
            list(
                concat!($start, "encryption"),
                &Kind::Words(CIPHERS),
                "Ciphers for unicast",
            )
            .optional(),
            maybe(concat!($start, "ft"), "Fast transition (IEEE 802.11r)"),
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
                "Fast transition over the wired network",
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
                "Cipher for broadcast and multicast frames",
            ),
            optional(
                concat!($start, "group-key-update"),
                seconds(30, 4_294_967_295),
                "Interval of group key changes",
            ),
            optional(
                concat!($start, "management-encryption"),
                MANAGEMENT,
                "Cipher for management frames",
            ),
            optional(
                concat!($start, "management-protection"),
                PROTECTION,
                "Management frame protection mode",
            ),
            optional_text(
                concat!($start, "multi-passphrase-group"),
                "Group of passphrases",
            ),
            optional(
                concat!($start, "owe-transition-interface"),
                TRANSITION,
                "Open interface of OWE transition mode",
            ),
            optional(
                concat!($start, "sae-anti-clogging-threshold"),
                HOST_LIMIT,
                "Concurrent SAE handshakes that activate anti-clogging",
            ),
            optional(
                concat!($start, "sae-max-failure-rate"),
                HOST_LIMIT,
                "Maximum number of SAE failures per minute",
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
                "Maximum distance of clients in km",
            ),
            optional(
                concat!($start, "dtim-period"),
                between(1, 255),
                "DTIM period in beacons",
            ),
            maybe(concat!($start, "hide-ssid"), "Hide the network name"),
            optional(
                concat!($start, "hw-protection-mode"),
                PROTECTION,
                "Frame protection mode (RTS/CTS)",
            ),
            optional(
                concat!($start, "installation"),
                Kind::Words(&["any", "indoor", "outdoor"]),
                "Location of the antenna",
            ),
            optional(
                concat!($start, "manager"),
                MANAGERS,
                "CAPsMAN management of the radio",
            ),
            optional(
                concat!($start, "max-clients"),
                between(0, 65_535),
                "Maximum number of clients",
            ),
            optional(
                concat!($start, "multicast-enhance"),
                Kind::Words(&["disabled", "enabled"]),
                "Multicast to unicast conversion",
            ),
            optional(
                concat!($start, "qos-classifier"),
                QOS,
                "Classification of priorities",
            ),
            maybe(
                concat!($start, "station-roaming"),
                "Roam to better access points",
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
                "Path cost of the bridge port",
            ),
            optional(
                concat!($start, "bridge-horizon"),
                Kind::Or(&["none"], &U32),
                "Horizon of the bridge port",
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
            optional_text(
                concat!($start, "called-format"),
                "Format of the Called-Station-Id sent to RADIUS",
            ),
            optional_text(
                concat!($start, "calling-format"),
                "Format of the Calling-Station-Id sent to RADIUS",
            ),
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
            optional_text(
                concat!($start, "nas-identifier"),
                "NAS identifier sent to RADIUS",
            ),
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
                "Delay answers to probes at 2.4 GHz",
            ),
            list(
                concat!($start, "neighbor-group"),
                &Kind::Name,
                "Group of neighbouring access points",
            )
            .optional(),
            maybe(
                concat!($start, "rrm"),
                "Radio resource measurement (IEEE 802.11k)",
            ),
            optional(
                concat!($start, "transition-request-count"),
                between(0, 255),
                "Requests",
            ),
            span(
                concat!($start, "transition-request-period"),
                "Interval of transition requests",
            )
            .optional(),
            optional(
                concat!($start, "transition-threshold"),
                between(-127, 0),
                "Signal strength in dBm below which a client is asked to roam",
            ),
            span(
                concat!($start, "transition-threshold-time"),
                "Time below the threshold before the client is asked to roam",
            )
            .optional(),
            optional(
                concat!($start, "transition-time"),
                between(0, 4_294_967_295),
                "Time for the client to roam in seconds",
            ),
            maybe(concat!($start, "wnm"), "Ask clients to roam (IEEE 802.11v)"),
        ]
    }};
}

pub(crate) use {aaa, channel, configuration, datapath, security, steering};
