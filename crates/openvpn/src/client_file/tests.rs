//! Files are read as they are written, and refused by line.

use super::*;
use crate::suite::Bits;

const KEY: &str = "-----BEGIN OpenVPN Static key V1-----\n";

fn static_key() -> String {
    let digits = "0123456789abcdef".repeat(32);
    format!("{KEY}{digits}\n-----END OpenVPN Static key V1-----\n")
}

fn refusal(text: &str) -> String {
    let whole = format!("client\ndev tun\nremote vpn.example.com\n{text}");
    ClientFile::parse(&whole)
        .expect_err("a refusal")
        .to_string()
}

#[test]
fn a_file_is_read_as_it_was_written() {
    let file = ClientFile {
        device: Device::Tap,
        transport: Transport::Tcp,
        ciphers: vec![Cipher::AesGcm(Bits::B256), Cipher::AesCbc(Bits::B128)],
        digest: Some(Digest::Sha256),
        mtu: Some(1400),
        verifies_use: true,
        only_tls12: true,
        needs_user: true,
        redirects: true,
        authorities: Some("authority\n".to_owned()),
        certificate: Some("certificate\n".to_owned()),
        key: Some(Zeroizing::new("key\n".to_owned())),
        ..ClientFile::new("2001:db8::1", 443)
    };
    assert_eq!(ClientFile::parse(&file.encode()), Ok(file));
}

#[test]
fn files_of_providers_are_read_and_unknown_options_left_out() {
    let text = format!(
        "\u{feff}# a provider\nclient\ndev tun3\nproto tcp\nremote vpn.example.com 443\r\nremote other.example.com\n\
         resolv-retry infinite\ncipher \"AES-256-CBC\" ; old\nauth SHA512\nexplicit-exit-notify 2\nroute-nopull\n\
         pull-filter ignore 'route-ipv6 '\nkey-direction 1\n<tls-auth>\n# 2048 bit\n{}</tls-auth>\n\
         <auth-user-pass>\nanna\nge heim\n</auth-user-pass>\n",
        static_key()
    );
    let file = ClientFile::parse(&text).expect("a client's file");
    assert_eq!(
        (file.transport, &*file.host, file.port),
        (Transport::Tcp, "vpn.example.com", 443)
    );
    assert_eq!(file.ciphers, [Cipher::AesCbc(Bits::B256)]);
    assert!(file.notifies_exit && file.ignores_routes && file.needs_user);
    let (user, password) = file.user.expect("a user");
    assert_eq!((&*user, &**password), ("anna", "ge heim"));
    let left_out: Vec<_> = { file.left_out.iter() }
        .map(|out| (out.line, &*out.option))
        .collect();
    assert_eq!(
        left_out,
        [
            (6, "remote other.example.com"),
            (12, "pull-filter ignore route-ipv6 ")
        ]
    );
    let key = file.control_key.expect("a key");
    let protection = protection_from_text(&key, Digest::Sha512);
    assert!(matches!(
        protection,
        Some(Protection::TlsAuth {
            digest: Digest::Sha512,
            direction: Some(1),
            ..
        })
    ));
}

#[test]
fn an_empty_list_of_data_ciphers_is_that_of_openvpn() {
    for (options, expected) in [
        ("", vec![]),
        (
            "cipher AES-128-CBC\ndata-ciphers AES-128-GCM:?AES-256-GCM\n",
            vec![Cipher::AesGcm(Bits::B128), Cipher::AesGcm(Bits::B256)],
        ),
        ("data-ciphers CHACHA20-POLY1305\n", vec![]),
    ] {
        let text = format!("dev tun\nremote a\n{options}");
        assert_eq!(
            ClientFile::parse(&text).map(|file| file.ciphers),
            Ok(expected)
        );
    }
}

#[test]
fn options_that_cannot_be_taken_are_refused_with_their_line() {
    for (text, expected) in [
        ("comp-lzo\n", "line 4: comp-lzo is refused"),
        ("\ncompress lz4\n", "line 5: compress is refused"),
        ("fragment 1300\n", "line 4: fragment is refused"),
        ("ca ca.crt\n", "line 4: ca names a file"),
        ("tls-auth ta.key 1\n", "line 4: tls-auth names a file"),
        (
            "cipher BF-CBC\n",
            "line 4: cipher BF-CBC is not implemented",
        ),
        (
            "auth whirlpool\n",
            "line 4: auth whirlpool is not implemented",
        ),
        ("proto sctp\n", "line 4: proto sctp"),
        ("dev null\n", "line 4: dev null"),
        ("<ca>\nabc\n", "line 4: <ca> has no end"),
        (
            "<tls-crypt>\nabc\n</tls-crypt>\n",
            "line 4: <tls-crypt> is no key",
        ),
        (
            "<tls-crypt-v2>\nabc\n</tls-crypt-v2>\n",
            "line 4: <tls-crypt-v2> is refused",
        ),
        ("<cert>\nabc\n</cert>\n", "<cert> and <key> belong together"),
        ("secret static.key\n", "line 4: secret is refused"),
        ("setenv \"a\n", "line 4: a quotation mark is missing"),
        ("rport 0\n", "line 4: port 0"),
    ] {
        let refusal = refusal(text);
        assert!(refusal.starts_with(expected), "{refusal}");
    }
    let missing = ClientFile::parse("client\ndev tun\n").expect_err("no server");
    assert!(missing.to_string().starts_with("the server is missing"));
}

#[test]
fn a_protection_needs_its_kind_and_a_key() {
    let key = static_key();
    let kind = |first: &str| protection_from_text(&format!("{first}\n{key}"), Digest::Sha1);
    assert!(matches!(
        kind("tls-crypt"),
        Some(Protection::TlsCrypt { .. })
    ));
    for (first, direction) in [("tls-auth", None), ("tls-auth 0", Some(0))] {
        match kind(first) {
            Some(Protection::TlsAuth {
                direction: read, ..
            }) => assert_eq!(read, direction),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(kind("tls-auth 2"), None);
    assert_eq!(kind("secret"), None);
}
