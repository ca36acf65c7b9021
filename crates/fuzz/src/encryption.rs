//! Fuzz target of MPPE: foreign packets among packets of the right sender, with loss.

use ppp::{Decryptor, Encryptor, IPV4, KeyLength, Mppe, MppeFault, StartKey};

/// Packets of one run at most: each costs changes of the key.
const MAX_PACKETS: usize = 200;

/// Decrypts foreign packets. The first byte selects key length and state. A packet is a length byte and that many
/// bytes; an empty packet stands for a packet of the right sender, and one of a single byte for its loss.
///
/// # Panics
/// A packet of the right sender is decrypted to something else, or a stateless session does not survive.
pub fn mppe(bytes: &[u8]) {
    let Some((&choice, mut rest)) = bytes.split_first() else {
        return;
    };
    let mppe = Mppe {
        length: KeyLength::ALL[usize::from(choice) % 3],
        is_stateless: choice & 0x80 != 0,
        key: StartKey::new([choice; 16]),
    };
    let (mut sealing, mut opening) = (Encryptor::new(&mppe), Decryptor::new(&mppe));
    for _ in 0..MAX_PACKETS {
        let Some((&length, behind)) = rest.split_first() else {
            break;
        };
        let (packet, behind) = behind.split_at(usize::from(length).min(behind.len()));
        rest = behind;
        match packet.len() {
            0 | 1 => {
                let sealed = seal(&mut sealing);
                if packet.is_empty() {
                    arrive(&mut opening, sealed, &mut sealing, mppe.is_stateless);
                }
            }
            _ => drop(opening.decrypt(&mut packet.to_vec()).map(|_| ())),
        }
    }
}

/// Returns the information field of a packet of the right sender.
fn seal(sealing: &mut Encryptor) -> Vec<u8> {
    let mut packet = [&IPV4.to_be_bytes()[..], &[0x45; 20]].concat();
    let header = sealing.encrypt(&mut packet);
    [&header[..], &packet].concat()
}

/// Decrypts a packet of the right sender; after a loss the sender begins again.
fn arrive(opening: &mut Decryptor, mut sealed: Vec<u8>, sealing: &mut Encryptor, stateless: bool) {
    match opening.decrypt(&mut sealed) {
        Ok(packet) => assert_eq!(packet[2..], [0x45; 20], "another packet"),
        Err(MppeFault::Lost | MppeFault::AwaitsReset) if !stateless => sealing.flush(),
        // A forged packet may be plausible by chance, or have used up the credit.
        Err(MppeFault::Late | MppeFault::Garbage | MppeFault::Gap) if stateless => {}
        Err(fault) => panic!("{fault:?} for a packet of the right sender"),
    }
}
