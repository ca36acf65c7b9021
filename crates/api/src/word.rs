//! Wire format of the binary API: a word is a length followed by bytes, a sentence is a sequence of words ended
//! by an empty word.
//!
//! | length | encoding of the length |
//! |---|---|
//! | to 7F | one byte |
//! | to 3FFF | two bytes, ORed with 8000 |
//! | to 1FFFFF | three bytes, ORed with C00000 |
//! | to FFFFFFF | four bytes, ORed with E0000000 |
//! | above | F0 and four bytes |
//!
//! First bytes from F8 on are reserved; the stream cannot be decoded beyond such a byte.

/// Limits on the size of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Total bytes of all words.
    pub bytes: usize,
    /// Number of words.
    pub words: usize,
}

impl Limits {
    /// Limits before login.
    pub const STRANGER: Self = Self {
        bytes: 4 << 10,
        words: 16,
    };

    /// Limits after login.
    pub const USER: Self = Self {
        bytes: 4 << 20,
        words: 4_096,
    };
}

/// The reason why a byte stream cannot be decoded further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// A reserved byte in place of a length.
    Control,
    /// A sentence exceeds the limits.
    TooLong,
}

/// Decodes a byte stream to sentences.
#[derive(Debug)]
pub struct Decoder {
    limits: Limits,
    /// Received bytes; those before `at` are decoded.
    bytes: Vec<u8>,
    at: usize,
    words: Vec<Vec<u8>>,
    /// Bytes of the current sentence's words so far.
    taken: usize,
}

impl Decoder {
    /// Creates a decoder.
    pub const fn new(limits: Limits) -> Self {
        Self {
            limits,
            bytes: Vec::new(),
            at: 0,
            words: Vec::new(),
            taken: 0,
        }
    }

    /// Sets the limits for further sentences.
    pub const fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Appends received bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.at);
        self.at = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the next complete sentence; `None` if more bytes are needed. Empty sentences are skipped.
    ///
    /// # Errors
    /// The stream cannot be decoded. All later calls fail as well.
    pub fn sentence(&mut self) -> Result<Option<Vec<Vec<u8>>>, DecodeError> {
        loop {
            let Some((len, head)) = length(self.bytes.get(self.at..).unwrap_or_default())? else {
                return Ok(None);
            };
            // Refuse a word over the limit before it has arrived, so that it is never buffered.
            let most = self.limits.bytes.saturating_sub(self.taken);
            if len > most || self.words.len() >= self.limits.words {
                return Err(DecodeError::TooLong);
            }
            let begin = self.at + head;
            let Some(word) = self.bytes.get(begin..begin + len) else {
                return Ok(None);
            };
            if !word.is_empty() {
                self.taken += word.len();
                self.words.push(word.to_vec());
                self.at = begin + len;
                continue;
            }
            self.at = begin;
            self.taken = 0;
            let words = std::mem::take(&mut self.words);
            if !words.is_empty() {
                return Ok(Some(words));
            }
        }
    }
}

/// Decodes the length of a word. Returns the length and the number of bytes that encode it; `None` if more
/// bytes are needed.
fn length(bytes: &[u8]) -> Result<Option<(usize, usize)>, DecodeError> {
    let Some(first) = bytes.first() else {
        return Ok(None);
    };
    let (head, mask) = match first {
        0x00..=0x7f => (1, 0x7f),
        0x80..=0xbf => (2, 0x3fff),
        0xc0..=0xdf => (3, 0x1f_ffff),
        0xe0..=0xef => (4, 0x0fff_ffff),
        0xf0..=0xf7 => (5, 0xffff_ffff),
        0xf8..=0xff => return Err(DecodeError::Control),
    };
    let Some(bytes) = bytes.get(..head) else {
        return Ok(None);
    };
    let value = bytes
        .iter()
        .fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
    let value = usize::try_from(value & mask).map_err(|_| DecodeError::TooLong)?;
    Ok(Some((value, head)))
}

