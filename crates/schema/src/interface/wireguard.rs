//! `/interface/wireguard`: WireGuard interfaces.

pub(crate) mod peers;

use menu::{
    Argument, AutoValue, Draft, Kind, Menu, MenuShape, Policies, Property, Reason, Store, Value,
};

use super::{FLAGS, NUMBER, RESET_COUNTERS};
use crate::declare::{FILE, LATER_VRF, argument, command, number, shown};
use crate::fragment::{
    COMMENT_DISABLED, INTERFACE_COUNTERS, INTERFACE_STATS, LINK_TIMES, name_mtu,
};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &name_mtu("1420"),
        &[
            number(
                "listen-port",
                0,
                65_535,
                "UDP listen port; 0: chosen automatically",
            )
            .default("13231"),
            Property::new("private-key", Kind::Text, "Private key in base64").sensitive(),
            shown(
                "public-key",
                Kind::Text,
                "Public key, derived from the private key",
            ),
            Property::new("vrf", LATER_VRF, "VRF of the outer packets").default("main"),
        ],
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_DISABLED,
    ],
    columns: &["name", "mtu", "listen-port"],
    flags: FLAGS,
    stats: INTERFACE_STATS,
    space: Some("interface"),
    key: Some("name"),
    kind: "wg",
    naming: "wireguard",
    filled: &[("private-key", AutoValue::Key)],
    check: Some(check),
    commands: &[
        RESET_COUNTERS,
        command(
            "wg-export",
            "Show the configuration with keys in wg-quick format",
            EXPORT,
        ),
        command(
            "wg-import",
            "Import an interface with peers from a wg-quick configuration",
            IMPORT,
        ),
    ],
    command_policies: &[("wg-export", Policies::READ.or(Policies::SENSITIVE))],
    ..Menu::new(
        "/interface/wireguard",
        MenuShape::List,
        "WireGuard interfaces",
    )
};

const EXPORT: &[Argument] = &[NUMBER, FILE];

const IMPORT: &[Argument] = &[
    argument("config-file", Kind::Text, "File with the configuration"),
    argument("config-string", Kind::Text, "Configuration text"),
];

fn check(draft: &Draft<'_>, _: &Store) -> Result<(), Reason> {
    check_key(draft, "private-key")
}

/// Checks a key: 32 bytes in base64, which are 43 symbols, the last of which encodes four bits, and `=`.
fn check_key(draft: &Draft<'_>, name: &str) -> Result<(), Reason> {
    let text = draft.get(name).and_then(Value::as_str).unwrap_or_default();
    let symbol = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/".contains(byte);
    let is_key = match text.as_bytes() {
        [] => true,
        [all @ .., last, b'='] => {
            all.len() == 42 && all.iter().all(symbol) && b"AEIMQUYcgkosw048".contains(last)
        }
        _ => false,
    };
    match is_key {
        true => Ok(()),
        false => Err(Reason::failure(format!(
            "{name} is not a key: expected 32 bytes in base64 (44 characters)"
        ))),
    }
}
