//! `/ip/ssh`: the SSH server.

use menu::{
    Argument, Draft, Kind, Menu, MenuShape, OldProperty, Policies, Property, Reason, Store, Value,
};

use crate::declare::{argument, command, no, shown, with_default};

const PASSPHRASE: Argument = argument("passphrase", Kind::Text, "The passphrase of the key");

const fn password(value: &'static str, with: &'static str) -> OldProperty {
    OldProperty {
        name: "always-allow-password-login",
        value: Some(value),
        becomes: "password-authentication",
        with: Some(with),
        makes: None,
    }
}

/// The router's private key allows to impersonate the router.
const KEYS: Policies = Policies::WRITE.or(Policies::POLICY);

/// Refuses insecure ciphers instead of dropping them from the list silently.
fn check(draft: &Draft<'_>, _: &Store) -> Result<(), Reason> {
    let ciphers = draft.get("ciphers").map(Value::as_list).unwrap_or_default();
    for cipher in ciphers {
        match cipher.to_string().as_str() {
            "null" => {
                return Err(Reason::failure(
                    "ciphers: null, which does not encrypt, is not supported",
                ));
            }
            "3des-cbc" => {
                return Err(Reason::failure(
                    "ciphers: 3des-cbc, which is insecure, is not supported",
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        with_default(
            "ciphers",
            Kind::List(&Kind::Words(&[
                "aes-gcm", "aes-ctr", "aes-cbc", "3des-cbc", "null", "auto",
            ])),
            "auto",
            "Accepted ciphers",
        ),
        with_default(
            "forwarding-enabled",
            Kind::Words(&["no", "local", "remote", "both"]),
            "no",
            "Allowed forwarding of connections",
        ),
        with_default(
            "password-authentication",
            Kind::Words(&["yes", "no", "yes-if-no-key"]),
            "yes-if-no-key",
            "Allow password logins",
        ),
        with_default(
            "publickey-authentication-options",
            Kind::Words(&["none", "touch-required", "verify-required"]),
            "none",
            "Required verification of hardware keys (FIDO)",
        )
        .inert(),
        no("strong-crypto", "Accept strong algorithms only"),
        with_default(
            "host-key-size",
            Kind::Words(&["1024", "1536", "2048", "4096", "8192"]),
            "2048",
            "Size of a new RSA key",
        ),
        with_default(
            "host-key-type",
            Kind::Words(&["rsa", "ed25519"]),
            "ed25519",
            "Type of a new key",
        ),
        shown("host-key-fingerprint", Kind::Text, "Fingerprint of the key"),
    ]],
    commands: &[
        command(
            "export-host-key",
            "Export the host key to files",
            &[
                argument("key-file-prefix", Kind::Text, "Prefix of the file names"),
                PASSPHRASE,
            ],
        ),
        command(
            "import-host-key",
            "Import a host key from a file",
            &[
                argument("private-key-file", Kind::Text, "The file"),
                PASSPHRASE,
            ],
        ),
        command("regenerate-host-key", "Generate a new host key", &[]),
    ],
    old: &[
        password("yes", "yes"),
        password("no", "yes-if-no-key"),
        OldProperty::gone("allow-none-crypto"),
    ],
    kept: &[Property::new("host-key", Kind::Text, "The private key").kept()],
    check: Some(check),
    command_policies: &[
        ("export-host-key", KEYS.or(Policies::SENSITIVE)),
        ("import-host-key", KEYS),
        ("regenerate-host-key", KEYS),
    ],
    ..Menu::new("/ip/ssh", MenuShape::Settings, "SSH server settings")
};
