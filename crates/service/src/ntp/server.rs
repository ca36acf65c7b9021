//! The server: an answer for a question, never longer than it, and as many as their sender may have.

use core::net::IpAddr;
use core::time::Duration;

use machine::Instant;
use wire::ntp::{HEADER_LEN, MAC_LEN, Malformed, Mode, Packet, Repr, Short, Timestamp, VERSION};

use super::{Key, PRECISION};
use crate::icmp::{Limiter, Rate};

/// Sixteen a second and sender, who may stand for all hosts behind a translation; twenty thousand over all.
const RATE: Rate = Rate {
    interval: Duration::from_micros(62_500),
    burst: 64,
    mask: u32::MAX,
    mask_all: u32::MAX,
    interval_all: Duration::from_micros(50),
    burst_all: 1_000,
};

/// How often the time is told to everybody (RFC 5905, 7.3: 64 seconds).
const EVERY: Duration = Duration::from_secs(64);
const EVERY_POWER: i8 = 6;

/// How the server is configured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The stratum that the router's own clock is said to have where no server is believed; none tells that there is
    /// no time.
    pub local_stratum: Option<u8>,
    /// The keys of those who ask.
    pub keys: Vec<Key>,
    /// The key that what is told to everybody is signed with.
    pub own_key: Option<Key>,
    /// Those to whom the time is told without a question.
    pub tell: Vec<IpAddr>,
}

/// What is true of the router's own time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Synchronized {
    /// As in a packet.
    pub leap: u8,
    /// As in a packet.
    pub stratum: u8,
    /// To the clock and back.
    pub root_delay: Short,
    /// How wrong the time may be.
    pub root_dispersion: Short,
    /// Whom it is from.
    pub reference_id: [u8; 4],
    /// When it was last corrected.
    pub reference: Timestamp,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It cannot be read.
    Malformed(Malformed),
    /// It is no question.
    NoQuestion,
    /// Its sender asks too often.
    TooOften,
}

/// See the module.
#[derive(Debug)]
pub struct Server {
    settings: Settings,
    limiter: Limiter,
    next: Option<Instant>,
    /// Questions that were answered.
    answered: u64,
}

impl Server {
    /// A server. `seed` keeps strangers from choosing who shares a place in the table of its limits.
    pub fn new(seed: u64) -> Self {
        Self {
            settings: Settings::default(),
            limiter: Limiter::new(RATE, seed),
            next: None,
            answered: 0,
        }
    }

    /// Takes settings over.
    pub fn configure(&mut self, settings: Settings, now: Instant) {
        if self.settings.tell != settings.tell {
            self.next = (!settings.tell.is_empty()).then_some(now);
        }
        self.settings = settings;
    }

    /// Questions that were answered.
    pub const fn answered(&self) -> u64 {
        self.answered
    }

    /// Answers a question that came at `now`, when the time of day was `time` in nanoseconds since 1970.
    ///
    /// # Errors
    /// Why there is no answer.
    pub fn answer(
        &mut self,
        (from, bytes): (IpAddr, &[u8]),
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
            ..self.told(synchronized, time)
        };
        self.answered += 1;
        let answer = answer.to_bytes();
        let key = question.mac.and_then(|(number, _)| {
            let mut keys = self.settings.keys.iter();
            keys.find(|key| key.number == number && key.proves(question.signed, question.mac))
        });
        let signed = match (key, question.mac) {
            (Some(key), _) => key.sign(&answer),
            // The key is refused (RFC 5905, 7.3: crypto-NAK).
            (None, Some(_)) => [&answer[..], &[0; 4]].concat(),
            (None, None) => answer.to_vec(),
        };
        debug_assert!(signed.len() <= HEADER_LEN + MAC_LEN && signed.len() <= bytes.len());
        Ok(signed)
    }

    /// Gives what is to be told to everybody, if it is time: to whom, and what.
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
            ..self.told(synchronized, time)
        };
        // Who has no time tells nobody.
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

    /// When `tick` is next worth calling.
    pub const fn deadline(&self) -> Option<Instant> {
        self.next
    }

    fn told(&self, synchronized: Option<Synchronized>, time: i64) -> Repr {
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
