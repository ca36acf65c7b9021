//! EAP-TLS against a server made of rustls.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, SigningKey as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, SupportedProtocolVersion};

use super::{Client, FAILURE, REQUEST, RESPONSE, SUCCESS, Step, TLS, message, read};
use crate::config::{
    Certified, EapLogin, EapMethod, NoSignature, Scheme, Secret, Signer, Verifier,
};
use crate::curve::of_der;
use crate::{Hash, Id};

/// Certificate with its key.
struct Pair(Vec<u8>, KeyPair);

impl Signer for Pair {
    fn can(&self, scheme: Scheme) -> bool {
        scheme == Scheme::EcdsaP256
    }

    fn sign(&self, _: Scheme, message: &[u8]) -> Result<Vec<u8>, NoSignature> {
        let made = self.1.sign(message).expect("a signature");
        Ok(of_der(&made, 32).expect("of this curve"))
    }
}

/// Trusts one certificate, and accepts any signature.
struct Believes(Vec<u8>);

impl Verifier for Believes {
    fn authorities(&self) -> Vec<[u8; 20]> {
        Vec::new()
    }

    fn names(&self) -> Vec<Vec<u8>> {
        Vec::new()
    }

    fn verify(
        &self,
        chain: &[Vec<u8>],
        _: Option<&Id>,
        scheme: Scheme,
        _: &[u8],
        signature: &[u8],
    ) -> Result<(), String> {
        assert_ne!(scheme, Scheme::RsaPkcs1(Hash::Sha1), "it was not offered");
        assert_eq!(signature.len(), 64, "r and s");
        match chain.first() == Some(&self.0) {
            true => Ok(()),
            false => Err("a stranger".into()),
        }
    }
}

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    CertifiedIssuer::self_signed(params, key).expect("a certificate")
}

fn pair(authority: &CertifiedIssuer<'_, KeyPair>, name: &str) -> Pair {
    // Many names make the certificate longer than a fragment.
    let names: Vec<_> = (0..60)
        .map(|number| format!("{number}.{name}.example"))
        .collect();
    let params = CertificateParams::new(names).expect("names of hosts");
    let key = KeyPair::generate().expect("a key");
    let certificate = params.signed_by(&key, authority).expect("a certificate");
    Pair(certificate.der().to_vec(), key)
}

/// EAP-TLS server that sends fragments of 600 bytes.
struct Server {
    connection: ServerConnection,
    outgoing: Vec<u8>,
    id: u8,
    has_said: bool,
}

impl Server {
    fn new(
        authority: &CertifiedIssuer<'_, KeyPair>,
        own: &Pair,
        version: &'static SupportedProtocolVersion,
    ) -> Self {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(authority.der().clone()).expect("an authority");
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
        let key = PrivateKeyDer::try_from(own.1.serialize_der()).expect("a key");
        let config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[version])
            .expect("a version")
            .with_client_cert_verifier(verifier.build().expect("a verifier"))
            .with_single_cert(vec![CertificateDer::from(own.0.clone())], key)
            .expect("a certificate with its key");
        Self {
            connection: ServerConnection::new(Arc::new(config)).expect("a server"),
            outgoing: Vec::new(),
            id: 1,
            has_said: false,
        }
    }

    /// Runs the exchange until one side ends it; returns both session keys, or the reason of the refusal.
    fn serve(&mut self, client: &mut Client) -> Result<(Vec<u8>, Vec<u8>), String> {
        let mut request = vec![0x20];
        let mut incoming = Vec::new();
        for _ in 0..50 {
            self.id += 1;
            let data = [&[TLS], request.as_slice()].concat();
            let answer = match client.step(&message(REQUEST, self.id, &data), &[]) {
                Step::Answer(answer) => answer,
                Step::Failure(reason) => return Err(reason),
                Step::Success(_) => return Err("success before the end".into()),
            };
            let (code, id, data) = read(&answer).expect("a message");
            assert_eq!((code, id, data[0]), (RESPONSE, self.id, TLS));
            assert!(data.len() <= 1024 + 6, "{}", data.len());
            let skipped = if data[1] & 0x80 == 0 { 2 } else { 6 };
            incoming.extend_from_slice(&data[skipped..]);
            if data[1] & 0x40 != 0 {
                request = vec![0];
                continue;
            }
            self.take(&std::mem::take(&mut incoming))?;
            if self.outgoing.is_empty() && !self.connection.is_handshaking() {
                return self.end(client);
            }
            request = self.fragment();
        }
        Err("it does not end".into())
    }

    fn take(&mut self, mut records: &[u8]) -> Result<(), String> {
        while !records.is_empty() {
            let read = self.connection.read_tls(&mut records);
            read.expect("a buffer");
            let new = self.connection.process_new_packets();
            new.map_err(|error| format!("the server: {error}"))?;
        }
        let is_done = !self.connection.is_handshaking();
        let is_1_3 = self.connection.protocol_version() == Some(rustls::ProtocolVersion::TLSv1_3);
        if is_done && is_1_3 && !std::mem::replace(&mut self.has_said, true) {
            let mut writer = self.connection.writer();
            std::io::Write::write_all(&mut writer, &[0]).expect("a buffer");
        }
        while self.connection.wants_write() {
            self.connection
                .write_tls(&mut self.outgoing)
                .expect("a buffer");
        }
        Ok(())
    }

    fn fragment(&mut self) -> Vec<u8> {
        let rest = self.outgoing.split_off(self.outgoing.len().min(600));
        let part = std::mem::replace(&mut self.outgoing, rest);
        let flags = if self.outgoing.is_empty() { 0 } else { 0x40 };
        [&[flags], part.as_slice()].concat()
    }

    fn end(&self, client: &mut Client) -> Result<(Vec<u8>, Vec<u8>), String> {
        let (label, context): (&[u8], Option<&[u8]>) = match self.has_said {
            true => (b"EXPORTER_EAP_TLS_Key_Material", Some(&[13])),
            false => (b"client EAP encryption", None),
        };
        let exported = self
            .connection
            .export_keying_material([0; 128], label, context);
        let exported = exported.expect("the handshake is done");
        match client.step(&message(SUCCESS, self.id, &[]), &[]) {
            Step::Success(key) => Ok((key.bytes().to_vec(), exported[..64].to_vec())),
            Step::Failure(reason) => Err(reason),
            Step::Answer(_) => Err("an answer to the end".into()),
        }
    }
}

