//! NTP server: answers requests, with rate limits and never with more bytes than the request.

use core::net::IpAddr;
use core::time::Duration;

use machine::Instant;
use wire::ntp::{HEADER_LEN, MAC_LEN, Malformed, Mode, Packet, Repr, Short, Timestamp, VERSION};

use super::{Key, PRECISION};
use crate::icmp::{Limiter, Rate};

/// Rate limits: sixteen per second and sender, which may be a NAT for many hosts; twenty thousand in total.
const RATE: Rate = Rate {
    interval: Duration::from_micros(62_500),
    burst: 64,
    mask: u32::MAX,
    mask_all: u32::MAX,
    interval_all: Duration::from_micros(50),
    burst_all: 1_000,
};

/// Interval of broadcasts (RFC 5905, 7.3: 64 seconds).
const EVERY: Duration = Duration::from_secs(64);
const EVERY_POWER: i8 = 6;

/// Settings of the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Stratum of the router's own clock if it is unsynchronized; `None` answers as unsynchronized.
    pub local_stratum: Option<u8>,
    /// Keys of clients.
    pub keys: Vec<Key>,
    /// Key that signs broadcasts.
    pub own_key: Option<Key>,
    /// Destinations of broadcasts.
    pub tell: Vec<IpAddr>,
}

/// Quality of the router's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Synchronized {
    /// Leap indicator.
    pub leap: u8,
    /// Stratum.
    pub stratum: u8,
    /// Root delay.
    pub root_delay: Short,
    /// Root dispersion.
    pub root_dispersion: Short,
    /// Reference id.
    pub reference_id: [u8; 4],
    /// Reference timestamp: time of the last correction.
    pub reference: Timestamp,
}

/// Reason why a request is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Malformed.
    Malformed(Malformed),
    /// Not a request.
    NoQuestion,
    /// The sender exceeds its rate limit.
    TooOften,
}

/// NTP server.
#[derive(Debug)]
pub struct Server {
    settings: Settings,
    limiter: Limiter,
    next: Option<Instant>,
    /// Number of answered requests.
    answered: u64,
}

impl Server {
    /// Creates a server. `seed` makes the hash of the rate limiter unpredictable.
    pub fn new(seed: u64) -> Self {
        Self {
            settings: Settings::default(),
            limiter: Limiter::new(RATE, seed),
            next: None,
            answered: 0,
        }
    }

    /// Applies settings.
    pub fn configure(&mut self, settings: Settings, now: Instant) {
        if self.settings.tell != settings.tell {
            self.next = (!settings.tell.is_empty()).then_some(now);
        }
        self.settings = settings;
    }

    /// Number of answered requests.
    pub const fn answered(&self) -> u64 {
        self.answered
    }

    /// Answers a request that arrived at `now`, when the time was `time` in nanoseconds since 1970.
    ///
    /// # Errors
    /// Returns why the request is not answered.
    pub fn answer(
        &mut self,
        from: IpAddr,
        bytes: &[u8],
        synchronized: Option<Synchronized>,
        time: i64,
        now: Instant,
    ) -> Result<Vec<u8>, Refused> {
        let question = Packet::parse(bytes).map_err(Refused::Malformed)?;
        if question.repr.mode != Mode::CLIENT {
            return Err(Refused::NoQuestion);
        }
        if !self.limiter.admit(from, 0, now) {
            return Err(Refused::TooOften);
        }
        let answer = Repr {
            version: question.repr.version,
            mode: Mode::SERVER,
            poll: question.repr.poll,
            origin: question.repr.transmit,
            ..self.own_time(synchronized, time)
        };
        self.answered += 1;
        let answer = answer.to_bytes();
        let key = question.mac.and_then(|(number, _)| {
            let mut keys = self.settings.keys.iter();
            keys.find(|key| key.number == number && key.proves(question.signed, question.mac))
        });
        let signed = match (key, question.mac) {
            (Some(key), _) => key.sign(&answer),
            // Unknown key: answers with a crypto-NAK (RFC 5905, 7.3).
            (None, Some(_)) => [&answer[..], &[0; 4]].concat(),
            (None, None) => answer.to_vec(),
        };
        debug_assert!(signed.len() <= HEADER_LEN + MAC_LEN && signed.len() <= bytes.len());
        Ok(signed)
    }

    /// Returns due broadcasts with their destinations.
    pub fn tick(
        &mut self,
        synchronized: Option<Synchronized>,
        time: i64,
        now: Instant,
    ) -> Option<(&[IpAddr], Vec<u8>)> {
        if self.next.is_none_or(|next| next > now) {
            return None;
        }
        self.next = Some(now + EVERY);
        let told = Repr {
            mode: Mode::BROADCAST,
            poll: EVERY_POWER,
            ..self.own_time(synchronized, time)
        };
        // An unsynchronized server does not broadcast.
        if told.leap == 3 {
            return None;
        }
        let bytes = told.to_bytes();
        let bytes = match &self.settings.own_key {
            Some(key) => key.sign(&bytes),
            None => bytes.to_vec(),
        };
        Some((&self.settings.tell, bytes))
    }

    /// Time of the next call of `tick`.
    pub const fn deadline(&self) -> Option<Instant> {
        self.next
    }

    fn own_time(&self, synchronized: Option<Synchronized>, time: i64) -> Repr {
        let local = self.settings.local_stratum;
        let own = synchronized.unwrap_or(Synchronized {
            leap: if local.is_some() { 0 } else { 3 },
            stratum: local.unwrap_or(0),
            root_delay: Short::default(),
            root_dispersion: Short::default(),
            reference_id: if local.is_some() { *b"LOCL" } else { *b"INIT" },
            reference: match local {
                Some(_) => Timestamp::from_unix_nanos(time),
                None => Timestamp::default(),
            },
        });
        let stamp = Timestamp::from_unix_nanos(time);
        Repr {
            leap: own.leap,
            version: VERSION,
            mode: Mode::SERVER,
            stratum: own.stratum,
            poll: 0,
            precision: PRECISION,
            root_delay: own.root_delay,
            root_dispersion: own.root_dispersion,
            reference_id: own.reference_id,
            reference: own.reference,
            origin: Timestamp::default(),
            receive: stamp,
            transmit: stamp,
        }
    }
}
