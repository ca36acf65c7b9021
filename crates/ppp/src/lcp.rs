//! Options of LCP (RFC 1661, 6; RFC 1990, 5.1).

use crate::event::Multilink;
use crate::negotiation::{Judgement, Options};
use crate::packet::{CHAP, ConfigureOption, LCP, PAP, Packet, options, push_option};
use crate::reason::DownReason;
use crate::settings::{Method, Role, Settings};

/// Maximum-Receive-Unit.
const MRU: u8 = 1;
/// Async-Control-Character-Map (RFC 1662).
const ACCM: u8 = 2;
/// Authentication-Protocol.
const AUTHENTICATION: u8 = 3;
/// Magic-Number.
const MAGIC: u8 = 5;
/// Protocol-Field-Compression.
const PFC: u8 = 7;
/// Address-and-Control-Field-Compression.
const ACFC: u8 = 8;
/// Maximum-Receive-Reconstructed-Unit.
const MRRU: u8 = 17;
/// Endpoint-Discriminator.
const DISCRIMINATOR: u8 = 19;

/// MRU without the option.
const DEFAULT_MRU: u16 = 1500;
/// Smallest MRU and MRRU that this end accepts.
const MIN_MRU: u16 = 128;
/// Longest value of an Endpoint-Discriminator: class and 20 bytes.
const MAX_DISCRIMINATOR: usize = 21;
/// Configure-Requests with this end's own magic number that prove a loop.
const MAX_LOOPS: u8 = 5;

/// What the peer demands and announces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct PeerOptions {
    mru: Option<u16>,
    method: Option<Method>,
    magic: u32,
    mrru: Option<u16>,
}

/// Options of both ends.
#[derive(Debug)]
pub(crate) struct LcpOptions {
    /// MRU of this end; `None` after a Reject.
    mru: Option<u16>,
    /// Authentication that a server demands.
    method: Option<Method>,
    /// Magic number of this end; 0 after a Reject.
    magic: u32,
    /// Random number that makes the next magic number of this end differ from the peer's next one.
    salt: u32,
    /// MRRU of this end.
    mrru: Option<u16>,
    /// Largest packet that the carrier transports.
    payload: u16,
    /// Options of the Configure-Request at hand.
    proposal: PeerOptions,
    /// Options in force.
    peer: PeerOptions,
    /// The Configure-Request at hand has this end's magic number.
    is_looped: bool,
    /// Packets that came back.
    loops: u8,
    /// Why LCP cannot succeed.
    failure: Option<DownReason>,
}

impl LcpOptions {
    /// Creates the options of a link whose carrier transports packets of at most `payload` bytes. Both random
    /// numbers must be unpredictable for the peer.
    pub(crate) fn new(settings: &Settings, payload: u16, magic: u32, salt: u32) -> Self {
        let is_server = settings.role == Role::Server;
        let method = settings.methods.strongest().filter(|_| is_server);
        let failure = (is_server && method.is_none()).then_some(DownReason::NoCommonMethod);
        Self {
            mru: Some(settings.max_mru.min(payload).max(MIN_MRU)),
            method,
            magic: magic.max(1),
            salt,
            mrru: settings.mrru,
            payload: payload.max(MIN_MRU),
            proposal: PeerOptions::default(),
            peer: PeerOptions::default(),
            is_looped: false,
            loops: 0,
            failure,
        }
    }

    /// Returns the largest packet that this end may send.
    pub(crate) fn mtu(&self, settings: &Settings) -> u16 {
        let mru = self.peer.mru.unwrap_or(DEFAULT_MRU);
        mru.min(settings.max_mtu).min(self.payload)
    }

    /// Returns the largest packet that the peer may send.
    pub(crate) fn mru(&self) -> u16 {
        self.mru.unwrap_or(DEFAULT_MRU.min(self.payload))
    }

    /// Returns the multilink framing: on if both ends requested it.
    pub(crate) fn multilink(&self) -> Multilink {
        let both = self.mrru.is_some() && self.peer.mrru.is_some();
        Multilink {
            transmit_mrru: self.peer.mrru.filter(|_| both),
            receive_mrru: self.mrru.filter(|_| both),
        }
    }

