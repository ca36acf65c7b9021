//! Records of key method 2, which both ends exchange inside TLS (OpenVPN `ssl.c`: `key_method_2_write`).
//!
//! ```text
//! 0 4 · method 1 · [client: pre-master 48] · random 32 · random 32 · options · [user · password · [peer info]]
//! ```
//! Strings have a length of 16 bits, which includes the final NUL; an absent string has the length 0.

use machine::Rng;
use zeroize::Zeroizing;

use crate::fault::Fault;

/// Length of the client's secret in bytes.
pub(crate) const PRE_MASTER_BYTES: usize = 48;
/// Length of each random number in bytes.
pub(crate) const RANDOM_BYTES: usize = 32;
/// Longest record in bytes.
pub(crate) const MAX_RECORD_BYTES: usize = 8 * 1024;
/// Method 2 of key exchange.
const METHOD: u8 = 2;

/// Random numbers of one end. Dropping wipes them.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Source {
    /// Secret of the client; zero for servers.
    pub(crate) pre_master: Zeroizing<[u8; PRE_MASTER_BYTES]>,
    pub(crate) random: Zeroizing<[[u8; RANDOM_BYTES]; 2]>,
}

impl Source {
    pub(crate) fn new(rng: &mut Rng, is_client: bool) -> Self {
        let mut source = Self::zero();
        if is_client {
            rng.fill(&mut *source.pre_master);
        }
        source.random.iter_mut().for_each(|random| rng.fill(random));
        source
    }

    fn zero() -> Self {
        Self {
            pre_master: Zeroizing::new([0; PRE_MASTER_BYTES]),
            random: Zeroizing::new([[0; RANDOM_BYTES]; 2]),
        }
    }
}

impl core::fmt::Debug for Source {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Source")
    }
}

/// A record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) source: Source,
    /// Options string.
    pub(crate) options: String,
    pub(crate) user: String,
    pub(crate) password: Zeroizing<String>,
    /// Lines `NAME=VALUE` about the sender.
    pub(crate) peer_info: String,
}

impl Record {
    /// Parses a record of a client or of a server.
    ///
    /// # Errors
    /// [`Fault::KeyMethod`] for other methods, [`Fault::Malformed`] for truncated records.
    pub(crate) fn parse(bytes: &[u8], from_client: bool) -> Result<Self, Fault> {
        let (&[z0, z1, z2, z3, method], rest) =
            bytes.split_first_chunk::<5>().ok_or(Fault::Malformed)?;
        if [z0, z1, z2, z3] != [0; 4] || method & 0xf != METHOD {
            return Err(Fault::KeyMethod);
        }
        let mut reader = Reader(rest);
        let mut source = Source::zero();
        if from_client {
            reader.fill(&mut *source.pre_master)?;
        }
        for random in source.random.iter_mut() {
            reader.fill(random)?;
        }
        let options = reader.string()?.ok_or(Fault::Malformed)?;
        // Old peers end the record here.
        let user = reader.string()?.unwrap_or_default();
        let password = reader.string()?.unwrap_or_default();
        let peer_info = reader.string()?.unwrap_or_default();
        Ok(Self {
            source,
            options,
            user,
            password: Zeroizing::new(password),
            peer_info,
        })
    }

    /// Returns the bytes of the record.
    pub(crate) fn encode(&self, from_client: bool) -> Zeroizing<Vec<u8>> {
        let mut out = Zeroizing::new(vec![0, 0, 0, 0, METHOD]);
        if from_client {
            out.extend_from_slice(&*self.source.pre_master);
        }
        out.extend_from_slice(self.source.random.as_flattened());
        write_string(&mut out, &self.options);
        for text in [&self.user, &*self.password, &self.peer_info] {
            match text.is_empty() {
                true => out.extend_from_slice(&[0, 0]),
                false => write_string(&mut out, text),
            }
        }
        out
    }
}

fn write_string(out: &mut Vec<u8>, text: &str) {
    let text = text.get(..usize::from(u16::MAX) - 1).unwrap_or(text);
    out.extend_from_slice(&(text.len() as u16 + 1).to_be_bytes());
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), Fault> {
        let (bytes, rest) = self.0.split_at_checked(out.len()).ok_or(Fault::Malformed)?;
        out.copy_from_slice(bytes);
        self.0 = rest;
        Ok(())
    }

    /// Returns the next string without its NUL; `None` at the end of the record. Bytes that are no UTF-8 are replaced.
    fn string(&mut self) -> Result<Option<String>, Fault> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let (len, rest) = self.0.split_first_chunk().ok_or(Fault::Malformed)?;
        let len = usize::from(u16::from_be_bytes(*len));
        let (bytes, rest) = rest.split_at_checked(len).ok_or(Fault::Malformed)?;
        self.0 = rest;
        let end = bytes.iter().position(|byte| *byte == 0);
        let bytes = &bytes[..end.unwrap_or(bytes.len())];
        Ok(Some(String::from_utf8_lossy(bytes).into_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(is_client: bool) -> Record {
        Record {
            source: Source::new(&mut Rng::seeded(5), is_client),
            options: "V4,dev-type tun".into(),
            user: "user".into(),
            password: Zeroizing::new("secret".into()),
            peer_info: "IV_PROTO=2\n".into(),
        }
    }

    #[test]
    fn records_are_read_as_they_were_written() {
        for is_client in [false, true] {
            let record = record(is_client);
            let bytes = record.encode(is_client);
            assert_eq!(Record::parse(&bytes, is_client).as_ref(), Ok(&record));
            for len in 0..bytes.len() {
                let parsed = Record::parse(&bytes[..len], is_client);
                assert_ne!(parsed.as_ref(), Ok(&record), "{len} bytes");
            }
        }
    }

    #[test]
    fn a_record_may_end_behind_its_options_and_has_method_2() {
        let bytes = record(true).encode(true);
        let end = 5 + PRE_MASTER_BYTES + 2 * RANDOM_BYTES + 2 + "V4,dev-type tun".len() + 1;
        let short = Record::parse(&bytes[..end], true).expect("a record");
        assert_eq!((short.user.as_str(), short.peer_info.as_str()), ("", ""));
        let mut other = bytes.to_vec();
        other[4] = 1;
        assert_eq!(Record::parse(&other, true), Err(Fault::KeyMethod));
    }
}
