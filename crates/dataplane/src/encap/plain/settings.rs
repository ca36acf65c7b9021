//! Settings of a PPP session in clear text.

use frame::InterfaceId;

use crate::encap::carrier::Carrier;

/// A session in clear text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plain {
    /// The session's interface.
    pub id: InterfaceId,
    /// What carries the session.
    pub carrier: Carrier,
}
