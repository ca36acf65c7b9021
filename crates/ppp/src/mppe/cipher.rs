//! Encryption and decryption of packets: flags, counts, changes of the key (RFC 3078, 3 and 7).

use core::fmt;

use super::Mppe;
use super::key::SessionKey;
use super::late::{LateKeys, MAX_LATE};
use super::rc4::Rc4;
use crate::packet::{BRIDGED, IPV4, IPV6, split};

/// Bytes of flags and count in front of an encrypted packet.
pub const HEADER: usize = 2;
/// The cipher began again before this packet (bit A).
const FLUSHED: u16 = 0x8000;
/// The packet is compressed (bit C), which this end never negotiates.
const COMPRESSED: u16 = 0x2000;
/// The packet is encrypted (bit D).
const ENCRYPTED: u16 = 0x1000;
const COUNT: u16 = 0x0fff;
/// In stateful encryption the key changes before a packet whose count ends so.
const FLAG: u16 = 0xff;
/// Keys that are tried for a packet that answers a reset. RFC 3078, 3.1: the current key. Linux changes the key first,
/// and may have done so in packets that were lost.
const RESET_KEYS: usize = 4;
/// Later packets than half of the counts are packets of the past.
const MAX_GAP: u16 = COUNT / 2;
/// Changes of the key for packets that are not plausible, until a plausible one arrives.
const MAX_CREDIT: u16 = 4 * 1024;
/// Changes of the key that a plausible packet earns.
const EARNED: u16 = 64;
/// Changes of the key that need no credit.
const FREE: u16 = 16;

/// Why a packet cannot be decrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The packet is truncated, compressed, or not encrypted.
    Malformed,
    /// Stateless: the packet is a duplicate, or comes too late.
    Late,
    /// Stateful: a packet was lost just now, or is garbage. The other end must be asked to reset its encryption.
    Lost,
    /// Stateful: the packet follows a loss, and the other end has not reset its encryption.
    AwaitsReset,
    /// Stateless: the decrypted packet is of no known protocol: the keys differ, or the packet is forged.
    Garbage,
    /// Too many packets that were not plausible claimed that many packets were lost.
    Gap,
}

/// Encrypts the packets of one direction, in order.
pub struct Encryptor {
    key: SessionKey,
    cipher: Rc4,
    is_stateless: bool,
    /// Count of the next packet.
    count: u16,
    /// The cipher begins again before the next packet, because the other end requested a reset.
    flushes: bool,
}

impl fmt::Debug for Encryptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encryptor")
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

impl Encryptor {
    /// Creates the encryption of a direction that begins.
    pub fn new(mppe: &Mppe) -> Self {
        let (key, cipher) = begin(mppe);
        Self {
            key,
            cipher,
            is_stateless: mppe.is_stateless,
            count: 0,
            flushes: false,
        }
    }

    /// Begins again with the current key before the next packet: the other end requested a reset (RFC 3078, 8.2).
    pub const fn flush(&mut self) {
        self.flushes = true;
    }

    /// Encrypts a packet in place, from its protocol field on. Returns the header in front of it.
    pub fn encrypt(&mut self, packet: &mut [u8]) -> [u8; HEADER] {
        let count = self.count;
        self.count = (count + 1) & COUNT;
        let changes = self.is_stateless || count & FLAG == FLAG;
        if changes {
            self.key.change(&mut self.cipher);
        }
        let is_flushed = core::mem::take(&mut self.flushes) || changes;
        if is_flushed {
            self.key.set(&mut self.cipher);
        }
        self.cipher.apply(packet);
        let flushed = if is_flushed { FLUSHED } else { 0 };
        (flushed | ENCRYPTED | count).to_be_bytes()
    }
}

/// Decrypts the packets of one direction.
pub struct Decryptor {
    key: SessionKey,
    cipher: Rc4,
    is_stateless: bool,
    /// Count of the next packet.
    count: u16,
    /// Stateful: a packet was lost, and no packet with a fresh key has arrived.
    awaits_reset: bool,
    /// Changes of the key that packets may cause which are not plausible.
    credit: u16,
    /// Stateless: keys of missing packets.
    late: LateKeys,
}

