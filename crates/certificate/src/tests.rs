use std::collections::BTreeSet;

use super::*;

const NOW: i64 = 1_795_000_000;

fn template(name: &str, usages: &[&str]) -> Template {
    Template {
        subject: Subject {
            common_name: name.to_owned(),
            country: String::from("LV"),
            organization: String::from("A, B"),
            ..Subject::default()
        },
        names: vec![
            String::from("DNS:router.lan"),
            String::from("IP:192.0.2.1"),
            String::from("IP:2001:db8::1"),
            String::from("email:a@b.example"),
        ],
        usages: usages.iter().map(|usage| (*usage).to_owned()).collect(),
        not_before: NOW,
        days_valid: 365,
        serial: [0xff; 16],
        lists: vec![String::from("http://192.0.2.1/crl/1.crl")],
    }
}

const OF_AUTHORITY: [&str; 2] = ["key-cert-sign", "crl-sign"];
const OF_SERVER: [&str; 3] = ["digital-signature", "key-encipherment", "tls-server"];

fn authority() -> (Vec<u8>, Vec<u8>) {
    let key = Key::new(KeySize::P256).expect("a key");
    let made = self_signed(&template("ca", &OF_AUTHORITY), &key).expect("a certificate");
    (made, key.der().expect("a key outside a token").to_vec())
}

fn of((certificate, key): &(Vec<u8>, Vec<u8>)) -> Authority<'_> {
    Authority::new(certificate, key, Digest::Sha256).expect("its own")
}

fn server(ca: &(Vec<u8>, Vec<u8>), size: KeySize) -> (Vec<u8>, Vec<u8>) {
    let key = Key::new(size).expect("a key");
    let made = signed(&template("www", &OF_SERVER), &key, of(ca)).expect("a certificate");
    (made, key.der().expect("a key outside a token").to_vec())
}

#[test]
fn a_certificate_contains_the_values_of_its_template() {
    let ca = authority();
    for (size, key_type, key_size, digest) in [
        (KeySize::Rsa2048, "rsa", "2048", "sha256"),
        (KeySize::P256, "ec", "prime256v1", "sha256"),
        (KeySize::P384, "ec", "secp384r1", "sha256"),
        (KeySize::P521, "ec", "secp521r1", "sha256"),
    ] {
        let (made, _) = server(&ca, size);

        let facts = Facts::read(&made).expect("it is one");
        let wanted = template("www", &OF_SERVER);
        assert_eq!(
            (facts.key_type, facts.key_size.as_str()),
            (key_type, key_size)
        );
        assert_eq!(facts.subject, wanted.subject);
        assert_eq!(facts.names, wanted.names);
        assert_eq!(facts.usages, OF_SERVER);
        assert_eq!(facts.lists, wanted.lists);
        assert_eq!((facts.not_before, facts.days_valid()), (NOW, 365));
        assert_eq!(facts.digest, Some(digest));
        assert!(!facts.is_authority && !facts.is_self_issued);
        assert_eq!(facts.serial.len(), 32);
        let above = Facts::read(&ca.0).expect("it is one");
        assert!(above.is_authority && above.is_self_issued);
        assert_eq!(facts.akid, above.skid);
        assert!(!facts.skid.is_empty() && facts.skid != facts.akid);
        assert!(issued_by(&made, &ca.0) && !issued_by(&ca.0, &made));
        assert!(
            !issued_by(&made, &authority().0),
            "another of the same name"
        );
    }
}

#[test]
fn only_authorities_can_sign() {
    let ca = authority();
    let server = server(&ca, KeySize::P256);
    let key = Key::new(KeySize::P256).expect("a key");
    let template = template("x", &OF_SERVER);

    let by_server = signed(&template, &key, of(&server));
    let by_other_key = Authority::new(&ca.0, &server.1, Digest::Sha256);
    let by_other_key = by_other_key.and_then(|other| signed(&template, &key, other));

    assert!(by_server.is_err_and(|why| why.contains("not for signing others")));
    assert!(by_other_key.is_err_and(|why| why.contains("not that of its certificate")));
}

#[test]
fn an_rsa_key_signs_with_the_requested_hash() {
    let key = Key::new(KeySize::Rsa2048).expect("a key");
    for (digest, word) in [(Digest::Sha384, "sha384"), (Digest::Sha512, "sha512")] {
        let key = Key::read(key.der().expect("a key outside a token"), digest).expect("its own");
        let made = self_signed(&template("ca", &OF_AUTHORITY), &key).expect("a certificate");
        assert_eq!(Facts::read(&made).map(|facts| facts.digest), Ok(Some(word)));
        assert!(issued_by(&made, &made));
    }
    assert!(Digest::of("md5").is_err() && KeySize::of("1024").is_err());
}

