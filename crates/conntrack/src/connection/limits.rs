//! Timeouts of connections in whole seconds, by protocol and state.

use packet::protocol;

use super::settings::{Settings, seconds};
use super::state::TcpState;
use super::tcp::Talk;

/// RouterOS: a PPTP call has longer timeouts than other GRE (`generic-timeout`), because its control
/// connection ends it explicitly: ten minutes one-way, five hours after a reply.
const CALL_SECS: [u32; 2] = [600, 5 * 3_600];

/// The tracking settings in the form that entries use.
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

    /// Returns the idle timeout of a non-TCP connection. `stream`: packets of both directions arrived.
    pub(super) fn plain(&self, protocol: u8, stream: bool) -> u32 {
        match protocol {
            protocol::UDP | protocol::UDP_LITE => self.udp[usize::from(stream)],
            protocol::ICMP | protocol::ICMPV6 => self.icmp,
            _ => self.generic,
        }
    }

    /// Returns the idle timeout of a PPTP call.
    pub(super) const fn call(stream: bool) -> u32 {
        CALL_SECS[stream as usize]
    }

    /// Returns the idle timeout of a TCP connection. Unacknowledged data, or a connection picked up in the
    /// middle without reply, shortens the timeout of the state.
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

    /// Returns the idle timeout of a FastTracked TCP connection.
    pub(super) fn fast(&self, state: TcpState) -> u32 {
        self.tcp[state as usize]
    }
}
