//! The `ferroute` program: one binary for the router, its console, its labs and its measurements.

#![forbid(unsafe_code)]

mod access;
mod adlists;
mod assume;
mod bench;
mod calculate;
mod cli;
mod client;
mod config;
mod confine;
mod control;
mod core;
mod devices;
mod docs;
mod ending;
mod ends;
mod expect;
mod fair;
mod fetches;
mod findings;
mod hashing;
mod heap;
mod host;
mod jobs;
mod judge;
mod keyboard;
mod labs;
mod mails;
mod memory;
mod names;
mod notify;
mod outgoing;
mod past;
mod patterns;
mod planner;
mod priority;
mod probes;
mod radius;
mod reach;
mod resolve;
mod resources;
mod run;
mod say;
mod seat;
mod secure;
mod services;
mod shown;
mod syslog;
mod terminal;
mod trace;
mod trust;
mod visit;
mod web;
mod workers;
mod zone;

use std::process::ExitCode;

use clap::Parser as _;

use cli::{Cli, Command, Host};
use reach::Place;

/// Counts allocations, so that the benchmark can say that a packet costs none.
#[global_allocator]
static ALLOCATOR: kernels::CountingAllocator = kernels::CountingAllocator;

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Run(run) => run::run(&run),
        Command::Console(reach) => client::console(&Place::of(&reach).control),
        Command::Exec(exec) => client::exec(&exec),
        Command::Check(check) => config::check(&check),
        Command::Trace(asked) => trace::trace(&asked),
        Command::Test(test) => expect::test(&test),
        Command::Plan(asked) => planner::plan(&asked),
        Command::Calc(asked) => calculate::calculate(&asked),
        Command::Parse(parse) => config::parse(&parse),
        Command::Lab(command) => labs::run(&command),
        Command::Host(Host::Exec { reach, command }) => {
            host::exec::exec(&Place::of(&reach), &command)
        }
        Command::Bench(bench) => bench::run(&bench),
        Command::Docs(docs) => docs::run(&docs).map(|()| 0),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(message) => {
            eprintln!("ferroute: {}", menu::without_error_numbers(message));
            ExitCode::FAILURE
        }
    }
}
