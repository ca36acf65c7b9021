//! Stored form of the report of a session's end, which outlives a restart of the router.
//!
//! Integers are little-endian, texts and byte strings have a length of two bytes before them, an optional field begins
//! with a byte that is 1 if it is present.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use machine::{Duration, Instant};

use super::authorization::Prefix6;
use super::client::Query;
use super::request::{
    Accounting, Authentic, Port, PortType, Question, Request, Service, Status, SubscriberLine,
    TerminateCause, Through, Traffic,
};

/// Version byte at the start of a report.
const VERSION: u8 = 1;
/// Maximum number of Class attributes: those that fit into a packet.
const MAX_CLASSES: u16 = 1_024;

impl Query {
    /// Encodes the report of a session's end at `now`. Returns `None` for other requests.
    pub fn to_bytes(&self, now: Instant) -> Option<Vec<u8>> {
        let Question::Accounting(accounting) = &self.request.question else {
            return None;
        };
        if accounting.status != Status::Stop {
            return None;
        }
        let request = &self.request;
        let age = now.saturating_since(self.since.unwrap_or(now)) + self.age;
        let service = Service::ALL.iter().position(|of| *of == request.service);
        let mut out = Writer(vec![VERSION]);
        out.byte(service? as u8);
        out.number(age.as_secs());
        out.number(accounting.seconds.into());
        out.byte(accounting.authentic as u8);
        out.byte(accounting.cause.map_or(0, |cause| cause as u8));
        out.option(accounting.through.as_ref(), Writer::through);
        for text in [
            &request.user,
            &request.calling,
            &request.called,
            &request.router,
            &request.session,
            &request.port.id,
        ] {
            out.bytes(text.as_bytes());
        }
        out.byte(request.port.kind as u8);
        out.option(request.port.number, |out, number| out.number(number.into()));
        let line = &request.subscriber_line;
        for id in [&line.circuit_id, &line.remote_id] {
            out.option(id.as_ref(), |out, id| out.bytes(id.as_bytes()));
        }
        out.option(request.timestamp, |out, time| out.number(time.into()));
        out.short(request.classes.len());
        request.classes.iter().for_each(|class| out.bytes(class));
        Some(out.0)
    }

    /// Decodes a report that was stored `age` ago; `now` is the present time. Returns `None` for other versions, and if
    /// the bytes are malformed.
    pub fn read(bytes: &[u8], age: Duration, now: Instant) -> Option<Self> {
        let mut from = Reader(bytes);
        if from.byte()? != VERSION {
            return None;
        }
        let service = *Service::ALL.get(usize::from(from.byte()?))?;
        let age = Duration::from_secs(from.number()?).checked_add(age)?;
        let accounting = Accounting {
            status: Status::Stop,
            seconds: from.small()?,
            authentic: match from.byte()? {
                1 => Authentic::Radius,
                2 => Authentic::Local,
                _ => return None,
            },
            cause: match from.byte()? {
                0 => None,
                cause => Some(TerminateCause::from_number(cause)?),
            },
            through: from.option(Reader::through)?,
        };
        let [user, calling, called, router, session, id] = from.texts()?;
        let kind = PortType::from_number(from.byte()?)?;
        let number = from.option(Reader::small)?;
        let subscriber_line = SubscriberLine {
            circuit_id: from.option(Reader::text)?,
            remote_id: from.option(Reader::text)?,
        };
        let timestamp = from.option(Reader::small)?;
        let count = from.short().filter(|count| *count <= MAX_CLASSES)?;
        let classes = (0..count).map(|_| from.bytes().map(<[u8]>::to_vec));
        let classes = classes.collect::<Option<Vec<_>>>()?;
        Some(Self {
            request: Request {
                service,
                question: Question::Accounting(accounting),
                user,
                calling,
                called,
                router,
                port: Port { kind, number, id },
                subscriber_line,
                session,
                classes,
                timestamp,
            },
            server: None,
            since: Some(now),
            age,
        })
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    fn short(&mut self, number: usize) {
        let number = u16::try_from(number).unwrap_or(u16::MAX);
        self.0.extend(number.to_le_bytes());
    }

    fn number(&mut self, number: u64) {
        self.0.extend(number.to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        let bytes = &bytes[..bytes.len().min(usize::from(u16::MAX))];
        self.short(bytes.len());
        self.0.extend(bytes);
    }

    fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.byte(value.is_some().into());
        if let Some(value) = value {
            write(self, value);
        }
    }

    fn address(&mut self, address: IpAddr) {
        match address {
            IpAddr::V4(v4) => self.bytes(&v4.octets()),
            IpAddr::V6(v6) => self.bytes(&v6.octets()),
        }
    }

    fn through(&mut self, through: &Through) {
        self.option(through.address, Self::address);
        for prefix in [through.ipv6_prefix, through.delegated_prefix] {
            self.option(prefix, |out, prefix| {
                out.address(prefix.network.into());
                out.byte(prefix.length);
            });
        }
        for traffic in [through.input, through.output] {
            self.number(traffic.packets);
            self.number(traffic.bytes);
        }
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn short(&mut self) -> Option<u16> {
        self.take().map(u16::from_le_bytes)
    }

    fn number(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    /// Reads a number of 32 bits.
    fn small(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::from(self.short()?);
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }

    fn texts<const N: usize>(&mut self) -> Option<[String; N]> {
        let texts: Option<Vec<_>> = (0..N).map(|_| self.text()).collect();
        texts?.try_into().ok()
    }

    /// Reads an optional field. The outer `None` is a malformed one.
    fn option<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        match self.byte()? {
            0 => Some(None),
            1 => read(self).map(Some),
            _ => None,
        }
    }

    fn address(&mut self) -> Option<IpAddr> {
        let bytes = self.bytes()?;
        let v4 = || Some(IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?)));
        v4().or_else(|| {
            Some(IpAddr::V6(Ipv6Addr::from(
                <[u8; 16]>::try_from(bytes).ok()?,
            )))
        })
    }

