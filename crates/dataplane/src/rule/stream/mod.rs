//! Matchers that read what a connection carries: `tls-host` and `layer7-protocol`.
//!
//! What they keep about connections ([`Streams`]) is one worker's, because a connection is; it is
//! bounded in connections and in bytes of each, and the oldest makes room. A packet is read once,
//! however many rules ask about it.

mod glob;
mod hello;
mod layer7;

use std::collections::{HashMap, VecDeque};

pub use glob::Glob;
pub use layer7::Layer7;

use layer7::{Collected, Searches};
use machine::Instant;

use super::shared::fold;
use super::subject::Subject;
use crate::packet::{Fields, Fragment, Tuple, protocol};

/// How many connections are read at a time, of each kind.
const STREAMS: usize = 4096;
/// The most bytes of a ClientHello that is spread over several segments.
const HELLO_MAX: usize = 8192;

/// One worker's memory of what connections carry.
#[derive(Debug, Default)]
pub(super) struct Streams {
    hellos: Bounded<Partial>,
    collected: Bounded<Collected>,
    searches: Searches,
    /// The server's name in the packet at hand, if it was looked for.
    name: Option<(Packet, Option<Box<[u8]>>)>,
}

/// What tells the packet at hand from others of the same worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Packet {
    place: usize,
    now: Instant,
    tuple: u64,
}

impl Packet {
    fn of(subject: &Subject<'_>, now: Instant) -> Self {
        Self {
            place: subject.packet.as_ptr() as usize,
            now,
            tuple: number(&subject.fields.tuple),
        }
    }
}

/// The beginning of a ClientHello, and the sequence number that goes on.
#[derive(Debug)]
struct Partial {
    bytes: Vec<u8>,
    next: u32,
}

impl Streams {
    /// Whether the packet ends a ClientHello that names such a server; none where it ends none, or
    /// one without a name.
    ///
    /// RouterOS: recognises a ClientHello in one segment only; this also one in several, at its
    /// last. Records are put together, too (RFC 8446, 5.1).
    pub(super) fn tls_host(
        &mut self,
        subject: &Subject<'_>,
        glob: &Glob,
        now: Instant,
        commit: bool,
    ) -> Option<bool> {
        let packet = Packet::of(subject, now);
        let known = self
            .name
            .as_ref()
            .is_some_and(|(other, _)| *other == packet);
        if !known || !commit {
            let name = self.server_name(subject, commit);
            if !commit {
                return name.map(|name| glob.fits(&name));
            }
            self.name = Some((packet, name));
        }
        let (_, name) = self.name.as_ref()?;
        name.as_ref().map(|name| glob.fits(name))
    }

    fn server_name(&mut self, subject: &Subject<'_>, commit: bool) -> Option<Box<[u8]>> {
        if subject.fields.tuple.protocol != protocol::TCP {
            return None;
        }
        let payload = payload(subject.fields, subject.packet).filter(|bytes| !bytes.is_empty())?;
        let sequence = sequence(subject.fields, subject.packet)?;
        let key = number(&subject.fields.tuple);
        let end = sequence.wrapping_add(payload.len() as u32);
        let joined = match self.hellos.find(key) {
            Some(partial) if partial.next == sequence => {
                let mut bytes = partial.bytes.clone();
                bytes.extend_from_slice(payload);
                Some(bytes)
            }
            _ => None,
        };
        let bytes = joined.as_deref().unwrap_or(payload);
        let read = hello::read(bytes);
        if commit {
            let whole = matches!(read, hello::Read::More) && bytes.len() <= HELLO_MAX;
            if whole {
                let bytes = bytes.to_vec();
                self.hellos.put(key, Partial { bytes, next: end });
            } else if joined.is_some() {
                self.hellos.remove(key);
            }
        }
        match read {
            hello::Read::Name(name) => Some(name),
            hello::Read::More | hello::Read::Other => None,
        }
    }

