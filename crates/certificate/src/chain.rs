//! Verification of certificate chains (RFC 5280, 6), by webpki.

use std::time::Duration;

use rustls_pki_types::{CertificateDer, CertificateRevocationListDer, TrustAnchor, UnixTime};
use webpki::{
    ALL_VERIFICATION_ALGS, BorrowedCertRevocationList, CertRevocationList, EndEntityCert, KeyUsage,
    RevocationCheckDepth, RevocationOptionsBuilder, UnknownStatusPolicy, anchor_from_trusted_cert,
};

use crate::Trust;

/// Extended key usage for IPsec (RFC 4945, 5.1.3.12): 1.3.6.1.5.5.7.3.17.
const IPSEC: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 17];

/// Verifies a chain, end entity first, at a time, against the authorities trusted for one use.
///
/// # Errors
/// Returns why the chain is not trusted.
pub fn verify_chain(
    chain: &[Vec<u8>],
    trust: &Trust,
    wanted: &str,
    unix_seconds: i64,
) -> Result<(), String> {
    let (first, others) = chain.split_first().ok_or("there is no certificate")?;
    let first = CertificateDer::from(first.as_slice());
    let end =
        EndEntityCert::try_from(&first).map_err(|error| format!("no certificate: {error}"))?;
    let others: Vec<_> = { others.iter() }
        .map(|der| CertificateDer::from(der.as_slice()))
        .collect();
    let anchors: Vec<TrustAnchor<'_>> = { trust.roots(wanted) }
        .filter_map(|der| anchor_from_trusted_cert(der).ok())
        .collect();
    if anchors.is_empty() {
        return Err(String::from(
            "no certificate is trusted here: set trusted=yes",
        ));
    }
    let lists: Vec<_> = lists(trust).collect();
    let lists: Vec<_> = lists.iter().collect();
    let revocation = RevocationOptionsBuilder::new(&lists).ok().map(|builder| {
        builder
            .with_depth(RevocationCheckDepth::Chain)
            .with_status_policy(UnknownStatusPolicy::Allow)
            .build()
    });
    let seconds = u64::try_from(unix_seconds).unwrap_or(0);
    let time = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
    let usages = [
        KeyUsage::required_if_present(IPSEC),
        KeyUsage::server_auth(),
        KeyUsage::client_auth(),
    ];
    let mut why = String::new();
    for usage in usages {
        let judged = end.verify_for_usage(
            ALL_VERIFICATION_ALGS,
            &anchors,
            &others,
            time,
            usage,
            revocation,
            None,
        );
        match judged {
            Ok(_) => return Ok(()),
            Err(error) => why = error.to_string(),
        }
    }
    Err(format!("the certificate is not trusted: {why}"))
}

/// True if a known revocation list of its issuer lists the certificate.
pub fn is_revoked(der: &[u8], trust: &Trust) -> bool {
    let der = CertificateDer::from(der);
    let Ok(of) = EndEntityCert::try_from(&der) else {
        return false;
    };
    lists(trust).any(|list| {
        let found = list.find_serial(of.serial());
        list.issuer() == of.issuer() && found.is_ok_and(|found| found.is_some())
    })
}

/// Valid revocation lists.
fn lists(trust: &Trust) -> impl Iterator<Item = CertRevocationList<'static>> {
    trust.lists().iter().filter_map(|der| {
        let der = CertificateRevocationListDer::from(der.as_slice());
        let list = BorrowedCertRevocationList::from_der(&der).ok()?;
        Some(list.to_owned().ok()?.into())
    })
}
