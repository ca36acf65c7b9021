//! Creates certificates, certificate requests and revocation lists.

use std::net::IpAddr;

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams,
    CertificateSigningRequestParams, CrlDistributionPoint, DistinguishedName, DnType, DnValue,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyIdMethod, KeyUsagePurpose, RevocationReason,
    RevokedCertParams, SanType, SerialNumber,
};
use rustls_pki_types::{CertificateDer, CertificateSigningRequestDer};
use time::OffsetDateTime;

use crate::facts::parse;
use crate::{Digest, Key};

const DAY: i64 = 86_400;
/// Latest possible time in a certificate (RFC 5280, 4.1.2.5).
const LAST: i64 = 253_402_300_799;

/// Subject name (RFC 5280, 4.1.2.6); empty parts are omitted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// CN.
    pub common_name: String,
    /// O.
    pub organization: String,
    /// OU.
    pub unit: String,
    /// L.
    pub locality: String,
    /// ST.
    pub state: String,
    /// C, two letters.
    pub country: String,
}

/// Contents of a certificate to create.
#[derive(Clone, Debug, Default)]
pub struct Template {
    /// Subject.
    pub subject: Subject,
    /// Subject alternative names: `DNS:example.org`, `IP:192.0.2.1`, `email:a@b`.
    pub names: Vec<String>,
    /// Key usages, as words of `key-usage`.
    pub usages: Vec<String>,
    /// Start of validity in seconds since 1970.
    pub not_before: i64,
    /// Duration of validity in days.
    pub days_valid: i64,
    /// Sixteen random bytes for the serial number.
    pub serial: [u8; 16],
    /// URLs of the revocation list.
    pub lists: Vec<String>,
}

/// Signing authority: a certificate and its key.
#[derive(Debug)]
pub struct Authority<'a> {
    /// Certificate in DER.
    pub certificate: &'a [u8],
    /// Private key.
    pub key: Key,
}

/// Entry of a revocation list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revoked {
    /// Serial number in hexadecimal.
    pub serial: String,
    /// Time of revocation in seconds since 1970.
    pub at: i64,
}

/// Creates a self-signed certificate.
///
/// # Errors
/// Returns what is invalid in the template.
pub fn self_signed(template: &Template, key: &Key) -> Result<Vec<u8>, String> {
    let wanted = template.params()?;
    let made = wanted.self_signed(key).map_err(failed)?;
    Ok(made.der().to_vec())
}

/// Creates a certificate signed by an authority.
///
/// # Errors
/// Returns what is invalid in the template, or that the authority is invalid.
pub fn signed(template: &Template, key: &Key, authority: Authority<'_>) -> Result<Vec<u8>, String> {
    let issuer = issuer(authority)?;
    let made = template.params()?.signed_by(key, &issuer).map_err(failed)?;
    Ok(made.der().to_vec())
}

/// Creates a certificate request (RFC 2986), in DER.
///
/// # Errors
/// Returns what is invalid in the template.
pub fn request(template: &Template, key: &Key) -> Result<Vec<u8>, String> {
    let mut wanted = template.params()?;
    // The authority decides these.
    wanted.serial_number = None;
    wanted.crl_distribution_points = Vec::new();
    wanted.use_authority_key_identifier_extension = false;
    let made = wanted.serialize_request(key).map_err(failed)?;
    Ok(made.der().to_vec())
}

/// Signs a certificate request: takes names and usages from the request, validity and serial number from the
/// template. Refuses requests for an authority certificate.
///
/// # Errors
/// Fails if the request is malformed, not signed by its key, or requests something that is not granted.
pub fn signed_request(
    der: &[u8],
    template: &Template,
    authority: Authority<'_>,
) -> Result<Vec<u8>, String> {
    let mut asked =
        CertificateSigningRequestParams::from_der(&CertificateSigningRequestDer::from(der))
            .map_err(|error| format!("the request: {error}"))?;
    let is_ca = matches!(asked.params.is_ca, IsCa::Ca(_));
    if is_ca
        || asked
            .params
            .key_usages
            .contains(&KeyUsagePurpose::KeyCertSign)
    {
        return Err(String::from("the request: it asks to be an authority"));
    }
    let given = template.params()?;
    asked.params.is_ca = IsCa::ExplicitNoCa;
    asked.params.not_before = given.not_before;
    asked.params.not_after = given.not_after;
    asked.params.serial_number = given.serial_number;
    asked.params.crl_distribution_points = given.crl_distribution_points;
    asked.params.use_authority_key_identifier_extension = true;
    let made = asked.signed_by(&issuer(authority)?).map_err(failed)?;
    Ok(made.der().to_vec())
}

