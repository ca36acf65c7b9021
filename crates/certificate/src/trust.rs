//! Trusted authorities for verifying the certificates of peers: those in `/certificate`, and the built-in ones.

use rustls_pki_types::CertificateDer;
use webpki_root_certs::TLS_SERVER_ROOT_CERTS;

/// Default uses of the built-in authorities: connections to named servers. In tunnels and for users, public
/// authorities prove nothing.
const USUAL: [&str; 8] = [
    "container",
    "dns",
    "email",
    "fetch",
    "logging",
    "mqtt",
    "netwatch",
    "tr069",
];

/// Built-in authorities: Mozilla's list for servers.
pub fn builtin() -> &'static [CertificateDer<'static>] {
    TLS_SERVER_ROOT_CERTS
}

/// Uses that a certificate is trusted for: `all`, or words of `trust-store`.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Uses {
    All,
    These(Vec<String>),
}

impl Uses {
    fn of(text: &str) -> Self {
        match text {
            "all" => Self::All,
            "default" => Self::These(USUAL.map(str::to_owned).to_vec()),
            "untrusted" | "none" | "" => Self::These(Vec::new()),
            words => Self::These(words.split(',').map(str::to_owned).collect()),
        }
    }

    fn has(&self, wanted: &str) -> bool {
        match self {
            Self::All => true,
            Self::These(words) => words.iter().any(|word| word == wanted),
        }
    }
}

/// How a peer's certificate is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Not at all.
    Nothing,
    /// Signature, names and validity.
    WithoutLists,
    /// Signature, names, validity, and revocation if the authority's list is known.
    Full,
}

impl Check {
    /// Parses a word of `check-certificate`.
    pub fn of(word: &str) -> Self {
        match word {
            "yes" | "true" => Self::Full,
            "yes-without-crl" => Self::WithoutLists,
            _ => Self::Nothing,
        }
    }
}

/// Trusted authorities by use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trust {
    own: Vec<(CertificateDer<'static>, Uses)>,
    builtin: Uses,
    lists: Vec<Vec<u8>>,
}

impl Default for Trust {
    fn default() -> Self {
        Self::new("default")
    }
}

impl Trust {
    /// Creates a set of the built-in authorities, for the uses in `builtin-trust-store` of `/certificate/settings`.
    pub fn new(builtin: &str) -> Self {
        Self {
            own: Vec::new(),
            builtin: Uses::of(builtin),
            lists: Vec::new(),
        }
    }

    /// Adds an authority for the uses in its `trust-store`.
    pub fn add(&mut self, der: &[u8], uses: &str) {
        self.own
            .push((CertificateDer::from(der.to_vec()), Uses::of(uses)));
    }

    /// Adds a revocation list in DER.
    pub fn add_list(&mut self, der: Vec<u8>) {
        self.lists.push(der);
    }

    /// Revocation lists in DER.
    pub fn lists(&self) -> &[Vec<u8>] {
        &self.lists
    }

    /// Authorities of `/certificate` that are trusted for one use.
    pub fn own(&self, wanted: &str) -> impl Iterator<Item = &CertificateDer<'static>> {
        let own = self.own.iter().filter(move |(_, uses)| uses.has(wanted));
        own.map(|(der, _)| der)
    }

    /// All authorities trusted for one use, a word of `trust-store` such as `dns` or `fetch`.
    pub fn roots(&self, wanted: &str) -> impl Iterator<Item = &CertificateDer<'static>> {
        let builtin: &[_] = if self.builtin.has(wanted) {
            builtin()
        } else {
            &[]
        };
        self.own(wanted).chain(builtin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_trusted_for_its_key_usage() {
        let mut trust = Trust::new("default");
        trust.add(b"all of them", "all");
        trust.add(b"two of them", "dns,ipsec");

        let count = |wanted: &str| trust.roots(wanted).count();

        assert_eq!(count("dns"), 2 + builtin().len());
        assert_eq!(count("fetch"), 1 + builtin().len());
        assert_eq!(count("ipsec"), 2);
        assert_eq!(count("ovpn"), 1);
        assert_eq!(Trust::new("untrusted").roots("fetch").count(), 0);
    }

    #[test]
    fn built_in_certificates_are_valid() {
        for der in builtin() {
            let facts = crate::Facts::read(der).expect("a certificate");
            assert!(
                facts.is_authority || facts.usages.is_empty(),
                "{:?}",
                facts.subject
            );
        }
    }
}
