//! Reads the server name of a TLS ClientHello (RFC 8446, 4.1.2 and 5.1; RFC 6066, 3).

use std::borrow::Cow;

/// Result of parsing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read<'a> {
    /// A ClientHello with this server name.
    Name(Cow<'a, [u8]>),
    /// Possibly the beginning of a ClientHello.
    More,
    /// Other data, or a ClientHello without a server name.
    Other,
}

/// Content type of handshake records, and message type of a ClientHello.
const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
/// Maximum payload of a record (RFC 8446, 5.1).
const RECORD_MAX: usize = 1 << 14;

/// Returns true if a segment may begin a ClientHello.
#[inline]
pub(super) fn begins(segment: &[u8]) -> bool {
    let right = |(at, byte): (usize, &u8)| match at {
        0 => *byte == HANDSHAKE,
        1 => *byte == 3,
        5 => *byte == CLIENT_HELLO,
        _ => true,
    };
    !segment.is_empty() && segment.iter().take(6).enumerate().all(right)
}

/// Parses the beginning of a client's TCP stream.
pub fn records(bytes: &[u8]) -> Read<'_> {
    // The payloads of the records, concatenated; usually there is one record.
    let (mut handshake, mut rest) = (Cow::Borrowed(&[][..]), bytes);
    loop {
        let Some(([kind, major, _, high, low], behind)) = rest.split_first_chunk() else {
            let begins = [HANDSHAKE, 3];
            let may = rest.iter().zip(begins).all(|(one, other)| *one == other);
            return if may { Read::More } else { Read::Other };
        };
        let len = usize::from(u16::from_be_bytes([*high, *low]));
        if (*kind, *major) != (HANDSHAKE, 3) || len == 0 || len > RECORD_MAX {
            return Read::Other;
        }
        let (inside, behind) = behind.split_at_checked(len).unwrap_or((behind, &[]));
        match handshake.is_empty() {
            true => handshake = Cow::Borrowed(inside),
            false => handshake.to_mut().extend_from_slice(inside),
        }
        let read = match &handshake {
            Cow::Borrowed(bytes) => message(bytes),
            Cow::Owned(bytes) => match message(bytes) {
                Read::Name(name) => Read::Name(Cow::Owned(name.into_owned())),
                Read::More => Read::More,
                Read::Other => Read::Other,
            },
        };
        if read != Read::More || inside.len() < len {
            return read;
        }
        rest = behind;
    }
}

/// Parses a handshake message, which QUIC carries without records (RFC 9001, 4). The name is returned as soon
/// as it is complete, even if the rest of the message follows in later packets: ML-KEM key shares do not fit
/// into one packet.
pub fn message(handshake: &[u8]) -> Read<'_> {
    let (hello, is_whole) = match handshake {
        [CLIENT_HELLO, a, b, c, hello @ ..] => {
            let len = u32::from_be_bytes([0, *a, *b, *c]) as usize;
            (hello.get(..len).unwrap_or(hello), hello.len() >= len)
        }
        [] | [CLIENT_HELLO, ..] => return Read::More,
        _ => return Read::Other,
    };
    match server_name(hello) {
        Some(Some(name)) => Read::Name(Cow::Borrowed(name)),
        Some(None) => Read::Other,
        None if is_whole => Read::Other,
        None => Read::More,
    }
}

/// Takes a vector with a length field of `N` bytes.
fn vector<'a, const N: usize>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (len, behind) = bytes.split_first_chunk::<N>()?;
    let len = len
        .iter()
        .fold(0, |len, byte| len << 8 | usize::from(*byte));
    let (inside, behind) = behind.split_at_checked(len)?;
    *bytes = behind;
    Some(inside)
}