    /// Whether what the connection has carried so far fits the pattern; none where nothing is
    /// carried that is looked at. `original` is the tuple of the connection's first packet.
    pub(super) fn layer7(
        &mut self,
        subject: &Subject<'_>,
        original: &Tuple,
        pattern: &Layer7,
        now: Instant,
        commit: bool,
    ) -> Option<bool> {
        let payload = payload(subject.fields, subject.packet)?;
        let (key, packet) = (number(original), Packet::of(subject, now));
        if !commit {
            let mut tried = self.collected.find(key).cloned().unwrap_or_default();
            tried.take(packet, payload);
            return Some(tried.fits(pattern, &mut self.searches.clone()));
        }
        if self.collected.find(key).is_none() {
            self.collected.put(key, Collected::default());
        }
        let collected = self.collected.find_mut(key)?;
        collected.take(packet, payload);
        Some(collected.fits(pattern, &mut self.searches))
    }
}

/// A number for a direction of a connection. Two that share one would be read as one; with 64 bits
/// and a few thousand connections that does not happen by chance.
fn number(tuple: &Tuple) -> u64 {
    let ends = u64::from(tuple.source_port) << 32
        | u64::from(tuple.destination_port) << 16
        | u64::from(tuple.protocol) << 8
        | u64::from(tuple.ipv6);
    let from = fold(tuple.source as u64, ends ^ (tuple.source >> 64) as u64);
    let to = fold(tuple.destination as u64, from.rotate_left(17));
    fold(to, from ^ (tuple.destination >> 64) as u64)
}

/// What a packet carries above its TCP, UDP or ICMP header; none of other protocols and fragments.
fn payload<'a>(fields: &Fields, packet: &'a [u8]) -> Option<&'a [u8]> {
    if fields.fragment == Fragment::Later || fields.truncated {
        return None;
    }
    let packet = packet.get(..fields.len as usize).unwrap_or(packet);
    let upper = packet.get(usize::from(fields.upper)..)?;
    let header = match fields.tuple.protocol {
        protocol::TCP => usize::from(upper.get(12)? >> 4) * 4,
        protocol::UDP | protocol::ICMP | protocol::ICMPV6 => 8,
        _ => return None,
    };
    upper.get(header..)
}

/// The sequence number of a segment's first byte.
fn sequence(fields: &Fields, packet: &[u8]) -> Option<u32> {
    const SYN: u8 = 2;
    let number = packet.get(usize::from(fields.upper) + 4..)?.first_chunk()?;
    let syn = u32::from(fields.tcp_flags & SYN != 0);
    Some(u32::from_be_bytes(*number).wrapping_add(syn))
}

/// A map that forgets what was put in first.
#[derive(Debug)]
struct Bounded<T> {
    values: HashMap<u64, T>,
    order: VecDeque<u64>,
}

impl<T> Default for Bounded<T> {
    fn default() -> Self {
        Self {
            values: HashMap::new(),
            order: VecDeque::new(),
        }
    }
}

impl<T> Bounded<T> {
    fn find(&self, key: u64) -> Option<&T> {
        self.values.get(&key)
    }

    fn find_mut(&mut self, key: u64) -> Option<&mut T> {
        self.values.get_mut(&key)
    }

    fn put(&mut self, key: u64, value: T) {
        if self.values.insert(key, value).is_some() {
            return;
        }
        self.order.push_back(key);
        // Also what was removed meanwhile stands in the queue, until its turn comes.
        while self.order.len() > STREAMS {
            if let Some(oldest) = self.order.pop_front() {
                self.values.remove(&oldest);
            }
        }
    }

