//! TCP connections of features. The program takes requests with [`Control::take_stream_requests`], and reports events
//! with [`Control::stream_event`].

use super::Control;
use crate::feature::Effects;

pub use crate::feature::stream::{StreamEvent, StreamId, StreamRequest};

impl Control {
    /// Returns the requests of features in order; each is returned once.
    pub fn take_stream_requests(&mut self) -> Vec<StreamRequest> {
        core::mem::take(&mut self.wanted.streams)
    }

    /// Passes an event of a connection to the features.
    pub fn stream_event(&mut self, event: &StreamEvent) {
        let mut out = Effects::default();
        self.features.stream(event, self.now, &mut out);
        self.carry_out(out);
    }
}
