//! Ports whose connections helpers read, as configured in `/ip/firewall/service-port`.

use packet::protocol;

use crate::connection::{Helper, TIMEOUT_SECS_MAX};

/// The port of PPTP control connections, which is not configurable (RFC 2637, 3).
const PPTP_PORT: u16 = 1723;

/// Returns true if the helper is implemented.
pub const fn has_code(helper: Helper) -> bool {
    !protocols_of(helper).is_empty()
}

/// Returns the transport protocols of a helper.
const fn protocols_of(helper: Helper) -> &'static [u8] {
    match helper {
        Helper::Ftp | Helper::Irc | Helper::Pptp | Helper::Rtsp => &[protocol::TCP],
        Helper::Sip => &[protocol::UDP, protocol::TCP],
        Helper::Tftp => &[protocol::UDP],
        Helper::None | Helper::H323 | Helper::Quake3 => &[],
    }
}

/// The enabled helpers and their settings. By default no helper is enabled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Services {
    /// Helpers by protocol and port, sorted.
    ports: Vec<((u8, u16), Helper)>,
    /// Bit mask of the enabled helpers by number.
    enabled: u16,
    /// `sip-direct-media`: media streams come from the signalling peer only.
    pub sip_direct_media: bool,
    /// `sip-timeout` in seconds: idle timeout of a signalling connection over UDP.
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
    /// Maximum of `sip-timeout` in seconds.
    pub const TIMEOUT_SECS_MAX: u32 = TIMEOUT_SECS_MAX;

    /// Enables a helper for these ports; without effect if it is not implemented. The first of two helpers
    /// with the same port gets it.
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

    /// Returns true if a helper is enabled.
    #[inline]
    pub const fn is_enabled(&self, helper: Helper) -> bool {
        self.enabled >> helper as u8 & 1 != 0
    }

    /// Returns the helper that reads a connection to this port.
    #[inline]
    pub fn find(&self, protocol: u8, port: u16, ipv6: bool) -> Helper {
        let found = self
            .ports
            .binary_search_by_key(&(protocol, port), |(key, _)| *key);
        match found.map(|place| self.ports[place].1) {
            // These protocols carry IPv4 addresses only.
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
    fn a_helper_is_selected_by_port_and_protocol() {
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
