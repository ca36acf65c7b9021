//! CBC encryption of IKE messages.

use aes::cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, BlockSizeUser, KeyInit};

use crate::suite::Cipher;

/// Encrypts whole blocks in place. Returns false, with `data` unchanged, on a wrong key, IV or data length.
pub(crate) fn encrypt(cipher: Cipher, key: &[u8], iv: &[u8], data: &mut [u8]) -> bool {
    match cipher {
        Cipher::Des => forth::<des::Des>(key, iv, data),
        Cipher::TripleDes => forth::<des::TdesEde3>(key, iv, data),
        Cipher::Blowfish => forth::<blowfish::Blowfish>(key, iv, data),
        Cipher::Aes128 => forth::<aes::Aes128>(key, iv, data),
        Cipher::Aes192 => forth::<aes::Aes192>(key, iv, data),
        Cipher::Aes256 => forth::<aes::Aes256>(key, iv, data),
        Cipher::Camellia128 => forth::<camellia::Camellia128>(key, iv, data),
        Cipher::Camellia192 => forth::<camellia::Camellia192>(key, iv, data),
        Cipher::Camellia256 => forth::<camellia::Camellia256>(key, iv, data),
    }
}

/// Decrypts whole blocks in place. Returns false, with `data` unchanged, on a wrong key, IV or data length.
pub(crate) fn decrypt(cipher: Cipher, key: &[u8], iv: &[u8], data: &mut [u8]) -> bool {
    match cipher {
        Cipher::Des => back::<des::Des>(key, iv, data),
        Cipher::TripleDes => back::<des::TdesEde3>(key, iv, data),
        Cipher::Blowfish => back::<blowfish::Blowfish>(key, iv, data),
        Cipher::Aes128 => back::<aes::Aes128>(key, iv, data),
        Cipher::Aes192 => back::<aes::Aes192>(key, iv, data),
        Cipher::Aes256 => back::<aes::Aes256>(key, iv, data),
        Cipher::Camellia128 => back::<camellia::Camellia128>(key, iv, data),
        Cipher::Camellia192 => back::<camellia::Camellia192>(key, iv, data),
        Cipher::Camellia256 => back::<camellia::Camellia256>(key, iv, data),
    }
}

type Block<C> = Array<u8, <C as BlockSizeUser>::BlockSize>;

/// Returns the keyed cipher and the IV block; `None` on a wrong length.
fn begin<C: KeyInit + BlockSizeUser>(key: &[u8], iv: &[u8], data: &[u8]) -> Option<(C, Block<C>)> {
    let cipher = C::new_from_slice(key).ok()?;
    let iv = Block::<C>::try_from(iv).ok()?;
    data.len()
        .is_multiple_of(C::block_size())
        .then_some((cipher, iv))
}

fn forth<C: KeyInit + BlockCipherEncrypt>(key: &[u8], iv: &[u8], data: &mut [u8]) -> bool {
    let Some((cipher, mut last)) = begin::<C>(key, iv, data) else {
        return false;
    };
    for chunk in data.chunks_exact_mut(C::block_size()) {
        for (byte, plain) in last.iter_mut().zip(&*chunk) {
            *byte ^= plain;
        }
        cipher.encrypt_block(&mut last);
        chunk.copy_from_slice(&last);
    }
    true
}

fn back<C: KeyInit + BlockCipherDecrypt>(key: &[u8], iv: &[u8], data: &mut [u8]) -> bool {
    let Some((cipher, mut last)) = begin::<C>(key, iv, data) else {
        return false;
    };
    for chunk in data.chunks_exact_mut(C::block_size()) {
        let mut block = last.clone();
        block.copy_from_slice(chunk);
        let next = block.clone();
        cipher.decrypt_block(&mut block);
        for ((out, byte), before) in chunk.iter_mut().zip(&block).zip(&last) {
            *out = byte ^ before;
        }
        last = next;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::tests::{hex, unhex};

    #[test]
    fn aes_in_cbc_mode_gives_what_rfc_3602_says() {
        // RFC 3602, 4, case 2.
        let key = unhex("c286696d887c9aa0611bbb3e2025a45a");
        let iv = unhex("562e17996d093d28ddb3ba695a2e6f58");
        let mut data: Vec<u8> = (0..32).collect();
        assert!(encrypt(Cipher::Aes128, &key, &iv, &mut data));
        let wanted = "d296cd94c2cccf8a3a863028b5e1dc0a7586602d253cfff91b8266bea6d61ab1";
        assert_eq!(hex(&data), wanted);
        assert!(decrypt(Cipher::Aes128, &key, &iv, &mut data));
        assert_eq!(data, (0..32).collect::<Vec<u8>>());
    }

    #[test]
    fn every_cipher_decrypts_what_it_encrypts_and_refuses_odd_lengths() {
        for cipher in [
            Cipher::Des,
            Cipher::TripleDes,
            Cipher::Blowfish,
            Cipher::Aes128,
            Cipher::Aes192,
            Cipher::Aes256,
            Cipher::Camellia128,
            Cipher::Camellia192,
            Cipher::Camellia256,
        ] {
            let key: Vec<u8> = (0..cipher.key_len() as u8).collect();
            let iv = vec![9; cipher.block_len()];
            let plain: Vec<u8> = (0..64).collect();
            let mut data = plain.clone();
            assert!(encrypt(cipher, &key, &iv, &mut data), "{cipher:?}");
            assert_ne!(data, plain);
            assert!(decrypt(cipher, &key, &iv, &mut data));
            assert_eq!(data, plain);
            assert!(!encrypt(cipher, &key, &iv, &mut data[1..]));
            assert!(!decrypt(cipher, &key, &iv[1..], &mut data));
        }
    }
}
