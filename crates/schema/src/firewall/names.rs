//! Names that exist by being used in rules: chains, address lists, marks.

use menu::Shared;

/// Chains of a table: built-in chains and those named in rules.
pub(crate) const fn chains(words: &'static [&'static str]) -> Shared {
    Shared {
        words,
        used: &[("", "chain"), ("", "jump-target")],
    }
}

/// Address lists and the names used in rules.
pub(crate) const LIST_NAMES: &Shared = &Shared {
    words: &[],
    used: &[
        ("address-list", "list"),
        ("filter", "address-list"),
        ("mangle", "address-list"),
        ("nat", "address-list"),
        ("raw", "address-list"),
    ],
};

/// Connection marks.
pub(super) const CONNECTION_MARKS: &Shared = &Shared {
    words: &[],
    used: &[("mangle", "new-connection-mark")],
};

/// Packet marks.
pub(super) const PACKET_MARKS: &Shared = &Shared {
    words: &[],
    used: &[("mangle", "new-packet-mark")],
};
