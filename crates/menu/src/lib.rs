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
mod control_characters;
mod declare;
mod dependent_items;
pub mod describe;
mod edit;
mod effect;
pub mod export;
mod group_commit;
mod history;
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
mod revert;
mod rights;
mod rows;
mod safe_mode;
mod saved;
mod sealed;
mod store;
mod system_error;
mod table;
pub mod time;
mod value;

pub use change::{By, Change, Changes, Journal, NoJournal, Origin};
pub use commit::Commit;
pub use control_characters::{visible, visible_layout, visible_lines};
pub use declare::{
    Argument, AutoValue, Builtin, Check, Command, Draft, Effect, ExportSelector, Flag,
    FollowedMenu, Guard, Link, Menu, MenuShape, MovedProperties, OldProperty, Property,
    RemovedValues, Shared, Unique, Upgrade,
};
pub use edit::NameSource;
pub use effect::{Area, Cause, LIST as EFFECTS, NoEffectReason, Survey};
pub use group_commit::Unstored;
pub use history::UndoState;
pub use kind::{Family, Kind, Spelling};
pub use live::{
    Call, Caller, Clock, Files, Live, Offline, Preparation, Reply, Row, RowFilter, Scan, Script,
};
pub use matcher::{Absent, Part};
pub use output::{BETWEEN, Drawing, Editing, Output, Question, Terminal, TextStyle};
pub use policy::Policies;
pub use quote::{quote, quote_always};
pub use refusal::{Position, Reason, Refusal};
pub use rights::{Grant, Rights};
pub use rows::{Slices, compare_rows, hide_secrets, item_row, stream_rows};
pub use saved::{Saved, SavedChange, SavedChanges, SavedItem, SavedValues};
pub use sealed::Sealed;
pub use store::{Id, Item, MakeSeal, Mark, NO_SEAL, Store, VerifySeal};
pub use system_error::without_error_numbers;
pub use value::{Gateway, Value};
