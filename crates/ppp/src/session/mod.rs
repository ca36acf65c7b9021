//! A PPP session: phases, packets by protocol, timers (RFC 1661, 3).
//!
//! ```text
//! LowerUp ─▶ Establish ─LCP open─▶ Authenticate ─accepted─▶ Network ─▶ Ipv4Up, Ipv6Up
//!                 ▲ LCP again ────────────┘                    │
//!                 └─────────── Terminate ◀─ Close, failure ────┘
//!                                  └─ Terminate-Ack or timeout ─▶ Over: Down
//! ```

mod authenticate;
mod echo;
mod encryption;
mod network;

use std::sync::Arc;

use machine::{Duration, Instant, Machine, Rng};

use crate::auth::client::{Client, ProtocolPacket};
use crate::auth::server::Server;
use crate::encryption::EncryptionState;
use crate::event::{Action, Event};
use crate::keepalive::{KeepaliveTimer, Probe};
use crate::lcp::LcpOptions;
use crate::multilink::Reassembly;
use crate::negotiation::{MAX_REJECTED, Negotiation, Signals};
use crate::network::bcp::BcpOptions;
use crate::network::ipcp::IpcpOptions;
use crate::network::ipv6cp::Ipv6cpOptions;
use crate::packet::{
    BCP, BRIDGED, CCP, CHAP, CODE_REJECT, CONFIGURE_REQUEST, Control, DISCARD_REQUEST, ECHO_REPLY,
    ECHO_REQUEST, ENCRYPTED, IDENTIFICATION, IPCP, IPV4, IPV6, IPV6CP, LCP, MULTILINK, PAP,
    PROTOCOL_REJECT, TIME_REMAINING, split,
};
use crate::reason::{DownReason, Fault};
use crate::settings::Settings;

/// Time from `LowerUp` until a network protocol is open.
const SETUP_TIMEOUT: Duration = Duration::from_secs(120);

/// Timers of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// Restart timer of LCP.
    Lcp,
    /// Retransmission, or the end of authentication.
    Authentication,
    /// Restart timer of CCP, or the next Reset-Request.
    Ccp,
    /// Restart timer of IPCP.
    Ipcp,
    /// Restart timer of IPv6CP.
    Ipv6cp,
    /// Restart timer of BCP.
    Bcp,
    /// Silence of the peer.
    Keepalive,
    /// Next Echo-Request of the MTU probe.
    Probe,
    /// End of the setup.
    Setup,
}

/// Phase of the link (RFC 1661, 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The carrier is not up yet.
    Dead,
    /// LCP negotiates.
    Establish,
    /// One end authenticates itself.
    Authenticate,
    /// Network protocols negotiate or are open.
    Network,
    /// LCP terminates.
    Terminate,
    /// The session has ended.
    Over,
}

/// Authentication by the role of this end.
#[derive(Debug)]
enum Authentication {
    Client(Client),
    Server(Server),
}

/// One end of a PPP session.
#[derive(Debug)]
pub struct Session {
    settings: Arc<Settings>,
    rng: Rng,
    phase: Phase,
    lcp: Negotiation<LcpOptions>,
    authentication: Option<Box<Authentication>>,
    encryption: Option<Box<EncryptionState>>,
    ipcp: Option<Negotiation<IpcpOptions>>,
    ipv6cp: Option<Negotiation<Ipv6cpOptions>>,
    bcp: Option<Negotiation<BcpOptions>>,
    reassembly: Option<Box<Reassembly>>,
    keepalive: Option<KeepaliveTimer>,
    probe: Option<Probe>,
    setup_expires: Option<Instant>,
    /// Identifier of the last Echo-Request or Protocol-Reject.
    echo_id: u8,
    /// Openings of network protocols.
    openings: u8,
    is_ipv4_up: bool,
    is_ipv6_up: bool,
    is_bridge_up: bool,
    reason: Option<DownReason>,
}

impl Session {
    /// Creates a session on a carrier that transports packets of at most `payload` bytes behind the protocol field:
    /// 1492 for PPPoE, or the value of PPP-Max-Payload (RFC 4638). The random source must be unpredictable.
    pub fn new(settings: Arc<Settings>, payload: u16, mut rng: Rng) -> Self {
        let options = LcpOptions::new(&settings, payload, rng.next_u32(), rng.next_u32());
        Self {
            settings,
            phase: Phase::Dead,
            lcp: Negotiation::new(options),
            authentication: None,
            encryption: None,
            ipcp: None,
            ipv6cp: None,
            bcp: None,
            reassembly: None,
            keepalive: None,
            probe: None,
            setup_expires: None,
            echo_id: 0,
            openings: 0,
            is_ipv4_up: false,
            is_ipv6_up: false,
            is_bridge_up: false,
            reason: None,
            rng,
        }
    }

