//! Rounds of the hashes over registers with one word per lane.
//!
//! The message schedule of sixteen words stays in registers; each word is replaced when the rounds need it.

use super::words::Words;

/// A round of SHA-1 (FIPS 180-4, 6.1.2).
macro_rules! sha1_rounds {
    ($state:ident, $w:ident, $f:ident, $constant:expr, $is_first:literal, $($t:literal)*) => {$(
        if !$is_first {
            let far = $w[($t + 13) % 16].parity($w[($t + 8) % 16], $w[($t + 2) % 16]);
            $w[$t] = far.xor($w[$t]).rotate::<1, 31>();
        }
        let [a, b, c, d, e] = $state;
        let sum = e.add($w[$t].add($constant)).add(b.$f(c, d)).add(a.rotate::<5, 27>());
        $state = [sum, a, b.rotate::<30, 2>(), c, d];
    )*};
}

/// Compresses a block of SHA-1 in each lane.
#[inline(always)]
pub(super) fn sha1<W: Words<Word = u32>>(state: &mut [W; 8], w: &mut [W; 16]) {
    let [k0, k1, k2, k3] = SHA1;
    // SAFETY: a register exists, so the processor has the instruction set.
    let [k0, k1, k2, k3] = unsafe { [W::splat(k0), W::splat(k1), W::splat(k2), W::splat(k3)] };
    let mut s = [state[0], state[1], state[2], state[3], state[4]];
    sha1_rounds!(s, w, choose, k0, true, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
    sha1_rounds!(s, w, choose, k0, false, 0 1 2 3);
    sha1_rounds!(s, w, parity, k1, false, 4 5 6 7 8 9 10 11 12 13 14 15 0 1 2 3 4 5 6 7);
    sha1_rounds!(s, w, majority, k2, false, 8 9 10 11 12 13 14 15 0 1 2 3 4 5 6 7 8 9 10 11);
    sha1_rounds!(s, w, parity, k3, false, 12 13 14 15 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
    for (state, words) in state.iter_mut().zip(s) {
        *state = state.add(words);
    }
}

/// Sixteen rounds of SHA-2 (FIPS 180-4, 6.2.2 and 6.4.2). A rotation is written as left and right bit counts;
/// the right one stands in the standard.
macro_rules! sha2_rounds {
    (
        $state:ident, $w:ident, $constants:expr, $is_first:literal,
        $early:tt, $late:tt, $low:tt, $high:tt, $($t:literal)*
    ) => {$(
        if !$is_first {
            let early = sigma!($w[($t + 1) % 16], $early);
            let late = sigma!($w[($t + 14) % 16], $late);
            $w[$t] = $w[$t].add(early).add($w[($t + 9) % 16].add(late));
        }
        let [a, b, c, d, e, f, g, h] = $state;
        // SAFETY: a register exists, so the processor has the instruction set.
        let constant = unsafe { W::splat($constants[$t]) };
        let one = h.add($w[$t].add(constant)).add(e.choose(f, g)).add(sigma!(e, $high));
        let two = sigma!(a, $low).add(a.majority(b, c));
        $state = [one.add(two), a, b, c, d.add(one), e, f, g];
    )*};
}

/// Exclusive or of three rotations, or of two and a shift.
macro_rules! sigma {
    ($x:expr, ($a:literal $b:literal, $c:literal $d:literal, $e:literal $f:literal)) => {
        $x.rotate::<$a, $b>()
            .parity($x.rotate::<$c, $d>(), $x.rotate::<$e, $f>())
    };
    ($x:expr, ($a:literal $b:literal, $c:literal $d:literal, $e:literal)) => {
        $x.rotate::<$a, $b>()
            .parity($x.rotate::<$c, $d>(), $x.shift::<$e>())
    };
}

/// Defines the compression of a hash of SHA-2.
macro_rules! sha2 {
    ($name:ident, $word:ty, $table:ident, $early:tt, $late:tt, $low:tt, $high:tt) => {
        /// Compresses a block in each lane.
        #[inline(always)]
        pub(super) fn $name<W: Words<Word = $word>>(state: &mut [W; 8], w: &mut [W; 16]) {
            let mut s = *state;
            sha2_rounds!(
                s, w, $table, true, $early, $late, $low, $high,
                0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
            );
            for constants in &$table.as_chunks::<16>().0[1..] {
                sha2_rounds!(
                    s, w, constants, false, $early, $late, $low, $high,
                    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
                );
            }
            for (state, words) in state.iter_mut().zip(s) {
                *state = state.add(words);
            }
        }
    };
}

sha2!(
    sha256,
    u32,
    SHA256,
    (25 7, 14 18, 3),
    (15 17, 13 19, 10),
    (30 2, 19 13, 10 22),
    (26 6, 21 11, 7 25)
);
sha2!(
    sha512,
    u64,
    SHA512,
    (63 1, 56 8, 7),
    (45 19, 3 61, 6),
    (36 28, 30 34, 25 39),
    (50 14, 46 18, 23 41)
);

/// Round constants of SHA-1 (FIPS 180-4, 4.2.1).
const SHA1: [u32; 4] = [0x5a82_7999, 0x6ed9_eba1, 0x8f1b_bcdc, 0xca62_c1d6];

/// Round constants of SHA-256 (FIPS 180-4, 4.2.2): upper halves of those of SHA-512.
pub(super) const SHA256: [u32; 64] = {
    let mut constants = [0; 64];
    let mut at = 0;
    while at < constants.len() {
        constants[at] = (SHA512[at] >> 32) as u32;
        at += 1;
    }
    constants
};

/// Round constants of SHA-512 (FIPS 180-4, 4.2.3).
const SHA512: [u64; 80] = [
    0x428a_2f98_d728_ae22,
    0x7137_4491_23ef_65cd,
    0xb5c0_fbcf_ec4d_3b2f,
    0xe9b5_dba5_8189_dbbc,
    0x3956_c25b_f348_b538,
    0x59f1_11f1_b605_d019,
    0x923f_82a4_af19_4f9b,
    0xab1c_5ed5_da6d_8118,
    0xd807_aa98_a303_0242,
    0x1283_5b01_4570_6fbe,
    0x2431_85be_4ee4_b28c,
    0x550c_7dc3_d5ff_b4e2,
    0x72be_5d74_f27b_896f,
    0x80de_b1fe_3b16_96b1,
    0x9bdc_06a7_25c7_1235,
    0xc19b_f174_cf69_2694,
    0xe49b_69c1_9ef1_4ad2,
    0xefbe_4786_384f_25e3,
    0x0fc1_9dc6_8b8c_d5b5,
    0x240c_a1cc_77ac_9c65,
    0x2de9_2c6f_592b_0275,
    0x4a74_84aa_6ea6_e483,
    0x5cb0_a9dc_bd41_fbd4,
    0x76f9_88da_8311_53b5,
    0x983e_5152_ee66_dfab,
    0xa831_c66d_2db4_3210,
    0xb003_27c8_98fb_213f,
    0xbf59_7fc7_beef_0ee4,
    0xc6e0_0bf3_3da8_8fc2,
    0xd5a7_9147_930a_a725,
    0x06ca_6351_e003_826f,
    0x1429_2967_0a0e_6e70,
    0x27b7_0a85_46d2_2ffc,
    0x2e1b_2138_5c26_c926,
    0x4d2c_6dfc_5ac4_2aed,
    0x5338_0d13_9d95_b3df,
    0x650a_7354_8baf_63de,
    0x766a_0abb_3c77_b2a8,
    0x81c2_c92e_47ed_aee6,
    0x9272_2c85_1482_353b,
    0xa2bf_e8a1_4cf1_0364,
    0xa81a_664b_bc42_3001,
    0xc24b_8b70_d0f8_9791,
    0xc76c_51a3_0654_be30,
    0xd192_e819_d6ef_5218,
    0xd699_0624_5565_a910,
    0xf40e_3585_5771_202a,
    0x106a_a070_32bb_d1b8,
    0x19a4_c116_b8d2_d0c8,
    0x1e37_6c08_5141_ab53,
    0x2748_774c_df8e_eb99,
    0x34b0_bcb5_e19b_48a8,
    0x391c_0cb3_c5c9_5a63,
    0x4ed8_aa4a_e341_8acb,
    0x5b9c_ca4f_7763_e373,
    0x682e_6ff3_d6b2_b8a3,
    0x748f_82ee_5def_b2fc,
    0x78a5_636f_4317_2f60,
    0x84c8_7814_a1f0_ab72,
    0x8cc7_0208_1a64_39ec,
    0x90be_fffa_2363_1e28,
    0xa450_6ceb_de82_bde9,
    0xbef9_a3f7_b2c6_7915,
    0xc671_78f2_e372_532b,
    0xca27_3ece_ea26_619c,
    0xd186_b8c7_21c0_c207,
    0xeada_7dd6_cde0_eb1e,
    0xf57d_4f7f_ee6e_d178,
    0x06f0_67aa_7217_6fba,
    0x0a63_7dc5_a2c8_98a6,
    0x113f_9804_bef9_0dae,
    0x1b71_0b35_131c_471b,
    0x28db_77f5_2304_7d84,
    0x32ca_ab7b_40c7_2493,
    0x3c9e_be0a_15c9_bebc,
    0x431d_67c4_9c10_0d4c,
    0x4cc5_d4be_cb3e_42b6,
    0x597f_299c_fc65_7e2a,
    0x5fcb_6fab_3ad6_faec,
    0x6c44_198c_4a47_5817,
];
