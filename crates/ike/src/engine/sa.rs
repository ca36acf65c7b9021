//! An IKE SA of either version, with dispatch to [`v1`] and [`v2`].

use core::net::IpAddr;

use machine::{Duration, Instant};

use super::core::{Common, Context, Path};
use super::sa_table::Listed;
use crate::config::{Id, PeerId, PolicyId};
use crate::event::{Child, ChildId, EapReply, SaId, Why};
use crate::message::Header;
use crate::{v1, v2};

/// An IKE SA.
pub(crate) enum Sa {
    /// IKEv1.
    One(Box<v1::Sa>),
    /// IKEv2.
    Two(Box<v2::Sa>),
}

/// Evaluates an expression for either version.
macro_rules! both {
    ($self:ident, $sa:ident => $act:expr) => {
        match $self {
            Sa::One($sa) => $act,
            Sa::Two($sa) => $act,
        }
    };
}

impl Listed for Sa {
    fn id(&self) -> SaId {
        self.common().id
    }

    fn peer(&self) -> PeerId {
        self.common().peer_id
    }

    fn remote(&self) -> IpAddr {
        self.common().remote.ip()
    }

    fn identity(&self) -> Option<&Id> {
        self.common().remote_id.as_ref()
    }
}

impl Sa {
    pub(super) fn common(&self) -> &Common {
        both!(self, sa => &sa.common)
    }

    pub(super) fn common_mut(&mut self) -> &mut Common {
        both!(self, sa => &mut sa.common)
    }

    pub(super) fn input(
        &mut self,
        header: &Header,
        message: &[u8],
        path: Path,
        cx: &mut Context<'_>,
    ) -> Result<(), Why> {
        both!(self, sa => sa.input(header, message, path, cx))
    }

    pub(super) fn tick(&mut self, cx: &mut Context<'_>) -> Result<(), Why> {
        both!(self, sa => sa.tick(cx))
    }

    pub(super) fn deadline(&self) -> Instant {
        both!(self, sa => sa.deadline())
    }

    /// Marks the SA as replaced: it only listens, and ends after a while.
    pub(super) fn retire(&mut self, after: Duration, now: Instant) {
        both!(self, sa => sa.retire(after, now));
    }

    pub(super) fn acquire(
        &mut self,
        policy: PolicyId,
        replaces: Option<ChildId>,
        cx: &mut Context<'_>,
    ) {
        both!(self, sa => sa.acquire(policy, replaces, cx));
    }

    /// Negotiates pairs for the mode-config lease of this side, if none exist.
    pub(super) fn open_leased(&mut self, cx: &mut Context<'_>) {
        both!(self, sa => sa.open_leased(cx));
    }

    pub(super) fn is_busy_with(&self, policy: PolicyId) -> bool {
        both!(self, sa => sa.is_busy_with(policy))
    }

    pub(super) fn heard(&mut self, now: Instant) {
        both!(self, sa => sa.heard(now));
    }

    pub(super) fn delete_child(&mut self, child: &Child, cx: &mut Context<'_>) {
        both!(self, sa => sa.delete_child(child, cx));
    }

    /// Handles a packet of the peer under an unknown SPI.
    pub(super) fn forget(&mut self, spi: u32, cx: &mut Context<'_>) {
        both!(self, sa => sa.forget(spi, cx));
    }

    pub(super) fn say_goodbye(&mut self, cx: &mut Context<'_>) {
        both!(self, sa => sa.say_goodbye(cx));
    }

    /// Returns policies whose SAs are queued or being negotiated.
    pub(super) fn unfinished(&self) -> Vec<PolicyId> {
        let waiting = self.common().wanted.iter().map(|(policy, _)| *policy);
        waiting.chain(both!(self, sa => sa.unfinished())).collect()
    }

    /// Returns pairs that this side answered and the peer may lack (IKEv1).
    pub(super) fn unconfirmed(&self) -> Vec<ChildId> {
        match self {
            Self::One(sa) => sa.unconfirmed(),
            Self::Two(_) => Vec::new(),
        }
    }

    /// Moves to another local address. Returns false if the SA cannot move.
    pub(super) fn move_to(&mut self, local: IpAddr, cx: &mut Context<'_>) -> bool {
        match self {
            Self::One(_) => false,
            Self::Two(sa) => sa.move_to(local, cx),
        }
    }

    pub(super) fn leased(
        &mut self,
        address: Option<IpAddr>,
        cx: &mut Context<'_>,
    ) -> Result<(), Why> {
        match self {
            Self::One(sa) => {
                sa.leased(address, cx);
                Ok(())
            }
            Self::Two(sa) => sa.leased(address, cx),
        }
    }

    pub(super) fn eap(&mut self, reply: EapReply, cx: &mut Context<'_>) -> Result<(), Why> {
        match self {
            Self::One(_) => Ok(()),
            Self::Two(sa) => sa.eap(reply, cx),
        }
    }
}
