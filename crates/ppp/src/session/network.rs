//! Network phase: IPCP, IPv6CP, multilink fragments.

use std::sync::Arc;

use machine::Instant;

use super::{Authentication, Phase, Session};
use crate::event::{Action, Grant, Link};
use crate::keepalive::{FALLBACK_MTU, KeepaliveTimer, Probe};
use crate::mppe::{KeyLengths, MppeKeys};
use crate::multilink::{Fragment, Reassembly};
use crate::negotiation::{Negotiation, Signals};
use crate::network::bcp::BcpOptions;
use crate::network::ipcp::IpcpOptions;
use crate::network::ipv6cp::Ipv6cpOptions;
use crate::packet::{ENCRYPTED, MULTILINK, split};
use crate::reason::{DownReason, Fault};
use crate::settings::Role;

/// Openings of IPCP and IPv6CP in one session.
const MAX_OPENINGS: u8 = 16;

impl Session {
    /// Reports the link and opens the network protocols.
    pub(super) fn enter_network(&mut self, grant: &Grant, now: Instant, out: &mut Vec<Action>) {
        let settings = Arc::clone(&self.settings);
        let (policy, lengths, keys) = match settings.role {
            Role::Client => (settings.encryption, KeyLengths::ALL, self.client_keys()),
            Role::Server => {
                let keys = grant.proof.keys().cloned();
                (grant.encryption, grant.key_lengths, keys)
            }
        };
        let reported = settings.reports_keys.then(|| keys.clone().map(Box::new));
        if !self.prepare_encryption(policy, lengths, keys) {
            return self.close(DownReason::EncryptionRequired, now, out);
        }
        self.phase = Phase::Network;
        let link = Link {
            mtu: self.lcp.options.mtu(&settings),
            mru: self.lcp.options.mru(),
            multilink: self.lcp.options.multilink(),
            method: self.lcp.options.method(settings.role),
        };
        out.extend(reported.map(Action::Authenticated));
        out.push(Action::LinkUp(link));
        self.keepalive =
            { settings.keepalive }.map(|keepalive| KeepaliveTimer::new(keepalive, now));
        let is_client = settings.role == Role::Client;
        if is_client && self.keepalive.is_some() && link.mtu > FALLBACK_MTU {
            self.probe = Some(Probe::new(link.mtu, self.echo_id.wrapping_add(1), now));
            self.send_echo(usize::from(link.mtu), out);
        }
        let (ipcp, ipv6) = match (settings.role, grant.ipv4) {
            (Role::Client, _) => {
                let options = settings.ipv4.then(|| IpcpOptions::client(&settings));
                (options, settings.ipv6)
            }
            (Role::Server, ipv4) => (ipv4.map(IpcpOptions::server), grant.ipv6),
        };
        let bridges = match settings.role {
            Role::Client => settings.bridging,
            Role::Server => grant.bridging,
        };
        let bridges = bridges && settings.can_bridge || settings.carries_frames;
        self.bcp = bridges.then(|| Negotiation::new(BcpOptions::new()));
        // A bridged session is a port of a bridge, and has no addresses; a client of a network of frames may have one.
        let ipcp = ipcp.filter(|_| !bridges || settings.carries_frames);
        let ipv6 = ipv6 && !bridges;
        self.ipcp = ipcp.map(Negotiation::new);
        self.ipv6cp = ipv6.then(|| {
            let options = Ipv6cpOptions::new(self.rng.next_u64(), self.rng.next_u64());
            Negotiation::new(options)
        });
        self.open_ccp(now, out);
        if let Some(ipcp) = &mut self.ipcp {
            ipcp.open(now, out);
        }
        if let Some(ipv6cp) = &mut self.ipv6cp {
            ipv6cp.open(now, out);
        }
        if let Some(bcp) = &mut self.bcp {
            bcp.open(now, out);
        }
        self.check_networks(now, out);
    }

    /// Returns the keys of a client that authenticated itself by MS-CHAP.
    fn client_keys(&mut self) -> Option<MppeKeys> {
        match self.authentication.as_deref_mut() {
            Some(Authentication::Client(client)) => client.take_keys(),
            _ => None,
        }
    }

    pub(super) fn follow_ipcp(&mut self, signals: Signals, now: Instant, out: &mut Vec<Action>) {
        if signals.down && core::mem::take(&mut self.is_ipv4_up) {
            out.push(Action::Ipv4Down);
        }
        if signals.up {
            self.raise_networks(now, out);
        }
        if signals.finished && self.ipcp.is_some() {
            self.check_networks(now, out);
            if self.settings.carries_frames {
                self.raise_networks(now, out);
            }
        }
    }

    pub(super) fn follow_ipv6cp(&mut self, signals: Signals, now: Instant, out: &mut Vec<Action>) {
        if signals.down && core::mem::take(&mut self.is_ipv6_up) {
            out.push(Action::Ipv6Down);
        }
        if signals.up {
            self.raise_networks(now, out);
        }
        if signals.finished && self.ipv6cp.is_some() {
            self.check_networks(now, out);
        }
    }