/// Appends an encoded word. Words must be shorter than 4 GB.
pub fn encode_word(word: &[u8], out: &mut Vec<u8>) {
    let len = word.len() as u64;
    let (value, head) = match len {
        0..0x80 => (len, 1),
        0x80..0x4000 => (len | 0x8000, 2),
        0x4000..0x20_0000 => (len | 0xc0_0000, 3),
        0x20_0000..0x1000_0000 => (len | 0xe000_0000, 4),
        _ => (len & 0xffff_ffff | 0xf0 << 32, 5),
    };
    out.extend(value.to_be_bytes().iter().skip(8 - head));
    out.extend_from_slice(word);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decoded(bytes: &[u8], step: usize) -> Result<Vec<Vec<Vec<u8>>>, DecodeError> {
        let mut decoder = Decoder::new(Limits::USER);
        let mut sentences = Vec::new();
        for piece in bytes.chunks(step.max(1)) {
            decoder.push(piece);
            while let Some(sentence) = decoder.sentence()? {
                sentences.push(sentence);
            }
        }
        Ok(sentences)
    }

    #[test]
    fn word_lengths_are_encoded_as_in_the_manual() {
        let head = |len: usize| {
            let mut out = Vec::new();
            encode_word(&vec![b'x'; len], &mut out);
            out.truncate(out.len() - len);
            out
        };

        assert_eq!(head(0x7f), [0x7f]);
        assert_eq!(head(0x80), [0x80, 0x80]);
        assert_eq!(head(0x3fff), [0xbf, 0xff]);
        assert_eq!(head(0x4000), [0xc0, 0x40, 0x00]);
        assert_eq!(head(0x1f_ffff), [0xdf, 0xff, 0xff]);
        assert_eq!(head(0x20_0000), [0xe0, 0x20, 0x00, 0x00]);
    }

    #[test]
    fn empty_sentences_are_skipped() {
        let bytes = b"\0\0\x06/login\0\0\x02hi\0";

        let sentences = decoded(bytes, 1).expect("sentences");

        assert_eq!(sentences, [[b"/login".to_vec()], [b"hi".to_vec()]]);
    }

    #[test]
    fn too_long_words_are_refused_before_they_arrive() {
        let mut decoder = Decoder::new(Limits::STRANGER);
        decoder.push(&[0xe1, 0, 0, 0]);
        assert_eq!(decoder.sentence(), Err(DecodeError::TooLong));

        let mut decoder = Decoder::new(Limits::STRANGER);
        decoder.push(&[1, b'x'].repeat(17));
        assert_eq!(decoder.sentence(), Err(DecodeError::TooLong));

        let mut decoder = Decoder::new(Limits::STRANGER);
        for _ in 0..10 {
            let mut word = Vec::new();
            encode_word(&[b'x'; 500], &mut word);
            decoder.push(&word);
        }
        assert_eq!(decoder.sentence(), Err(DecodeError::TooLong));
    }

    #[test]
    fn control_bytes_close_the_connection() {
        assert_eq!(decoded(b"\xf8\0", 1), Err(DecodeError::Control));
    }

    proptest! {
        #[test]
        fn sentences_arrive_as_they_were_sent(
            sentences in prop::collection::vec(
                prop::collection::vec(prop::collection::vec(any::<u8>(), 1..300), 1..5), 0..5),
            step in 1_usize..40,
        ) {
            let mut bytes = Vec::new();
            for sentence in &sentences {
                sentence.iter().for_each(|word| encode_word(word, &mut bytes));
                encode_word(b"", &mut bytes);
            }

            prop_assert_eq!(decoded(&bytes, step), Ok(sentences));
        }

        #[test]
        fn any_bytes_are_read_or_refused(
            bytes in prop::collection::vec(any::<u8>(), 0..2_000),
            step in 1_usize..40,
        ) {
            let all = decoded(&bytes, 2_000);
            prop_assert_eq!(decoded(&bytes, step).is_err(), all.is_err());
        }
    }
}
