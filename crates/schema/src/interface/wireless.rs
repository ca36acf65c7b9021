//! `/interface/wireless`: wireless interfaces of the older package; not supported.

pub(crate) mod access_list;
pub(crate) mod align;
pub(crate) mod cap;
pub(crate) mod channels;
pub(crate) mod connect_list;
pub(crate) mod info;
pub(crate) mod interworking_profiles;
pub(crate) mod manual_tx_power_table;
pub(crate) mod nstreme;
pub(crate) mod nstreme_dual;
pub(crate) mod registration_table;
pub(crate) mod security_profiles;
pub(crate) mod sniffer;
pub(crate) mod snooper;
pub(crate) mod wds;

use menu::{Kind, Menu, Property};

use super::{IDLE_MONITOR, RESET_COUNTERS, idle_command};
use crate::declare::{
    APPEND, AS_VALUE, DO, DURATION, FILE, FREEZE, INTERVAL, NUMBER, ONCE, PROPLIST, U32,
    WITHOUT_PAGING, argument, list, mac, no, number, optional, reference, secret, shown, text,
    within, words, yes,
};
use crate::fragment::{
    ARP, COMMENT_WAITING, INTERFACE_COUNTERS, LINK_TIMES, idle_interfaces, idle_port,
};
use crate::radio::{BANDS, CHAINS, MCS, RATES_AG, RATES_B, VHT_MCS, WIDTHS};

/// Wireless protocols.
pub(crate) const PROTOCOLS: &[&str] = &[
    "802.11",
    "any",
    "nstreme",
    "nv2",
    "nv2-nstreme",
    "nv2-nstreme-802.11",
    "unspecified",
];
/// VLAN tagging modes.
pub(crate) const VLAN_MODES: &[&str] = &["no-tag", "use-service-tag", "use-tag"];
/// A frequency in MHz.
pub(crate) const MHZ: Kind = Kind::Number {
    min: 700,
    max: 10_000,
};
/// The interface that a virtual interface runs on.
pub(crate) const MASTER: Kind = Kind::Or(&["none"], &Kind::Reference("interface"));

const CHANNEL: Kind = Kind::Or(
    &["auto"],
    &Kind::Either(&MHZ, &Kind::Reference("wireless-channel")),
);
const SCAN: Kind = Kind::Or(
    &["default"],
    &Kind::Either(&Kind::Range("-", &MHZ), &Kind::Name),
);
const AUTO_OR_NUMBER: Kind = Kind::Or(
    &["default"],
    &Kind::Number {
        min: -128,
        max: 127,
    },
);

const MODES: &[&str] = &[
    "alignment-only",
    "ap-bridge",
    "bridge",
    "nstreme-dual-slave",
    "station",
    "station-bridge",
    "station-pseudobridge",
    "station-pseudobridge-clone",
    "station-wds",
    "wds-slave",
];