    /// Returns true after [`Action::Down`].
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// Returns true while the server waits for the owner's answer to [`Action::Verify`].
    pub fn is_verifying(&self) -> bool {
        matches!(
            self.authentication.as_deref(),
            Some(Authentication::Server(server)) if server.is_verifying()
        )
    }

    fn begin(&mut self, now: Instant, out: &mut Vec<Action>) {
        if let Some(failure) = self.lcp.options.failure() {
            return self.finish(failure.clone(), out);
        }
        self.phase = Phase::Establish;
        self.setup_expires = Some(now + SETUP_TIMEOUT);
        let signals = self.lcp.open(now, out);
        self.follow_lcp(signals, now, out);
    }

    fn receive(&mut self, packet: &[u8], now: Instant, out: &mut Vec<Action>) {
        let (protocol, information) = match split(packet) {
            Ok(parts) => parts,
            Err(fault) => return out.push(Action::Count(fault)),
        };
        if let Some(keepalive) = &mut self.keepalive {
            keepalive.heard(now);
        }
        if protocol == MULTILINK && self.phase == Phase::Network {
            return self.receive_fragment(information, now, out);
        }
        if protocol == ENCRYPTED {
            return self.receive_encrypted(now, out);
        }
        if matches!(protocol, IPV4 | IPV6 | BRIDGED) {
            return out.push(Action::Count(Fault::Data));
        }
        self.receive_control(protocol, information, now, out);
    }

    fn receive_control(
        &mut self,
        protocol: u16,
        information: &[u8],
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        let is_of_phase = match protocol {
            LCP => self.phase != Phase::Dead,
            CCP | IPCP | IPV6CP | BCP => self.phase == Phase::Network,
            _ => matches!(self.phase, Phase::Authenticate | Phase::Network),
        };
        if !is_of_phase {
            return out.push(Action::Count(Fault::Phase));
        }
        let is_known = match protocol {
            LCP | PAP | CHAP => true,
            CCP => self.encryption.is_some(),
            IPCP => self.ipcp.is_some(),
            IPV6CP => self.ipv6cp.is_some(),
            BCP => self.bcp.is_some(),
            _ => false,
        };
        if !is_known {
            return self.reject_protocol(protocol, information, out);
        }
        let control = match Control::parse(information) {
            Ok(control) => control,
            Err(fault) => return out.push(Action::Count(fault)),
        };
        match protocol {
            LCP => self.receive_lcp(control, now, out),
            CCP => self.receive_ccp(control, now, out),
            IPCP => {
                let ipcp = self.ipcp.as_mut();
                let signals = ipcp.map(|ipcp| ipcp.receive(control, &self.settings, now, out));
                self.follow_ipcp(signals.unwrap_or_default(), now, out);
            }
            IPV6CP => {
                let ipv6cp = self.ipv6cp.as_mut();
                let signals =
                    ipv6cp.map(|ipv6cp| ipv6cp.receive(control, &self.settings, now, out));
                self.follow_ipv6cp(signals.unwrap_or_default(), now, out);
            }
            BCP => {
                let bcp = self.bcp.as_mut();
                let signals = bcp.map(|bcp| bcp.receive(control, &self.settings, now, out));
                self.follow_bcp(signals.unwrap_or_default(), now, out);
            }
            _ => self.receive_authentication(ProtocolPacket { protocol, control }, now, out),
        }
    }

    fn receive_lcp(&mut self, control: Control<'_>, now: Instant, out: &mut Vec<Action>) {
        match control.code {
            ECHO_REQUEST => self.receive_echo_request(control, now, out),
            ECHO_REPLY => self.receive_echo_reply(control, now, out),
            PROTOCOL_REJECT => self.receive_protocol_reject(control, now, out),
            DISCARD_REQUEST | IDENTIFICATION | TIME_REMAINING => {}
            CONFIGURE_REQUEST
                if self.phase == Phase::Network
                    && self.lcp.is_open()
                    && !self.lcp.is_duplicate(control) =>
            {
                // A peer that restarted has another magic number.
                match self.lcp.options.is_of_peer(control.data) {
                    true => out.push(Action::Count(Fault::Stale)),
                    false => self.close(DownReason::Restarted, now, out),
                }
            }
            code => {
                if code == CODE_REJECT && control.data.first().is_some_and(|code| *code < 8) {
                    self.reason.get_or_insert(DownReason::ProtocolError);
                }
                let signals = self.lcp.receive(control, &self.settings, now, out);
                self.follow_lcp(signals, now, out);
            }
        }
    }

