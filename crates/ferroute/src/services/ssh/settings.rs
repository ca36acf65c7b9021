//! Settings of `/ip/ssh`: algorithms, authentication methods, TCP forwarding.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use access::HostKey;
use menu::{Item, Value};
use russh::keys::Algorithm;
use russh::server::Config;
use russh::{MethodKind, MethodSet, Preferred, SshId, cipher, kex, mac};

/// Minimum duration of a rejection, whatever its reason.
const REJECTION_DELAY: Duration = Duration::from_secs(1);

/// Keepalive interval; the third unanswered one closes the connection.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(60);

/// Permitted TCP forwarding. Checked per forwarded connection, also on existing SSH connections.
#[derive(Debug, Default)]
pub(super) struct Forwards {
    local: AtomicBool,
    remote: AtomicBool,
}

impl Forwards {
    /// Applies a value of `forwarding-enabled`.
    pub(super) fn set(&self, word: &str) {
        let is = |words: &[&str]| words.contains(&word);
        self.local.store(is(&["local", "both"]), Ordering::Relaxed);
        self.remote
            .store(is(&["remote", "both"]), Ordering::Relaxed);
    }

    /// Returns true if the router may connect for users.
    pub(super) fn local(&self) -> bool {
        self.local.load(Ordering::Relaxed)
    }

    /// Returns true if the router may listen for users.
    pub(super) fn remote(&self) -> bool {
        self.remote.load(Ordering::Relaxed)
    }
}

/// Returns the permitted authentication methods.
pub(super) fn methods(settings: Option<&Item>) -> MethodSet {
    let mut methods = MethodSet::from(&[MethodKind::PublicKey, MethodKind::Password][..]);
    if settings.is_some_and(|item| item.text("password-authentication") == "no") {
        methods.remove(MethodKind::Password);
    }
    methods
}

/// Returns the library's configuration for new connections.
pub(super) fn config(settings: Option<&Item>, key: &HostKey) -> Config {
    let strong = settings.is_some_and(|item| item.is("strong-crypto"));
    let ciphers = settings.and_then(|item| item.get("ciphers"));
    let ciphers: Vec<_> = ciphers
        .map(Value::as_list)
        .unwrap_or_default()
        .iter()
        .map(ToString::to_string)
        .collect();
    Config {
        // RouterOS: clients select their dialect by this name.
        server_id: SshId::Standard("SSH-2.0-ROSSSH".into()),
        methods: methods(settings),
        auth_rejection_time: REJECTION_DELAY,
        auth_rejection_time_initial: Some(Duration::ZERO),
        keys: vec![key.private().clone()],
        // The limit includes key queries before a password attempt.
        max_auth_attempts: 16,
        inactivity_timeout: None,
        keepalive_interval: Some(KEEPALIVE_INTERVAL),
        nodelay: true,
        preferred: preferred(strong, &ciphers),
        ..Config::default()
    }
}

/// Returns the algorithms, best first; the client's order decides among common ones (RFC 4253, 7.1).
///
/// RouterOS: with `strong-crypto` ciphers have 192 bits or more, hashes are SHA-2, and Diffie-Hellman groups
/// are large. Without it older clients are supported.
fn preferred(strong: bool, ciphers: &[String]) -> Preferred {
    let usual = Preferred::DEFAULT;
    let mut kex: Vec<_> = usual.kex.to_vec();
    let mut mac: Vec<_> = usual.mac.to_vec();
    let mut key: Vec<_> = usual.key.to_vec();
    if strong {
        let sha1 = Algorithm::Rsa { hash: None };
        key.retain(|algorithm| *algorithm != sha1);
    } else {
        // SHA-1 algorithms come last.
        kex.extend([
            kex::ECDH_SHA2_NISTP256,
            kex::ECDH_SHA2_NISTP384,
            kex::ECDH_SHA2_NISTP521,
            kex::DH_G14_SHA1,
        ]);
        mac.extend([mac::HMAC_SHA1_ETM, mac::HMAC_SHA1]);
    }
    Preferred {
        kex: Cow::Owned(kex),
        mac: Cow::Owned(mac),
        key: Cow::Owned(key),
        cipher: Cow::Owned(ciphers_of(strong, ciphers)),
        ..usual
    }
}

fn ciphers_of(strong: bool, words: &[String]) -> Vec<cipher::Name> {
    let mut taken = Vec::new();
    for word in words {
        let named: &[_] = match word.as_str() {
            "aes-gcm" => &[cipher::AES_256_GCM, cipher::AES_128_GCM],
            "aes-ctr" => &[
                cipher::AES_256_CTR,
                cipher::AES_192_CTR,
                cipher::AES_128_CTR,
            ],
            "aes-cbc" => &[
                cipher::AES_256_CBC,
                cipher::AES_192_CBC,
                cipher::AES_128_CBC,
            ],
            "auto" => &[
                cipher::CHACHA20_POLY1305,
                cipher::AES_256_GCM,
                cipher::AES_128_GCM,
                cipher::AES_256_CTR,
                cipher::AES_192_CTR,
                cipher::AES_128_CTR,
            ],
            // The menu refuses other values.
            _ => &[],
        };
        taken.extend_from_slice(named);
    }
    if strong {
        taken.retain(|name| !name.as_ref().starts_with("aes128"));
    }
    taken
}

#[cfg(test)]
mod tests {
    use russh::keys::HashAlg;

    use super::*;

    fn names(strong: bool, words: &[&str]) -> Vec<&'static str> {
        let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
        let found = ciphers_of(strong, &words);
        found
            .iter()
            .map(|name| {
                *ALL.iter()
                    .find(|known| **known == name.as_ref())
                    .expect("a name")
            })
            .collect()
    }

    const ALL: &[&str] = &[
        "chacha20-poly1305@openssh.com",
        "aes256-gcm@openssh.com",
        "aes128-gcm@openssh.com",
        "aes256-ctr",
        "aes192-ctr",
        "aes128-ctr",
        "aes256-cbc",
        "aes192-cbc",
        "aes128-cbc",
    ];

    #[test]
    fn strong_crypto_leaves_no_short_keys_and_no_sha_1() {
        assert_eq!(names(false, &["auto"]), ALL[..6]);
        assert_eq!(
            names(true, &["aes-gcm", "aes-cbc"]),
            ["aes256-gcm@openssh.com", "aes256-cbc", "aes192-cbc"]
        );
        let weak = |strong| {
            let preferred = preferred(strong, &[]);
            let kex = preferred
                .kex
                .iter()
                .filter(|name| name.as_ref().ends_with("sha1"))
                .count();
            let mac = preferred
                .mac
                .iter()
                .filter(|name| name.as_ref().contains("sha1"))
                .count();
            let key = preferred.key.contains(&Algorithm::Rsa { hash: None });
            (kex, mac, key)
        };
        assert_eq!(weak(true), (0, 0, false));
        assert_eq!(weak(false), (1, 2, true));
        let best = Algorithm::Rsa {
            hash: Some(HashAlg::Sha512),
        };
        assert!(preferred(true, &[]).key.contains(&best));
    }

    #[test]
    fn forwarding_follows_its_word() {
        let forwards = Forwards::default();
        for (word, is) in [
            ("both", (true, true)),
            ("local", (true, false)),
            ("remote", (false, true)),
            ("no", (false, false)),
        ] {
            forwards.set(word);
            assert_eq!((forwards.local(), forwards.remote()), is, "{word}");
        }
    }
}
