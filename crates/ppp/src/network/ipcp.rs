//! Options of IPCP (RFC 1332, 3; RFC 1877, 1).

use core::net::Ipv4Addr;

use crate::event::{Ipv4Grant, Ipv4Link};
use crate::negotiation::{Judgement, Options};
use crate::packet::{ConfigureOption, IPCP, Packet, push_option};
use crate::settings::Settings;

/// IP-Address.
const ADDRESS: u8 = 3;
/// Primary and secondary DNS server.
const DNS: [u8; 2] = [129, 131];
/// Primary and secondary NBNS server.
const WINS: [u8; 2] = [130, 132];

/// Options of both ends.
#[derive(Debug)]
pub(crate) struct IpcpOptions {
    /// Address that this end requests; unspecified to let the peer choose, `None` after a Reject.
    local: Option<Ipv4Addr>,
    /// DNS servers that a client requests; unspecified until the peer names them.
    dns: [Option<Ipv4Addr>; 2],
    /// Addresses that a server assigns.
    grant: Option<Ipv4Grant>,
    /// Address that a client suggests to a peer without one.
    suggestion: Option<Ipv4Addr>,
    /// Address in the Configure-Request at hand.
    proposal: Option<Ipv4Addr>,
    /// Address of the peer that is in force.
    remote: Option<Ipv4Addr>,
}

impl IpcpOptions {
    /// Creates the options of a client.
    pub(crate) fn client(settings: &Settings) -> Self {
        let unspecified = Ipv4Addr::UNSPECIFIED;
        Self {
            local: Some(settings.local_address.unwrap_or(unspecified)),
            dns: [settings.request_dns.then_some(unspecified); 2],
            grant: None,
            suggestion: settings.remote_address,
            proposal: None,
            remote: None,
        }
    }

    /// Creates the options of a server.
    pub(crate) fn server(grant: Ipv4Grant) -> Self {
        Self {
            local: Some(grant.local).filter(|address| !address.is_unspecified()),
            dns: [None; 2],
            grant: Some(grant),
            suggestion: None,
            proposal: None,
            remote: None,
        }
    }

    /// Returns the result; `None` if this end has no address.
    pub(crate) fn link(&self) -> Option<Ipv4Link> {
        let named = |address: &Ipv4Addr| !address.is_unspecified();
        let granted = self.grant.map(|grant| grant.local);
        Some(Ipv4Link {
            local: self.local.or(granted).filter(named)?,
            remote: self.grant.map(|grant| grant.remote).or(self.remote),
            dns: self.dns.map(|address| address.filter(named)),
        })
    }

    /// Returns the address that the peer must use, if this end decides.
    fn assigned(&self) -> Option<Ipv4Addr> {
        self.grant.map(|grant| grant.remote)
    }

    fn judge_address(&mut self, address: Ipv4Addr) -> Judgement {
        let expected = match self.assigned() {
            Some(assigned) => Some(assigned).filter(|assigned| *assigned != address),
            None if address.is_unspecified() => match self.suggestion {
                Some(suggestion) => Some(suggestion),
                None => return Judgement::Reject,
            },
            None => None,
        };
        if let Some(expected) = expected {
            return nak(ADDRESS, expected);
        }
        self.proposal = Some(address);
        Judgement::Ack
    }

    /// Judges a request for the address of a DNS or NBNS server.
    fn judge_server(&self, kind: u8, requested: Ipv4Addr) -> Judgement {
        let server = self.grant.and_then(|grant| {
            let position = |kinds: [u8; 2]| kinds.iter().position(|known| *known == kind);
            match position(DNS) {
                Some(at) => grant.dns[at],
                None => grant.wins[position(WINS)?],
            }
        });
        match server {
            Some(server) if server == requested => Judgement::Ack,
            Some(server) => nak(kind, server),
            None => Judgement::Reject,
        }
    }
}

impl Options for IpcpOptions {
    const PROTOCOL: u16 = IPCP;

    fn request(&self, out: &mut Packet) {
        if let Some(address) = self.local {
            push_option(out, ADDRESS, &address.octets());
        }
        for (kind, address) in DNS.into_iter().zip(self.dns) {
            if let Some(address) = address {
                push_option(out, kind, &address.octets());
            }
        }
    }

    fn begin(&mut self, _request: &[u8]) {
        self.proposal = None;
    }

    fn judge(&mut self, option: ConfigureOption<'_>, _settings: &Settings) -> Judgement {
        let Some(value) = option.value.as_array::<4>() else {
            return Judgement::Reject;
        };
        let address = Ipv4Addr::from_octets(*value);
        match option.kind {
            ADDRESS => self.judge_address(address),
            kind if DNS.contains(&kind) || WINS.contains(&kind) => self.judge_server(kind, address),
            _ => Judgement::Reject,
        }
    }

    fn missing(&mut self, suggestions: &mut Packet) {
        let assigned = self.assigned().filter(|_| self.proposal.is_none());
        // A Nak of the address that the request has comes from `judge`.
        if let Some(address) = assigned.filter(|_| !suggestions.starts_with(&[ADDRESS])) {
            push_option(suggestions, ADDRESS, &address.octets());
        }
    }

    fn commit(&mut self) {
        self.remote = self.proposal;
    }

    fn nak(&mut self, option: ConfigureOption<'_>, _settings: &Settings) {
        let Some(value) = option.value.as_array::<4>() else {
            return;
        };
        let address = Ipv4Addr::from_octets(*value);
        match option.kind {
            // A server keeps its own address.
            ADDRESS if self.grant.is_none() && !address.is_unspecified() => {
                self.local = Some(address);
            }
            kind => {
                for (requested, _) in self.dns.iter_mut().zip(DNS).filter(|(_, dns)| *dns == kind) {
                    *requested = requested.map(|_| address);
                }
            }
        }
    }

    fn reject(&mut self, option: ConfigureOption<'_>, _settings: &Settings) {
        match option.kind {
            ADDRESS => self.local = None,
            kind => {
                for (requested, _) in self.dns.iter_mut().zip(DNS).filter(|(_, dns)| *dns == kind) {
                    *requested = None;
                }
            }
        }
    }
}

fn nak(kind: u8, address: Ipv4Addr) -> Judgement {
    let mut option = Packet::new();
    push_option(&mut option, kind, &address.octets());
    Judgement::Nak(option)
}
