//! Packets of other implementations.

use esp::{
    Authentication, Bits, Encryption, Fault, Inbound, Keys, Numbering, Opening, Outbound, Sealing,
    Suite, open, seal,
};

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    let byte = |pair: &[u8]| {
        let text = core::str::from_utf8(pair).expect("digits are ASCII");
        u8::from_str_radix(text, 16).expect("a digit")
    };
    digits.chunks(2).map(byte).collect()
}

/// Bytes that count up from `first`.
fn counting(first: u8, len: u8) -> Vec<u8> {
    (first..first + len).collect()
}

fn opened(sa: &Inbound, packet: &str) -> Result<(Vec<u8>, u8, u64), Fault> {
    let mut bytes = hex(packet);
    let mut batch = [Opening::new(sa, &mut bytes)];
    open(&mut batch);
    let [Opening { outcome, .. }] = batch;
    outcome.map(|opened| {
        let payload = bytes[opened.payload].to_vec();
        (payload, opened.next_header, opened.number)
    })
}

/// An EoIP keepalive, tunnel 100, in GRE version 1.
const KEEPALIVE: &str = "2001 6400 0000 6400";

#[test]
fn case_5_of_rfc_3602_opens() {
    let suite = Suite {
        encryption: Encryption::AesCbc(Bits::B128),
        authentication: Authentication::None,
    };
    let keys = Keys::new(&hex("90d382b410eeba7ad938c46cec1a82bf"), &[]);
    let sa = Inbound::new(0x4321, suite, &keys, Numbering::Short, 0).expect("it is valid");

    let packet = "00004321 00000001 e96e8c08ab465763fd098d45dd3ff893
        f663c25d325c18c6a9453e194e120849a4870b66cc6b9965330013b4898dc856
        a4699e523a55db080b59ec3a8e4b7e52775b07d1db34ed9c538ab50c551b874a
        a269add047ad2d5913ac19b7cfbad4a6";

    let mut echo = hex("08000ebda70a00008e9c083db95b0700");
    echo.extend(counting(8, 48));
    assert_eq!(opened(&sa, packet), Ok((echo, 1, 1)));
}

#[test]
fn a_keepalive_under_aes_256_and_sha_opens() {
    for (authentication, icv) in [
        (Authentication::Sha1, "283ee2832db08b4bf1e021f0"),
        (Authentication::Sha256, "dd79696d104b4563b95db7f6c5b60d2e"),
    ] {
        let suite = Suite {
            encryption: Encryption::AesCbc(Bits::B256),
            authentication,
        };
        let key = counting(0, authentication.key_len() as u8);
        let keys = Keys::new(&counting(0, 32), &key);
        let sa = Inbound::new(0x1122_3344, suite, &keys, Numbering::Short, 64).expect("is valid");
        let packet = "11223344 00000001 000102030405060708090a0b0c0d0e0f
            0bc549a42ffbfa42126f6a900f2b35a5"
            .to_owned();

        let result = opened(&sa, &(packet + icv));

        let (payload, next_header, number) = result.expect("the ICV is right");
        assert_eq!((payload, next_header, number), (hex(KEEPALIVE), 47, 1));
    }
}

#[test]
fn a_keepalive_under_gcm_is_sealed_and_opened_with_either_numbering() {
    for (numbering, icv) in [
        (Numbering::Short, "ca943cc9f39acca42b395f3d44f0bfb1"),
        (Numbering::Extended, "79b19b7945197f127c2ae94999bad4b7"),
    ] {
        let suite = Suite {
            encryption: Encryption::AesGcm(Bits::B256),
            authentication: Authentication::None,
        };
        let key = [counting(0, 32), hex("a0a1a2a3")].concat();
        let keys = Keys::new(&key, &[]);
        let inbound = Inbound::new(0x1122_3344, suite, &keys, numbering, 64).expect("is valid");
        let outbound =
            Outbound::new(0x1122_3344, suite, &keys, numbering, &[0; 16]).expect("is valid");
        let packet = "11223344 00000001 0000000000000001 90aedc8e6c74a2b41ad8af45".to_owned() + icv;

        let (payload, next_header, number) = opened(&inbound, &packet).expect("the ICV is right");
        assert_eq!((&payload, next_header, number), (&hex(KEEPALIVE), 47, 1));

        let (front, back) = outbound.room(payload.len());
        let mut bytes = [vec![0; front], payload.clone(), vec![0; back]].concat();
        let mut batch = [Sealing::new(&outbound, &mut bytes, payload.len(), 47)];
        seal(&mut batch);
        assert_eq!(batch[0].outcome, Ok(1));
        assert_eq!(bytes, hex(&packet));
    }
}