impl fmt::Debug for Decryptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decryptor")
            .field("count", &self.count)
            .field("awaits_reset", &self.awaits_reset)
            .finish_non_exhaustive()
    }
}

impl Decryptor {
    /// Creates the decryption of a direction that begins.
    pub fn new(mppe: &Mppe) -> Self {
        let (key, cipher) = begin(mppe);
        Self {
            key,
            cipher,
            is_stateless: mppe.is_stateless,
            count: 0,
            awaits_reset: false,
            credit: MAX_CREDIT,
            late: match mppe.is_stateless {
                true => LateKeys::new(),
                false => LateKeys::default(),
            },
        }
    }

    /// Decrypts the information field of an encrypted packet in place. Returns the packet from its protocol field on.
    ///
    /// # Errors
    /// [`Fault`]: the packet must be dropped. State is unchanged, but for stateful losses.
    pub fn decrypt<'a>(&mut self, information: &'a mut [u8]) -> Result<&'a mut [u8], Fault> {
        let (header, packet) = { information.split_first_chunk_mut() }.ok_or(Fault::Malformed)?;
        let header = u16::from_be_bytes(*header);
        let (is_flushed, count) = (header & FLUSHED != 0, header & COUNT);
        if header & ENCRYPTED == 0 || header & COMPRESSED != 0 || packet.is_empty() {
            return Err(Fault::Malformed);
        }
        match self.is_stateless {
            true if is_flushed => self.decrypt_stateless(count, packet)?,
            // The key changes before each packet whose count ends with `FLAG`.
            false if is_flushed || count & FLAG != FLAG => {
                self.decrypt_stateful(count, is_flushed, packet)?;
            }
            _ => return Err(Fault::Malformed),
        }
        Ok(packet)
    }

    /// Decrypts a packet with the key of its count. A packet that is not plausible changes nothing.
    fn decrypt_stateless(&mut self, count: u16, packet: &mut [u8]) -> Result<(), Fault> {
        let gap = count.wrapping_sub(self.count) & COUNT;
        if gap > MAX_GAP {
            return self.decrypt_late(count, packet);
        }
        let costs = if gap < FREE { 0 } else { gap };
        if costs > self.credit {
            return Err(Fault::Gap);
        }
        let before = self.key.current();
        for missing in 0..=gap {
            self.key.change(&mut self.cipher);
            if missing < gap && gap <= MAX_LATE {
                let key = self.key.current();
                self.late.keep((self.count + missing) & COUNT, key);
            }
        }
        self.key.set(&mut self.cipher);
        self.cipher.apply(packet);
        if !is_plausible(packet) {
            for missing in 0..gap.min(MAX_LATE) {
                self.late.remove((self.count + missing) & COUNT);
            }
            self.key.restore(before);
            self.credit -= costs;
            return Err(Fault::Garbage);
        }
        self.count = (count + 1) & COUNT;
        self.credit = (self.credit + EARNED).min(MAX_CREDIT);
        Ok(())
    }

    /// Decrypts a packet that comes after later ones, with the key that was kept for it.
    fn decrypt_late(&mut self, count: u16, packet: &mut [u8]) -> Result<(), Fault> {
        let key = self.late.get(count).ok_or(Fault::Late)?;
        let current = self.key.current();
        self.key.restore(key);
        self.key.set(&mut self.cipher);
        self.key.restore(current);
        self.cipher.apply(packet);
        if !is_plausible(packet) {
            return Err(Fault::Garbage);
        }
        self.late.remove(count);
        Ok(())
    }

    /// Decrypts a packet that continues the key stream, or begins a new one.
    fn decrypt_stateful(
        &mut self,
        count: u16,
        is_flushed: bool,
        packet: &mut [u8],
    ) -> Result<(), Fault> {
        if self.awaits_reset {
            if !is_flushed {
                return Err(Fault::AwaitsReset);
            }
            // The last packet of each block of 256 changed the key.
            for _ in 0..(count >> 8).wrapping_sub(self.count >> 8) & (COUNT >> 8) {
                self.key.change(&mut self.cipher);
            }
            self.awaits_reset = false;
        } else if count != self.count {
            self.awaits_reset = true;
            return Err(Fault::Lost);
        }
        self.count = (count + 1) & COUNT;
        if count & FLAG == FLAG {
            self.key.change(&mut self.cipher);
        }
        let is_right = match is_flushed {
            true => self.restart(packet),
            false => {
                self.cipher.apply(packet);
                is_plausible(packet)
            }
        };
        if !is_right {
            self.awaits_reset = true;
            return Err(Fault::Lost);
        }
        Ok(())
    }

    /// Decrypts a packet before which the cipher began again. Returns false if no key gives a plausible packet.
    fn restart(&mut self, packet: &mut [u8]) -> bool {
        let before = self.key.current();
        for _ in 0..RESET_KEYS {
            self.key.set(&mut self.cipher);
            self.cipher.apply(packet);
            if is_plausible(packet) {
                return true;
            }
            // Encrypts the packet again.
            self.key.set(&mut self.cipher);
            self.cipher.apply(packet);
            self.key.change(&mut self.cipher);
        }
        self.key.restore(before);
        false
    }
}

