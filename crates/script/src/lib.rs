//! The configuration and scripting language: parser, interpreter, completion.
//!
//! The parser resolves a text to statements against the menus of a store (`parser.rs`, `expr.rs`, `ast.rs`).
//! The interpreter runs them on the store and the running router (`machine.rs`, `language.rs`, `items.rs`). The
//! language knows no menu by name: menu declarations define the arguments of commands.
//!
//! Entry points: [`run`] for a console line, [`run_json_at`] for programs, [`import`] and [`check()`] for files,
//! [`complete()`] and [`highlight()`] for a line being typed.

#![forbid(unsafe_code)]

mod arguments;
pub mod ast;
pub mod builtin;
mod builtin_functions;
mod call;
mod check;
mod command_count;
mod complete;
mod declared_variables;
mod edit;
mod environment;
mod eval;
mod evaluated_command;
mod expected_items;
mod expr;
mod follow;
mod function;
mod group_commit;
mod highlight;
mod implicit_items;
mod import;
mod inspect;
mod intermediate;
mod intermediate_word;
mod invalid_values;
mod item_selection;
mod items;
mod job;
mod job_limits;
mod json;
mod language;
mod machine;
mod open_brackets;
mod operate;
mod parse;
mod parser;
mod password;
mod query;
mod regex;
mod request;
mod row_tracker;
mod rule_filter;
mod run;
mod session;
mod show;
mod site;
mod source;
mod spec;
mod syntax_classes;
mod terminal;
mod text;
mod tools;
mod trace;
mod tree;
mod unknown_words;
mod value;
mod waiting_commands;

pub use check::{ImplicitItem, NoEffect, Refused, Report, check};
pub use complete::{Candidate, Subject, complete};
pub use environment::Environment;
pub use highlight::{Class, Piece, highlight};
pub use job::{Entry, Job, RunCount, Scripting};
pub use json::run_json_at;
pub use open_brackets::open_brackets;
pub use parse::{is_readable, parse_text};
pub use regex::Regex;
pub use request::{Done, ListenRequest, Request, Rows, menu_at, request_at};
pub use row_tracker::Pause;
pub use run::{commands, import, import_at, run, run_at};
pub use session::{Limits, Session};
pub use show::export_all;
pub use site::{ExclusiveSite, Interrupt, NameQuery, Site};
pub use trace::trace_text;
pub use value::{Elements, Value};