/// Creates the revocation list of an authority (RFC 5280, 5), in DER: valid from a time in seconds since 1970, for
/// this number of days.
///
/// # Errors
/// Fails if the authority may not sign revocation lists.
pub fn revocation_list(
    authority: Authority<'_>,
    revoked: &[Revoked],
    number: u64,
    from: i64,
    days: i64,
) -> Result<Vec<u8>, String> {
    let certificate = authority.certificate;
    let entry = |revoked: &Revoked| {
        Ok(RevokedCertParams {
            serial_number: SerialNumber::from(bytes(&revoked.serial)?),
            revocation_time: moment(revoked.at),
            reason_code: Some(RevocationReason::Unspecified),
            invalidity_date: None,
        })
    };
    let revoked_certs = revoked.iter().map(entry).collect::<Result<_, String>>()?;
    let list = CertificateRevocationListParams {
        this_update: moment(from),
        next_update: moment(from.saturating_add(days * DAY)),
        crl_number: SerialNumber::from(number),
        issuing_distribution_point: None,
        revoked_certs,
        key_identifier_method: own_identifier(certificate)?,
    };
    let made = list.signed_by(&issuer(authority)?).map_err(failed)?;
    Ok(made.der().to_vec())
}

fn failed(error: rcgen::Error) -> String {
    format!("the certificate: {error}")
}

