//! Tests with SoftHSM, in a folder of their own. The module reads its configuration from the environment once, so one
//! test covers a token's life.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::channel;

use certificate::{
    Digest, Facts, Hash, Key, KeySize, SignatureScheme, Subject, Template, Token as _, TokenKey,
    self_signed, set_token, token, verify,
};

use crate::{Card, Event, Settings};

const MODULES: [&str; 2] = [
    "/usr/lib/softhsm/libsofthsm2.so",
    "/usr/lib/x86_64-linux-gnu/softhsm/libsofthsm2.so",
];

/// A folder with a token, removed at the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn certificate(size: KeySize) -> (Vec<u8>, TokenKey) {
    let token = token().expect("a token");
    let public_key = token.generate(size, "test").expect("a key pair");
    let key = TokenKey::new(&public_key, Digest::Sha256).expect("a supported key");
    let template = Template {
        subject: Subject {
            common_name: "host.example".into(),
            ..Subject::default()
        },
        not_before: 1_795_000_000,
        days_valid: 10,
        ..Template::default()
    };
    let made = self_signed(&template, &Key::in_token(key.clone())).expect("a certificate");
    assert_eq!(
        Facts::read(&made).expect("a certificate").public_key,
        public_key
    );
    // The library that checks certificates does not know P-521.
    let is_checked = size != KeySize::P521;
    assert!(
        !is_checked || certificate::issued_by(&made, &made),
        "{size:?}: its own key signed it"
    );
    (made, key)
}

fn signatures_verify() -> (Vec<u8>, TokenKey) {
    let (rsa, rsa_key) = certificate(KeySize::Rsa2048);
    for scheme in [
        SignatureScheme::RsaPkcs1(Hash::Sha1),
        SignatureScheme::RsaPkcs1(Hash::Sha256),
        SignatureScheme::RsaPkcs1(Hash::Sha512),
        SignatureScheme::RsaPss(Hash::Sha256),
        SignatureScheme::RsaPss(Hash::Sha384),
        SignatureScheme::RsaRaw,
    ] {
        assert!(rsa_key.can(scheme));
        let made = rsa_key.sign(scheme, b"message").expect("a signature");
        verify(&rsa, scheme, b"message", &made).unwrap_or_else(|why| panic!("{scheme:?}: {why}"));
    }
    for (size, scheme) in [
        (KeySize::P256, SignatureScheme::P256),
        (KeySize::P384, SignatureScheme::P384),
        (KeySize::P521, SignatureScheme::P521),
    ] {
        let (made, key) = certificate(size);
        assert!(key.can(scheme) && !key.can(SignatureScheme::RsaRaw));
        let signature = key.sign(scheme, b"message").expect("a signature");
        verify(&made, scheme, b"message", &signature).expect("a valid signature");
    }
    (rsa, rsa_key)
}

fn make_token(folder: &Path) -> bool {
    let tokens = folder.join("tokens");
    fs::create_dir_all(&tokens).expect("a folder of our own");
    let configuration = format!(
        "directories.tokendir = {}\nobjectstore.backend = file\n",
        tokens.display()
    );
    fs::write(folder.join("softhsm2.conf"), configuration).expect("our file");
    let made = Command::new("softhsm2-util")
        .args([
            "--init-token",
            "--free",
            "--label",
            "router",
            "--pin",
            "1234",
            "--so-pin",
            "12345678",
        ])
        .env("SOFTHSM2_CONF", folder.join("softhsm2.conf"))
        .output();
    made.is_ok_and(|made| made.status.success())
}

#[test]
fn a_token_signs_is_pulled_out_and_comes_back() {
    let Some(module) = MODULES.iter().find(|path| Path::new(path).exists()) else {
        eprintln!("skipped: SoftHSM is not installed");
        return;
    };
    let Ok(configuration) = std::env::var("SOFTHSM2_CONF") else {
        // The module reads the environment of its process: the test runs again with it.
        let folder = Folder(std::env::temp_dir().join(format!("token-{}", std::process::id())));
        if !make_token(&folder.0) {
            eprintln!("skipped: softhsm2-util makes no token");
            return;
        }
        let again = Command::new(std::env::current_exe().expect("this test"))
            .args([
                "--exact",
                "tests::a_token_signs_is_pulled_out_and_comes_back",
                "--nocapture",
            ])
            .env("SOFTHSM2_CONF", folder.0.join("softhsm2.conf"))
            .output()
            .expect("it starts");
        assert!(
            again.status.success(),
            "{}",
            String::from_utf8_lossy(&again.stderr)
        );
        return;
    };
    live(Path::new(module), Path::new(&configuration));
}

/// The life of a token whose configuration is this file: PINs, signatures, removal, insertion.
fn live(module: &Path, configuration: &Path) {
    let tokens = configuration.with_file_name("tokens");
    let (sender, events) = channel();
    let settings = Settings {
        module: module.to_owned(),
        label: Some("router".into()),
        pin: None,
    };
    let card = Card::start(
        settings,
        Box::new(move |event| sender.send(event).expect("a receiver")),
    );
    let card = Arc::new(card.expect("threads"));
    assert!(token().is_err_and(|why| why.contains("--token-module")));
    set_token(Arc::clone(&card) as _);

    let unknown = card.verify(None).expect_err("no PIN");
    assert!(unknown.contains("card-reinstall"), "{unknown}");
    let wrong = card.verify(Some("9999")).expect_err("a wrong PIN");
    assert!(wrong.contains("refuses the PIN"), "{wrong}");
    assert_eq!(card.reinstall(Some("1234")).as_deref(), Ok("router"));
    let (rsa, key) = signatures_verify();
    let stranger = Key::new(KeySize::P256).expect("a key").public_key();
    let held = card.holds(&[key.public_key().to_vec(), stranger]);
    assert_eq!(held, Ok(vec![true, false]));

    let aside = tokens.with_file_name("pulled-out");
    fs::rename(&tokens, &aside).expect("our folder");
    let gone = key.sign(SignatureScheme::RsaPss(Hash::Sha256), b"message");
    let gone = gone.expect_err("the token is gone");
    assert!(gone.contains("the token is not there"), "{gone}");
    fs::rename(&aside, &tokens).expect("our folder");
    // The search is repeated at most once a second.
    let made = loop {
        match key.sign(SignatureScheme::RsaPkcs1(Hash::Sha256), b"message") {
            Ok(made) => break made,
            Err(why) => assert!(why.contains("the token is not there"), "{why}"),
        }
        std::thread::yield_now();
    };
    verify(
        &rsa,
        SignatureScheme::RsaPkcs1(Hash::Sha256),
        b"message",
        &made,
    )
    .expect("valid");

    // Events precede the outcome of their operation.
    let events: Vec<_> = events.try_iter().collect();
    let pins = events
        .iter()
        .filter(|event| matches!(event, Event::Pin(pin) if **pin == "1234"));
    assert_eq!(pins.count(), 1, "{events:?}");
    assert_eq!(
        events
            .iter()
            .filter(|event| **event == Event::Found)
            .count(),
        2,
        "{events:?}"
    );
    assert_eq!(events.last(), Some(&Event::Found));
}
