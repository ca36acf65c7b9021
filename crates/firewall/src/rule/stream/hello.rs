//! The server's name in a TLS ClientHello (RFC 8446, 4.1.2 and 5.1; RFC 6066, 3).

use std::borrow::Cow;

/// What bytes are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read<'a> {
    /// A ClientHello for this server.
    Name(Cow<'a, [u8]>),
    /// The beginning of what may be one.
    More,
    /// Something else, or a ClientHello without a name.
    Other,
}

/// The content type of handshakes, and the type of a ClientHello among them.
const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
/// The most that a record carries (RFC 8446, 5.1).
const RECORD_MAX: usize = 1 << 14;

/// Whether a segment may be the first of a ClientHello.
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

/// Reads the beginning of what a client sends over TCP.
pub fn records(bytes: &[u8]) -> Read<'_> {
    // The records' contents one behind the other; usually there is but one.
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

/// Reads a handshake message, which QUIC carries without records (RFC 9001, 4). The name counts as soon as it is there,
/// though the rest of the message may come in later packets: key shares of ML-KEM do not fit into one packet.
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

/// Takes what a length of `N` bytes announces.
fn vector<'a, const N: usize>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (len, behind) = bytes.split_first_chunk::<N>()?;
    let len = len
        .iter()
        .fold(0, |len, byte| len << 8 | usize::from(*byte));
    let (inside, behind) = behind.split_at_checked(len)?;
    *bytes = behind;
    Some(inside)
}

/// The name in the body of a ClientHello: `Some(None)` if there is none in it, `None` if the body ends before that is
/// known.
fn server_name(hello: &[u8]) -> Option<Option<&[u8]>> {
    // Version and random.
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

/// The name in the content of a server_name extension (RFC 6066, 3), if its first name is that of a host.
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

    /// An extension with the name of a server.
    fn server_name_extension(name: &[u8]) -> Vec<u8> {
        let one = [&[0], long(name).as_slice()].concat();
        [&[0, 0][..], &long(&long(&one))].concat()
    }

    /// A key share of so many bytes.
    fn key_share(len: u16) -> Vec<u8> {
        [&[0, 51][..], &long(&vec![7; usize::from(len)])].concat()
    }

    /// A ClientHello with these extensions, without a record.
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

    /// A record of a ClientHello with this name and a key share of `padding` bytes before it.
    pub(in super::super) fn client_hello(name: &[u8], padding: u16) -> Vec<u8> {
        let extensions = [key_share(padding), server_name_extension(name)].concat();
        [&[HANDSHAKE, 3, 1], long(&handshake(&extensions)).as_slice()].concat()
    }

    #[test]
    fn a_name_is_read_when_all_of_it_is_there() {
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
    fn a_name_is_read_before_the_rest_is_there() {
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
    fn records_are_put_together() {
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
    fn no_bytes_do_harm() {
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
