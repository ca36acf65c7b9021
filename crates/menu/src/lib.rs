//! What a menu of the configuration is made of: types of values, declarations, the store of items,
//! transactions, and the ways in which items are shown.
//!
//! The crate knows no feature. A menu is a constant ([`Menu`]) that the `schema` crate declares;
//! everything else walks those constants: parsing and checking of values ([`Kind`]), storing
//! ([`Store`]), printing ([`print`]), exporting ([`export`]), and rows for API and REST ([`json`]).
//! What is not configuration (running flags, counters, dynamic rows) comes from a [`Live`] router.
//!
//! Begin reading at `declare.rs` (what a declaration says), then `store.rs` (what holds the items).

#![forbid(unsafe_code)]

pub mod bytes;
mod change;
mod declare;
mod edit;
pub mod export;
pub mod json;
mod kind;
mod live;
mod parse;
mod policy;
mod ports;
pub mod print;
mod quote;
mod refusal;
mod saved;
mod store;
mod table;
pub mod time;
mod value;
mod view;

pub use change::{Change, Changes, Journal, NoJournal};
pub use declare::{
    Argument, Builtin, Check, Command, Draft, Effect, Fill, Flag, Menu, Old, Property, Shape,
    Unique,
};
pub use kind::{Family, Kind};
pub use live::{Call, Clock, Live, Offline, Output, Reply, Row, RowFilter, Script};
pub use policy::Policies;
pub use quote::{quote, quote_always};
pub use refusal::{Position, Reason, Refusal};
pub use saved::{Saved, SavedItem};
pub use store::{Id, Item, Mark, NO_SEAL, Seal, Store};
pub use value::{Gateway, Value};
pub use view::{Slices, hide_secrets, item_row, stream_rows};
