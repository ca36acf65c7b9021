//! Option of IPv6CP: the interface identifier (RFC 5072, 4.1).

use crate::event::Ipv6Link;
use crate::negotiation::{Judgement, Options};
use crate::packet::{ConfigureOption, IPV6CP, Packet, push_option};
use crate::settings::Settings;

/// Interface-Identifier.
const IDENTIFIER: u8 = 1;

/// Identifiers of both ends; zeros mean that an end has none.
#[derive(Debug)]
pub(crate) struct Ipv6cpOptions {
    local: [u8; 8],
    /// Identifier that this end suggests to a peer without one.
    suggestion: [u8; 8],
    proposal: [u8; 8],
    remote: [u8; 8],
}

impl Ipv6cpOptions {
    /// Creates the options from two random numbers.
    pub(crate) fn new(local: u64, suggestion: u64) -> Self {
        let local = identifier(local);
        let mut suggestion = identifier(suggestion);
        // The ends must differ.
        suggestion[7] ^= u8::from(suggestion == local);
        Self {
            local,
            suggestion,
            proposal: [0; 8],
            remote: [0; 8],
        }
    }

    /// Returns the result; `None` if an end has no identifier.
    pub(crate) fn link(&self) -> Option<Ipv6Link> {
        let both = self.local != [0; 8] && self.remote != [0; 8];
        both.then_some(Ipv6Link {
            local: self.local,
            remote: self.remote,
        })
    }

    fn suggest(&self) -> Packet {
        let mut option = Packet::new();
        push_option(&mut option, IDENTIFIER, &self.suggestion);
        option
    }
}

/// Makes an identifier of local scope that is not zero (RFC 5072, 4.1).
fn identifier(random: u64) -> [u8; 8] {
    let mut identifier = random.to_be_bytes();
    identifier[0] &= !2;
    identifier[7] |= u8::from(identifier == [0; 8]);
    identifier
}

impl Options for Ipv6cpOptions {
    const PROTOCOL: u16 = IPV6CP;

    fn request(&self, out: &mut Packet) {
        if self.local != [0; 8] {
            push_option(out, IDENTIFIER, &self.local);
        }
    }

    fn begin(&mut self, _request: &[u8]) {
        self.proposal = [0; 8];
    }

    fn judge(&mut self, option: ConfigureOption<'_>, _settings: &Settings) -> Judgement {
        let Some(value) = option
            .value
            .as_array::<8>()
            .filter(|_| option.kind == IDENTIFIER)
        else {
            return Judgement::Reject;
        };
        if *value == [0; 8] || *value == self.local {
            return Judgement::Nak(self.suggest());
        }
        self.proposal = *value;
        Judgement::Ack
    }

    fn missing(&mut self, suggestions: &mut Packet) {
        if self.proposal == [0; 8] && suggestions.is_empty() {
            suggestions.extend_from_slice(&self.suggest());
        }
    }

    fn commit(&mut self) {
        self.remote = self.proposal;
    }

    fn nak(&mut self, option: ConfigureOption<'_>, _settings: &Settings) {
        let value = option
            .value
            .as_array::<8>()
            .filter(|_| option.kind == IDENTIFIER);
        if let Some(value) = value.filter(|value| **value != [0; 8]) {
            self.local = *value;
        }
    }

    fn reject(&mut self, option: ConfigureOption<'_>, _settings: &Settings) {
        if option.kind == IDENTIFIER {
            self.local = [0; 8];
        }
    }
}
