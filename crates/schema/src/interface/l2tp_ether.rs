//! `/interface/l2tp-ether`: Ethernet over L2TPv3 (RFC 4719).

use menu::{Draft, Flag, Kind, Menu, MenuShape, Property, Reason, Store, Value};

use super::RESET_COUNTERS;
use super::dial::CONNECT_TO;
use super::l2tp_client::{COOKIE, DIGEST};
use super::pppoe_client::MONITOR;
use super::tunnel::{ACTUAL, SLOW};
use crate::declare::{address, mac, no, number, secret, text, words};
use crate::fragment::{
    COMMENT_DISABLED, INTERFACE_COUNTERS, INTERFACE_STATS, LINK_TIMES, name_mtu,
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
    flags: &[
        Flag::new('X', "disabled", 0),
        Flag::new('D', "dynamic", 0),
        Flag::new('R', "running", 0),
        Flag::new('S', "slave", 1),
    ],
    stats: INTERFACE_STATS,
    space: Some("interface"),
    key: Some("name"),
    kind: "l2tp-ether",
    commands: &[MONITOR, RESET_COUNTERS],
    check: Some(has_static_session),
    ..Menu::new(
        "/interface/l2tp-ether",
        MenuShape::List,
        "Ethernet over L2TPv3",
    )
};

/// Checks the settings of a static session: an IPv4 address, both session numbers, and cookies of 0, 4 or 8 bytes in
/// hexadecimal digits.
fn has_static_session(draft: &Draft<'_>, _: &Store) -> Result<(), Reason> {
    if !draft.is("unmanaged-mode") {
        return Ok(());
    }
    let remote = draft.get("connect-to").and_then(Value::as_address);
    if !remote.is_some_and(|remote| remote.is_ipv4()) {
        return Err(Reason::failure(
            "unmanaged-mode needs an IPv4 address in connect-to",
        ));
    }
    for number in ["local-session-id", "remote-session-id"] {
        let is_set = { draft.get(number).and_then(Value::as_number) }.is_some_and(|id| id > 0);
        if !is_set {
            let text = "unmanaged-mode needs local-session-id and remote-session-id";
            return Err(Reason::failure(text));
        }
    }
    for cookie in ["send-cookie", "peer-cookie"] {
        let digits = draft
            .get(cookie)
            .and_then(Value::as_str)
            .unwrap_or_default();
        let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        if !is_hex || !matches!(digits.len(), 0 | 8 | 16) {
            return Err(Reason::failure("a cookie has 8 or 16 hexadecimal digits"));
        }
    }
    Ok(())
}
