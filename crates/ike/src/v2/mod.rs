//! stub
use crate::config::*;
use crate::engine::core::*;
use crate::event::*;
use crate::message::Header;
use core::net::*;
use machine::Instant;
use std::sync::Arc;
pub(crate) struct Cookies;
impl Cookies {
    pub(crate) fn new() -> Self {
        Self
    }
}
pub(crate) struct Sa {
    pub(crate) common: Common,
}
pub(crate) fn is_first(_: &Header) -> bool {
    false
}
impl Sa {
    pub(crate) fn initiate(
        _: SaId,
        _: (PeerId, Arc<Peer>),
        _: (SocketAddr, SocketAddr),
        _: &mut Context<'_>,
    ) -> Result<Self, Why> {
        Err(Why::Protocol)
    }
    pub(crate) fn respond(
        _: SaId,
        _: (PeerId, Arc<Peer>),
        _: ((SocketAddr, SocketAddr), bool),
        _: (&Header, &[u8]),
        _: Option<&mut Cookies>,
        _: &mut Context<'_>,
    ) -> Option<Self> {
        None
    }
    pub(crate) fn input(
        &mut self,
        _: &Header,
        _: &[u8],
        _: (SocketAddr, SocketAddr),
        _: bool,
        _: &mut Context<'_>,
    ) -> Result<(), Why> {
        Ok(())
    }
    pub(crate) fn tick(&mut self, _: &mut Context<'_>) -> Result<(), Why> {
        Ok(())
    }
    pub(crate) fn deadline(&self) -> Instant {
        Instant::FAR_FUTURE
    }
    pub(crate) fn acquire(&mut self, _: PolicyId, _: Option<ChildId>, _: &mut Context<'_>) {}
    pub(crate) fn is_busy_with(&self, _: PolicyId) -> bool {
        false
    }
    pub(crate) fn heard(&mut self, _: Instant) {}
    pub(crate) fn delete_child(&mut self, _: &Child, _: &mut Context<'_>) {}
    pub(crate) fn forget(&mut self, _: u32, _: &mut Context<'_>) {}
    pub(crate) fn say_goodbye(&mut self, _: &mut Context<'_>) {}
    pub(crate) fn unfinished(&self) -> Vec<PolicyId> {
        Vec::new()
    }
    pub(crate) fn leased(&mut self, _: Option<IpAddr>, _: &mut Context<'_>) -> Result<(), Why> {
        Ok(())
    }
    pub(crate) fn eap(&mut self, _: EapReply, _: &mut Context<'_>) -> Result<(), Why> {
        Ok(())
    }
    pub(crate) fn adopted(&mut self, _: Instant) {}
}