    /// Returns the method by which this end authenticates the peer (server) or itself (client).
    pub(crate) fn method(&self, role: Role) -> Option<Method> {
        match role {
            Role::Server => self.method,
            Role::Client => self.peer.method,
        }
    }

    /// Returns this end's magic number; 0 without one.
    pub(crate) const fn magic(&self) -> u32 {
        self.magic
    }

    /// Returns true if a Configure-Request has the peer's magic number that is in force.
    pub(crate) fn is_of_peer(&self, request: &[u8]) -> bool {
        self.peer.magic != 0 && magic_of(request) == Some(self.peer.magic)
    }

    /// Counts a packet of this end that came back.
    pub(crate) fn count_loop(&mut self) {
        self.loops = self.loops.saturating_add(1);
        if self.loops >= MAX_LOOPS {
            self.failure.get_or_insert(DownReason::Loop);
        }
    }

    /// Returns why LCP cannot succeed.
    pub(crate) const fn failure(&self) -> Option<&DownReason> {
        self.failure.as_ref()
    }

    fn next_magic(&self) -> u32 {
        let next = self.magic.wrapping_mul(0x9e37_79b1).wrapping_add(self.salt);
        next.max(1)
    }

    /// Judges the authentication that the peer demands of this end.
    fn judge_method(&mut self, value: &[u8], settings: &Settings) -> Judgement {
        let offered = { settings.methods }
            .strongest()
            .filter(|_| settings.role == Role::Client && settings.credentials.is_some());
        let Some(offered) = offered else {
            return Judgement::Reject;
        };
        match parse_method(value).filter(|method| settings.methods.contains(*method)) {
            Some(method) => {
                self.proposal.method = Some(method);
                Judgement::Ack
            }
            None => nak(AUTHENTICATION, &method_value(offered)),
        }
    }

    fn judge_mru(&mut self, value: &[u8]) -> Judgement {
        let Some(mru) = number(value) else {
            return Judgement::Reject;
        };
        // RFC 4638, 5: a peer must not count on more than the carrier transports.
        if mru > self.payload {
            return nak(MRU, &self.payload.to_be_bytes());
        }
        if mru < MIN_MRU {
            return nak(MRU, &MIN_MRU.to_be_bytes());
        }
        self.proposal.mru = Some(mru);
        Judgement::Ack
    }

    fn judge_mrru(&mut self, value: &[u8], settings: &Settings) -> Judgement {
        let Some(mrru) = number(value).filter(|_| settings.mrru.is_some()) else {
            return Judgement::Reject;
        };
        if mrru < MIN_MRU {
            return nak(MRRU, &MIN_MRU.to_be_bytes());
        }
        self.proposal.mrru = Some(mrru);
        Judgement::Ack
    }

    fn judge_magic(&mut self, value: &[u8]) -> Judgement {
        let Some(value) = value.as_array::<4>() else {
            return Judgement::Reject;
        };
        let magic = u32::from_be_bytes(*value);
        if magic == 0 || magic == self.magic {
            return nak(MAGIC, &self.next_magic().to_be_bytes());
        }
        self.proposal.magic = magic;
        Judgement::Ack
    }

    /// Steps down to the method that the peer suggests, or else to the next weaker one.
    fn step_down(&mut self, suggestion: Option<Method>, settings: &Settings) {
        let Some(current) = self.method else {
            return;
        };
        let allowed = suggestion.filter(|method| settings.methods.contains(*method));
        self.method = { allowed.filter(|method| *method != current) }
            .or_else(|| settings.methods.weaker_than(current));
        if self.method.is_none() {
            self.failure.get_or_insert(DownReason::NoCommonMethod);
        }
    }
}

impl Options for LcpOptions {
    const PROTOCOL: u16 = LCP;