    fn prefix(&mut self) -> Option<Prefix6> {
        let IpAddr::V6(network) = self.address()? else {
            return None;
        };
        let length = self.byte()?;
        Some(Prefix6 { network, length })
    }

    fn traffic(&mut self) -> Option<Traffic> {
        Some(Traffic {
            packets: self.number()?,
            bytes: self.number()?,
        })
    }

    fn through(&mut self) -> Option<Through> {
        Some(Through {
            address: self.option(Self::address)?,
            ipv6_prefix: self.option(Self::prefix)?,
            delegated_prefix: self.option(Self::prefix)?,
            input: self.traffic()?,
            output: self.traffic()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Query {
        let prefix = |network: u16| Prefix6 {
            network: Ipv6Addr::new(0x2001, 0xdb8, network, 0, 0, 0, 0, 0),
            length: 56,
        };
        let traffic = |packets| Traffic {
            packets,
            bytes: packets << 40,
        };
        let through = Through {
            address: Some(IpAddr::V4(Ipv4Addr::new(10, 9, 0, 7))),
            ipv6_prefix: Some(prefix(1)),
            delegated_prefix: Some(prefix(2)),
            input: traffic(3),
            output: traffic(5),
        };
        Query {
            request: Request {
                service: Service::Dhcp,
                question: Question::Accounting(Accounting {
                    authentic: Authentic::Local,
                    cause: Some(TerminateCause::AdminReboot),
                    ..Accounting::new(Status::Stop, 3_600, Some(through))
                }),
                user: "anna".into(),
                calling: "02:00:00:00:00:01".into(),
                called: "isp".into(),
                router: "bras".into(),
                port: Port {
                    kind: PortType::Ethernet,
                    number: Some(77),
                    id: "ether1".into(),
                },
                subscriber_line: SubscriberLine {
                    circuit_id: Some("slot 1".into()),
                    remote_id: None,
                },
                session: "81000001".into(),
                classes: vec![b"a class".to_vec(), Vec::new()],
                timestamp: Some(1_800_000_000),
            },
            server: None,
            since: Some(Instant::from_secs(100)),
            age: Duration::from_secs(7),
        }
    }

    #[test]
    fn a_stored_report_is_restored_with_its_age() {
        let before = report();
        let bytes = before.to_bytes(Instant::from_secs(110)).expect("a report");
        let start = Instant::from_secs(1);

        let read = Query::read(&bytes, Duration::from_secs(60), start).expect("its own bytes");

        assert!(read.request == before.request);
        assert_eq!(
            (read.since, read.age),
            (Some(start), Duration::from_secs(77))
        );
        for length in 0..bytes.len() {
            let cut = Query::read(&bytes[..length], Duration::ZERO, start);
            assert!(cut.is_none(), "{length}");
        }
        for at in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[at / 8] ^= 1 << (at % 8);
            let _ = Query::read(&flipped, Duration::MAX, start);
        }
    }

    #[test]
    fn only_the_end_of_a_session_is_stored() {
        let mut query = report();
        if let Question::Accounting(of) = &mut query.request.question {
            of.status = Status::Interim;
        }
        assert_eq!(query.to_bytes(Instant::ZERO), None);
    }
}
