//! Names that rules make by saying them: chains, lists of addresses, marks.

use menu::Shared;

/// The chains of a table: those that packets come to, and those that rules make.
pub(crate) const fn chains(words: &'static [&'static str]) -> Shared {
    Shared {
        words,
        used: &[("", "chain"), ("", "jump-target")],
    }
}

/// The lists of addresses, and what rules call so.
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

/// Marks of connections.
pub(super) const CONNECTION_MARKS: &Shared = &Shared {
    words: &[],
    used: &[("mangle", "new-connection-mark")],
};

/// Marks of packets.
pub(super) const PACKET_MARKS: &Shared = &Shared {
    words: &[],
    used: &[("mangle", "new-packet-mark")],
};