    pub(super) fn follow_bcp(&mut self, signals: Signals, now: Instant, out: &mut Vec<Action>) {
        if signals.down && core::mem::take(&mut self.is_bridge_up) {
            out.push(Action::BridgeDown);
        }
        if signals.up {
            self.raise_networks(now, out);
        }
        if signals.finished && self.bcp.is_some() {
            self.check_networks(now, out);
        }
    }

    /// Reports BCP up if it is open; on a carrier of frames once IPCP is open or refused.
    fn raise_bridge(&mut self, now: Instant, out: &mut Vec<Action>) {
        let is_pending = |ipcp: &Negotiation<IpcpOptions>| !(ipcp.is_open() || ipcp.is_at_rest());
        if self.settings.carries_frames && self.ipcp.as_ref().is_some_and(is_pending) {
            return;
        }
        if let Some(bcp) = { self.bcp.as_mut() }.filter(|bcp| bcp.is_open())
            && !self.is_bridge_up
        {
            match bcp.options.link() {
                Some(link) => {
                    self.is_bridge_up = true;
                    out.push(Action::BridgeUp(link));
                    self.count_opening(now, out);
                }
                None => drop(bcp.close(now, out)),
            }
        }
    }

    /// Reports network protocols up that are open, as soon as the encryption permits data.
    pub(super) fn raise_networks(&mut self, now: Instant, out: &mut Vec<Action>) {
        if !self.permits_data() {
            return;
        }
        if let Some(ipcp) = { self.ipcp.as_mut() }.filter(|ipcp| ipcp.is_open())
            && !self.is_ipv4_up
        {
            match ipcp.options.link() {
                Some(link) => {
                    self.is_ipv4_up = true;
                    out.push(Action::Ipv4Up(link));
                    self.count_opening(now, out);
                }
                None => drop(ipcp.close(now, out)),
            }
        }
        if let Some(ipv6cp) = { self.ipv6cp.as_mut() }.filter(|ipv6cp| ipv6cp.is_open())
            && !self.is_ipv6_up
        {
            match ipv6cp.options.link() {
                Some(link) => {
                    self.is_ipv6_up = true;
                    out.push(Action::Ipv6Up(link));
                    self.count_opening(now, out);
                }
                None => drop(ipv6cp.close(now, out)),
            }
        }
        self.raise_bridge(now, out);
    }

    /// Ends the setup when a network protocol opens. Drops a peer that reopens protocols too often.
    pub(super) fn count_opening(&mut self, now: Instant, out: &mut Vec<Action>) {
        self.setup_expires = None;
        // A client that opens a network protocol knows that it was accepted, and repeats its response no more.
        self.authentication
            .take_if(|authentication| matches!(**authentication, Authentication::Server(_)));
        self.openings = self.openings.saturating_add(1);
        if self.openings > MAX_OPENINGS {
            self.close(DownReason::Restarted, now, out);
        }
    }

    /// Closes a session none of whose network protocols is or can be opened.
    pub(super) fn check_networks(&mut self, now: Instant, out: &mut Vec<Action>) {
        let ipv4_rests = self.ipcp.as_ref().is_none_or(Negotiation::is_at_rest);
        let ipv6_rests = self.ipv6cp.as_ref().is_none_or(Negotiation::is_at_rest);
        let bridge_rests = self.bcp.as_ref().is_none_or(Negotiation::is_at_rest);
        if ipv4_rests && ipv6_rests && bridge_rests {
            self.close(DownReason::NoNetworkProtocol, now, out);
        }
    }

    pub(super) fn receive_fragment(
        &mut self,
        information: &[u8],
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        let Some(mrru) = self.lcp.options.multilink().receive_mrru else {
            return self.reject_protocol(MULTILINK, information, out);
        };
        let fragment = match Fragment::parse(information) {
            Ok(fragment) => fragment,
            Err(fault) => return out.push(Action::Count(fault)),
        };
        let mut reassembly = match self.reassembly.take() {
            Some(reassembly) => reassembly,
            None => Box::new(Reassembly::new(mrru)),
        };
        let reassembled = reassembly.push(fragment);
        out.extend(reassembled.fault.map(Action::Count));
        if let Some(packet) = reassembled.packet {
            match split(packet) {
                Ok((ENCRYPTED, _)) => self.receive_encrypted(now, out),
                Ok((MULTILINK, _)) => out.push(Action::Count(Fault::Fragment)),
                Ok((protocol, information)) if protocol >= 0x8000 => {
                    self.receive_control(protocol, information, now, out);
                }
                Ok(_) => out.push(Action::Deliver(packet.to_vec())),
                Err(fault) => out.push(Action::Count(fault)),
            }
        }
        if self.phase == Phase::Network {
            self.reassembly = Some(reassembly);
        }
    }
}
