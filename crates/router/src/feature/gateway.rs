//! Effects of gateway checks on routes.

use core::net::IpAddr;

use service::gateway_check::How;

use crate::rib::{Gateway, V4, V6};

/// A checked gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Checked {
    /// Gateway of IPv4 routes.
    V4(Gateway<V4>),
    /// Gateway of IPv6 routes.
    V6(Gateway<V6>),
}

impl Checked {
    /// Returns its address.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        match self {
            Self::V4(gateway) => gateway.address().map(IpAddr::V4),
            Self::V6(gateway) => gateway.address().map(IpAddr::V6),
        }
    }
}

/// A request of gateway checks to control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckRequest {
    /// Probes the gateway on the links of its routes.
    Ask {
        /// The gateway.
        gateway: Checked,
        /// Method of the probe.
        how: How,
        /// Identifier and sequence number of an echo request.
        numbers: (u16, u16),
    },
    /// Enables or disables the gateway's routes.
    Judge {
        /// The gateway.
        gateway: Checked,
        /// Method of the probe.
        how: How,
        /// Whether the gateway answers.
        alive: bool,
    },
}