    fn receive_protocol_reject(
        &mut self,
        reject: Control<'_>,
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        let Some(&[high, low]) = reject.data.first_chunk::<2>() else {
            return out.push(Action::Count(Fault::Length));
        };
        if !self.lcp.is_open() {
            return out.push(Action::Count(Fault::Phase));
        }
        match u16::from_be_bytes([high, low]) {
            LCP => {
                self.reason.get_or_insert(DownReason::ProtocolError);
                let signals = self.lcp.reject_basics(now, out);
                self.follow_lcp(signals, now, out);
            }
            PAP | CHAP if self.phase == Phase::Authenticate => {
                self.close(DownReason::NoCommonMethod, now, out);
            }
            CCP | ENCRYPTED => {
                let ccp = { self.encryption.as_mut() }.map(|encryption| &mut encryption.ccp);
                let signals = ccp.map(|ccp| ccp.reject_basics(now, out));
                self.follow_ccp(signals.unwrap_or_default(), now, out);
            }
            IPV4 | IPCP => {
                let signals = { self.ipcp.as_mut() }.map(|ipcp| ipcp.reject_basics(now, out));
                self.follow_ipcp(signals.unwrap_or_default(), now, out);
            }
            IPV6 | IPV6CP => {
                let signals = { self.ipv6cp.as_mut() }.map(|ipv6cp| ipv6cp.reject_basics(now, out));
                self.follow_ipv6cp(signals.unwrap_or_default(), now, out);
            }
            BRIDGED | BCP => {
                let signals = { self.bcp.as_mut() }.map(|bcp| bcp.reject_basics(now, out));
                self.follow_bcp(signals.unwrap_or_default(), now, out);
            }
            _ => {}
        }
    }

    /// Answers a packet of an unknown protocol with a Protocol-Reject (RFC 1661, 5.7).
    fn reject_protocol(&mut self, protocol: u16, information: &[u8], out: &mut Vec<Action>) {
        out.push(Action::Count(Fault::UnknownProtocol));
        if !self.lcp.is_open() {
            return;
        }
        self.echo_id = self.echo_id.wrapping_add(1);
        let information = &information[..information.len().min(MAX_REJECTED)];
        let data = [&protocol.to_be_bytes(), information].concat();
        let reject = Control {
            code: PROTOCOL_REJECT,
            id: self.echo_id,
            data: &data,
        };
        out.push(Action::Send(reject.build(LCP)));
    }

    fn follow_lcp(&mut self, signals: Signals, now: Instant, out: &mut Vec<Action>) {
        if signals.terminated {
            return self.finish(DownReason::PeerRequest, out);
        }
        if let Some(failure) = self.lcp.options.failure().cloned() {
            self.close(failure, now, out);
        }
        if signals.down {
            match self.phase {
                Phase::Network => self.close(DownReason::Restarted, now, out),
                Phase::Authenticate => {
                    self.authentication = None;
                    self.phase = Phase::Establish;
                }
                _ => {}
            }
        }
        if signals.finished && self.phase != Phase::Over {
            self.finish(DownReason::NotResponding, out);
        }
        if signals.up && self.phase == Phase::Establish {
            self.begin_authentication(now, out);
        }
    }

    /// Terminates LCP, and ends the session when it is done.
    fn close(&mut self, reason: DownReason, now: Instant, out: &mut Vec<Action>) {
        if self.phase == Phase::Dead {
            return self.finish(reason, out);
        }
        if matches!(self.phase, Phase::Terminate | Phase::Over) {
            return;
        }
        self.reason.get_or_insert(reason.clone());
        self.phase = Phase::Terminate;
        self.leave_network(out);
        let signals = self.lcp.close(now, out);
        if signals.finished || self.lcp.is_at_rest() {
            self.finish(reason, out);
        }
    }

    /// Ends the session at once.
    fn finish(&mut self, reason: DownReason, out: &mut Vec<Action>) {
        self.phase = Phase::Over;
        self.leave_network(out);
        out.push(Action::Down(self.reason.take().unwrap_or(reason)));
    }

