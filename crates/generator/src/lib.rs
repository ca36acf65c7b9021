//! Traffic generator: builds frames from packet templates, paces them, and measures the frames that return.
//!
//! ```text
//! stack ─▶ template ─▶ sender ─▶ frames ─▶ device ─▶ frames ─▶ receiver ─▶ counters ─▶ sample
//!          field, footer  pace                                 sequence
//! search: loads and loss ratios of trials (RFC 2544, MLRsearch)
//! ```
//!
//! Nothing here owns a socket, a thread or a clock. The driver passes in the time and buffers for frames. Counters are
//! atomics with one writer, so that control reads them while a worker measures.

#![forbid(unsafe_code)]

mod counters;
mod field;
mod footer;
mod pace;
mod receiver;
mod sample;
pub mod search;
mod sender;
mod sequence;
mod stack;
mod template;
#[cfg(test)]
mod tests;

pub use counters::{Counters, StreamCounters};
pub use field::{Field, Values};
pub use footer::{FOOTER_BYTES, Footer};
pub use pace::{Pace, Rate};
pub use receiver::{Receiver, Verdict};
pub use sample::{Figures, Sample};
pub use sender::{DueFrame, Sender, Stream};
pub use stack::{FIELDS, FieldSpec, Layer, Stack, StackError};
pub use template::{Fill, Layout, Template, TemplateError};

/// Maximum length of a frame without FCS, in bytes.
pub const MAX_FRAME_BYTES: usize = 9_014;
/// Minimum length of a frame without FCS, in bytes (IEEE 802.3, 3.2.8).
pub const MIN_FRAME_BYTES: usize = 60;