    fn remove(&mut self, key: u64) {
        self.values.remove(&key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use frame::InterfaceId;

    fn tcp(sequence: u32, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![
            0x45, 0, 0, 0, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
        ];
        packet.extend([0x13, 0x88, 0x01, 0xbb]);
        packet.extend(sequence.to_be_bytes());
        packet.extend([0, 0, 0, 0, 0x50, 0x18, 0, 0, 0, 0, 0, 0]);
        packet.extend(payload);
        let len = packet.len() as u16;
        packet[2..4].copy_from_slice(&len.to_be_bytes());
        packet
    }

    fn asks(streams: &mut Streams, packet: &[u8], glob: &str, at: u64) -> Option<bool> {
        let fields = Fields::of(packet);
        let subject = Subject::new(&fields, packet, InterfaceId(1));
        let now = Instant::from_millis(at);
        let told = streams.tls_host(&subject, &Glob::new(glob), now, false);
        let done = streams.tls_host(&subject, &Glob::new(glob), now, true);
        assert_eq!(told, done);
        done
    }

    #[test]
    fn a_client_hello_is_read_in_one_segment_and_in_several() {
        let hello = hello::tests::client_hello(b"www.example.com", 1800);
        let mut streams = Streams::default();
        assert_eq!(
            asks(&mut streams, &tcp(1, &hello), "*.example.com", 0),
            Some(true)
        );
        assert_eq!(
            asks(&mut streams, &tcp(1, &hello), "example.com", 1),
            Some(false)
        );

        let (first, rest) = hello.split_at(700);
        let (second, third) = rest.split_at(1);
        assert_eq!(asks(&mut streams, &tcp(9, first), "*", 2), None);
        assert_eq!(asks(&mut streams, &tcp(5, b"x"), "*", 3), None);
        assert_eq!(asks(&mut streams, &tcp(709, second), "*", 4), None);
        assert_eq!(
            asks(&mut streams, &tcp(710, third), "WWW.*.com", 5),
            Some(true)
        );
        assert_eq!(asks(&mut streams, &tcp(710, third), "*", 6), None);
        assert_eq!(asks(&mut streams, &tcp(1, b"GET / HTTP/1.1"), "*", 7), None);
    }

    #[test]
    fn rules_that_ask_about_one_packet_get_the_same_answer() {
        let hello = hello::tests::client_hello(b"a.example", 200);
        let (first, second) = hello.split_at(100);
        let (first, second) = (tcp(0, first), tcp(100, second));
        let mut streams = Streams::default();
        asks(&mut streams, &first, "*", 0);
        for _ in 0..3 {
            let fields = Fields::of(&second);
            let subject = Subject::new(&fields, &second, InterfaceId(1));
            let now = Instant::from_millis(1);
            let fits = streams.tls_host(&subject, &Glob::new("a.*"), now, true);
            assert_eq!(fits, Some(true));
        }
    }

    #[test]
    fn both_directions_are_searched_until_ten_packets_or_two_kilobytes() {
        let pattern = Layer7::new("x", "^hello.*world$").expect("a pattern");
        let mut streams = Streams::default();
        let mut carries = |port: u16, payload: &[u8], at: u64| {
            let mut packet = tcp(0, payload);
            packet[20..22].copy_from_slice(&port.to_be_bytes());
            let fields = Fields::of(&packet);
            let subject = Subject::new(&fields, &packet, InterfaceId(1));
            let original = Tuple {
                source_port: port % 1000,
                ..Tuple::default()
            };
            let now = Instant::from_millis(at);
            let told = streams.layer7(&subject, &original, &pattern, now, false);
            let done = streams.layer7(&subject, &original, &pattern, now, true);
            assert_eq!(told, done);
            done
        };
        assert_eq!(carries(1, b"HEL\0LO", 0), Some(false));
        assert_eq!(carries(1001, b" World", 1), Some(true));
        assert_eq!(carries(1, b"more", 2), Some(true));
        for at in 0..10 {
            assert_eq!(carries(2, b"hello ", 10 + at), Some(false));
        }
        assert_eq!(carries(2, b"world", 30), Some(false));
        assert_eq!(carries(3, &[b'x'; 3000], 40), Some(false));
        assert_eq!(carries(3, b"hello world", 41), Some(false));
    }

    #[test]
    fn what_is_read_is_bounded() {
        let mut map = Bounded::default();
        for key in 0..3 * STREAMS as u64 {
            map.put(key, ());
            if key % 3 == 0 {
                map.remove(key);
            }
        }
        assert!(map.values.len() <= STREAMS && map.order.len() <= STREAMS);
    }
}