const RADIO: &[Property] = &[
    words("mode", MODES, "Mode of the radio").default("station"),
    optional(
        "ssid",
        Kind::Sized { min: 0, max: 32 },
        "Name of the network",
    ),
    optional("frequency", CHANNEL, "Frequency in MHz, or a channel"),
    optional("band", Kind::Words(BANDS), "Band and standards"),
    optional("channel-width", Kind::Words(WIDTHS), "Width of the channel"),
    optional(
        "secondary-frequency",
        Kind::Or(&["auto", ""], &MHZ),
        "Secondary frequency of an 80+80 MHz channel",
    ),
    list("scan-list", &SCAN, "Scanned frequencies").default("default"),
    words("wireless-protocol", PROTOCOLS, "Wireless protocol").default("any"),
    optional("vlan-mode", Kind::Words(VLAN_MODES), "VLAN mode").default("no-tag"),
    number("vlan-id", 1, 4_095, "VLAN of the interface").default("1"),
    words(
        "wds-mode",
        &[
            "disabled",
            "dynamic",
            "dynamic-mesh",
            "static",
            "static-mesh",
        ],
        "WDS",
    )
    .default("disabled"),
    Property::new("wds-default-bridge", MASTER, "Bridge of WDS interfaces").default("none"),
    number(
        "wds-default-cost",
        0,
        4_294_967_295,
        "Path cost of WDS interfaces",
    )
    .default("100"),
    Property::new(
        "wds-cost-range",
        Kind::Range(
            "-",
            &Kind::Number {
                min: 0,
                max: 4_294_967_295,
            },
        ),
        "Path costs by signal",
    )
    .default("50-150"),
    no("wds-ignore-ssid", "Ignore the SSID for WDS"),
    words(
        "bridge-mode",
        &["disabled", "enabled"],
        "Accept stations in bridge mode",
    )
    .default("enabled"),
    yes(
        "default-authentication",
        "Accept clients that are not in the access list",
    ),
    yes("default-forwarding", "Allow traffic between clients"),
    number(
        "default-ap-tx-limit",
        0,
        4_294_967_295,
        "Transmit limit per client in bits per second",
    )
    .default("0"),
    number(
        "default-client-tx-limit",
        0,
        4_294_967_295,
        "Receive limit per client in bits per second",
    )
    .default("0"),
    no("hide-ssid", "Hide the network name"),
    reference("security-profile", "wireless-security", "Security").default("default"),
    Property::new(
        "interworking-profile",
        Kind::Or(&["disabled"], &Kind::Reference("wireless-interworking")),
        "Interworking",
    )
    .default("disabled"),
    words(
        "wps-mode",
        &[
            "disabled",
            "push-button",
            "push-button-5s",
            "push-button-virtual-only",
        ],
        "WPS",
    )
    .optional(),
    words(
        "station-roaming",
        &["disabled", "enabled"],
        "Roam to better access points",
    )
    .default("disabled"),
    mac("station-bridge-clone-mac", "Cloned MAC address").default("00:00:00:00:00:00"),
];

const LINK: &[Property] = &[
    optional("country", Kind::Name, "Country whose regulations apply"),
    words(
        "installation",
        &["any", "indoor", "outdoor"],
        "Location of the antenna",
    )
    .default("any"),
    words(
        "frequency-mode",
        &["manual-txpower", "regulatory-domain", "superchannel"],
        "Rules",
    )
    .default("regulatory-domain"),
    optional(
        "antenna-gain",
        Kind::Number {
            min: 0,
            max: 4_294_967_295,
        },
        "Gain in dBi",
    ),
    words(
        "antenna-mode",
        &["ant-a", "ant-b", "rxa-txb", "txa-rxb"],
        "Antennas",
    )
    .optional(),
    words("rate-set", &["configured", "default"], "Rate set").default("default"),
    list("supported-rates-b", &RATES_B, "Rates of 802.11b").default("1Mbps,2Mbps,5.5Mbps,11Mbps"),
    list("supported-rates-a/g", &RATES_AG, "Rates of 802.11a and g")
        .default("6Mbps,9Mbps,12Mbps,18Mbps,24Mbps,36Mbps,48Mbps,54Mbps"),
    list("basic-rates-b", &RATES_B, "Basic rates of 802.11b").default("1Mbps"),
    list("basic-rates-a/g", &RATES_AG, "Basic rates of 802.11a and g").default("6Mbps"),
    list("ht-basic-mcs", &MCS, "Basic rates of 802.11n")
        .default("mcs-0,mcs-1,mcs-2,mcs-3,mcs-4,mcs-5,mcs-6,mcs-7"),
    list("ht-supported-mcs", &MCS, "Rates of 802.11n").optional(),
    optional("vht-basic-mcs", VHT_MCS, "Basic rates of 802.11ac"),
    optional("vht-supported-mcs", VHT_MCS, "Rates of 802.11ac"),
    list("tx-chains", &CHAINS, "Antennas for sending").optional(),
    list("rx-chains", &CHAINS, "Antennas for receiving").optional(),
    optional(
        "tx-power",
        Kind::Number { min: -30, max: 40 },
        "Power in dBm",
    ),
    words(
        "tx-power-mode",
        &["all-rates-fixed", "card-rates", "default", "manual-table"],
        "Power",
    )
    .default("default"),
    words("rate-selection", &["advanced", "legacy"], "Rate selection").default("advanced"),
    words("guard-interval", &["any", "long"], "Guard interval").default("any"),
    list(
        "ampdu-priorities",
        &CHAINS,
        "Priorities for which frames are aggregated (A-MPDU)",
    )
    .default("0"),
    number(
        "amsdu-limit",
        0,
        8_192,
        "Maximum size of an aggregate (A-MSDU)",
    )
    .default("8192"),
    number(
        "amsdu-threshold",
        0,
        8_192,
        "Maximum size of aggregated frames (A-MSDU)",
    )
    .default("8192"),
    words(
        "adaptive-noise-immunity",
        &["ap-and-client-mode", "client-mode", "none"],
        "Noise",
    )
    .default("none"),
    words("preamble-mode", &["both", "long", "short"], "Preamble").default("both"),
    Property::new(
        "burst-time",
        Kind::Or(&["disabled"], &Kind::Number { min: 0, max: 8_192 }),
        "Burst time in microseconds",
    )
    .default("disabled"),
    Property::new(
        "distance",
        Kind::Or(
            &["dynamic", "indoors"],
            &Kind::Number { min: 1, max: 1_000 },
        ),
        "Maximum distance of clients in km",
    )
    .default("dynamic"),
    words(
        "wmm-support",
        &["disabled", "enabled", "required"],
        "Priorities",
    )
    .default("disabled"),
    words(
        "skip-dfs-channels",
        &["10min-cac", "all", "disabled"],
        "Exclude radar (DFS) channels",
    )
    .default("disabled"),
    words(
        "keepalive-frames",
        &["disabled", "enabled"],
        "Send keepalive frames to silent clients",
    )
    .default("enabled"),
];

