//! Packets that others computed.

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

/// A keepalive of EoIP, tunnel 100, in GRE of version 1.
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
