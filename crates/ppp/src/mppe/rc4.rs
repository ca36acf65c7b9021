//! The stream cipher RC4, which MPPE prescribes. No other code may use it: it is broken.

use zeroize::Zeroize;

/// State of the cipher. Wiped when dropped.
#[derive(Clone)]
pub(crate) struct Rc4 {
    table: [u8; 256],
    i: u8,
    j: u8,
}

/// The table before a key is mixed in.
const IDENTITY: [u8; 256] = {
    let mut table = [0; 256];
    let mut at = 0;
    while at < table.len() {
        table[at] = at as u8;
        at += 1;
    }
    table
};

impl Rc4 {
    /// Returns the state for a key.
    #[cfg(test)]
    pub(crate) fn new<const N: usize>(key: &[u8; N]) -> Self {
        let mut cipher = Self::idle();
        cipher.set_key(key);
        cipher
    }

    /// Returns a state without a key.
    pub(crate) const fn idle() -> Self {
        Self {
            table: IDENTITY,
            i: 0,
            j: 0,
        }
    }

    /// Starts again with a key of 8 or 16 bytes.
    pub(crate) fn set_key<const N: usize>(&mut self, key: &[u8; N]) {
        const { assert!(N.is_power_of_two() && N <= 256) };
        self.table = IDENTITY;
        let table = &mut self.table;
        let mut j = 0_u8;
        for i in 0..table.len() {
            let own = table[i];
            j = j.wrapping_add(own).wrapping_add(key[i % N]);
            table[i] = table[usize::from(j)];
            table[usize::from(j)] = own;
        }
        (self.i, self.j) = (0, 0);
    }

    /// Encrypts or decrypts bytes in place.
    pub(crate) fn apply(&mut self, bytes: &mut [u8]) {
        let Self { table, i, j } = self;
        let (mut at_i, mut at_j) = (*i, *j);
        let mut next = || {
            at_i = at_i.wrapping_add(1);
            let first = table[usize::from(at_i)];
            at_j = at_j.wrapping_add(first);
            let second = table[usize::from(at_j)];
            table[usize::from(at_i)] = second;
            table[usize::from(at_j)] = first;
            table[usize::from(first.wrapping_add(second))]
        };
        // Eight bytes of the key stream are applied by one store.
        let (words, rest) = bytes.as_chunks_mut::<8>();
        for word in words {
            let stream = u64::from_le_bytes(core::array::from_fn(|_| next()));
            *word = (u64::from_le_bytes(*word) ^ stream).to_le_bytes();
        }
        for byte in rest {
            *byte ^= next();
        }
        (*i, *j) = (at_i, at_j);
    }
}

impl Drop for Rc4 {
    fn drop(&mut self) {
        self.table.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_stream_is_that_of_rfc_6229() {
        let key = [1, 2, 3, 4, 5, 6, 7, 8];
        let mut stream = [0; 32];
        Rc4::new(&key).apply(&mut stream);
        assert_eq!(stream[..4], [0x97, 0xab, 0x8a, 0x1b]);
        assert_eq!(stream[28..], [0xb1, 0x9e, 0x5b, 0x09]);
    }

    #[test]
    fn pieces_of_any_length_give_one_stream() {
        let key = *b"0123456789abcdef";
        let mut whole = [0; 100];
        Rc4::new(&key).apply(&mut whole);
        for size in 1..40 {
            let mut pieces = [0; 100];
            let mut cipher = Rc4::new(&key);
            pieces
                .chunks_mut(size)
                .for_each(|piece| cipher.apply(piece));
            assert_eq!(pieces, whole, "{size}");
        }
    }
}