/// Packets sealed by scapy 2: a 27-byte datagram, keys that count up from 0, SPI 0x1122, sequence number 7,
/// with an upper half of 3 where numbers are extended.
#[rustfmt::skip]
const FOREIGN: [(Encryption, Authentication, bool, &str); 15] = [
    (Encryption::AesCbc(Bits::B192), Authentication::Sha512, false,
        "0000112200000007e964a28dfd0442eb82d4dbf03afce6228c960c2ba84fd459f04488f8545f5068 \
         6b8fcd207f995ce315aa691f5885a4f27436f288db9da7aa266faba29800fa872015b7434b9505cc \
         eda17cea90a68b8d"),
    (Encryption::AesCbc(Bits::B192), Authentication::Sha512, true,
        "0000112200000007f8f0ba7cac523b311a522e8a48e728fc9e056e037d6063692a40ae72127b829a \
         65da4dbabffe3ccf2dd2b3f23580cb6516cc8ffa0cf5f7ba30b4e80bc701f80cbfdd50903902218f \
         2f1c52eeb416e62e"),
    (Encryption::AesCtr(Bits::B128), Authentication::Sha384, false,
        "000011220000000773e49c5dbe3cf6a3b2ac6b78dbd35e1ceecd97f25c03f967fc552435a27356d9 \
         7523d2175df4452529baf6fc58eaace2dbc86c4e17b8440b0dcaadc0"),
    (Encryption::AesCtr(Bits::B128), Authentication::Sha384, true,
        "0000112200000007bc8d176d1a1a754222e2362eb82a5b8f46de39bcd55faf0e55c06df502ef3209 \
         eee0ce9c4652ff8e9b45574aaf4d404b81d7cbffa7c1b71a19f1651e"),
    (Encryption::TripleDes, Authentication::Md5, false,
        "0000112200000007f9796b5f5bf43af6ae6c6b70b2e954d714ea1e7cbbd89bbb3652ad831ddc129a \
         cb10baa48ff1f9f96a9479b4dda67d974a05c6ba"),
    (Encryption::TripleDes, Authentication::Md5, true,
        "000011220000000716ab3af3193febb913620923906a6ffff7e7d7bcd562b77bb01273f624ac595c \
         5f82ba26b049be0831c7ad5b24141d0968f8556e"),
    (Encryption::Blowfish, Authentication::Sha1, false,
        "00001122000000075a727a3f2292ed32ff742be40918d2b0978507de2d57b4bdd308597798a60033 \
         7c6791993d397cb19ccd19f93bed04b8f002e3d7"),
    (Encryption::Blowfish, Authentication::Sha1, true,
        "0000112200000007c8533c4008672147ac1e52a34d2c7057dcfd719a247d2d3ed01bb2db9dcf69c9 \
         7649c02a4301639e7ad499ff9f1fc81971ab1bc5"),
    (Encryption::Des, Authentication::None, false,
        "0000112200000007c23b5e8bd4423c2d5a38ee47b7b46481d738e5d92dbdf6f80e21d9d592b5156f \
         a8b5e6859c4cf070"),
    (Encryption::AesGcm(Bits::B192), Authentication::None, false,
        "00001122000000079898981091d4bcf3edf7f46c1c9b0b4bfcccefd2a9207f19f7bc0cc30f6c6639 \
         687bb69b8a46433a18f677df541d1bb7227726b2"),
    (Encryption::AesGcm(Bits::B192), Authentication::None, true,
        "000011220000000781042c7037c81d602d7868c57f2b8f037bdf00abc12e4e5eb98dfe0b2815c112 \
         000683c7a88079b69aa97829dee24f7da1b9ec61"),
    (Encryption::ChaCha20Poly1305, Authentication::None, false,
        "00001122000000074b65e3a4ba182401e757409df6eba314314a524b5ff21efd3187e74b1dd55427 \
         091c61f3a9e679355ec52fcc6ce507dd66ce8f69"),
    (Encryption::ChaCha20Poly1305, Authentication::None, true,
        "0000112200000007e1a6b797a2fe4cd7ba0ac2c223aadbada669929c4bc2e0a1bbd65a32187ae375 \
         ffea9fe79c7747b6a5ac215baaeda288b58726c9"),
    (Encryption::Null, Authentication::Sha256, false,
        "000011220000000703e807d0001a874d77686174206f7468657273207365616c65640011c8fbb97b \
         0b0499273dac40d7d2a2b2c4"),
    (Encryption::Null, Authentication::Sha256, true,
        "000011220000000703e807d0001a874d77686174206f7468657273207365616c65640011b776c388 \
         80cb7939f7749388e1feeee1"),
];

#[test]
fn packets_that_another_program_sealed_open() {
    for (encryption, authentication, is_extended, packet) in FOREIGN {
        let suite = Suite {
            encryption,
            authentication,
        };
        let key = |len: usize| counting(0, len as u8);
        let keys = Keys::new(&key(encryption.key_len()), &key(authentication.key_len()));
        let (numbering, number) = match is_extended {
            true => (Numbering::Extended, (3 << 32) + 7),
            false => (Numbering::Short, 7),
        };
        let window = if suite.has_integrity() { 64 } else { 0 };
        let mut sa = Inbound::new(0x1122, suite, &keys, numbering, window).expect("is valid");
        sa.set_number(number - 1);

        let result = opened(&sa, packet);

        let mut datagram = hex("03e807d0 001a874d");
        datagram.extend(b"what others sealed");
        assert_eq!(
            result,
            Ok((datagram, 17, number)),
            "{encryption} {authentication}"
        );
    }
}

/// RFC 7634, appendix A.
#[test]
fn the_example_of_rfc_7634_opens() {
    let suite = Suite {
        encryption: Encryption::ChaCha20Poly1305,
        authentication: Authentication::None,
    };
    let keys = Keys::new(&[counting(0x80, 32), counting(0xa0, 4)].concat(), &[]);
    let sa = Inbound::new(0x0102_0304, suite, &keys, Numbering::Short, 32).expect("is valid");
    let packet = "01020304 00000005 1011121314151617
        24039428b97f417e3c13753a4f05087b67c352e6a7fab1b982d466ef407ae5c614ee8099d52844eb61aa95df
        ab4c02f72aa71e7c4c4f64c9befe2facc638e8f3cbec163fac469b502773f6fb94e664da9165b82829f641e0
        76aaa8266b7fb0f7b11b369907e1ad43";

    let (payload, next_header, number) = opened(&sa, packet).expect("the ICV is right");

    assert_eq!((payload.len(), next_header, number), (84, 4, 5));
    assert_eq!(
        payload[..20],
        hex("45000054a6f200004001e778c6336405c0000205")
    );
}
