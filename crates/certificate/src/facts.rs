//! Fields of a certificate, as menus show them.

use std::net::IpAddr;

use sha2::{Digest as _, Sha256};
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::{DistributionPointName, GeneralName, ParsedExtension};
use x509_parser::prelude::FromDer as _;
use x509_parser::public_key::PublicKey;
use x509_parser::x509::{AttributeTypeAndValue, X509Name};

use crate::Subject;

/// Names of the key usage bits, in order (RFC 5280, 4.2.1.3).
pub(crate) const USAGES: [&str; 9] = [
    "digital-signature",
    "content-commitment",
    "key-encipherment",
    "data-encipherment",
    "key-agreement",
    "key-cert-sign",
    "crl-sign",
    "encipher-only",
    "decipher-only",
];

/// Fields of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Subject.
    pub subject: Subject,
    /// Issuer, one entry per part of the name, such as `CN=ca`.
    pub issuer: Vec<String>,
    /// Subject alternative names: `DNS:example.org`, `IP:192.0.2.1`, `email:a@b`.
    pub names: Vec<String>,
    /// `rsa`, `ec`, `dsa` or `ed25519`.
    pub key_type: &'static str,
    /// Curve, or length in bits.
    pub key_size: String,
    /// Key usages, as words of `key-usage`.
    pub usages: Vec<&'static str>,
    /// Start of validity in seconds since 1970.
    pub not_before: i64,
    /// End of validity in seconds since 1970.
    pub not_after: i64,
    /// Serial number in hexadecimal.
    pub serial: String,
    /// Authority key identifier; empty if missing.
    pub akid: String,
    /// Subject key identifier; empty if missing.
    pub skid: String,
    /// Fingerprint: SHA-256 of the certificate, in hexadecimal.
    pub fingerprint: String,
    /// The certificate belongs to an authority.
    pub is_authority: bool,
    /// Issuer and subject are equal.
    pub is_self_issued: bool,
    /// Hash algorithm of the signature, if RouterOS has a name for it.
    pub digest: Option<&'static str>,
    /// URLs of revocation lists.
    pub lists: Vec<String>,
    /// Subject in DER.
    pub subject_der: Vec<u8>,
    /// Issuer in DER.
    pub issuer_der: Vec<u8>,
    /// SubjectPublicKeyInfo (RFC 5280, 4.1.2.7).
    pub public_key: Vec<u8>,
}

impl Facts {
    /// Parses a certificate.
    ///
    /// # Errors
    /// Fails if it is malformed or followed by other data.
    pub fn read(der: &[u8]) -> Result<Self, String> {
        let read = parse(der)?;
        let validity = read.validity();
        let (key_type, key_size) = key(&read);
        let mut facts = Self {
            subject: subject(read.subject()),
            issuer: parts(read.issuer()),
            names: Vec::new(),
            key_type,
            key_size,
            usages: Vec::new(),
            not_before: validity.not_before.timestamp(),
            not_after: validity.not_after.timestamp(),
            serial: hex(read.raw_serial()),
            akid: String::new(),
            skid: String::new(),
            fingerprint: hex(&Sha256::digest(der)),
            is_authority: read.is_ca(),
            is_self_issued: read.subject().as_raw() == read.issuer().as_raw(),
            digest: digest(&read),
            lists: Vec::new(),
            subject_der: read.subject().as_raw().to_vec(),
            issuer_der: read.issuer().as_raw().to_vec(),
            public_key: read.public_key().raw.to_vec(),
        };
        for extension in read.iter_extensions() {
            facts.extend(extension.parsed_extension());
        }
        Ok(facts)
    }

    /// Duration of validity in days.
    pub const fn days_valid(&self) -> i64 {
        self.not_after.saturating_sub(self.not_before) / 86_400
    }

    /// True if the certificate is valid at this time.
    pub const fn is_valid_at(&self, unix_seconds: i64) -> bool {
        self.not_before <= unix_seconds && unix_seconds <= self.not_after
    }

    fn extend(&mut self, extension: &ParsedExtension<'_>) {
        match extension {
            ParsedExtension::SubjectAlternativeName(all) => {
                let names = all.general_names.iter().filter_map(name);
                self.names.extend(names);
            }
            ParsedExtension::KeyUsage(usage) => {
                let bits = USAGES.iter().enumerate();
                let set = bits.filter(|(bit, _)| usage.flags >> bit & 1 == 1);
                self.usages.extend(set.map(|(_, word)| *word));
            }
            ParsedExtension::ExtendedKeyUsage(usage) => {
                let words = [
                    (usage.server_auth, "tls-server"),
                    (usage.client_auth, "tls-client"),
                    (usage.code_signing, "code-sign"),
                    (usage.email_protection, "email-protect"),
                    (usage.time_stamping, "timestamp"),
                    (usage.ocsp_signing, "ocsp-sign"),
                ];
                let set = words.into_iter().filter(|(set, _)| *set);
                self.usages.extend(set.map(|(_, word)| word));
            }
            ParsedExtension::AuthorityKeyIdentifier(of) => {
                self.akid = of
                    .key_identifier
                    .as_ref()
                    .map_or_else(String::new, |id| hex(id.0));
            }
            ParsedExtension::SubjectKeyIdentifier(id) => self.skid = hex(id.0),
            ParsedExtension::CRLDistributionPoints(points) => {
                for point in points.iter() {
                    let Some(DistributionPointName::FullName(names)) = &point.distribution_point
                    else {
                        continue;
                    };
                    self.lists
                        .extend(names.iter().filter_map(|name| match name {
                            GeneralName::URI(uri) => Some((*uri).to_owned()),
                            _ => None,
                        }));
                }
            }
            _ => {}
        }
    }
}

