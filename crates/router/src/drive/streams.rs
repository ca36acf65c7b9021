//! TCP connections of features. The program takes requests with [`Control::take_stream_requests`], and reports events
//! with [`Control::stream_event`].

use core::net::IpAddr;

use super::Control;
use crate::feature::Effects;

pub use crate::feature::stream::{
    ClientTls, ServerTls, StreamEvent, StreamForm, StreamId, StreamRequest, TlsLimits,
};

impl Control {
    /// Returns the requests of features in order; each is returned once.
    pub fn take_stream_requests(&mut self) -> Vec<StreamRequest> {
        core::mem::take(&mut self.wanted.streams)
    }

    /// Returns the address of this router from which it connects to `to`; `None` without a route.
    pub fn stream_source(&self, to: IpAddr) -> Option<IpAddr> {
        self.running().source(to)
    }

    /// Passes an event of a connection to the features.
    pub fn stream_event(&mut self, event: &StreamEvent) {
        let mut out = Effects::default();
        self.features.stream(event, self.now, &mut out);
        self.carry_out(out);
    }
}