    fn request(&self, out: &mut Packet) {
        if let Some(mru) = self.mru {
            push_option(out, MRU, &mru.to_be_bytes());
        }
        if let Some(method) = self.method {
            push_option(out, AUTHENTICATION, &method_value(method));
        }
        if self.magic != 0 {
            push_option(out, MAGIC, &self.magic.to_be_bytes());
        }
        if let Some(mrru) = self.mrru {
            push_option(out, MRRU, &mrru.to_be_bytes());
        }
    }

    fn begin(&mut self, request: &[u8]) {
        self.proposal = PeerOptions::default();
        self.is_looped = self.magic != 0 && magic_of(request) == Some(self.magic);
        if self.is_looped {
            self.count_loop();
        }
    }

    fn judge(&mut self, option: ConfigureOption<'_>, settings: &Settings) -> Judgement {
        // The magic number decides first, or a looped server would reject its own demands (RFC 1661, 6.4).
        if self.is_looped && option.kind != MAGIC {
            return Judgement::Ack;
        }
        match (option.kind, option.value) {
            (MRU, value) => self.judge_mru(value),
            (AUTHENTICATION, value) => self.judge_method(value, settings),
            (MAGIC, value) => self.judge_magic(value),
            (MRRU, value) => self.judge_mrru(value, settings),
            (DISCRIMINATOR, value) if settings.mrru.is_some() => match value.len() {
                1..=MAX_DISCRIMINATOR => Judgement::Ack,
                _ => Judgement::Reject,
            },
            (PFC | ACFC, []) | (ACCM, [_, _, _, _]) if settings.hdlc_options => Judgement::Ack,
            _ => Judgement::Reject,
        }
    }

    fn commit(&mut self) {
        self.peer = self.proposal;
    }

    fn nak(&mut self, option: ConfigureOption<'_>, settings: &Settings) {
        match option.kind {
            MRU => {
                let limit = settings.max_mru.min(self.payload);
                let suggested = number(option.value).filter(|mru| *mru >= MIN_MRU);
                let suggested = suggested.map(|mru| mru.min(limit));
                self.mru = self.mru.and(suggested.or(self.mru));
            }
            AUTHENTICATION => self.step_down(parse_method(option.value), settings),
            MAGIC if self.magic != 0 => self.magic = self.next_magic(),
            MRRU => {
                let suggested = number(option.value).filter(|mrru| *mrru >= MIN_MRU);
                self.mrru = self.mrru.map(|mrru| mrru.min(suggested.unwrap_or(mrru)));
            }
            _ => {}
        }
    }

    fn reject(&mut self, option: ConfigureOption<'_>, _settings: &Settings) {
        match option.kind {
            MRU => self.mru = None,
            AUTHENTICATION if self.method.is_some() => {
                self.failure.get_or_insert(DownReason::NoCommonMethod);
            }
            MAGIC => self.magic = 0,
            MRRU => self.mrru = None,
            _ => {}
        }
    }
}

/// Returns the magic number of a list of options.
fn magic_of(request: &[u8]) -> Option<u32> {
    let mut list = options(request).flatten();
    let magic = list.find(|option| option.kind == MAGIC)?;
    magic
        .value
        .as_array()
        .map(|value| u32::from_be_bytes(*value))
}

fn number(value: &[u8]) -> Option<u16> {
    value.as_array().map(|value| u16::from_be_bytes(*value))
}

fn nak(kind: u8, value: &[u8]) -> Judgement {
    let mut option = Packet::new();
    push_option(&mut option, kind, value);
    Judgement::Nak(option)
}

/// Encodes the value of an Authentication-Protocol option.
fn method_value(method: Method) -> Packet {
    let algorithm = match method {
        Method::Pap => return Packet::from_slice(&PAP.to_be_bytes()),
        Method::Chap => 0x05,
        Method::MsChap1 => 0x80,
        Method::MsChap2 => 0x81,
    };
    let [high, low] = CHAP.to_be_bytes();
    Packet::from_slice(&[high, low, algorithm])
}

/// Decodes the value of an Authentication-Protocol option.
fn parse_method(value: &[u8]) -> Option<Method> {
    Method::ALL
        .into_iter()
        .find(|method| method_value(*method)[..] == *value)
}
