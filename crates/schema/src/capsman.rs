//! Property fragments of CAPsMAN profiles (older wireless package). A configuration may also set them inline,
//! with the profile's kind as a prefix of the name (`channel.band`).

use menu::Kind;

/// Bands and standards.
pub(crate) const BANDS: Kind = Kind::Words(&[
    "2ghz-b",
    "2ghz-b/g",
    "2ghz-b/g/n",
    "2ghz-g/n",
    "2ghz-onlyg",
    "2ghz-onlyn",
    "5ghz-a",
    "5ghz-a/n",
    "5ghz-a/n/ac",
    "5ghz-n/ac",
    "5ghz-onlyac",
    "5ghz-onlyn",
]);
/// Position of the extension channel.
pub(crate) const EXTENSIONS: Kind = Kind::Words(&[
    "Ce", "Ceee", "Ceeeeeee", "XX", "XXXX", "XXXXXXXX", "disabled", "eC", "eCee", "eCeeeeee",
    "eeCe", "eeCeeeee", "eeeC", "eeeCeeee", "eeeeCeee", "eeeeeCee", "eeeeeeCe", "eeeeeeeC",
]);
/// Disabled or enabled.
pub(crate) const ENABLED: Kind = Kind::Words(&["disabled", "enabled"]);

/// Channel properties.
macro_rules! channel {
    ($start:literal) => {{
        use menu::Kind;

        use crate::capsman::{BANDS, EXTENSIONS};
        use crate::declare::{between, list, maybe, optional, seconds};
        const MHZ: Kind = between(700, 10_000);
        const WIDTH: Kind = Kind::Words(&["10mhz", "20mhz", "40mhz-turbo", "5mhz"]);
        const SECONDARY: Kind = Kind::Or(&["disabled"], &Kind::List(&MHZ));
        &[
            list(concat!($start, "frequency"), &MHZ, "Frequencies in MHz").optional(),
            optional(
                concat!($start, "secondary-frequency"),
                SECONDARY,
                "Secondary frequencies of an 80+80 MHz channel",
            ),
            optional(
                concat!($start, "control-channel-width"),
                WIDTH,
                "Width of the control channel",
            ),
            optional(concat!($start, "band"), BANDS, "Band and standards"),
            optional(
                concat!($start, "extension-channel"),
                EXTENSIONS,
                "Position of the extension channel",
            ),
            optional(
                concat!($start, "tx-power"),
                between(-30, 40),
                "Power in dBm",
            ),
            maybe(
                concat!($start, "save-selected"),
                "Save the selected channel for the next start",
            ),
            optional(
                concat!($start, "reselect-interval"),
                seconds(1, 25_920_000),
                "Interval of channel reselection",
            ),
            maybe(
                concat!($start, "skip-dfs-channels"),
                "Exclude radar (DFS) channels",
            ),
        ]
    }};
}

/// Datapath properties, except those of the interface.
macro_rules! datapath {
    ($start:literal) => {{
        use menu::Kind;

        use crate::declare::{INTERFACE, INTERFACE_LIST, U32, between, maybe, optional};
        use crate::interface::wireless::VLAN_MODES;
        &[
            optional(
                concat!($start, "bridge"),
                Kind::Or(&["none"], &INTERFACE),
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
                concat!($start, "client-to-client-forwarding"),
                "Allow traffic between clients",
            ),
            optional(
                concat!($start, "interface-list"),
                INTERFACE_LIST,
                "List of interfaces",
            ),
            maybe(
                concat!($start, "local-forwarding"),
                "Forward frames on the CAP, not on the manager",
            ),
            optional(
                concat!($start, "openflow-switch"),
                Kind::Name,
                "OpenFlow switch",
            ),
            optional(
                concat!($start, "vlan-id"),
                between(1, 4_095),
                "VLAN of clients",
            ),
            optional(
                concat!($start, "vlan-mode"),
                Kind::Words(VLAN_MODES),
                "VLAN tagging mode",
            ),
        ]
    }};
}

/// Rate properties.
macro_rules! rates {
    ($start:literal) => {{
        use crate::declare::{list, optional};
        use crate::radio::{MCS, RATES, VHT_MCS};
        &[
            list(concat!($start, "basic"), &RATES, "Basic rates").optional(),
            list(concat!($start, "supported"), &RATES, "Rates").optional(),
            list(
                concat!($start, "ht-basic-mcs"),
                &MCS,
                "Basic rates of 802.11n",
            )
            .optional(),
            list(
                concat!($start, "ht-supported-mcs"),
                &MCS,
                "Rates of 802.11n",
            )
            .optional(),
            optional(
                concat!($start, "vht-basic-mcs"),
                VHT_MCS,
                "Basic rates of 802.11ac",
            ),
            optional(
                concat!($start, "vht-supported-mcs"),
                VHT_MCS,
                "Rates of 802.11ac",
            ),
        ]
    }};
}

