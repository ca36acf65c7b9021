//! `/interface/l2tp-ether`: Ethernet over L2TPv3 (RFC 4719).

use menu::{Kind, Menu, Property};

use super::dial::CONNECT_TO;
use super::l2tp_client::{COOKIE, DIGEST};
use super::tunnel::{ACTUAL, SLOW};
use crate::declare::{address, mac, no, number, secret, text, words};
use crate::fragment::{
    COMMENT_DISABLED, INTERFACE_COUNTERS, LINK_TIMES, idle_interfaces, name_mtu,
};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &name_mtu("1500"),
        ACTUAL,
        &[
            mac("mac-address", "Hardware address of the interface"),
            CONNECT_TO,
            address("local-address", "Local address").optional(),
            words(
                "l2tp-proto-version",
                &["l2tpv3-ip", "l2tpv3-udp"],
                "Transport protocol",
            )
            .default("l2tpv3-udp"),
            no(
                "unmanaged-mode",
                "Use a static session without a control channel",
            ),
            number("local-tunnel-id", 0, 4_294_967_295, "Local tunnel ID").optional(),
            number("remote-tunnel-id", 0, 4_294_967_295, "Remote tunnel ID").optional(),
            number("local-session-id", 0, 4_294_967_295, "Local session ID").optional(),
            number("remote-session-id", 0, 4_294_967_295, "Remote session ID").optional(),
            Property::new(
                "send-cookie",
                Kind::Sized { min: 0, max: 16 },
                "Transmit cookie",
            )
            .default(""),
            Property::new(
                "peer-cookie",
                Kind::Sized { min: 0, max: 16 },
                "Receive cookie",
            )
            .default(""),
            words("cookie-length", COOKIE, "Length of cookies").default("0"),
            words("digest-hash", DIGEST, "Authentication of messages").default("md5"),
            text("circuit-id", "Identity of the circuit"),
            no("use-l2-specific-sublayer", "Use the L2-specific sublayer"),
            no("use-ipsec", "Encrypt the tunnel with IPsec"),
            secret("ipsec-secret", "IPsec secret"),
        ],
        SLOW,
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_DISABLED,
    ],
    columns: &["name", "mtu", "connect-to"],
    ..idle_interfaces(
        "/interface/l2tp-ether",
        "l2tp-ether",
        "Ethernet over L2TPv3",
    )
};
