//! The settings as entries use them: whole seconds, looked up by what a connection is.

use packet::protocol;

use super::settings::{Settings, seconds};
use super::state::TcpState;
use super::tcp::Talk;

/// RouterOS: a call of PPTP is remembered for longer than other GRE, which has the generic timeout: ten
/// minutes one way, five hours both ways, as no call ends without its control connection's saying so.
const CALL_SECS: [u32; 2] = [600, 5 * 3_600];

/// See the module.
#[derive(Debug)]
pub(super) struct Limits {
    tcp: [u32; TcpState::ALL.len()],
    retransmitted: u32,
    unacked: u32,
    udp: [u32; 2],
    icmp: u32,
    generic: u32,
    pub(super) loose: bool,
    pub(super) liberal: bool,
    pub(super) entries_max: u32,
}

impl Limits {
    pub(super) fn of(settings: &Settings) -> Self {
        Self {
            tcp: TcpState::ALL.map(|state| seconds(settings.tcp(state))),
            retransmitted: seconds(settings.tcp_max_retrans),
            unacked: seconds(settings.tcp_unacked),
            udp: [seconds(settings.udp), seconds(settings.udp_stream)],
            icmp: seconds(settings.icmp),
            generic: seconds(settings.generic),
            loose: settings.loose,
            liberal: settings.liberal,
            entries_max: settings.entries_max,
        }
    }

    /// How long a connection that is not TCP may be silent. `stream`: both directions were seen.
    pub(super) fn plain(&self, protocol: u8, stream: bool) -> u32 {
        match protocol {
            protocol::UDP | protocol::UDP_LITE => self.udp[usize::from(stream)],
            protocol::ICMP | protocol::ICMPV6 => self.icmp,
            _ => self.generic,
        }
    }

    /// The same of a call of PPTP that its helper has heard of.
    pub(super) const fn call(stream: bool) -> u32 {
        CALL_SECS[stream as usize]
    }

    /// How long a TCP connection may be silent. One whose data nobody acknowledges, or that nobody
    /// answered since it was picked up, has less time than its state gives.
    pub(super) fn tcp(&self, state: TcpState, talk: &Talk, answered: bool) -> u32 {
        let secs = self.tcp[state as usize];
        let picked_up = state == TcpState::Established && !answered;
        if talk.stuck() {
            secs.min(self.retransmitted)
        } else if talk.unacked() || picked_up {
            secs.min(self.unacked)
        } else {
            secs
        }
    }

    /// The same of a connection that FastTrack carries.
    pub(super) fn fast(&self, state: TcpState) -> u32 {
        self.tcp[state as usize]
    }
}
