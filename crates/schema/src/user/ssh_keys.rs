//! `/user/ssh-keys`: SSH public keys of users.

use menu::{
    Argument, Command, Draft, Effect, Kind, Menu, MenuShape, Policies, Property, Reason, Store,
};

use crate::fragment::COMMENT;

const IMPORT: &[Argument] = &[
    Argument {
        name: "public-key-file",
        kind: Kind::Name,
        help: "The file with the public key",
        required: true,
        unnamed: false,
    },
    Argument {
        name: "user",
        kind: Kind::Name,
        help: "Owner of the key",
        required: true,
        unnamed: false,
    },
    Argument {
        name: "info",
        kind: Kind::Text,
        help: "Comment of the key",
        required: false,
        unnamed: false,
    },
];

/// Key types that the SSH server supports (RFC 8709, 4; RFC 5656, 3.1; RFC 4253, 6.6).
const TYPES: &[&str] = &[
    "ssh-ed25519",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "ssh-rsa",
];

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new("user", Kind::Reference("user"), "Owner of the key").required(),
        Property::new("key", Kind::Filled, "The key as in an authorized_keys file").required(),
        Property::new("key-type", Kind::Text, "Kind of the key").read_only(),
        Property::new("info", Kind::Text, "Comment in the key").read_only(),
        COMMENT,
    ]],
    columns: &["user", "key-type", "info"],
    commands: &[Command {
        name: "import",
        help: "Import a public key from a file",
        arguments: IMPORT,
        effect: Effect::Full,
        repeats: false,
    }],
    check: Some(check),
    policies: Policies::POLICY,
    ..Menu::new("/user/ssh-keys", MenuShape::List, "SSH keys of users")
};

/// Checks a key: its type and its data; further words are a comment.
fn check(draft: &Draft<'_>, _: &Store) -> Result<(), Reason> {
    let key = draft.get("key").and_then(menu::Value::as_str);
    let mut words = key.unwrap_or_default().split_ascii_whitespace();
    let (kind, data) = (words.next(), words.next());
    let known = kind.is_some_and(|kind| TYPES.contains(&kind));
    let symbol = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    let whole = data.is_some_and(|data| data.starts_with("AAAA") && data.bytes().all(symbol));
    if known && whole {
        return Ok(());
    }
    Err(Reason::failure(
        "unable to load key, wrong format or bad passphrase",
    ))
}
