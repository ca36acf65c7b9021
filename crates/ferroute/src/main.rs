//! The `ferroute` program: one binary for the router, its console, its labs and its measurements.

#![forbid(unsafe_code)]

mod bench;
mod cli;
mod command;
mod host;
mod inlet;
mod labs;
mod run;
mod services;
mod session;
mod system;

use std::process::ExitCode;

use clap::Parser as _;

use cli::location::Location;
use cli::{Advise, Cli, Command, Host};
use command::{advise, calculate, client, docs, expect, planner, reach, trace};

/// Counts allocations, so that the benchmark can say that a packet costs none.
#[global_allocator]
static ALLOCATOR: kernels::CountingAllocator = kernels::CountingAllocator;

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Run(run) => run::run(&run),
        Command::Console(reach) => client::console(&Location::of(&reach).control),
        Command::Exec(exec) => client::exec(&exec),
        Command::Check(check) => run::config::check(&check),
        Command::Trace(asked) => trace::trace(&asked),
        Command::Test(test) => expect::test(&test),
        Command::Advise(Advise::Vpn(asked)) => advise::vpn(&asked),
        Command::Reach(asked) => reach::reach(&asked),
        Command::Plan(asked) => planner::plan(&asked),
        Command::Calc(asked) => calculate::calculate(&asked),
        Command::Parse(parse) => run::config::parse(&parse),
        Command::Lab(command) => labs::run(&command),
        Command::Host(Host::Exec { reach, command }) => {
            host::exec::exec(&Location::of(&reach), &command)
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
