//! Interface of the router's traffic generator.

use generator::Sample;
use menu::{Reason, Store, Value};

/// Progress of the running test.
#[derive(Clone, Debug)]
pub struct GeneratorProgress {
    /// Figures since the start.
    pub sample: Sample,
    /// All frames are sent.
    pub is_sent: bool,
}

/// The router's traffic generator; it runs one test at a time.
pub trait TrafficGenerator {
    /// Begins a test with the streams of the configuration, which arguments override.
    ///
    /// # Errors
    /// Fails if a test runs, or returns what is wrong with the streams.
    fn begin(&mut self, store: &Store, arguments: &[(&'static str, Value)]) -> Result<(), Reason>;

    /// Returns the figures of the running test.
    fn progress(&self) -> Option<GeneratorProgress>;

    /// Ends the running test. Its figures stay until the next one.
    fn end(&mut self);
}