/// True if the authority's key signed the certificate.
pub fn issued_by(der: &[u8], authority: &[u8]) -> bool {
    let (Ok(one), Ok(authority)) = (parse(der), parse(authority)) else {
        return false;
    };
    one.issuer().as_raw() == authority.subject().as_raw()
        && one.verify_signature(Some(authority.public_key())).is_ok()
}

pub(crate) fn parse(der: &[u8]) -> Result<X509Certificate<'_>, String> {
    let (rest, read) =
        X509Certificate::from_der(der).map_err(|error| format!("no certificate: {error}"))?;
    match rest.is_empty() {
        true => Ok(read),
        false => Err(String::from("no certificate: there is more behind it")),
    }
}

fn subject(name: &X509Name<'_>) -> Subject {
    fn first<'a>(mut of: impl Iterator<Item = &'a AttributeTypeAndValue<'a>>) -> String {
        let text = of.next().and_then(|value| value.as_str().ok());
        text.unwrap_or_default().to_owned()
    }
    Subject {
        common_name: first(name.iter_common_name()),
        organization: first(name.iter_organization()),
        unit: first(name.iter_organizational_unit()),
        locality: first(name.iter_locality()),
        state: first(name.iter_state_or_province()),
        country: first(name.iter_country()),
    }
}

/// RouterOS: `C=LV,O=MikroTik,CN=ca`, as a list.
fn parts(name: &X509Name<'_>) -> Vec<String> {
    let text = name.to_string();
    let parts = text.split(", ").filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}

fn name(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some(format!("DNS:{name}")),
        GeneralName::RFC822Name(name) => Some(format!("email:{name}")),
        GeneralName::IPAddress(bytes) => {
            let address = match bytes.len() {
                4 => <[u8; 4]>::try_from(*bytes).ok().map(IpAddr::from),
                _ => <[u8; 16]>::try_from(*bytes).ok().map(IpAddr::from),
            };
            address.map(|address| format!("IP:{address}"))
        }
        _ => None,
    }
}

/// Object identifiers of curves (RFC 5480, 2.1.1.1) and their names.
const CURVES: [(&str, &str); 3] = [
    ("1.2.840.10045.3.1.7", "prime256v1"),
    ("1.3.132.0.34", "secp384r1"),
    ("1.3.132.0.35", "secp521r1"),
];

fn key(read: &X509Certificate<'_>) -> (&'static str, String) {
    let key = read.public_key();
    match key.parsed() {
        Ok(PublicKey::RSA(rsa)) => ("rsa", rsa.key_size().to_string()),
        Ok(PublicKey::EC(point)) => {
            let parameters = key.algorithm.parameters.as_ref();
            let curve = parameters
                .and_then(|curve| curve.as_oid().ok())
                .map(|oid| oid.to_id_string());
            let word = CURVES
                .iter()
                .find(|(oid, _)| curve.as_deref() == Some(*oid));
            let size = word.map_or_else(
                || point.key_size().to_string(),
                |(_, word)| (*word).to_owned(),
            );
            ("ec", size)
        }
        Ok(PublicKey::DSA(_)) => ("dsa", String::new()),
        _ if key.algorithm.algorithm.to_id_string() == "1.3.101.112" => {
            ("ed25519", String::from("ed25519"))
        }
        _ => ("", String::new()),
    }
}

/// Object identifiers of signatures (RFC 4055, RFC 5758) and the names of their hashes.
const SIGNATURES: [(&str, &str); 9] = [
    ("1.2.840.113549.1.1.4", "md5"),
    ("1.2.840.113549.1.1.5", "sha1"),
    ("1.2.840.113549.1.1.11", "sha256"),
    ("1.2.840.113549.1.1.12", "sha384"),
    ("1.2.840.113549.1.1.13", "sha512"),
    ("1.2.840.10045.4.1", "sha1"),
    ("1.2.840.10045.4.3.2", "sha256"),
    ("1.2.840.10045.4.3.3", "sha384"),
    ("1.2.840.10045.4.3.4", "sha512"),
];

fn digest(read: &X509Certificate<'_>) -> Option<&'static str> {
    let oid = read.signature_algorithm.algorithm.to_id_string();
    let known = SIGNATURES.iter().find(|(known, _)| *known == oid);
    known.map(|(_, word)| *word)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let both =
        |byte: &u8| [byte >> 4, byte & 15].map(|digit| char::from(DIGITS[usize::from(digit)]));
    bytes.iter().flat_map(both).collect()
}

/// Encodes bytes as hexadecimal text for the store.
pub fn to_text(bytes: &[u8]) -> String {
    hex(bytes)
}

/// Decodes hexadecimal text; `None` if it is malformed.
pub fn of_text(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    let byte = |pair: &[u8]| {
        let [high, low] = *pair else { return None };
        let digit = |byte: u8| char::from(byte).to_digit(16);
        u8::try_from(digit(high)? << 4 | digit(low)?).ok()
    };
    pairs.map(byte).collect()
}
