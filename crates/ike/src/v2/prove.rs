//! AUTH payloads of both sides (RFC 7296, 2.15 and 3.8; RFC 7427; RFC 4754).

use super::{Sa, bodies, body, kind};
use crate::config::{Auth, Certified, Id, NoSignature, Scheme, Secret, Verifier};
use crate::crypto::equal;
use crate::curve::{half, of_der, to_der};
use crate::der;
use crate::event::Side;
use crate::message::{Chain, Payload};
use crate::suite::Hash;

/// Authentication methods.
const RSA: u8 = 1;
const SECRET: u8 = 2;
const SIGNATURE: u8 = 14;
/// Certificate encoding: X.509 signature certificate.
const X509: u8 = 4;

/// Object identifiers 1.2.840.113549.1.1 (RSA), 1.2.840.10045.4.3 (ECDSA), 2.16.840.1.101.3.4.2 (SHA-2).
const OF_RSA: [u8; 8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
const OF_ECDSA: [u8; 7] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03];
const OF_SHA2: [u8; 8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02];

/// Returns the AlgorithmIdentifier of a scheme (RFC 7427, Appendix A); `None` if none is defined.
fn algorithm(scheme: Scheme) -> Option<Vec<u8>> {
    let oid = |prefix: &[u8], last: u8| der::short(6, &[prefix, &[last]]);
    let null = [5, 0];
    Some(match scheme {
        Scheme::RsaPkcs1(hash) => {
            let last = match hash {
                Hash::Sha1 => 5,
                Hash::Sha256 => 11,
                Hash::Sha384 => 12,
                Hash::Sha512 => 13,
                Hash::Md5 => return None,
            };
            der::short(0x30, &[&oid(&OF_RSA, last), &null])
        }
        Scheme::RsaPss(hash) => {
            let (last, size) = match hash {
                Hash::Sha256 => (1, 32),
                Hash::Sha384 => (2, 48),
                Hash::Sha512 => (3, 64),
                _ => return None,
            };
            let hash = der::short(0x30, &[&oid(&OF_SHA2, last), &null]);
            let mask = der::short(0x30, &[&oid(&OF_RSA, 8), &hash]);
            let salt = der::short(2, &[&[size]]);
            let (hash, mask) = (der::short(0xa0, &[&hash]), der::short(0xa1, &[&mask]));
            let parameters = der::short(0x30, &[&hash, &mask, &der::short(0xa2, &[&salt])]);
            der::short(0x30, &[&oid(&OF_RSA, 10), &parameters])
        }
        Scheme::EcdsaP256 => der::short(0x30, &[&oid(&OF_ECDSA, 2)]),
        Scheme::EcdsaP384 => der::short(0x30, &[&oid(&OF_ECDSA, 3)]),
        Scheme::EcdsaP521 => der::short(0x30, &[&oid(&OF_ECDSA, 4)]),
        Scheme::RsaRaw => return None,
    })
}

/// Schemes with an AlgorithmIdentifier, best first, with the hash that the peer must support.
const SCHEMES: [(Scheme, Hash); 10] = [
    (Scheme::EcdsaP256, Hash::Sha256),
    (Scheme::EcdsaP384, Hash::Sha384),
    (Scheme::EcdsaP521, Hash::Sha512),
    (Scheme::RsaPkcs1(Hash::Sha256), Hash::Sha256),
    (Scheme::RsaPkcs1(Hash::Sha384), Hash::Sha384),
    (Scheme::RsaPkcs1(Hash::Sha512), Hash::Sha512),
    (Scheme::RsaPss(Hash::Sha256), Hash::Sha256),
    (Scheme::RsaPss(Hash::Sha384), Hash::Sha384),
    (Scheme::RsaPss(Hash::Sha512), Hash::Sha512),
    (Scheme::RsaPkcs1(Hash::Sha1), Hash::Sha1),
];

/// ECDSA methods of RFC 4754.
const CURVES: [(u8, Scheme); 3] = [
    (9, Scheme::EcdsaP256),
    (10, Scheme::EcdsaP384),
    (11, Scheme::EcdsaP521),
];