    fn leave_network(&mut self, out: &mut Vec<Action>) {
        if core::mem::take(&mut self.is_ipv4_up) {
            out.push(Action::Ipv4Down);
        }
        if core::mem::take(&mut self.is_ipv6_up) {
            out.push(Action::Ipv6Down);
        }
        if core::mem::take(&mut self.is_bridge_up) {
            out.push(Action::BridgeDown);
        }
        self.authentication = None;
        self.bcp = None;
        self.encryption = None;
        self.ipcp = None;
        self.ipv6cp = None;
        self.reassembly = None;
        self.keepalive = None;
        self.probe = None;
        self.setup_expires = None;
    }

    fn expire(&mut self, timer: Timer, now: Instant, out: &mut Vec<Action>) {
        match timer {
            Timer::Lcp => {
                let signals = self.lcp.expire(now, out);
                self.follow_lcp(signals, now, out);
            }
            Timer::Authentication => self.expire_authentication(now, out),
            Timer::Ccp => self.expire_ccp(now, out),
            Timer::Ipcp => {
                let signals = { self.ipcp.as_mut() }.map(|ipcp| ipcp.expire(now, out));
                self.follow_ipcp(signals.unwrap_or_default(), now, out);
            }
            Timer::Ipv6cp => {
                let signals = { self.ipv6cp.as_mut() }.map(|ipv6cp| ipv6cp.expire(now, out));
                self.follow_ipv6cp(signals.unwrap_or_default(), now, out);
            }
            Timer::Bcp => {
                let signals = { self.bcp.as_mut() }.map(|bcp| bcp.expire(now, out));
                self.follow_bcp(signals.unwrap_or_default(), now, out);
            }
            Timer::Keepalive => self.expire_keepalive(now, out),
            Timer::Probe => self.expire_probe(now, out),
            Timer::Setup => self.close(DownReason::NotResponding, now, out),
        }
    }
}

impl Machine for Session {
    type Event<'a> = Event<'a>;
    type Action = Action;
    type Timer = Timer;

    fn handle(&mut self, event: Event<'_>, now: Instant, out: &mut Vec<Action>) {
        if self.phase == Phase::Over {
            return;
        }
        match event {
            Event::LowerUp if self.phase == Phase::Dead => self.begin(now, out),
            Event::LowerDown => {
                self.lcp.lower_down(now, out);
                self.finish(DownReason::CarrierLost, out);
            }
            Event::Packet(packet) => self.receive(packet, now, out),
            Event::Granted(grant) => self.receive_verdict(Ok(grant), now, out),
            Event::Refused(text) => self.receive_verdict(Err(text), now, out),
            Event::Traffic { received } => self.receive_traffic(received, now, out),
            Event::Close(reason) => self.close(DownReason::Closed(reason), now, out),
            Event::LowerUp => out.push(Action::Count(Fault::Unexpected)),
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Action>) {
        while let Some((_, timer)) = self.deadline().filter(|(expires, _)| *expires <= now) {
            self.expire(timer, now, out);
        }
    }

    fn deadline(&self) -> Option<(Instant, Timer)> {
        if self.phase == Phase::Over {
            return None;
        }
        let authentication = { self.authentication.as_deref() }.and_then(|it| match it {
            Authentication::Client(client) => client.expires(),
            Authentication::Server(server) => server.expires(),
        });
        let timers = [
            (self.lcp.expires(), Timer::Lcp),
            (authentication, Timer::Authentication),
            (
                { self.encryption.as_deref() }.and_then(EncryptionState::expires),
                Timer::Ccp,
            ),
            (
                { self.ipcp.as_ref() }.and_then(Negotiation::expires),
                Timer::Ipcp,
            ),
            (
                { self.ipv6cp.as_ref() }.and_then(Negotiation::expires),
                Timer::Ipv6cp,
            ),
            (
                { self.bcp.as_ref() }.and_then(Negotiation::expires),
                Timer::Bcp,
            ),
            (
                { self.keepalive.as_ref() }.map(KeepaliveTimer::expires),
                Timer::Keepalive,
            ),
            ({ self.probe.as_ref() }.map(Probe::expires), Timer::Probe),
            (self.setup_expires, Timer::Setup),
        ];
        let running = timers
            .into_iter()
            .filter_map(|(expires, timer)| Some((expires?, timer)));
        running.min_by_key(|(expires, _)| *expires)
    }
}
