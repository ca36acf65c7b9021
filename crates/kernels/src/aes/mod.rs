//! AES (FIPS 197): counter mode over packets, and CBC over several packets with different keys in parallel.
//!
//! A register holds two blocks where the mode permits it. Blocks in memory have the byte order of FIPS 197.

#[cfg(target_arch = "x86_64")]
mod cbc;
#[cfg(target_arch = "x86_64")]
mod unchain;

#[cfg(target_arch = "x86_64")]
pub use cbc::ChainForm;

/// Round keys of AES for encryption and decryption.
#[derive(Clone)]
pub struct Aes {
    /// Round keys in the processor's byte order; unused keys after `rounds` are 0.
    encrypt: [u128; KEYS],
    decrypt: [u128; KEYS],
    rounds: usize,
}

/// A packet to be encrypted or decrypted in CBC mode.
pub struct Chain<'a> {
    /// The key.
    pub aes: &'a Aes,
    /// The initialization vector.
    pub vector: [u8; 16],
    /// The text: whole blocks; further bytes stay unchanged.
    pub text: &'a mut [u8],
}

/// Number of round keys of the longest key.
const KEYS: usize = 15;

impl Aes {
    /// Expands a key of 16, 24 or 32 bytes; `None` for other lengths, or if the processor lacks the
    /// instructions.
    pub fn new(key: &[u8]) -> Option<Self> {
        if !matches!(key.len(), 16 | 24 | 32) {
            return None;
        }
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            if has!("aes") && has!("avx2") && has!("vaes") {
                // SAFETY: the processor has the features of the function.
                return Some(unsafe { wide::expand(key) });
            }
        }
        None
    }

    /// Encrypts a block.
    pub fn encrypt(&self, block: [u8; 16]) -> [u8; 16] {
        let mut text = block;
        chain(&mut [Chain {
            aes: self,
            vector: [0; 16],
            text: &mut text,
        }]);
        text
    }

    /// XORs `mask`, if given, and then `text` with the encrypted counter blocks. A counter block consists of
    /// the nonce and a 32-bit counter that begins at 1.
    pub fn count(&self, nonce: &[u8; 12], mask: Option<&mut [u8; 16]>, text: &mut [u8]) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: an `Aes` exists only if the processor has the features of the function.
        unsafe {
            wide::count(self, nonce, mask, text);
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (nonce, mask, text);
    }

    /// Returns the encryption round keys: the first, those between, and the last.
    #[inline]
    pub(crate) fn round_keys(&self) -> (&u128, &[u128], &u128) {
        let last = self.rounds.min(KEYS - 1);
        (
            &self.encrypt[0],
            &self.encrypt[1..last],
            &self.encrypt[last],
        )
    }

    /// Prefetches the cache lines of the round keys for encryption.
    #[inline(always)]
    pub(crate) fn prefetch_encryption(&self) {
        const PER_LINE: usize = 4;
        let keys = self.encrypt.iter().step_by(PER_LINE);
        keys.for_each(crate::prefetch);
    }

    /// Erases the key.
    pub fn wipe(&mut self) {
        self.encrypt = [0; KEYS];
        self.decrypt = [0; KEYS];
        core::hint::black_box(self);
    }
}