fn moment(unix_seconds: i64) -> OffsetDateTime {
    let within = unix_seconds.clamp(0, LAST);
    OffsetDateTime::from_unix_timestamp(within).unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

fn issuer(authority: Authority<'_>) -> Result<Issuer<'static, Key>, String> {
    let read = parse(authority.certificate)?;
    let usage = read.key_usage().ok().flatten();
    if !read.is_ca() || usage.is_some_and(|usage| !usage.value.key_cert_sign()) {
        return Err(String::from(
            "the authority's certificate is not for signing others",
        ));
    }
    if read.public_key().raw != authority.key.public_key() {
        return Err(String::from(
            "the authority's key is not that of its certificate",
        ));
    }
    let certificate = CertificateDer::from(authority.certificate);
    Issuer::from_ca_cert_der(&certificate, authority.key).map_err(failed)
}

/// Subject key identifier of an authority's certificate.
fn own_identifier(certificate: &[u8]) -> Result<KeyIdMethod, String> {
    let facts = crate::Facts::read(certificate)?;
    Ok(match facts.skid.is_empty() {
        true => KeyIdMethod::Sha256,
        false => KeyIdMethod::PreSpecified(bytes(&facts.skid)?),
    })
}

fn bytes(hex: &str) -> Result<Vec<u8>, String> {
    crate::of_text(hex).ok_or_else(|| format!("{hex} is no number in hexadecimal digits"))
}

impl Template {
    fn params(&self) -> Result<CertificateParams, String> {
        let mut serial = self.serial;
        // Positive and not zero (RFC 5280, 4.1.2.2).
        serial[0] = serial[0] & 0x7f | 0x40;
        let mut params = CertificateParams::default();
        params.not_before = moment(self.not_before);
        params.not_after = moment(self.not_before.saturating_add(self.days_valid * DAY));
        params.serial_number = Some(SerialNumber::from_slice(&serial));
        params.distinguished_name = self.subject.name()?;
        params.use_authority_key_identifier_extension = true;
        for name in &self.names {
            params.subject_alt_names.push(alternative(name)?);
        }
        for usage in &self.usages {
            apply(usage, &mut params)?;
        }
        if params.key_usages.contains(&KeyUsagePurpose::KeyCertSign) {
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        } else {
            // Adds a subject key identifier.
            params.is_ca = IsCa::ExplicitNoCa;
        }
        if !self.lists.is_empty() {
            let uris = self.lists.clone();
            params.crl_distribution_points = vec![CrlDistributionPoint { uris }];
        }
        Ok(params)
    }
}

impl Subject {
    fn name(&self) -> Result<DistinguishedName, String> {
        let mut name = DistinguishedName::new();
        if !self.country.is_empty() {
            // Two printable letters (RFC 5280, appendix A.1).
            let two = self.country.len() == 2;
            let printable = self.country.as_str().try_into().ok().filter(|_| two);
            let printable = printable
                .ok_or_else(|| format!("country {}: two letters are wanted", self.country))?;
            name.push(DnType::CountryName, DnValue::PrintableString(printable));
        }
        for (kind, text) in [
            (DnType::StateOrProvinceName, &self.state),
            (DnType::LocalityName, &self.locality),
            (DnType::OrganizationName, &self.organization),
            (DnType::OrganizationalUnitName, &self.unit),
            (DnType::CommonName, &self.common_name),
        ] {
            if !text.is_empty() {
                name.push(kind, text.as_str());
            }
        }
        Ok(name)
    }
}

fn alternative(name: &str) -> Result<SanType, String> {
    let bad = || format!("{name}: DNS:, IP: or email: and a name are wanted");
    let (kind, value) = name.split_once(':').ok_or_else(bad)?;
    let text = || value.try_into().map_err(|_| bad());
    Ok(match kind {
        "DNS" => SanType::DnsName(text()?),
        "email" => SanType::Rfc822Name(text()?),
        "IP" => SanType::IpAddress(value.parse::<IpAddr>().map_err(|_| bad())?),
        _ => return Err(bad()),
    })
}

fn apply(usage: &str, params: &mut CertificateParams) -> Result<(), String> {
    let key = match usage {
        "digital-signature" => KeyUsagePurpose::DigitalSignature,
        "content-commitment" => KeyUsagePurpose::ContentCommitment,
        "key-encipherment" => KeyUsagePurpose::KeyEncipherment,
        "data-encipherment" => KeyUsagePurpose::DataEncipherment,
        "key-agreement" => KeyUsagePurpose::KeyAgreement,
        "key-cert-sign" => KeyUsagePurpose::KeyCertSign,
        "crl-sign" => KeyUsagePurpose::CrlSign,
        "encipher-only" => KeyUsagePurpose::EncipherOnly,
        "decipher-only" => KeyUsagePurpose::DecipherOnly,
        _ => {
            let extended = match usage {
                "tls-server" => ExtendedKeyUsagePurpose::ServerAuth,
                "tls-client" => ExtendedKeyUsagePurpose::ClientAuth,
                "code-sign" => ExtendedKeyUsagePurpose::CodeSigning,
                "email-protect" => ExtendedKeyUsagePurpose::EmailProtection,
                "timestamp" => ExtendedKeyUsagePurpose::TimeStamping,
                "ocsp-sign" => ExtendedKeyUsagePurpose::OcspSigning,
                // id-kp-dvcs (RFC 3029, 4).
                "dvcs" => ExtendedKeyUsagePurpose::Other(vec![1, 3, 6, 1, 5, 5, 7, 3, 10]),
                _ => return Err(format!("key-usage {usage} is not known")),
            };
            params.extended_key_usages.push(extended);
            return Ok(());
        }
    };
    params.key_usages.push(key);
    Ok(())
}

/// Selects the hash of an authority's signatures: the template's for RSA keys.
impl Authority<'_> {
    /// Reads an authority's certificate and key, both in DER; RSA keys sign with this hash.
    ///
    /// # Errors
    /// Fails if the key is invalid.
    pub fn new<'a>(
        certificate: &'a [u8],
        key: &[u8],
        digest: Digest,
    ) -> Result<Authority<'a>, String> {
        let key = Key::read(key, digest)?;
        Ok(Authority { certificate, key })
    }
}