const FRAMES: &[Property] = &[
    within(
        "disconnect-timeout",
        0,
        15_000,
        "Time after which an unreachable client is disconnected",
    )
    .default("3s"),
    within("on-fail-retry-time", 100, 1_000, "Frame retry limit").default("100ms"),
    number(
        "frame-lifetime",
        0,
        4_294_967_295,
        "Lifetime of a frame in hundredths of a second",
    )
    .default("0"),
    number("hw-retries", 0, 15, "Maximum number of tries per frame").default("7"),
    Property::new(
        "hw-fragmentation-threshold",
        Kind::Or(
            &["disabled"],
            &Kind::Number {
                min: 256,
                max: 3_000,
            },
        ),
        "Fragmentation threshold",
    )
    .default("disabled"),
    words(
        "hw-protection-mode",
        &["cts-to-self", "none", "rts-cts"],
        "Frame protection mode (RTS/CTS)",
    )
    .default("none"),
    number("hw-protection-threshold", 0, 65_535, "RTS/CTS threshold").default("0"),
    number("max-station-count", 1, 2_007, "Maximum number of clients").default("2007"),
    words(
        "multicast-buffering",
        &["disabled", "enabled"],
        "Buffer frames for sleeping clients",
    )
    .default("enabled"),
    words(
        "multicast-helper",
        &["default", "disabled", "dhcp", "full"],
        "Multicast to unicast conversion",
    )
    .default("default"),
    Property::new(
        "noise-floor-threshold",
        AUTO_OR_NUMBER,
        "Noise floor threshold in dBm",
    )
    .default("default"),
    Property::new(
        "update-stats-interval",
        Kind::Or(
            &["disabled"],
            &Kind::Time {
                min: 10_000_000_000,
                max: i64::MAX,
            },
        ),
        "Signal polling interval",
    )
    .default("disabled"),
    no("allow-sharedkey", "Accept shared key authentication"),
    no("compression", "Compresses"),
    text("area", "Area name of the access point"),
    text("radio-name", "Radio name").optional(),
    optional(
        "prism-cardtype",
        Kind::Words(&["100mW", "200mW", "30mW"]),
        "Card type of Prism radios",
    ),
    optional(
        "frequency-offset",
        Kind::Number {
            min: -10_000,
            max: 10_000,
        },
        "Frequency offset of a converter in MHz",
    ),
];

