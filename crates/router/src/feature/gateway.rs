//! What gateway checks ask of routes.

use core::net::IpAddr;

use service::gateway_check::How;

use crate::rib::{Gateway, V4, V6};

/// A gateway that is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Checked {
    /// Of IPv4 routes.
    V4(Gateway<V4>),
    /// Of IPv6 routes.
    V6(Gateway<V6>),
}

impl Checked {
    /// Its address.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        match self {
            Self::V4(gateway) => gateway.address().map(IpAddr::V4),
            Self::V6(gateway) => gateway.address().map(IpAddr::V6),
        }
    }
}

/// What gateway checks want of routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The gateway is asked where its routes lead.
    Ask {
        /// The gateway.
        gateway: Checked,
        /// How it is asked.
        how: How,
        /// The identifier and the number of an echo request.
        numbers: (u16, u16),
    },
    /// The gateway's routes are used, or not.
    Judge {
        /// The gateway.
        gateway: Checked,
        /// How it is asked.
        how: How,
        /// Whether it answers.
        alive: bool,
    },
}
