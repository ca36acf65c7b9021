//! The configuration model: types of values, declarations of menus, the store of items, transactions, and the
//! display of items.
//!
//! The crate knows no feature. A menu is a constant ([`Menu`]) that the `schema` crate declares. Everything
//! else is derived from these constants: parsing and checking of values ([`Kind`]), storage ([`Store`]),
//! printing ([`print`]), export ([`export`]), and rows for API and REST ([`json`]). Running state (flags,
//! counters, dynamic rows) comes from a [`Live`] router.
//!
//! Start reading with `declare.rs` (declarations), then `store.rs` (storage of items).

#![forbid(unsafe_code)]

pub mod bytes;
mod change;
mod commit;
mod declare;
mod defer;
pub mod describe;
mod edit;
mod effect;
pub mod export;
mod follow;
mod history;
mod hold;
pub mod json;
mod kind;
mod live;
mod matcher;
mod output;
mod parse;
mod policy;
mod ports;
pub mod print;
mod quote;
mod refusal;
mod restore;
mod rights;
mod saved;
mod store;
mod system_error;
mod table;
pub mod time;
mod value;
mod view;
mod visible;

pub use change::{By, Change, Changes, Journal, NoJournal, Origin};
pub use commit::Commit;
pub use declare::{
    Argument, Builtin, Check, Command, Draft, Effect, Fill, Flag, Follow, Guard, Link, Lost, Menu,
    Old, Pick, Property, Shape, Shared, Split, Unique, Upgrade,
};
pub use defer::Unstored;
pub use edit::Names;
pub use effect::{Area, Cause, LIST as EFFECTS, Lack, Survey};
pub use history::Standing;
pub use kind::{Family, Kind, Spelling};
pub use live::{
    Call, Caller, Clock, Files, Labour, Live, Offline, Reply, Row, RowFilter, Scan, Script,
};
pub use matcher::{Absent, Part};
pub use output::{BETWEEN, Drawing, Editing, Output, Question, Terminal, TextStyle};
pub use policy::Policies;
pub use quote::{quote, quote_always};
pub use refusal::{Position, Reason, Refusal};
pub use rights::{Grant, Rights};
pub use saved::{Saved, SavedChange, SavedChanges, SavedItem, SavedValues};
pub use store::{Id, Item, Mark, NO_SEAL, Opens, Seal, Store};
pub use system_error::without_error_numbers;
pub use value::{Gateway, Value};
pub use view::{Slices, compare_rows, hide_secrets, item_row, stream_rows};
pub use visible::{visible, visible_layout, visible_lines};
