//! Planner: the load that expected traffic puts on the parts of a board, the bottleneck, and better ports and boards.
//!
//! ```text
//!   flow.rs     traffic between two ports
//!   setup.rs    what the planner needs of a configuration
//!   load.rs     loads of ports, lanes, chips, processor and engine
//!   advice.rs   other ports, and other boards, that carry the traffic
//!   report.rs   text;  diagram.rs  SVG;  matrix.rs  table of switch chips
//! ```
//!
//! Rates are those that the manufacturer published. Where a choice remains, the planner assumes the higher load, and
//! an unknown fact is never taken for sufficient.

mod advice;
mod diagram;
mod flow;
mod load;
mod matrix;
mod report;
mod setup;
#[cfg(test)]
mod tests;

pub use advice::{Advice, BoardAdvice, Move, advise};
pub use diagram::svg;
pub use flow::Flow;
pub use load::{Evaluation, Resource, ResourceKind, evaluate};
pub use matrix::chips;
pub use report::report;
pub use setup::Setup;
