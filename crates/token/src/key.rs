//! Keys of a token: how a public key finds its private key, and generation.

use certificate::{Facts, KeySize};
use cryptoki::mechanism::Mechanism;
use cryptoki::object::{Attribute, AttributeType, ObjectClass, ObjectHandle};
use cryptoki::session::Session;
use pkcs8::der::asn1::{BitStringRef, OctetStringRef, UintRef};
use pkcs8::der::{Decode as _, Encode as _, Reader as _, SliceReader};
use pkcs8::spki::{AlgorithmIdentifier, SubjectPublicKeyInfo, SubjectPublicKeyInfoRef};
use pkcs8::{ObjectIdentifier, der};

use crate::fault::Fault;

/// Object identifiers of key types (RFC 8017, appendix C; RFC 5480, 2.1.1) and of curves.
const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
const ELLIPTIC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const P256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
const P384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.34");
const P521: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.35");
/// Public exponent of generated RSA keys.
const EXPONENT: [u8; 3] = [1, 0, 1];
/// Bytes of the random identifier of a generated key pair.
const ID_BYTES: u32 = 16;

/// Returns the private key of a public key (SubjectPublicKeyInfo): by the modulus of an RSA key, otherwise by the
/// identifier that it shares with a public key or a certificate of the token.
pub(crate) fn find(session: &Session, public_key: &[u8]) -> Result<ObjectHandle, Fault> {
    let parsed = SubjectPublicKeyInfoRef::from_der(public_key).map_err(malformed)?;
    let bits = parsed.subject_public_key.raw_bytes();
    if parsed.algorithm.oid == RSA {
        let modulus = modulus(bits).map_err(malformed)?;
        let by_modulus = [
            Attribute::Class(ObjectClass::PRIVATE_KEY),
            Attribute::Modulus(modulus),
        ];
        if let Some(key) = session.find_objects(&by_modulus)?.first() {
            return Ok(*key);
        }
    }
    let id = match id_of_point(session, bits)? {
        Some(id) => Some(id),
        None => id_of_certificate(session, public_key)?,
    };
    let id = id.ok_or(Fault::NoKey)?;
    let by_id = [
        Attribute::Class(ObjectClass::PRIVATE_KEY),
        Attribute::Id(id),
    ];
    session
        .find_objects(&by_id)?
        .first()
        .copied()
        .ok_or(Fault::NoKey)
}

/// Returns the identifier of the public key with this point. Some modules omit the OCTET STRING around it.
fn id_of_point(session: &Session, point: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
    let wrapped = OctetStringRef::new(point).and_then(|point| point.to_der());
    for point in [wrapped.map_err(malformed)?, point.to_vec()] {
        let template = [
            Attribute::Class(ObjectClass::PUBLIC_KEY),
            Attribute::EcPoint(point),
        ];
        if let Some(key) = session.find_objects(&template)?.first() {
            return id(session, *key);
        }
    }
    Ok(None)
}

/// Returns the identifier of the certificate with this public key.
fn id_of_certificate(session: &Session, public_key: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
    for object in session.find_objects(&[Attribute::Class(ObjectClass::CERTIFICATE)])? {
        let values = session.get_attributes(object, &[AttributeType::Value])?;
        let is_its = values.iter().any(|value| match value {
            Attribute::Value(der) => {
                Facts::read(der).is_ok_and(|facts| facts.public_key == public_key)
            }
            _ => false,
        });
        if is_its {
            return id(session, object);
        }
    }
    Ok(None)
}

fn id(session: &Session, object: ObjectHandle) -> Result<Option<Vec<u8>>, Fault> {
    let values = session.get_attributes(object, &[AttributeType::Id])?;
    Ok(values.into_iter().find_map(|value| match value {
        Attribute::Id(id) if !id.is_empty() => Some(id),
        _ => None,
    }))
}

/// Returns the modulus of a PKCS #1 public key.
fn modulus(bits: &[u8]) -> der::Result<Vec<u8>> {
    let mut reader = SliceReader::new(bits)?;
    reader.sequence(|inner| {
        let modulus: UintRef<'_> = inner.decode()?;
        let _: UintRef<'_> = inner.decode()?;
        Ok(modulus.as_bytes().to_vec())
    })
}