#[test]
fn a_signed_request_gets_its_values_but_no_authority() {
    let ca = authority();
    let key = Key::new(KeySize::P256).expect("a key");
    let asked = request(&template("www", &OF_SERVER), &key).expect("a request");
    let greedy = request(&template("ca2", &OF_AUTHORITY), &key).expect("a request");
    let mut broken = asked.clone();
    *broken.last_mut().expect("it is not empty") ^= 1;
    let given = Template {
        days_valid: 10,
        ..template("", &[])
    };

    let made = signed_request(&asked, &given, of(&ca)).expect("a certificate");

    let facts = Facts::read(&made).expect("it is one");
    assert_eq!(facts.subject.common_name, "www");
    assert_eq!((facts.days_valid(), facts.names.len()), (10, 4));
    assert!(issued_by(&made, &ca.0));
    assert!(signed_request(&greedy, &given, of(&ca)).is_err());
    assert!(signed_request(&broken, &given, of(&ca)).is_err());
}

#[test]
fn a_revocation_list_contains_the_revoked_certificates() {
    use x509_parser::prelude::FromDer as _;
    let ca = authority();
    let facts = Facts::read(&server(&ca, KeySize::P256).0).expect("it is one");
    let revoked = [Revoked {
        serial: facts.serial.clone(),
        at: NOW,
    }];

    let list = revocation_list(of(&ca), &revoked, 7, NOW, 1).expect("a list");

    let (_, read) =
        x509_parser::revocation_list::CertificateRevocationList::from_der(&list).expect("a list");
    let serials = read
        .iter_revoked_certificates()
        .map(|of| facts::hex(of.raw_serial()));
    assert_eq!(serials.collect::<Vec<_>>(), [facts.serial]);
    assert_eq!(
        read.crl_number().map(ToString::to_string).as_deref(),
        Some("7")
    );
    let (_, above) = x509_parser::parse_x509_certificate(&ca.0).expect("it is one");
    assert!(read.verify_signature(above.public_key()).is_ok());
}

#[test]
fn exported_certificates_and_keys_import_again() {
    let ca = authority();
    let (made, key) = server(&ca, KeySize::P256);
    let pem = export::to_pem("CERTIFICATE", &made);
    let sealed = export::key_to_pem(&key, "correct horse", &[7; 32]).expect("a key");
    let pkcs12 =
        export::to_pkcs12("www", &[&made, &ca.0], Some(&key), "correct horse").expect("a file");
    let whole = [(made.clone(), Some(key.clone()))];

    let read = |file: &[u8], passphrase: &str| import::read(file, passphrase);

    assert_eq!(
        read(pem.as_bytes(), "").map(|found| found.certificates),
        Ok(vec![(made.clone(), None)])
    );
    assert_eq!(
        read(&made, "").map(|found| found.certificates),
        Ok(vec![(made.clone(), None)])
    );
    let both = format!("{sealed}{pem}");
    let found = read(both.as_bytes(), "correct horse").expect("both are there");
    assert_eq!(
        (found.certificates.as_slice(), found.not_opened),
        (&whole[..], 0)
    );
    let found = read(both.as_bytes(), "wrong").expect("the certificate is there");
    assert_eq!((found.certificates.len(), found.not_opened), (1, 1));
    let found = read(&pkcs12, "correct horse").expect("both are there");
    assert_eq!(found.certificates.len(), 2);
    assert!(found.certificates.contains(&whole[0]) && found.keys.is_empty());
    assert_eq!(read(&pkcs12, "wrong").map(|found| found.not_opened), Ok(1));
    let alone = read(sealed.as_bytes(), "correct horse").expect("the key is there");
    assert_eq!((alone.certificates.len(), alone.keys), (0, vec![key]));
}

#[test]
fn damaged_files_are_refused() {
    let ca = authority();
    let (made, key) = server(&ca, KeySize::P256);
    let pkcs12 = export::to_pkcs12("www", &[&made], Some(&key), "x").expect("a file");
    let pem = export::to_pem("CERTIFICATE", &made);

    for file in [&pkcs12[..], pem.as_bytes(), &made] {
        for end in (0..file.len()).step_by(7) {
            let found = import::read(&file[..end], "x").unwrap_or_default();
            assert!(found.certificates.is_empty(), "cut at {end}");
        }
    }
    assert!(import::read(&vec![b'-'; import::FILE_BYTES + 1], "").is_err());
}