/// Returns the name in a ClientHello body: `Some(None)` if it has none, `None` if the body is too short to
/// tell.
fn server_name(hello: &[u8]) -> Option<Option<&[u8]>> {
    // Skips version and random.
    let mut rest = hello.get(2 + 32..)?;
    vector::<1>(&mut rest)?;
    vector::<2>(&mut rest)?;
    vector::<1>(&mut rest)?;
    let (len, behind) = rest.split_first_chunk::<2>()?;
    let len = usize::from(u16::from_be_bytes(*len));
    let (mut extensions, is_whole) = (behind.get(..len).unwrap_or(behind), behind.len() >= len);
    while !(extensions.is_empty() && is_whole) {
        let (kind, behind) = extensions.split_first_chunk::<2>()?;
        extensions = behind;
        let content = vector::<2>(&mut extensions)?;
        if *kind == [0, 0] {
            return Some(first_host(content));
        }
    }
    Some(None)
}

/// Returns the name in a server_name extension (RFC 6066, 3), if its first name is a host name.
fn first_host(mut content: &[u8]) -> Option<&[u8]> {
    let names = vector::<2>(&mut content)?;
    let (kind, mut behind) = names.split_first()?;
    let name = vector::<2>(&mut behind)?;
    (*kind == 0 && !name.is_empty()).then_some(name)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn long(bytes: &[u8]) -> Vec<u8> {
        [&(bytes.len() as u16).to_be_bytes(), bytes].concat()
    }

    /// Builds a server_name extension.
    fn server_name_extension(name: &[u8]) -> Vec<u8> {
        let one = [&[0], long(name).as_slice()].concat();
        [&[0, 0][..], &long(&long(&one))].concat()
    }

    /// Builds a key share of `len` bytes.
    fn key_share(len: u16) -> Vec<u8> {
        [&[0, 51][..], &long(&vec![7; usize::from(len)])].concat()
    }

    /// Builds a ClientHello with these extensions, without a record.
    fn handshake(extensions: &[u8]) -> Vec<u8> {
        let suites = long(&[0x13, 1]);
        let body = [
            &[3, 3][..],
            &[9; 32],
            &[0],
            &suites,
            &[1, 0],
            &long(extensions),
        ]
        .concat();
        let len = (body.len() as u32).to_be_bytes();
        [&[CLIENT_HELLO], &len[1..], &body].concat()
    }

    /// Builds a record with a ClientHello for this name, after a key share of `padding` bytes.
    pub(in super::super) fn client_hello(name: &[u8], padding: u16) -> Vec<u8> {
        let extensions = [key_share(padding), server_name_extension(name)].concat();
        [&[HANDSHAKE, 3, 1], long(&handshake(&extensions)).as_slice()].concat()
    }

    #[test]
    fn a_server_name_is_read_once_complete() {
        let hello = client_hello(b"example.org", 40);
        assert_eq!(records(&hello), Read::Name(b"example.org"[..].into()));
        for len in 0..hello.len() {
            assert_eq!(records(&hello[..len]), Read::More, "{len}");
            assert!(begins(&hello[..len]) || len == 0);
        }
        assert_eq!(records(b"GET / HTTP/1.1\r\n"), Read::Other);
        assert_eq!(records(&[HANDSHAKE, 3, 1, 0, 1, 2]), Read::Other);
    }

    #[test]
    fn a_server_name_is_read_before_the_rest_of_the_message() {
        let name = b"example.org";
        let share = key_share(1216);
        let whole = handshake(&[server_name_extension(name), share.clone()].concat());
        let end = whole.len() - share.len();

        for len in 0..whole.len() {
            let expected = match len < end {
                true => Read::More,
                false => Read::Name(name[..].into()),
            };
            assert_eq!(message(&whole[..len]), expected, "{len}");
        }
    }

    #[test]
    fn tls_records_are_joined() {
        let hello = client_hello(b"example.org", 40);
        let (first, second) = hello[5..].split_at(30);
        let record = |inside: &[u8]| {
            [
                &[HANDSHAKE, 3, 3],
                &(inside.len() as u16).to_be_bytes()[..],
                inside,
            ]
            .concat()
        };
        let split = [record(first), record(second)].concat();
        assert_eq!(records(&split), Read::Name(b"example.org"[..].into()));
    }

    #[test]
    fn random_bytes_are_harmless() {
        let hello = client_hello(b"example.org", 40);
        for at in 0..hello.len() {
            for bit in 0..8 {
                let mut other = hello.clone();
                other[at] ^= 1 << bit;
                let _ = records(&other);
            }
        }
    }
}
