//! `/interface/wireless/nstreme-dual`: interfaces with separate radios for transmitting and receiving.

use menu::{Kind, Menu, Property};

use super::MHZ;
use super::nstreme::FRAMERS;
use crate::declare::{list, mac, no, number, words};
use crate::fragment::{ARP, COMMENT_WAITING, INTERFACE_COUNTERS, LINK_TIMES, idle_interfaces};
use crate::radio::{BANDS, RATES_AG, RATES_B};

const RADIO: Kind = Kind::Or(&["none"], &Kind::Reference("interface"));
const WIDTHS: &[&str] = &["10mhz", "20mhz", "40mhz", "5mhz"];

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("name", Kind::Name, "Name of the interface"),
            number("mtu", 0, 65_535, "Maximum transmission unit of layer 3").default("1500"),
            number("l2mtu", 0, 65_535, "Maximum transmission unit of layer 2").optional(),
        ],
        ARP,
        &[
            no(
                "disable-running-check",
                "Consider the interface running at all times",
            ),
            Property::new("tx-radio", RADIO, "Radio for sending").default("none"),
            Property::new("rx-radio", RADIO, "Radio for receiving").default("none"),
            mac("remote-mac", "Remote MAC address").default("00:00:00:00:00:00"),
            words("tx-band", BANDS, "Band and standards for sending").optional(),
            words("tx-channel-width", WIDTHS, "Channel width for sending").default("20mhz"),
            Property::new("tx-frequency", MHZ, "Frequency for sending").optional(),
            words("rx-band", BANDS, "Band and standards for receiving").optional(),
            words("rx-channel-width", WIDTHS, "Channel width for receiving").default("20mhz"),
            Property::new("rx-frequency", MHZ, "Frequency for receiving").optional(),
            list("rates-b", &RATES_B, "Rates of 802.11b").default("1Mbps,2Mbps,5.5Mbps,11Mbps"),
            list("rates-a/g", &RATES_AG, "Rates of 802.11a and g")
                .default("6Mbps,9Mbps,12Mbps,18Mbps,24Mbps,36Mbps,48Mbps,54Mbps"),
            words("framer-policy", FRAMERS, "Frame aggregation policy").default("none"),
            number("framer-limit", 64, 4_000, "Maximum frame size").default("2560"),
            no("disable-csma", "Disable carrier sense"),
            list(
                "ht-rates",
                &Kind::Number { min: 1, max: 8 },
                "Rates of 802.11n",
            )
            .optional(),
            words("ht-streams", &["both", "double", "single"], "Streams").default("both"),
            words(
                "ht-guard-interval",
                &["both", "long", "short"],
                "Guard interval",
            )
            .default("long"),
            words(
                "ht-channel-width",
                &["2040mhz", "20mhz", "40mhz"],
                "Channel width of 802.11n",
            )
            .default("20mhz"),
        ],
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_WAITING,
    ],
    columns: &["name", "mtu", "tx-radio", "rx-radio"],
    ..idle_interfaces(
        "/interface/wireless/nstreme-dual",
        "nstreme-dual",
        "Nstreme dual links",
    )
};
