//! Prints the rows of the walk's benchmark: `cargo run --release -p dataplane --example walk`.
//!
//! Arguments narrow it: `ipv4`, `ipv6`, `frame=64`, `flows=64000`, `routes=1`, `runs=31`; each may
//! be given several times.

use dataplane::bench::{Family, Invalid, Options, run};

#[global_allocator]
static ALLOCATOR: kernels::CountingAllocator = kernels::CountingAllocator;

fn main() -> Result<(), String> {
    let mut options = Options {
        allocations: Some(kernels::CountingAllocator::count),
        ..Options::default()
    };
    let mut families = Vec::new();
    let (mut frames, mut flows, mut routes) = (Vec::new(), Vec::new(), Vec::new());
    for argument in std::env::args().skip(1) {
        let (name, value) = argument.split_once('=').unwrap_or((&argument, "0"));
        let value: u32 = value
            .parse()
            .map_err(|_| format!("bad number in {argument}"))?;
        match name {
            "ipv4" => families.push(Family::Ipv4),
            "ipv6" => families.push(Family::Ipv6),
            "frame" => frames.push(value as u16),
            "flows" => flows.push(value),
            "routes" => routes.push(value),
            "runs" => options.runs = value,
            _ => return Err(format!("unknown argument {argument}")),
        }
    }
    replace(&mut options.families, families);
    replace(&mut options.frames, frames);
    replace(&mut options.flows, flows);
    replace(&mut options.routes, routes);
    run(&options, &mut |row| println!("{}", row.to_json())).map_err(|e: Invalid| e.to_string())
}

/// What was given replaces the default.
fn replace<T>(default: &mut Vec<T>, given: Vec<T>) {
    if !given.is_empty() {
        *default = given;
    }
}