fn client(own: Pair, believed: &Pair) -> Client {
    let verifier: Arc<dyn Verifier> = Arc::new(Believes(believed.0.clone()));
    Client::new(&EapLogin {
        methods: vec![EapMethod::Tls],
        user: "user".into(),
        password: Secret::new(b"".as_slice()),
        certified: Some(Certified {
            chain: vec![own.0.clone()],
            signer: Arc::new(own),
            verifier: Arc::clone(&verifier),
        }),
        verifier,
    })
}

#[test]
fn both_sides_derive_one_key_if_each_trusts_the_other() {
    let (known, unknown) = (authority(), authority());
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let server = pair(&known, "server");

        let mut one = client(pair(&known, "client"), &server);
        let keys = Server::new(&known, &server, version).serve(&mut one);
        let (own, others) = keys.expect("both are known");
        assert_eq!(own, others);
        assert_eq!(own.len(), 64);

        let mut stranger = client(pair(&unknown, "client"), &server);
        let refused = Server::new(&known, &server, version).serve(&mut stranger);
        let said = refused.expect_err("the client's authority is unknown");
        assert!(said.starts_with("the server: "), "{said}");

        let mut deceived = client(pair(&known, "client"), &pair(&known, "another"));
        let refused = Server::new(&known, &server, version).serve(&mut deceived);
        let said = refused.expect_err("the server is another one");
        assert!(
            said.contains("certificate is refused: a stranger"),
            "{said}"
        );
    }
}

#[test]
fn unexpected_and_random_eap_messages_are_harmless() {
    let known = authority();
    let server = pair(&known, "server");
    let fresh = || client(pair(&known, "client"), &server);
    let request = |data: &[u8]| message(REQUEST, 1, &[&[TLS], data].concat());
    let fails = |step: Step| matches!(step, Step::Failure(_));

    assert!(fails(fresh().step(&message(SUCCESS, 1, &[]), &[])));
    assert!(fails(fresh().step(&message(FAILURE, 1, &[]), &[])));
    assert!(fails(fresh().step(&request(&[]), &[])), "without flags");
    assert!(fails(fresh().step(&request(&[0]), &[])), "before the start");
    let mut begun = fresh();
    assert!(matches!(
        begun.step(&request(&[0x20]), &[]),
        Step::Answer(_)
    ));
    assert!(
        fails(begun.step(&message(SUCCESS, 2, &[]), &[])),
        "before its end"
    );
    let mut begun = fresh();
    let _ = begun.step(&request(&[0x20]), &[]);
    assert!(
        fails(begun.step(&request(&[0x80, 0, 0]), &[])),
        "a short length"
    );
    let mut begun = fresh();
    let _ = begun.step(&request(&[0x20]), &[]);
    assert!(fails(
        begun.step(&request(&[0, 0x16, 3, 3, 0, 4, 9, 9, 9, 9]), &[])
    ));
    // The client accepts flights up to the limit.
    let mut begun = fresh();
    let _ = begun.step(&request(&[0x20]), &[]);
    let more = request(&[&[0x40], [0x16; 1000].as_slice()].concat());
    let mut steps = (0..100).map(|_| begun.step(&more, &[]));
    assert!(steps.any(fails), "more than it keeps");
    // The client answers an unconfigured method with NAK and its own methods.
    let asked = message(REQUEST, 7, &[26, 1, 7, 0, 9]);
    let Step::Answer(answer) = fresh().step(&asked, &[]) else {
        panic!("it is declined");
    };
    assert_eq!(answer, message(RESPONSE, 7, &[3, TLS]));
}