/// Encrypts packets in CBC mode in parallel by the fastest form; fastest if the longest come first.
pub fn chain(chains: &mut [Chain<'_>]) {
    #[cfg(target_arch = "x86_64")]
    {
        let form = match ChainForm::V4.is_available() {
            true => ChainForm::V4,
            false => ChainForm::V3,
        };
        chain_by(form, chains);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = chains;
}

/// Encrypts packets in CBC mode by a given form, which this machine has.
#[cfg(target_arch = "x86_64")]
pub fn chain_by(form: ChainForm, chains: &mut [Chain<'_>]) {
    assert!(form.is_available() || chains.is_empty(), "{form:?}");
    // SAFETY: the processor has the instructions of the form.
    unsafe { cbc::chain(form, chains) }
}

/// Decrypts the whole blocks of packets in CBC mode by the fastest form.
pub fn unchain(chains: &mut [Chain<'_>]) {
    #[cfg(target_arch = "x86_64")]
    {
        let form = match ChainForm::V4.is_available() {
            true => ChainForm::V4,
            false => ChainForm::V3,
        };
        unchain_by(form, chains);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = chains;
}

/// Decrypts packets in CBC mode by a given form, which this machine has.
#[cfg(target_arch = "x86_64")]
pub fn unchain_by(form: ChainForm, chains: &mut [Chain<'_>]) {
    assert!(form.is_available() || chains.is_empty(), "{form:?}");
    // SAFETY: the processor has the instructions of the form.
    unsafe {
        match form {
            ChainForm::V4 => unchain::unchain(chains),
            ChainForm::Narrow | ChainForm::V3 => {
                for chain in chains {
                    wide::unchain(chain.aes, &chain.vector, chain.text);
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) mod wide {
    use core::arch::x86_64::*;

    use super::{Aes, Chain, KEYS};

    /// Bytes per block.
    pub(crate) const BLOCK: usize = 16;
    /// Bytes of a register with two blocks.
    const PAIR: usize = 2 * BLOCK;

    /// Key expansion (FIPS 197, 5.2 and 5.3.5).
    #[target_feature(enable = "aes,avx2,vaes")]
    pub(super) fn expand(key: &[u8]) -> Aes {
        let words = key.len() / 4;
        let rounds = words + 6;
        let mut schedule = [0_u32; 4 * KEYS];
        for (word, bytes) in schedule.iter_mut().zip(key.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        let mut constant: u32 = 1;
        for at in words..4 * (rounds + 1) {
            let mut word = schedule[at - 1];
            if at % words == 0 {
                word = substituted(word).rotate_right(8) ^ constant;
                constant = (constant << 1) ^ ((constant >> 7) * 0x11b);
            } else if words > 6 && at % words == 4 {
                word = substituted(word);
            }
            schedule[at] = schedule[at - words] ^ word;
        }
        let mut aes = Aes {
            encrypt: [0; KEYS],
            decrypt: [0; KEYS],
            rounds,
        };
        for (key, words) in aes.encrypt.iter_mut().zip(schedule.as_chunks::<4>().0) {
            let words = words.iter().rev();
            *key = words.fold(0, |key, word| key << 32 | u128::from(*word));
        }
        for (at, key) in aes.decrypt.iter_mut().take(rounds + 1).enumerate() {
            let other = aes.encrypt[rounds - at];
            let is_outer = at == 0 || at == rounds;
            *key = match is_outer {
                true => other,
                false => number(_mm_aesimc_si128(load(&other))),
            };
        }
        aes
    }

    /// Applies the S-box to a word.
    #[target_feature(enable = "aes")]
    fn substituted(word: u32) -> u32 {
        let words = _mm_set1_epi32(word as i32);
        _mm_cvtsi128_si32(_mm_aeskeygenassist_si128::<0>(words)) as u32
    }

    /// Counter mode, sixteen blocks at a time, fewer at the end.
    #[target_feature(enable = "aes,avx2,vaes")]
    pub(super) fn count(
        aes: &Aes,
        nonce: &[u8; 12],
        mask: Option<&mut [u8; BLOCK]>,
        text: &mut [u8],
    ) {
        let mut block = [0; BLOCK];
        block[..12].copy_from_slice(nonce);
        block[12] = 1;
        // The counter is the last word, in native byte order until it is used.
        let first = load(&u128::from_le_bytes(block));
        let mut counters = _mm256_add_epi32(
            _mm256_broadcastsi128_si256(first),
            _mm256_set_epi32(1, 0, 0, 0, 0, 0, 0, 0),
        );
        let mut stream = [[0; BLOCK]; 16];
        let mut text = text;
        if let Some(mask) = mask {
            let blocks = fill(
                aes,
                &mut counters,
                &mut stream,
                1 + text.len().div_ceil(BLOCK),
            );
            add(mask, &stream[0]);
            text = add_all(text, &stream[1..blocks]);
        }
        while !text.is_empty() {
            let blocks = fill(aes, &mut counters, &mut stream, text.len().div_ceil(BLOCK));
            text = add_all(text, &stream[..blocks]);
        }
    }

    /// Encrypts up to `wanted` counter blocks, at most as many as `stream` has room for; returns their
    /// number.
    #[inline]
    #[target_feature(enable = "aes,avx2,vaes")]
    fn fill(
        aes: &Aes,
        counters: &mut __m256i,
        stream: &mut [[u8; BLOCK]; 16],
        wanted: usize,
    ) -> usize {
        match wanted {
            0..=4 => pairs::<2>(aes, counters, stream),
            5..=8 => pairs::<4>(aes, counters, stream),
            9..=12 => pairs::<6>(aes, counters, stream),
            _ => pairs::<8>(aes, counters, stream),
        }
    }

    #[inline]
    #[target_feature(enable = "aes,avx2,vaes")]
    fn pairs<const N: usize>(
        aes: &Aes,
        counters: &mut __m256i,
        stream: &mut [[u8; BLOCK]; 16],
    ) -> usize {
        let last_word = _mm256_broadcastsi128_si256(_mm_set_epi8(
            12, 13, 14, 15, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0,
        ));
        let two = _mm256_set_epi32(2, 0, 0, 0, 2, 0, 0, 0);
        let first = twice(&aes.encrypt[0]);
        let mut blocks = [first; N];
        for block in &mut blocks {
            *block = _mm256_xor_si256(first, _mm256_shuffle_epi8(*counters, last_word));
            *counters = _mm256_add_epi32(*counters, two);
        }
        for key in &aes.encrypt[1..aes.rounds.min(KEYS - 1)] {
            let key = twice(key);
            for block in &mut blocks {
                *block = _mm256_aesenc_epi128(*block, key);
            }
        }
        let key = twice(&aes.encrypt[aes.rounds.min(KEYS - 1)]);
        for (place, block) in stream.as_chunks_mut::<2>().0.iter_mut().zip(blocks) {
            let block = _mm256_aesenclast_epi128(block, key);
            // SAFETY: the place is two blocks long, and needs no alignment.
            unsafe { _mm256_storeu_si256(place.as_mut_ptr().cast(), block) };
        }
        2 * N
    }

    /// XORs a text with a key stream; returns the rest of the text.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn add_all<'t>(text: &'t mut [u8], stream: &[[u8; BLOCK]]) -> &'t mut [u8] {
        let (now, later) = text.split_at_mut(text.len().min(BLOCK * stream.len()));
        let (blocks, rest) = now.as_chunks_mut();
        for (block, key) in blocks.iter_mut().zip(stream) {
            add(block, key);
        }
        if let Some(key) = stream.get(blocks.len()) {
            for (byte, key) in rest.iter_mut().zip(key) {
                *byte ^= key;
            }
        }
        later
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn add(block: &mut [u8; BLOCK], other: &[u8; BLOCK]) {
        write(block, _mm_xor_si128(read(block), read(other)));
    }

    /// CBC encryption of eight packets at a time, up to the length of the shortest; then of the others.
    #[target_feature(enable = "aes,avx2,vaes")]
    pub(super) fn chain(chains: &mut [Chain<'_>]) {
        for mut active in chains.chunks_mut(8) {
            loop {
                let mut count = active.len();
                let mut at = 0;
                while at < count {
                    if active[at].text.len() < BLOCK {
                        count -= 1;
                        active.swap(at, count);
                    } else {
                        at += 1;
                    }
                }
                active = &mut active[..count];
                let blocks = active.iter().map(|chain| chain.text.len() / BLOCK).min();
                let Some(blocks) = blocks else {
                    break;
                };
                let rest = many::<8>(active, blocks);
                let rest = many::<4>(rest, blocks);
                let rest = many::<2>(rest, blocks);
                many::<1>(rest, blocks);
            }
        }
    }

    /// Encrypts `blocks` blocks of the first `N` packets, if there are that many; returns the other packets.
    #[inline]
    #[target_feature(enable = "aes,avx2,vaes")]
    fn many<'c, 't, const N: usize>(
        chains: &'c mut [Chain<'t>],
        blocks: usize,
    ) -> &'c mut [Chain<'t>] {
        if chains.len() < N {
            return chains;
        }
        let (now, rest) = chains.split_at_mut(N);
        let Some(now) = now.first_chunk_mut::<N>() else {
            return rest;
        };
        let rounds = now[0].aes.rounds;
        if now.iter().all(|chain| chain.aes.rounds == rounds) {
            advance(now, rounds, blocks);
        } else {
            for chain in now {
                let rounds = chain.aes.rounds;
                advance(core::array::from_mut(chain), rounds, blocks);
            }
        }
        rest
    }

    /// Encrypts `blocks` blocks of each packet and advances its text.
    #[inline]
    #[target_feature(enable = "aes,avx2,vaes")]
    fn advance<const N: usize>(chains: &mut [Chain<'_>; N], rounds: usize, blocks: usize) {
        let keys = chains.each_ref().map(|chain| &chain.aes.encrypt);
        let mut heads = [_mm_setzero_si128(); N];
        for (head, chain) in heads.iter_mut().zip(&*chains) {
            *head = read(&chain.vector);
        }
        let last = rounds.min(KEYS - 1);
        for at in 0..blocks {
            for lane in 0..N {
                let text = chains[lane].text.as_chunks().0;
                let block = _mm_xor_si128(read(&text[at]), load(&keys[lane][0]));
                heads[lane] = _mm_xor_si128(heads[lane], block);
            }
            for round in 1..last {
                for (head, keys) in heads.iter_mut().zip(keys) {
                    *head = _mm_aesenc_si128(*head, load(&keys[round]));
                }
            }
            for lane in 0..N {
                heads[lane] = _mm_aesenclast_si128(heads[lane], load(&keys[lane][last]));
                let text = chains[lane].text.as_chunks_mut().0;
                write(&mut text[at], heads[lane]);
            }
        }
        for (head, chain) in heads.into_iter().zip(chains) {
            write(&mut chain.vector, head);
            let text = core::mem::take(&mut chain.text);
            chain.text = text.get_mut(blocks * BLOCK..).unwrap_or_default();
        }
    }

    /// CBC decryption, sixteen blocks at a time, then eight; a shorter rest is padded to eight.
    #[target_feature(enable = "aes,avx2,vaes")]
    pub(super) fn unchain(aes: &Aes, vector: &[u8; BLOCK], text: &mut [u8]) {
        let mut before = _mm256_broadcastsi128_si256(read(vector));
        let (groups, rest) = text.as_chunks_mut::<{ 8 * PAIR }>();
        for group in groups {
            before = release::<8>(aes, before, group);
        }
        let (groups, rest) = rest.as_chunks_mut::<{ 4 * PAIR }>();
        for group in groups {
            before = release::<4>(aes, before, group);
        }
        let (blocks, _) = rest.as_chunks_mut::<BLOCK>();
        if blocks.is_empty() {
            return;
        }
        let mut group = [0; 4 * PAIR];
        for (place, block) in group.as_chunks_mut().0.iter_mut().zip(&*blocks) {
            write(place, read(block));
        }
        release::<4>(aes, before, &mut group);
        for (block, place) in blocks.iter_mut().zip(group.as_chunks().0) {
            write(block, read(place));
        }
    }

    /// Decrypts `N` registers of blocks. The upper half of `before` is the preceding ciphertext block;
    /// returns the last ciphertext blocks for the next call.
    #[inline]
    #[target_feature(enable = "aes,avx2,vaes")]
    fn release<const N: usize>(aes: &Aes, before: __m256i, group: &mut [u8]) -> __m256i {
        let (pairs, _) = group.as_chunks_mut::<PAIR>();
        let first = twice(&aes.decrypt[0]);
        let mut ciphers = [first; N];
        let mut blocks = [first; N];
        for (at, pair) in pairs.iter().take(N).enumerate() {
            // SAFETY: the pair is 32 bytes long, and needs no alignment.
            ciphers[at] = unsafe { _mm256_loadu_si256(pair.as_ptr().cast()) };
            blocks[at] = _mm256_xor_si256(first, ciphers[at]);
        }
        let last = aes.rounds.min(KEYS - 1);
        for key in &aes.decrypt[1..last] {
            let key = twice(key);
            for block in &mut blocks {
                *block = _mm256_aesdec_epi128(*block, key);
            }
        }
        let key = twice(&aes.decrypt[last]);
        let mut before = before;
        for (at, pair) in pairs.iter_mut().take(N).enumerate() {
            let block = _mm256_aesdeclast_epi128(blocks[at], key);
            let mixed = _mm256_permute2x128_si256::<0x21>(before, ciphers[at]);
            let block = _mm256_xor_si256(block, mixed);
            before = ciphers[at];
            // SAFETY: the pair is 32 bytes long, and needs no alignment.
            unsafe { _mm256_storeu_si256(pair.as_mut_ptr().cast(), block) };
        }
        before
    }

    /// Returns a round key for both blocks of a register.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn twice(key: &u128) -> __m256i {
        _mm256_broadcastsi128_si256(load(key))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn read(block: &[u8; BLOCK]) -> __m128i {
        // SAFETY: the block is 16 bytes long, and needs no alignment.
        unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn write(block: &mut [u8; BLOCK], register: __m128i) {
        // SAFETY: the block is 16 bytes long, and needs no alignment.
        unsafe { _mm_storeu_si128(block.as_mut_ptr().cast(), register) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(crate) fn load(number: &u128) -> __m128i {
        // SAFETY: the number is 16 bytes long.
        unsafe { _mm_loadu_si128(core::ptr::from_ref(number).cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn number(register: __m128i) -> u128 {
        let low = _mm_cvtsi128_si64(register) as u64;
        let high = _mm_extract_epi64::<1>(register) as u64;
        u128::from(high) << 64 | u128::from(low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test vectors of FIPS 197, appendix C.
    const VECTORS: [(usize, u128); 3] = [
        (16, 0x69c4_e0d8_6a7b_0430_d8cd_b780_70b4_c55a),
        (24, 0xdda9_7ca4_864c_dfe0_6eaf_70a0_ec0d_7191),
        (32, 0x8ea2_b7ca_5167_45bf_eafc_4990_4b49_6089),
    ];

    fn key(len: usize) -> Vec<u8> {
        (0..len as u8).collect()
    }

    /// Runs a test with every key length; skips it if the processor lacks the instructions.
    fn each(mut run: impl FnMut(&Aes)) {
        for (len, _) in VECTORS {
            match Aes::new(&key(len)) {
                Some(aes) => run(&aes),
                None => println!("skipped: the processor has no VAES"),
            }
        }
    }

    fn text(len: usize) -> Vec<u8> {
        (0..len).map(|at| ((at * 151) >> 3) as u8).collect()
    }

    #[test]
    fn blocks_are_encrypted_as_in_the_appendix() {
        let block = 0x0011_2233_4455_6677_8899_aabb_ccdd_eeff_u128.to_be_bytes();
        for (len, wanted) in VECTORS {
            let Some(aes) = Aes::new(&key(len)) else {
                println!("skipped: the processor has no VAES");
                return;
            };
            assert_eq!(aes.encrypt(block), wanted.to_be_bytes(), "{len}");
        }
        assert!(Aes::new(&[0; 20]).is_none());
    }

    #[test]
    fn texts_of_every_length_are_counted_over_block_by_block() {
        each(|aes| {
            for len in 0..600 {
                for masked in [false, true] {
                    let (mut mask, mut counted) = ([0x55; 16], text(len));
                    let mut wanted = counted.clone();
                    let mut key = (1_u32..).map(|counter| {
                        let mut block = [9; 16];
                        block[12..].copy_from_slice(&counter.to_be_bytes());
                        aes.encrypt(block)
                    });
                    let wanted_mask = match masked {
                        true => key.next().expect("it has no end").map(|byte| byte ^ 0x55),
                        false => mask,
                    };
                    for (bytes, key) in wanted.chunks_mut(16).zip(key) {
                        for (byte, key) in bytes.iter_mut().zip(key) {
                            *byte ^= key;
                        }
                    }

                    aes.count(&[9; 12], masked.then_some(&mut mask), &mut counted);

                    assert_eq!((mask, &counted), (wanted_mask, &wanted), "{len}");
                }
            }
        });
    }

    #[test]
    fn chains_of_any_lengths_side_by_side_are_chains_and_can_be_undone() {
        let keys = [key(16), key(32), key(24), vec![5; 16]];
        let ciphers: Vec<Aes> = keys.iter().filter_map(|key| Aes::new(key)).collect();
        if ciphers.is_empty() {
            println!("skipped: the processor has no VAES");
            return;
        }
        for (count, form) in { (0..40_usize).chain([64]) }
            .flat_map(|count| ChainForm::available().map(move |form| (count, form)))
        {
            let cipher = |at: usize| match count % 3 {
                0 => &ciphers[0],
                1 => &ciphers[at % 2 * 3],
                _ => &ciphers[at % 4],
            };
            let blocks = [3, 8, 40][count / 3 % 3];
            let length = |at: usize| (at * 7 + count) % blocks * 16 + at % 2;
            let plain: Vec<Vec<u8>> = (0..count).map(|at| text(length(at))).collect();
            let mut chained = plain.clone();
            let chains = chained.iter_mut().enumerate();
            let mut chains: Vec<Chain<'_>> = chains
                .map(|(at, text)| Chain {
                    aes: cipher(at),
                    vector: [at as u8; 16],
                    text,
                })
                .collect();

            chain_by(form, &mut chains);

            for (at, (chained, plain)) in chained.iter_mut().zip(&plain).enumerate() {
                let mut head = [at as u8; 16];
                let mut wanted = plain.clone();
                for block in wanted.as_chunks_mut::<16>().0 {
                    *block = core::array::from_fn(|at| block[at] ^ head[at]);
                    *block = cipher(at).encrypt(*block);
                    head = *block;
                }
                assert_eq!(chained, &wanted, "{form:?} {count} {at}");
            }
            let chains = chained.iter_mut().enumerate();
            let mut chains: Vec<Chain<'_>> = chains
                .map(|(at, text)| Chain {
                    aes: cipher(at),
                    vector: [at as u8; 16],
                    text,
                })
                .collect();
            unchain_by(form, &mut chains);
            assert_eq!(chained, plain, "{form:?} {count}");
        }
    }
}