/// Returns the first session key, and the cipher with it.
fn begin(mppe: &Mppe) -> (SessionKey, Rc4) {
    let key = SessionKey::new(mppe.length, &mppe.key);
    let mut cipher = Rc4::idle();
    key.set(&mut cipher);
    (key, cipher)
}

/// Returns true if a decrypted packet begins as one of the protocols that this end accepts.
fn is_plausible(packet: &[u8]) -> bool {
    let Ok((protocol, content)) = split(packet) else {
        return false;
    };
    let version = content.first().map(|first| first >> 4);
    match protocol {
        IPV4 => version == Some(4),
        IPV6 => version == Some(6),
        BRIDGED => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{KeyLength, StartKey};
    use super::*;

    fn mppe(length: KeyLength, is_stateless: bool) -> Mppe {
        Mppe {
            length,
            is_stateless,
            key: StartKey::new(*b"a key of 16 byte"),
        }
    }

    /// Returns the information field of the next packet, with this content.
    fn seal(encryptor: &mut Encryptor, content: &[u8]) -> Vec<u8> {
        seal_as(encryptor, BRIDGED, content)
    }

    fn seal_as(encryptor: &mut Encryptor, protocol: u16, content: &[u8]) -> Vec<u8> {
        let mut packet = [&protocol.to_be_bytes()[..], content].concat();
        let header = encryptor.encrypt(&mut packet);
        [&header[..], &packet].concat()
    }

    fn open(decryptor: &mut Decryptor, sealed: &[u8]) -> Result<Vec<u8>, Fault> {
        let mut sealed = sealed.to_vec();
        let opened = decryptor.decrypt(&mut sealed);
        opened.map(|packet| packet.get(2..).unwrap_or_default().to_vec())
    }

    #[test]
    fn packets_with_a_key_of_128_bits_have_these_bytes() {
        // Start key of RFC 3079, 3.5.3, with keys that an independent implementation derived.
        let key = 0x8b7c_dc14_9b99_3a1b_a118_cb15_3f56_dccb_u128.to_be_bytes();
        let mut encryptor = Encryptor::new(&Mppe {
            key: StartKey::new(key),
            ..mppe(KeyLength::Bits128, true)
        });
        let expected: [&[u8]; 3] = [
            &[
                0x90, 0x00, 0x70, 0x58, 0x22, 0x4e, 0x93, 0x1b, 0x78, 0xd7, 0xb6, 0x15, 0xfa, 0x44,
                0x18, 0x31,
            ],
            &[
                0x90, 0x01, 0x35, 0x3c, 0x95, 0x4c, 0xd5, 0x45, 0xce, 0x31, 0x27, 0xae, 0x68, 0xf6,
                0xea, 0xf7,
            ],
            &[
                0x90, 0x02, 0xcc, 0xd9, 0x44, 0xbe, 0x42, 0xcd, 0xeb, 0x32, 0xb1, 0x3a, 0xd6, 0x72,
                0x95, 0x8a,
            ],
        ];
        for expected in expected {
            assert_eq!(seal_as(&mut encryptor, IPV4, b"test message"), expected);
        }
    }

    #[test]
    fn stateful_keys_change_with_the_last_packet_of_a_block() {
        let mut encryptor = Encryptor::new(&mppe(KeyLength::Bits40, false));
        for count in 0..5_000_u16 {
            let header = seal(&mut encryptor, &[7]);
            let flushed = if count & 0xff == 0xff { 0x8000 } else { 0 };
            let expected: u16 = flushed | 0x1000 | count & 0xfff;
            assert_eq!(header[..2], expected.to_be_bytes());
        }
        encryptor.flush();
        assert_eq!(seal(&mut encryptor, &[7])[0] & 0x80, 0x80);
        assert_eq!(seal(&mut encryptor, &[7])[0] & 0x80, 0);
    }

    #[test]
    fn a_forged_packet_changes_no_state_and_forged_gaps_are_bounded() {
        let mppe = mppe(KeyLength::Bits128, true);
        let (mut encryptor, mut decryptor) = (Encryptor::new(&mppe), Decryptor::new(&mppe));
        let mut gaps = 0;
        for round in 0..20_u16 {
            let forged = (0x9000 | (round + 2_000) & COUNT).to_be_bytes();
            let forged = [&forged[..], &[round as u8; 40]].concat();
            match open(&mut decryptor, &forged) {
                Err(Fault::Garbage) => gaps += 2_000,
                other => assert_eq!(other, Err(Fault::Gap)),
            }
            let sealed = seal(&mut encryptor, &[1, 2, 3]);
            assert_eq!(open(&mut decryptor, &sealed), Ok(vec![1, 2, 3]));
        }
        assert!(gaps <= u32::from(MAX_CREDIT), "{gaps}");
    }

    #[test]
    fn the_reset_of_linux_changes_the_key_and_is_understood() {
        let mppe = mppe(KeyLength::Bits128, false);
        let (mut encryptor, mut decryptor) = (Encryptor::new(&mppe), Decryptor::new(&mppe));
        seal(&mut encryptor, b"lost");
        let sealed = seal(&mut encryptor, b"next");
        assert_eq!(open(&mut decryptor, &sealed), Err(Fault::Lost));
        for (at, content) in [b"lost", b"kept"].into_iter().enumerate() {
            encryptor.key.change(&mut encryptor.cipher);
            encryptor.flush();
            let sealed = seal(&mut encryptor, content);
            if at > 0 {
                assert_eq!(open(&mut decryptor, &sealed), Ok(content.to_vec()));
            }
        }
        let sealed = seal(&mut encryptor, b"last");
        assert_eq!(open(&mut decryptor, &sealed), Ok(b"last".to_vec()));
    }

    #[test]
    fn malformed_packets_are_refused() {
        for is_stateless in [true, false] {
            let mut decryptor = Decryptor::new(&mppe(KeyLength::Bits56, is_stateless));
            let plain = [0x80, 0, 0, 0x21, 1];
            let compressed = [0xb0, 0, 0, 0x21, 1];
            for bytes in [&[][..], &[0x90], &[0x90, 0], &plain, &compressed] {
                assert_eq!(open(&mut decryptor, bytes), Err(Fault::Malformed));
            }
        }
        let mut stateless = Decryptor::new(&mppe(KeyLength::Bits56, true));
        assert_eq!(open(&mut stateless, &[0x10, 0, 9]), Err(Fault::Malformed));
        let mut stateful = Decryptor::new(&mppe(KeyLength::Bits56, false));
        assert_eq!(open(&mut stateful, &[0x10, 0xff, 9]), Err(Fault::Malformed));
    }

    /// What happens to a packet on its way.
    #[derive(Clone, Copy, Debug)]
    enum Delivery {
        Arrives,
        Lost,
        Repeated,
        Exchanged,
    }

    fn deliveries() -> impl Strategy<Value = Vec<Delivery>> {
        let one = prop_oneof![
            20 => Just(Delivery::Arrives),
            2 => Just(Delivery::Lost),
            1 => Just(Delivery::Repeated),
            1 => Just(Delivery::Exchanged),
        ];
        prop::collection::vec(one, 1..900)
    }

    /// Returns the numbers of the packets that arrive, in their order.
    fn arrivals(deliveries: &[Delivery]) -> Vec<usize> {
        let mut order = Vec::new();
        for (at, delivery) in deliveries.iter().enumerate() {
            match delivery {
                Delivery::Arrives => order.push(at),
                Delivery::Lost => {}
                Delivery::Repeated => order.extend([at, at]),
                Delivery::Exchanged => {
                    let place = order.len().saturating_sub(1);
                    order.insert(place, at);
                }
            }
        }
        order
    }

    proptest! {
        #[test]
        fn stateless_packets_survive_loss_and_are_decrypted_once_within_a_bound_in_any_order(
            deliveries in deliveries(),
            length in 0_usize..3,
        ) {
            let mppe = mppe(KeyLength::ALL[length], true);
            let (mut encryptor, mut decryptor) = (Encryptor::new(&mppe), Decryptor::new(&mppe));
            let sealed: Vec<_> = (0..deliveries.len())
                .map(|at| seal(&mut encryptor, &at.to_be_bytes()))
                .collect();
            let mut next = 0;
            let mut missing: Vec<usize> = Vec::new();
            for at in arrivals(&deliveries) {
                let opened = open(&mut decryptor, &sealed[at]);
                let position = missing.iter().position(|other| *other == at);
                if at >= next {
                    if at - next <= MAX_LATE.into() {
                        missing.extend(next..at);
                        missing.drain(..missing.len().saturating_sub(MAX_LATE.into()));
                    }
                    prop_assert_eq!(opened, Ok(at.to_be_bytes().to_vec()));
                    next = at + 1;
                } else if let Some(position) = position {
                    missing.remove(position);
                    prop_assert_eq!(opened, Ok(at.to_be_bytes().to_vec()));
                } else {
                    prop_assert_eq!(opened, Err(Fault::Late));
                }
            }
        }

        #[test]
        fn stateful_packets_are_right_and_a_reset_ends_each_loss(
            deliveries in deliveries(),
            length in 0_usize..3,
            delay in 0_usize..300,
        ) {
            let mppe = mppe(KeyLength::ALL[length], false);
            let (mut encryptor, mut decryptor) = (Encryptor::new(&mppe), Decryptor::new(&mppe));
            let mut reset_at = None;
            let mut opened = 0;
            for (at, delivery) in deliveries.iter().enumerate() {
                if reset_at == Some(at) {
                    encryptor.flush();
                    reset_at = None;
                }
                let sealed = seal(&mut encryptor, &at.to_be_bytes());
                if matches!(delivery, Delivery::Lost) {
                    continue;
                }
                match open(&mut decryptor, &sealed) {
                    Ok(content) => {
                        prop_assert_eq!(content, at.to_be_bytes());
                        opened += 1;
                    }
                    Err(Fault::Lost) => reset_at = Some(at + 1 + delay),
                    other => prop_assert_eq!(other, Err(Fault::AwaitsReset)),
                }
            }
            // A loss that is not noticed yet, then the reset.
            let _ = open(&mut decryptor, &seal(&mut encryptor, b"next"));
            encryptor.flush();
            let last = seal(&mut encryptor, b"last");
            prop_assert_eq!(open(&mut decryptor, &last), Ok(b"last".to_vec()));
            prop_assert!(opened > 0 || matches!(deliveries[0], Delivery::Lost));
        }

        #[test]
        fn no_packet_of_the_wire_panics(
            packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..60),
            is_stateless: bool,
        ) {
            let mut decryptor = Decryptor::new(&mppe(KeyLength::Bits40, is_stateless));
            for packet in packets {
                let _ = open(&mut decryptor, &packet);
            }
        }
    }
}
