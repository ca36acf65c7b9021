//! `/ip/ssh`: the SSH server.

use menu::{Argument, Effect, Kind, Menu, Old, Shape};

use crate::declare::{argument, command, no, shown, with_default};

const PASSPHRASE: Argument = argument("passphrase", Kind::Text, "The passphrase of the key");

const fn password(value: &'static str, with: &'static str) -> Old {
    Old {
        name: "always-allow-password-login",
        value: Some(value),
        becomes: "password-authentication",
        with: Some(with),
        makes: None,
    }
}

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        with_default(
            "ciphers",
            Kind::List(&Kind::Words(&[
                "aes-gcm", "aes-ctr", "aes-cbc", "3des-cbc", "null", "auto",
            ])),
            "auto",
            "Ciphers that are taken",
        ),
        with_default(
            "forwarding-enabled",
            Kind::Words(&["no", "local", "remote", "both"]),
            "no",
            "Which connections are forwarded",
        ),
        with_default(
            "password-authentication",
            Kind::Words(&["yes", "no", "yes-if-no-key"]),
            "yes-if-no-key",
            "Whether users may log in by password",
        ),
        with_default(
            "publickey-authentication-options",
            Kind::Words(&["none", "touch-required", "verify-required"]),
            "none",
            "What hardware keys must prove",
        ),
        no("strong-crypto", "Whether only strong algorithms are taken"),
        with_default(
            "host-key-size",
            Kind::Words(&["1024", "1536", "2048", "4096", "8192"]),
            "2048",
            "Size of a new RSA key",
        ),
        with_default(
            "host-key-type",
            Kind::Words(&["rsa", "ed25519"]),
            "rsa",
            "Type of a new key",
        ),
        shown("host-key-fingerprint", Kind::Text, "Fingerprint of the key"),
    ]],
    commands: &[
        command(
            "export-host-key",
            "Write the key to files",
            &[
                argument("key-file-prefix", Kind::Text, "How the files' names begin"),
                PASSPHRASE,
            ],
        ),
        command(
            "import-host-key",
            "Take a key from a file",
            &[
                argument("private-key-file", Kind::Text, "The file"),
                PASSPHRASE,
            ],
        ),
        command("regenerate-host-key", "Make a new key", &[]),
    ],
    old: &[
        password("yes", "yes"),
        password("no", "yes-if-no-key"),
        Old::gone("allow-none-crypto"),
    ],
    effect: Effect::None,
    ..Menu::new("/ip/ssh", Shape::Settings, "SSH server settings")
};
