//! Boards as data, and what follows from the data: names, switched ports, lanes to the processor. Pure functions.
//!
//! ```text
//!   model.rs    a board: chips, lanes
//!   boards.rs   all boards
//!   chip.rs     switch chips: features, sizes of tables
//!   hardware.rs, facts.rs  processor, ports, engines, prices of a board; those of all boards
//!   rates.rs, test_results.rs  rates by length of packets; those that RouterOS's maker published
//!   names.rs    spellings of a board's name
//!   lanes.rs    ports that share a connection to the processor
//!   planner/    loads of ports, lanes, processor and engine by traffic; better ports and boards
//!   offload.rs  which ports of bridges are switched, and why others are not
//! ```
//!
//! A machine that is not a board of RouterOS's maker has one chip: the kernel, which switches between all ports that
//! AF_XDP drives ([`Board::MACHINE`]).

mod boards;
mod chip;
mod facts;
mod hardware;
mod lanes;
mod model;
mod names;
mod offload;
pub mod planner;
mod rates;
mod test_results;

pub use boards::BOARDS;
pub use chip::{Chip, Needs, Rules};
pub use hardware::{
    Connection, Encryption, Exclusion, Hardware, PortGroup, Price, Processor, Purpose,
};
pub use lanes::Shared;
pub use model::{Board, CpuLane, OnBoard};
pub use names::switch_name;
pub use offload::{
    BondMode, BridgeRequest, Carrier, Plan, PortRequest, Reason, SpanningTree, SwitchPosition,
    TagType, plan,
};
pub use rates::{
    FRAME_LENGTHS, Forwarding, PACKET_LENGTHS, SUITES, SoftwareRate, Suite, SuiteRates, Tunnels,
};