/// Security properties.
macro_rules! security {
    ($start:literal) => {{
        use menu::Kind;

        use crate::declare::{list, maybe, optional, seconds};
        const TYPES: Kind = Kind::Words(&["wpa-eap", "wpa-psk", "wpa2-eap", "wpa2-psk"]);
        const CIPHERS: Kind = Kind::Words(&["aes-ccm", "tkip"]);
        const METHODS: Kind = Kind::Words(&["eap-tls", "passthrough"]);
        const TLS: Kind = Kind::Words(&[
            "dont-verify-certificate",
            "no-certificates",
            "verify-certificate",
            "verify-certificate-with-crl",
        ]);
        const CERTIFICATE: Kind = Kind::Or(&["none"], &Kind::Name);
        &[
            list(
                concat!($start, "authentication-types"),
                &TYPES,
                "Authentication types",
            )
            .optional(),
            list(
                concat!($start, "encryption"),
                &CIPHERS,
                "Ciphers for unicast frames",
            )
            .optional(),
            optional(
                concat!($start, "group-encryption"),
                CIPHERS,
                "Cipher for broadcast and multicast frames",
            ),
            optional(
                concat!($start, "group-key-update"),
                seconds(30, 86_400),
                "Interval of group key changes",
            ),
            optional(
                concat!($start, "passphrase"),
                Kind::Sized { min: 0, max: 64 },
                "Passphrase",
            )
            .sensitive(),
            maybe(
                concat!($start, "disable-pmkid"),
                "Omit the PMKID from the handshake",
            ),
            list(concat!($start, "eap-methods"), &METHODS, "EAP methods").optional(),
            maybe(
                concat!($start, "eap-radius-accounting"),
                "Account sessions by RADIUS",
            ),
            optional(
                concat!($start, "tls-mode"),
                TLS,
                "TLS certificate verification mode",
            ),
            optional(
                concat!($start, "tls-certificate"),
                CERTIFICATE,
                "TLS certificate for EAP",
            ),
        ]
    }};
}

/// Configuration properties, except references to profiles.
macro_rules! configuration {
    ($start:literal) => {{
        use menu::Kind;

        use crate::capsman::ENABLED;
        use crate::declare::{between, list, maybe, optional, within};
        use crate::radio::CHAINS;
        const DISTANCE: Kind = Kind::Or(&["dynamic", "indoors"], &between(0, 1_000));
        const HELPER: Kind = Kind::Words(&["default", "disabled", "dhcp", "full"]);
        const PROTECTION: Kind = Kind::Words(&["cts-to-self", "none", "rts-cts"]);
        &[
            optional(
                concat!($start, "mode"),
                Kind::Words(&["ap"]),
                "Mode of the radio",
            ),
            optional(
                concat!($start, "ssid"),
                Kind::Sized { min: 0, max: 32 },
                "Name of the network",
            ),
            maybe(concat!($start, "hide-ssid"), "Hide the network name"),
            optional(
                concat!($start, "load-balancing-group"),
                Kind::Text,
                "Group of interfaces that balance clients",
            ),
            optional(
                concat!($start, "distance"),
                DISTANCE,
                "Maximum distance of clients in km",
            ),
            optional(
                concat!($start, "hw-retries"),
                between(0, 15),
                "Maximum number of tries per frame",
            ),
            optional(
                concat!($start, "hw-protection-mode"),
                PROTECTION,
                "Frame protection mode (RTS/CTS)",
            ),
            within(
                concat!($start, "frame-lifetime"),
                0,
                15_000,
                "Time after which a frame is no longer retried",
            )
            .optional(),
            within(
                concat!($start, "disconnect-timeout"),
                0,
                15_000,
                "Time after which an unreachable client is disconnected",
            )
            .optional(),
            optional(
                concat!($start, "keepalive-frames"),
                ENABLED,
                "Send keepalive frames to silent clients",
            ),
            optional(
                concat!($start, "country"),
                Kind::Name,
                "Country whose regulations apply",
            ),
            optional(
                concat!($start, "installation"),
                Kind::Words(&["any", "indoor", "outdoor"]),
                "Location of the antenna",
            ),
            optional(
                concat!($start, "max-sta-count"),
                between(1, 2_007),
                "Maximum number of clients",
            ),
            optional(
                concat!($start, "multicast-helper"),
                HELPER,
                "Multicast to unicast conversion",
            ),
            list(
                concat!($start, "tx-chains"),
                &CHAINS,
                "Antennas for sending",
            )
            .optional(),
            list(
                concat!($start, "rx-chains"),
                &CHAINS,
                "Antennas for receiving",
            )
            .optional(),
            optional(
                concat!($start, "guard-interval"),
                Kind::Words(&["any", "long"]),
                "Guard interval",
            ),
        ]
    }};
}

pub(crate) use {channel, configuration, datapath, rates, security};
