//! Which connections helpers read: those to the ports that `/ip/firewall/service-port` lists.

use packet::protocol;

use crate::connection::{Helper, TIMEOUT_SECS_MAX};

/// The port of PPTP's control connections, which cannot be set (RFC 2637, 3).
const PPTP_PORT: u16 = 1723;

/// Whether there is code for a helper.
pub const fn has_code(helper: Helper) -> bool {
    !protocols_of(helper).is_empty()
}

/// The protocols over which a helper's connections go.
const fn protocols_of(helper: Helper) -> &'static [u8] {
    match helper {
        Helper::Ftp | Helper::Irc | Helper::Pptp | Helper::Rtsp => &[protocol::TCP],
        Helper::Sip => &[protocol::UDP, protocol::TCP],
        Helper::Tftp => &[protocol::UDP],
        Helper::None | Helper::H323 | Helper::Quake3 => &[],
    }
}

/// The helpers that are enabled, and what is set about them. None by default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Services {
    /// By protocol and port, in their order.
    ports: Vec<((u8, u16), Helper)>,
    /// Those that are enabled, a bit each by number.
    enabled: u16,
    /// `sip-direct-media`: streams come from the other end of the signalling alone.
    pub sip_direct_media: bool,
    /// `sip-timeout`, in seconds: how long a connection that signals over UDP may be silent.
    pub sip_timeout_secs: u32,
}

impl Default for Services {
    fn default() -> Self {
        Self {
            ports: Vec::new(),
            enabled: 0,
            sip_direct_media: true,
            sip_timeout_secs: super::sip::TIMEOUT_SECS,
        }
    }
}

impl Services {
    /// The longest that `sip-timeout` may be, in seconds.
    pub const TIMEOUT_SECS_MAX: u32 = TIMEOUT_SECS_MAX;

    /// Enables a helper for connections to these ports; nothing of one that has no code. A port that
    /// two helpers have is the first one's.
    pub fn enable(&mut self, helper: Helper, ports: &[u16]) {
        if !has_code(helper) {
            return;
        }
        self.enabled |= 1 << helper as u8;
        let ports = match helper {
            Helper::Pptp => &[PPTP_PORT],
            _ => ports,
        };
        for protocol in protocols_of(helper) {
            for port in ports {
                let key = (*protocol, *port);
                if let Err(place) = self.ports.binary_search_by_key(&key, |(key, _)| *key) {
                    self.ports.insert(place, (key, helper));
                }
            }
        }
    }

    /// Whether a helper is enabled.
    #[inline]
    pub const fn is_enabled(&self, helper: Helper) -> bool {
        self.enabled >> helper as u8 & 1 != 0
    }

    /// The helper that reads a connection to this port.
    #[inline]
    pub fn find(&self, protocol: u8, port: u16, ipv6: bool) -> Helper {
        let found = self
            .ports
            .binary_search_by_key(&(protocol, port), |(key, _)| *key);
        match found.map(|place| self.ports[place].1) {
            // They know addresses of four bytes only.
            Ok(Helper::Irc | Helper::Pptp) if ipv6 => Helper::None,
            Ok(helper) => helper,
            Err(_) => Helper::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_read_by_the_helper_of_its_port_and_protocol() {
        let mut services = Services::default();
        services.enable(Helper::Sip, &[5060, 5061]);
        services.enable(Helper::Ftp, &[2121, 21]);
        services.enable(Helper::Irc, &[21]);
        services.enable(Helper::Pptp, &[]);
        services.enable(Helper::H323, &[1720]);
        let tcp = |port| services.find(protocol::TCP, port, false);

        assert_eq!([21, 2121, 22, 5060].map(tcp), {
            [Helper::Ftp, Helper::Ftp, Helper::None, Helper::Sip]
        });
        assert_eq!([1723, 1720].map(tcp), [Helper::Pptp, Helper::None]);
        assert_eq!(services.find(protocol::UDP, 5061, true), Helper::Sip);
        assert_eq!(services.find(protocol::TCP, 1723, true), Helper::None);
        assert!(services.is_enabled(Helper::Pptp) && !services.is_enabled(Helper::H323));
        assert!(!services.is_enabled(Helper::Tftp));
    }
}