/// Returns the peer's certificates in DER, its own first.
pub(super) fn certificates<'f>(found: &'f [Payload<'_>]) -> impl Iterator<Item = &'f [u8]> {
    let all = bodies(found, kind::CERT).filter_map(|body| body.split_first());
    let known = all.filter(|(encoding, _)| **encoding == X509);
    known.map(|(_, certificate)| certificate)
}

impl Sa {
    /// Returns the octets that a side signs.
    fn signed(&self, side: Side) -> Vec<u8> {
        let Some(keys) = &self.keys else {
            return Vec::new();
        };
        match side {
            Side::Initiator => keys.signed(true, &self.init.0, &self.nonces.1, &self.ids.0),
            Side::Responder => keys.signed(false, &self.init.1, &self.nonces.0, &self.ids.1),
        }
    }

    /// Returns AUTH for a pre-shared key or the MSK of EAP.
    pub(super) fn prove_by_secret(&self, secret: &Secret, side: Side) -> Vec<u8> {
        let keys = self.keys.as_ref();
        let proof = keys
            .map(|keys| keys.proof(secret.bytes(), &self.signed(side)))
            .unwrap_or_default();
        [&[SECRET, 0, 0, 0], proof.as_slice()].concat()
    }

    /// Returns AUTH by a signature, with the best method that the peer supports.
    fn prove_by_key(&self, certified: &Certified) -> Result<Vec<u8>, NoSignature> {
        let unusable = || NoSignature::Failed("the key cannot sign as the peer demands".into());
        let message = self.signed(self.common.side);
        let known = SCHEMES
            .iter()
            .filter(|(_, hash)| self.hashes.contains(hash));
        let mut known = known.filter(|(scheme, _)| certified.signer.can(*scheme));
        if let Some((scheme, _)) = known.next() {
            let algorithm = algorithm(*scheme).ok_or_else(unusable)?;
            let mut signature = certified.signer.sign(*scheme, &message)?;
            if let Some(half) = half(*scheme) {
                signature = to_der(&signature, half).ok_or_else(unusable)?;
            }
            let head = [SIGNATURE, 0, 0, 0, algorithm.len() as u8];
            return Ok([&head[..], &algorithm, &signature].concat());
        }
        let curves = CURVES
            .iter()
            .filter(|(_, scheme)| certified.signer.can(*scheme));
        let rsa = (RSA, Scheme::RsaPkcs1(Hash::Sha1));
        let (method, scheme) = curves.chain([&rsa]).next().ok_or_else(unusable)?;
        let signature = certified.signer.sign(*scheme, &message)?;
        Ok([&[*method, 0, 0, 0], signature.as_slice()].concat())
    }

    /// Appends the local AUTH, and the certificates for it.
    ///
    /// # Errors
    /// The key has not signed yet, or cannot sign, or the identity has no credentials.
    pub(super) fn push_proof(&self, chain: &mut Chain) -> Result<(), NoSignature> {
        if let Some(msk) = &self.msk {
            chain.push(kind::AUTH, &self.prove_by_secret(msk, self.common.side));
            return Ok(());
        }
        match self.auth() {
            Some(Auth::Psk(secret)) => {
                chain.push(kind::AUTH, &self.prove_by_secret(&secret, self.common.side));
                Ok(())
            }
            Some(Auth::Signature(certified) | Auth::EapRadius(certified)) => {
                for certificate in &certified.chain {
                    chain.push(kind::CERT, &[&[X509], certificate.as_slice()].concat());
                }
                let proof = self.prove_by_key(&certified)?;
                chain.push(kind::AUTH, &proof);
                Ok(())
            }
            _ => Err(NoSignature::Failed(
                "the identity has no credentials".into(),
            )),
        }
    }

    /// Appends CERTREQ payloads for the trusted authorities.
    pub(super) fn push_requests(&self, chain: &mut Chain) {
        let mut keys = Vec::new();
        for identity in &self.common.peer.identities {
            let verifier = match &identity.auth {
                Auth::Signature(certified) => &certified.verifier,
                Auth::Eap(login) => &login.verifier,
                _ => continue,
            };
            keys.extend(verifier.authorities());
        }
        keys.sort_unstable();
        keys.dedup();
        if !keys.is_empty() {
            chain.push(
                kind::CERT_REQUEST,
                &[&[X509], keys.concat().as_slice()].concat(),
            );
        }
    }

    /// Returns the credentials of the current identity.
    pub(super) fn auth(&self) -> Option<Auth> {
        let identity = self.common.peer.identities.get(self.common.identity)?;
        Some(identity.auth.clone())
    }

    /// Verifies the peer's identity and its AUTH.
    pub(super) fn judge(&self, found: &[Payload<'_>], id: &Id) -> Result<(), String> {
        let identity = self
            .common
            .peer
            .identities
            .get(self.common.identity)
            .ok_or("no identity")?;
        identity.remote_id.check(id)?;
        let theirs = match self.common.side {
            Side::Initiator => Side::Responder,
            Side::Responder => Side::Initiator,
        };
        let proof = body(found, kind::AUTH).map_err(|_| "no proof")?;
        let secret = match (&self.msk, &identity.auth) {
            (Some(msk), _) => Some(msk),
            (None, Auth::Psk(secret)) => Some(secret),
            _ => None,
        };
        if let Some(secret) = secret {
            let wanted = self.prove_by_secret(secret, theirs);
            // The three reserved bytes after the method are ignored.
            let same = proof.first() == Some(&SECRET)
                && equal(proof.get(4..).unwrap_or_default(), &wanted[4..]);
            return same
                .then_some(())
                .ok_or_else(|| "the pre-shared keys differ".into());
        }
        let verifier = match &identity.auth {
            Auth::Signature(certified) => &certified.verifier,
            Auth::Eap(login) => &login.verifier,
            _ => return Err("no authentication method".into()),
        };
        let named = identity.remote_id.of_certificate(id);
        self.judge_signature(found, proof, named, &**verifier, &self.signed(theirs))
    }

    fn judge_signature(
        &self,
        found: &[Payload<'_>],
        proof: &[u8],
        id: Option<&Id>,
        verifier: &dyn Verifier,
        message: &[u8],
    ) -> Result<(), String> {
        let (head, data) = proof.split_at_checked(4).ok_or("no proof")?;
        let (scheme, signature) = match head[0] {
            RSA => (Scheme::RsaPkcs1(Hash::Sha1), data.to_vec()),
            SIGNATURE => {
                let (len, rest) = data.split_first().ok_or("no algorithm")?;
                let (name, signature) = rest
                    .split_at_checked(usize::from(*len))
                    .ok_or("no algorithm")?;
                let mut schemes = SCHEMES.iter().map(|(scheme, _)| *scheme);
                let scheme = schemes.find(|scheme| algorithm(*scheme).as_deref() == Some(name));
                let scheme = scheme.ok_or("the signature algorithm is not supported")?;
                let signature = match half(scheme) {
                    None => signature.to_vec(),
                    Some(half) => of_der(signature, half).ok_or("no signature")?,
                };
                (scheme, signature)
            }
            method => {
                let curve = CURVES.iter().find(|(number, _)| *number == method);
                let (_, scheme) = curve.ok_or_else(|| format!("authentication method {method}"))?;
                (*scheme, data.to_vec())
            }
        };
        let chain: Vec<_> = certificates(found).map(<[u8]>::to_vec).collect();
        verifier.verify(&chain, id, scheme, message, &signature)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::tests::hex;

    #[test]
    fn algorithms_are_named_as_rfc_7427_names_them() {
        let of = |scheme| hex(&algorithm(scheme).expect("a name"));
        assert_eq!(
            of(Scheme::RsaPkcs1(Hash::Sha256)),
            "300d06092a864886f70d01010b0500"
        );
        assert_eq!(of(Scheme::EcdsaP384), "300a06082a8648ce3d040303");
        let pss = "304106092a864886f70d01010a3034a00f300d06096086480165030402010500a11c301a06092a86\
                   4886f70d010108300d06096086480165030402010500a203020120";
        assert_eq!(of(Scheme::RsaPss(Hash::Sha256)), pss);
    }

    #[test]
    fn signatures_of_curves_are_two_numbers() {
        for (half, first) in [(32, 0x80), (32, 0), (48, 0x7f), (66, 1)] {
            let mut signature = vec![0x91; 2 * half];
            signature[0] = first;
            signature[half] = 0;
            let der = to_der(&signature, half).expect("numbers");
            assert_eq!(of_der(&der, half), Some(signature));
            for len in 0..der.len() {
                assert_eq!(of_der(&der[..len], half), None);
            }
        }
    }
}