fn malformed(error: der::Error) -> Fault {
    Fault::Refused(format!("the public key: {error}"))
}

/// Generates a key pair that the token does not give away, and returns its public key (SubjectPublicKeyInfo).
pub(crate) fn generate(session: &Session, size: KeySize, label: &str) -> Result<Vec<u8>, Fault> {
    let id = session.generate_random_vec(ID_BYTES)?;
    let common = [
        Attribute::Token(true),
        Attribute::Label(label.into()),
        Attribute::Id(id),
    ];
    let (mechanism, parameters) = match size {
        KeySize::Rsa2048 | KeySize::Rsa4096 => {
            let bits = if size == KeySize::Rsa2048 {
                2048_u64
            } else {
                4096
            };
            let parameters = vec![
                Attribute::ModulusBits(bits.into()),
                Attribute::PublicExponent(EXPONENT.to_vec()),
            ];
            (Mechanism::RsaPkcsKeyPairGen, parameters)
        }
        KeySize::P256 | KeySize::P384 | KeySize::P521 => {
            let parameters = vec![Attribute::EcParams(
                curve(size).to_der().map_err(malformed)?,
            )];
            (Mechanism::EccKeyPairGen, parameters)
        }
    };
    let public = [&common[..], &[Attribute::Verify(true)], &parameters].concat();
    let private = [
        Attribute::Sign(true),
        Attribute::Private(true),
        Attribute::Sensitive(true),
        Attribute::Extractable(false),
    ];
    let private = [&common[..], &private].concat();
    let (public, _) = session.generate_key_pair(&mechanism, &public, &private)?;
    public_key(session, public, size)
}

const fn curve(size: KeySize) -> ObjectIdentifier {
    match size {
        KeySize::P384 => P384,
        KeySize::P521 => P521,
        _ => P256,
    }
}

/// Returns a public key of the token as SubjectPublicKeyInfo.
fn public_key(session: &Session, key: ObjectHandle, size: KeySize) -> Result<Vec<u8>, Fault> {
    let wanted = [
        AttributeType::Modulus,
        AttributeType::PublicExponent,
        AttributeType::EcPoint,
    ];
    let (mut modulus, mut exponent, mut point) = (Vec::new(), Vec::new(), Vec::new());
    for value in session.get_attributes(key, &wanted)? {
        match value {
            Attribute::Modulus(bytes) => modulus = bytes,
            Attribute::PublicExponent(bytes) => exponent = bytes,
            Attribute::EcPoint(bytes) => point = bytes,
            _ => {}
        }
    }
    let encoded = match size {
        KeySize::Rsa2048 | KeySize::Rsa4096 => rsa_info(&modulus, &exponent),
        _ => {
            let inner = <&OctetStringRef>::from_der(&point).map(|point| point.as_bytes());
            curve_info(curve(size), inner.unwrap_or(&point))
        }
    };
    encoded.map_err(malformed)
}

fn rsa_info(modulus: &[u8], exponent: &[u8]) -> der::Result<Vec<u8>> {
    let key = vec![UintRef::new(modulus)?, UintRef::new(exponent)?].to_der()?;
    let algorithm = AlgorithmIdentifier {
        oid: RSA,
        parameters: Some(der::asn1::AnyRef::NULL),
    };
    let subject_public_key = BitStringRef::from_bytes(&key)?;
    SubjectPublicKeyInfo {
        algorithm,
        subject_public_key,
    }
    .to_der()
}

fn curve_info(curve: ObjectIdentifier, point: &[u8]) -> der::Result<Vec<u8>> {
    let algorithm = AlgorithmIdentifier {
        oid: ELLIPTIC,
        parameters: Some(curve),
    };
    let subject_public_key = BitStringRef::from_bytes(point)?;
    SubjectPublicKeyInfo {
        algorithm,
        subject_public_key,
    }
    .to_der()
}
