//! Whom the router believes when somebody proves by a certificate to be a host: the authorities of `/certificate`
//! that are trusted, and those that come with the software.

use rustls_pki_types::CertificateDer;
use webpki_root_certs::TLS_SERVER_ROOT_CERTS;

/// Uses for which the authorities that come with the software are trusted unless said otherwise: where the router is
/// the client of a host with a name. In tunnels and for users a public authority proves nothing.
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

/// The certificates that come with the software: Mozilla's list of authorities for hosts.
pub fn builtin() -> &'static [CertificateDer<'static>] {
    TLS_SERVER_ROOT_CERTS
}

/// What a certificate is trusted for: `all`, or words of `trust-store`.
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

/// How much of a peer's certificate is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Nothing: whoever answers is believed.
    Nothing,
    /// Who signed it, its names, and its time.
    WithoutLists,
    /// Also, whether a list says that it was revoked, where there is a list of its authority.
    Full,
}

impl Check {
    /// What a word of `check-certificate` says.
    pub fn of(word: &str) -> Self {
        match word {
            "yes" | "true" => Self::Full,
            "yes-without-crl" => Self::WithoutLists,
            _ => Self::Nothing,
        }
    }
}

/// Who is trusted for what, at one moment.
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
    /// Those that come with the software alone, for what `builtin-trust-store` of `/certificate/settings` says.
    pub fn new(builtin: &str) -> Self {
        Self {
            own: Vec::new(),
            builtin: Uses::of(builtin),
            lists: Vec::new(),
        }
    }

    /// Trusts a certificate, too, for what its `trust-store` says.
    pub fn add(&mut self, der: &[u8], uses: &str) {
        self.own
            .push((CertificateDer::from(der.to_vec()), Uses::of(uses)));
    }

    /// Looks certificates up in a list of revoked ones, in DER.
    pub fn add_list(&mut self, der: Vec<u8>) {
        self.lists.push(der);
    }

    /// The lists of revoked certificates, in DER.
    pub fn lists(&self) -> &[Vec<u8>] {
        &self.lists
    }

    /// Those of `/certificate` that are trusted for one use.
    pub fn own(&self, wanted: &str) -> impl Iterator<Item = &CertificateDer<'static>> {
        let own = self.own.iter().filter(move |(_, uses)| uses.has(wanted));
        own.map(|(der, _)| der)
    }

    /// The certificates that are trusted for one use: a word of `trust-store`, such as `dns` or `fetch`.
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
    fn a_certificate_is_trusted_for_what_it_says() {
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
    fn what_comes_with_the_software_can_be_read() {
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