#[test]
fn a_certificate_verifies_signatures_of_its_key() {
    let ca = authority();
    let hashes = [Hash::Sha1, Hash::Sha256, Hash::Sha384, Hash::Sha512];
    let of_rsa = hashes.map(SignatureScheme::RsaPkcs1).into_iter().chain([
        SignatureScheme::RsaRaw,
        SignatureScheme::RsaPss(Hash::Sha256),
        SignatureScheme::RsaPss(Hash::Sha512),
    ]);
    for (size, ways) in [
        (KeySize::Rsa2048, of_rsa.collect::<Vec<_>>()),
        (KeySize::P256, vec![SignatureScheme::P256]),
        (KeySize::P384, vec![SignatureScheme::P384]),
        (KeySize::P521, vec![SignatureScheme::P521]),
    ] {
        let (certificate, key) = server(&ca, size);
        let signing = Signing::read(&key).expect("a key that signs");
        for way in ways {
            assert!(signing.can(way));
            let made = signing.sign(way, b"a message").expect("it can");
            assert_eq!(
                verify(&certificate, way, b"a message", &made),
                Ok(()),
                "{way:?}"
            );
            assert!(
                verify(&certificate, way, b"another", &made).is_err(),
                "{way:?}"
            );
            let other = &server(&ca, size).0;
            assert!(verify(other, way, b"a message", &made).is_err(), "{way:?}");
        }
        let (curve, foreign) = match size {
            KeySize::Rsa2048 => (false, SignatureScheme::P256),
            _ => (true, SignatureScheme::RsaRaw),
        };
        assert_eq!((signing.can(foreign), curve), (false, curve));
        assert!(signing.sign(foreign, b"a message").is_none());
    }
}

#[test]
fn a_chain_is_verified_by_trust_and_validity() {
    let ca = authority();
    let (certificate, _) = server(&ca, KeySize::P256);
    let chain = vec![certificate.clone()];
    let mut trust = Trust::new("untrusted");
    let no = |trust: &Trust, at| verify_chain(&chain, trust, "ipsec", at).expect_err("not trusted");
    assert!(no(&trust, NOW + 60).contains("trusted=yes"));
    trust.add(&authority().0, "all");
    assert!(no(&trust, NOW + 60).contains("not trusted"));
    trust.add(&ca.0, "ipsec");
    assert_eq!(verify_chain(&chain, &trust, "ipsec", NOW + 60), Ok(()));
    assert!(no(&trust, NOW - 60).contains("not trusted"));
    assert!(no(&trust, NOW + 400 * 86_400).contains("not trusted"));
    // The chain is trusted for another use only.
    assert!(verify_chain(&chain, &trust, "dns", NOW + 60).is_err());
    let revoked = Revoked {
        serial: Facts::read(&certificate).expect("it is one").serial,
        at: NOW,
    };
    let list = revocation_list(of(&ca), &[revoked], 1, NOW, 7).expect("a list");
    trust.add_list(list);
    assert!(no(&trust, NOW + 60).contains("not trusted"));
}

/// One key, encrypted by openssl in every format of the last decades.
const OLD_KEYS: [(&str, &str); 7] = [
    ("PBES2, SHA-1", include_str!("tests/pbes2-sha1.pem")),
    ("PBES2, 3DES", include_str!("tests/pbes2-3des.pem")),
    (
        "PBES2, 3DES, SHA-1",
        include_str!("tests/pbes2-3des-sha1.pem"),
    ),
    ("PKCS#12, 3DES", include_str!("tests/sha1-3des.pem")),
    ("PKCS#12, 2DES", include_str!("tests/sha1-2des.pem")),
    ("PBES1, MD5, DES", include_str!("tests/md5-des.pem")),
    ("PBES1, SHA-1, DES", include_str!("tests/sha1-des.pem")),
];

#[test]
fn keys_encrypted_by_older_programs_are_read() {
    let mut keys = BTreeSet::new();
    for (name, pem) in OLD_KEYS {
        let found = import::read(pem.as_bytes(), "correct").expect(name);
        assert_eq!((found.not_opened, &found.why), (0, &None), "{name}");
        keys.extend(
            found
                .keys
                .iter()
                .map(|key| export::to_pkcs8(key).expect(name)),
        );
        let found = import::read(pem.as_bytes(), "wrong").expect(name);
        assert_eq!(found.not_opened, 1, "{name}");
        let why = found.why.unwrap_or_default();
        assert_eq!(why, "the passphrase is wrong", "{name}");
    }
    assert_eq!(keys.len(), 1, "all files have the same key");
}

#[test]
fn pkcs12_files_of_older_programs_are_read() {
    for (name, file) in [
        ("RC2 and 3DES", &include_bytes!("tests/legacy.p12")[..]),
        ("3DES", &include_bytes!("tests/des.p12")[..]),
        ("PBES2, 3DES", &include_bytes!("tests/pbes2-3des.p12")[..]),
    ] {
        let found = import::read(file, "correct").expect(name);
        assert_eq!(found.certificates.len(), 1, "{name}");
        assert!(found.certificates[0].1.is_some(), "{name}: with its key");
        let found = import::read(file, "wrong").expect(name);
        let why = found.why.unwrap_or_default();
        assert_eq!(
            (found.not_opened, &*why),
            (1, "the passphrase is wrong"),
            "{name}"
        );
    }
}
