//! Options of BCP (RFC 3518, 5): which frames of a bridge the ends exchange.

use crate::event::BridgeLink;
use crate::negotiation::{Judgement, Options};
use crate::packet::{BCP, ConfigureOption, Packet, push_option};
use crate::settings::Settings;

/// MAC-Support, with a type of MAC; one option for each type.
const MAC_SUPPORT: u8 = 3;
/// Tinygram-Compression.
const TINYGRAM: u8 = 4;
/// LAN-Identification.
const LAN_IDENTIFICATION: u8 = 5;
/// MAC-Address.
const MAC_ADDRESS: u8 = 6;
/// IEEE-802-Tagged-Frame.
const TAGGED: u8 = 8;
/// Management-Inline: BPDUs travel as frames.
const MANAGEMENT: u8 = 9;
/// Type of MAC: Ethernet.
const ETHERNET: u8 = 1;
/// Values of Tinygram-Compression, LAN-Identification and IEEE-802-Tagged-Frame.
const ENABLED: u8 = 1;
const DISABLED: u8 = 2;

/// Options that an end requests or grants, as a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Abilities {
    /// The end receives Ethernet frames.
    has_ethernet: bool,
    /// The end receives frames with VLAN tags.
    has_tags: bool,
    /// The end receives BPDUs as frames.
    has_inline_management: bool,
}

const NONE: Abilities = Abilities {
    has_ethernet: false,
    has_tags: false,
    has_inline_management: false,
};

/// Options of both ends. An end announces what it receives.
#[derive(Debug)]
pub(crate) struct BcpOptions {
    /// Options of the next Configure-Request.
    request: Abilities,
    /// Options of the Configure-Request at hand.
    proposal: Abilities,
    /// The peer named a MAC type in the request at hand.
    names_mac: bool,
    /// What the peer receives; `None` before its first request.
    remote: Option<Abilities>,
}

impl BcpOptions {
    pub(crate) const fn new() -> Self {
        Self {
            request: Abilities {
                has_ethernet: true,
                has_tags: true,
                has_inline_management: true,
            },
            proposal: NONE,
            names_mac: false,
            remote: None,
        }
    }

    /// Returns the result; `None` if the peer does not receive Ethernet frames.
    pub(crate) fn link(&self) -> Option<BridgeLink> {
        let remote = self.remote.filter(|remote| remote.has_ethernet)?;
        Some(BridgeLink {
            has_tags: remote.has_tags,
            has_inline_management: remote.has_inline_management,
        })
    }
}

impl Options for BcpOptions {
    const PROTOCOL: u16 = BCP;

    fn request(&self, out: &mut Packet) {
        if self.request.has_ethernet {
            push_option(out, MAC_SUPPORT, &[ETHERNET]);
        }
        if self.request.has_tags {
            push_option(out, TAGGED, &[ENABLED]);
        }
        if self.request.has_inline_management {
            push_option(out, MANAGEMENT, &[]);
        }
    }

    fn begin(&mut self, _request: &[u8]) {
        (self.proposal, self.names_mac) = (NONE, false);
    }

    fn judge(&mut self, option: ConfigureOption<'_>, _settings: &Settings) -> Judgement {
        match (option.kind, option.value) {
            (MAC_SUPPORT, [kind]) => {
                self.names_mac = true;
                self.proposal.has_ethernet |= *kind == ETHERNET;
                Judgement::Ack
            }
            (TAGGED, [on @ (ENABLED | DISABLED)]) => {
                self.proposal.has_tags = *on == ENABLED;
                Judgement::Ack
            }
            (MANAGEMENT, []) => {
                self.proposal.has_inline_management = true;
                Judgement::Ack
            }
            // The address of the peer's bridge port, which a bridge need not know.
            (MAC_ADDRESS, value) if value.len() == 6 && value != [0; 6] => Judgement::Ack,
            (TINYGRAM | LAN_IDENTIFICATION, [DISABLED]) => Judgement::Ack,
            (kind @ (TINYGRAM | LAN_IDENTIFICATION), [_]) => {
                let mut option = Packet::new();
                push_option(&mut option, kind, &[DISABLED]);
                Judgement::Nak(option)
            }
            _ => Judgement::Reject,
        }
    }

    fn commit(&mut self) {
        // A peer that names no MAC type receives all (RFC 3518, 5.3).
        self.proposal.has_ethernet |= !self.names_mac;
        self.remote = Some(self.proposal);
    }

    fn nak(&mut self, option: ConfigureOption<'_>, settings: &Settings) {
        if option.kind == TAGGED && option.value == [DISABLED] {
            self.reject(option, settings);
        }
    }

    fn reject(&mut self, option: ConfigureOption<'_>, _settings: &Settings) {
        match option.kind {
            MAC_SUPPORT => self.request.has_ethernet = false,
            TAGGED => self.request.has_tags = false,
            MANAGEMENT => self.request.has_inline_management = false,
            _ => {}
        }
    }
}