const NV2: &[Property] = &[
    optional(
        "tdma-period-size",
        Kind::Or(&["auto"], &Kind::Number { min: 1, max: 10 }),
        "TDMA period in milliseconds",
    )
    .default("2"),
    number("nv2-cell-radius", 10, 200, "Cell radius in km").default("30"),
    words(
        "nv2-mode",
        &[
            "dynamic-downlink",
            "fixed-downlink",
            "sync-master",
            "sync-slave",
        ],
        "Turns",
    )
    .default("dynamic-downlink"),
    number(
        "nv2-downlink-ratio",
        20,
        80,
        "Downlink share of the time in percent",
    )
    .default("50"),
    words("nv2-qos", &["default", "frame-priority"], "Queue type").default("default"),
    number("nv2-queue-count", 2, 8, "Queues").default("2"),
    words("nv2-security", &["disabled", "enabled"], "Encrypts").default("disabled"),
    secret("nv2-preshared-key", "Encryption key"),
    secret("nv2-sync-secret", "Secret for synchronised access points"),
    Property::new(
        "nv2-noise-floor-offset",
        Kind::Or(&["default"], &Kind::Number { min: 0, max: 20 }),
        "Transmit power correction in dB",
    )
    .default("default"),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &idle_port("Default name of the radio"),
        &[shown(
            "orig-mac-address",
            Kind::Mac,
            "The radio's own hardware address",
        )],
        ARP,
        &[
            no(
                "disable-running-check",
                "Consider the interface running at all times",
            ),
            shown("interface-type", Kind::Text, "Radio type"),
            Property::new(
                "master-interface",
                MASTER,
                "Physical interface of a virtual interface",
            )
            .default("none"),
        ],
        RADIO,
        LINK,
        FRAMES,
        NV2,
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_WAITING,
    ],
    columns: &[
        "name",
        "mtu",
        "mac-address",
        "mode",
        "ssid",
        "frequency",
        "band",
        "channel-width",
    ],
    ports: &[("wlan", "wlan")],
    commands: &[
        IDLE_MONITOR,
        idle_command("frequency-monitor", "Show channel usage"),
        idle_command("reset-configuration", "Reset radios to their defaults"),
        idle_command(
            "reset-mac-address",
            "Restore the original MAC addresses of radios",
        ),
        crate::declare::idle_command(
            "scan",
            "Scan for networks",
            &[
                AS_VALUE,
                argument("background", Kind::Bool, "Scan in the background"),
                DURATION,
                FREEZE,
                NUMBER,
                argument("passive", Kind::Bool, "Passive scan"),
                PROPLIST,
                argument("rounds", U32, "Scan interval"),
                argument("save-file", Kind::Text, "Output file"),
                WITHOUT_PAGING,
            ],
        ),
        crate::declare::idle_command(
            "setup-repeater",
            "Set up a repeater",
            &[
                argument("address", Kind::Mac, "The access point's hardware address"),
                APPEND,
                AS_VALUE,
                argument("country", Kind::Text, "Country"),
                DO,
                DURATION,
                FILE,
                FREEZE,
                INTERVAL,
                NUMBER,
                ONCE,
                argument("passphrase", Kind::Text, "Passphrase"),
                PROPLIST,
                argument("ssid", Kind::Text, "Network name"),
                WITHOUT_PAGING,
            ],
        ),
        idle_command("spectral-history", "Show the spectrum over time"),
        idle_command("spectral-scan", "Show the spectrum"),
        crate::declare::idle_command(
            "wps-client",
            "Start WPS client",
            &[
                APPEND,
                AS_VALUE,
                argument("create-profile", Kind::Text, "Name of the new profile"),
                DO,
                DURATION,
                FILE,
                FREEZE,
                INTERVAL,
                argument(
                    "mac-address",
                    Kind::Mac,
                    "The access point's hardware address",
                ),
                NUMBER,
                ONCE,
                PROPLIST,
                argument("ssid", Kind::Text, "Network name"),
                WITHOUT_PAGING,
            ],
        ),
        idle_command("wps-push-button", "Press the WPS button"),
        RESET_COUNTERS,
    ],
    ..idle_interfaces("/interface/wireless", "wlan", "Wireless interfaces")
};
