//! Fuzz targets of ESP and AH: associations of every algorithm open and verify foreign packets. Since a fuzzer
//! cannot compute an ICV, its bytes are sealed and protected as well.

use esp::ah::{Protecting, Verifying, protect, verify};
use esp::{
    Authentication, Encryption, Fault, Inbound, Keys, Numbering, Opening, Outbound, Sealing, Suite,
    open, seal,
};

/// SPI of all associations.
const SPI: u32 = 0x1122_3344;

/// Returns both directions; the first byte selects algorithm and numbering.
fn associations(choice: u8) -> (Outbound, Inbound) {
    let choice = usize::from(choice);
    let (encryptions, authentications) = (18, 6);
    let encryption = Encryption::all().nth(choice % encryptions);
    let authentication = Authentication::all().nth(choice / encryptions % authentications);
    let mut suite = Suite {
        encryption: encryption.unwrap_or(Encryption::Null),
        authentication: authentication.unwrap_or(Authentication::None),
    };
    if suite.check().is_err() {
        suite.authentication = match suite.encryption.is_aead() {
            true => Authentication::None,
            false => Authentication::Sha1,
        };
    }
    let numbering = match suite.has_integrity() && choice > 127 {
        true => Numbering::Extended,
        false => Numbering::Short,
    };
    let window = if suite.has_integrity() { 64 } else { 0 };
    let (encryption, authentication) = (suite.encryption.key_len(), suite.authentication.key_len());
    let keys = Keys::new(&vec![1; encryption], &vec![2; authentication]);
    let outbound = Outbound::new(SPI, suite, &keys, numbering, &[3; 16]);
    let inbound = Inbound::new(SPI, suite, &keys, numbering, window);
    (
        outbound.expect("the suite was checked"),
        inbound.expect("the suite was checked"),
    )
}

/// Opens a packet, alone and twice in a batch; then seals it as a payload and opens the result.
///
/// # Panics
/// A packet is accepted twice, a payload lies outside its packet, or a payload changes.
pub fn esp(bytes: &[u8]) {
    let Some((choice, packet)) = bytes.split_first() else {
        return;
    };
    let (outbound, inbound) = associations(*choice);
    let mut copies = [packet.to_vec(), packet.to_vec()];
    let mut batch: Vec<_> = copies
        .iter_mut()
        .map(|bytes| Opening::new(&inbound, bytes))
        .collect();
    open(&mut batch);
    for packet in &batch {
        match &packet.outcome {
            Ok(opened) => assert!(packet.bytes.get(opened.payload.clone()).is_some()),
            Err(fault) => assert!(!matches!(fault, Fault::Pending | Fault::Exhausted)),
        }
    }
    let is_proved = outbound.suite().has_integrity();
    let came = batch.iter().filter(|packet| packet.outcome.is_ok()).count();
    assert!(came < 2 || !is_proved, "a packet comes through once");

    let (_, inbound) = associations(*choice);
    let (front, back) = outbound.room(packet.len());
    let mut sealed = [&vec![0; front], packet, &vec![0; back]].concat();
    let mut batch = [Sealing::new(&outbound, &mut sealed, packet.len(), *choice)];
    seal(&mut batch);
    assert_eq!(batch[0].outcome, Ok(1));
    let mut batch = [Opening::new(&inbound, &mut sealed)];
    open(&mut batch);
    let [Opening { outcome, .. }] = batch;
    let opened = outcome.expect("nothing was changed");
    assert_eq!(&sealed[opened.payload], packet);
    assert_eq!(opened.next_header, *choice);
}

/// Verifies a packet, and protects it, as if it had room for AH.
///
/// # Panics
/// A protected packet fails verification, or is accepted twice.
pub fn ah(bytes: &[u8]) {
    let Some((choice, packet)) = bytes.split_first() else {
        return;
    };
    let choice = choice % 5 * 18 + 18 + (choice & 128);
    let (outbound, inbound) = associations(choice);
    let mut foreign = packet.to_vec();
    let mut batch = [Verifying::new(&inbound, &mut foreign)];
    verify(&mut batch);
    if let Ok(verified) = &batch[0].outcome {
        let header = verified.header.clone();
        assert!(batch[0].packet.get(header).is_some());
    }

    let (_, inbound) = associations(choice);
    let mut own = packet.to_vec();
    let mut batch = [Protecting::new(&outbound, &mut own, 17)];
    protect(&mut batch);
    if batch[0].outcome.is_err() {
        return;
    }
    for expected in [Ok(1), Err(Fault::Replayed)] {
        let mut packet = own.clone();
        let mut batch = [Verifying::new(&inbound, &mut packet)];
        verify(&mut batch);
        let [Verifying { outcome, .. }] = batch;
        assert_eq!(outcome.map(|verified| verified.number), expected);
    }
}
