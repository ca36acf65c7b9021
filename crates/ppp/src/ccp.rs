//! Option of CCP (RFC 1962): MPPE's supported bits (RFC 3078, 2).

use crate::mppe::{KeyLength, KeyLengths};
use crate::negotiation::{Judgement, Options};
use crate::packet::{CCP, ConfigureOption, Packet, push_option};
use crate::settings::Settings;

/// Microsoft PPE/PPC.
const MPPE: u8 = 18;
/// Stateless encryption.
const STATELESS: u32 = 0x0100_0000;

/// An encryption that an end can receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) length: KeyLength,
    pub(crate) is_stateless: bool,
}

impl Choice {
    const fn length_bit(length: KeyLength) -> u32 {
        match length {
            KeyLength::Bits40 => 0x20,
            KeyLength::Bits56 => 0x80,
            KeyLength::Bits128 => 0x40,
        }
    }

    /// Returns the supported bits.
    const fn bits(self) -> u32 {
        let stateless = if self.is_stateless { STATELESS } else { 0 };
        Self::length_bit(self.length) | stateless
    }

    /// Returns the strongest encryption among supported bits with one of these key lengths.
    fn strongest(bits: u32, lengths: KeyLengths) -> Option<Self> {
        let offered = |length: &KeyLength| bits & Self::length_bit(*length) != 0;
        let mut all = KeyLength::ALL.into_iter().filter(offered);
        let length = all.find(|length| lengths.contains(*length))?;
        Some(Self {
            length,
            is_stateless: bits & STATELESS != 0,
        })
    }

    fn option(self) -> Packet {
        let mut option = Packet::new();
        push_option(&mut option, MPPE, &self.bits().to_be_bytes());
        option
    }
}

/// Encryptions that an end offers to receive. RFC 3078, 2: all at first; the peer chooses one by a Configure-Nak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Offer {
    lengths: KeyLengths,
    is_stateless: bool,
}

impl Offer {
    fn bits(self) -> u32 {
        let stateless = if self.is_stateless { STATELESS } else { 0 };
        let all = { KeyLength::ALL.into_iter() }.filter(|length| self.lengths.contains(*length));
        all.fold(stateless, |bits, length| bits | Choice::length_bit(length))
    }

    /// Returns the strongest encryption of the offer.
    fn strongest(self) -> Option<Choice> {
        Choice::strongest(self.bits(), self.lengths)
    }

    /// Returns the offer without its longest key; `None` if no other is left.
    fn weaker(self) -> Option<Self> {
        let longest = self.lengths.longest()?;
        let others = { KeyLength::ALL.into_iter() }
            .filter(|length| *length != longest && self.lengths.contains(*length));
        let lengths = others.fold(KeyLengths::NONE, KeyLengths::with);
        (!lengths.is_empty()).then_some(Self { lengths, ..self })
    }
}

impl From<Choice> for Offer {
    fn from(choice: Choice) -> Self {
        Self {
            lengths: KeyLengths::NONE.with(choice.length),
            is_stateless: choice.is_stateless,
        }
    }
}

/// Options of both ends. An end requests the encryption of packets that it receives.
#[derive(Debug)]
pub(crate) struct CcpOptions {
    /// Key lengths that this end accepts.
    lengths: KeyLengths,
    /// Encryptions that this end offers; `None` after a Reject of the shortest key.
    request: Option<Offer>,
    /// Encryption in the Configure-Request at hand.
    proposal: Option<Choice>,
    /// Encryption of packets to the peer that is in force.
    transmit: Option<Choice>,
}

impl CcpOptions {
    /// Returns the options of an end that accepts these key lengths.
    pub(crate) fn new(lengths: KeyLengths) -> Self {
        let request = (!lengths.is_empty()).then_some(Offer {
            lengths,
            is_stateless: true,
        });
        Self {
            lengths,
            request,
            proposal: None,
            transmit: None,
        }
    }

    /// Returns the encryption of transmission and reception, if both ends agreed on one.
    pub(crate) fn agreed(&self) -> Option<[Choice; 2]> {
        Some([self.transmit?, self.request?.strongest()?])
    }
}

impl Options for CcpOptions {
    const PROTOCOL: u16 = CCP;

    fn request(&self, out: &mut Packet) {
        if let Some(request) = self.request {
            push_option(out, MPPE, &request.bits().to_be_bytes());
        }
    }

    fn begin(&mut self, _request: &[u8]) {
        self.proposal = None;
    }

    fn judge(&mut self, option: ConfigureOption<'_>, _settings: &Settings) -> Judgement {
        let value = { option.value.as_array::<4>() }.filter(|_| option.kind == MPPE);
        let Some(bits) = value.map(|value| u32::from_be_bytes(*value)) else {
            return Judgement::Reject;
        };
        let choice = Choice::strongest(bits, self.lengths);
        match choice.or_else(|| Self::new(self.lengths).request?.strongest()) {
            Some(choice) if choice.bits() == bits => {
                self.proposal = Some(choice);
                Judgement::Ack
            }
            Some(choice) => Judgement::Nak(choice.option()),
            None => Judgement::Reject,
        }
    }

    fn missing(&mut self, suggestions: &mut Packet) {
        if self.proposal.is_none() && suggestions.is_empty() {
            let own = Self::new(self.lengths).request.and_then(Offer::strongest);
            suggestions.extend(own.iter().flat_map(|own| own.option()));
        }
    }

    fn commit(&mut self) {
        self.transmit = self.proposal;
    }

    fn nak(&mut self, option: ConfigureOption<'_>, _settings: &Settings) {
        let value = { option.value.as_array::<4>() }.filter(|_| option.kind == MPPE);
        if let Some(value) = value {
            let choice = Choice::strongest(u32::from_be_bytes(*value), self.lengths);
            self.request = choice.map(Offer::from).or(self.request);
        }
    }

    fn reject(&mut self, option: ConfigureOption<'_>, _settings: &Settings) {
        if option.kind == MPPE {
            self.request = self.request.and_then(Offer::weaker);
        }
    }
}
