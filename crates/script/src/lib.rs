//! The configuration and scripting language: parser, interpreter, completion.
//!
//! The parser resolves a text to statements against the menus of a store (`parser.rs`, `expr.rs`, `ast.rs`).
//! The interpreter runs them on the store and the running router (`machine.rs`, `language.rs`, `items.rs`). The
//! language knows no menu by name: menu declarations define the arguments of commands.
//!
//! Entry points: [`run`] for a console line, [`run_json`] for programs, [`import`] and [`check()`] for files,
//! [`complete()`] and [`highlight()`] for a line being typed.

#![forbid(unsafe_code)]

mod arguments;
pub mod ast;
mod bounds;
pub mod builtin;
mod call;
mod check;
mod complete;
mod count;
mod edit;
mod environment;
mod eval;
mod expr;
mod function;
mod highlight;
mod il;
mod il_word;
mod import;
mod inspect;
mod items;
mod job;
mod json;
mod known;
mod language;
mod lost;
mod machine;
mod made;
mod names;
mod open;
mod operate;
mod parse;
mod parser;
mod password;
mod query;
mod ready;
mod regex;
mod request;
mod rules;
mod run;
mod seen;
mod select;
mod session;
mod settle;
mod show;
mod site;
mod source;
mod spec;
mod suppose;
mod terminal;
mod text;
mod tint;
mod tools;
mod trace;
mod tree;
mod value;
mod waits;
mod watch;
mod wrong;

pub use check::{Made, NoEffect, Refused, Report, check};
pub use complete::{Candidate, Subject, complete};
pub use environment::Environment;
pub use highlight::{Class, Piece, highlight};
pub use job::{Entry, Job, Runs, Scripting};
pub use json::run_json_at;
pub use open::open_brackets;
pub use parse::{is_readable, parse_text};
pub use regex::Regex;
pub use request::{Course, Done, Request, Rows, menu_at, request_at};
pub use run::{commands, import, import_at, run, run_at};
pub use seen::Pause;
pub use session::{Limits, Session};
pub use show::export_all;
pub use site::{Asked, Held, Interrupt, Site};
pub use trace::trace_text;
pub use value::{Elements, Value};
