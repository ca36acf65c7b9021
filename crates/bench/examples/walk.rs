//! Prints the rows of the walk's benchmark: `cargo run --release -p bench --example walk`.
//!
//! Arguments select rows: `ipv4`, `ipv6`, `frame=64`, `flows=64000`, `routes=1`, `runs=31`; each
//! may be repeated. With `row=stateful`, `row=vlan` and other names it prints rows of the firewall,
//! of layers, of bridges, of queues or of home routers instead, with at most `connections=`
//! connections.

use bench::{
    BRIDGED, Family, GUARDED, HOME, Invalid, LAYERED, Options, PROTECTED, QUEUED, SESSIONS,
    bridged, guarded, home, layered, protected, queued, run, sessions,
};

#[global_allocator]
static ALLOCATOR: kernels::CountingAllocator = kernels::CountingAllocator;

fn main() -> Result<(), String> {
    let mut options = Options {
        allocations: Some(kernels::CountingAllocator::count),
        ..Options::default()
    };
    let mut families = Vec::new();
    let (mut frames, mut flows, mut routes) = (Vec::new(), Vec::new(), Vec::new());
    let mut rows = Vec::new();
    for argument in std::env::args().skip(1) {
        let (name, value) = argument.split_once('=').unwrap_or((&argument, "0"));
        if name == "row" {
            let row = [GUARDED, LAYERED, SESSIONS, BRIDGED, QUEUED, PROTECTED, HOME]
                .concat()
                .into_iter()
                .find(|row| *row == value);
            rows.push(row.ok_or_else(|| format!("unknown row {value}"))?);
            continue;
        }
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
            "connections" => options.connections_max = value,
            _ => return Err(format!("unknown argument {argument}")),
        }
    }
    replace(&mut options.families, families);
    replace(&mut options.frames, frames);
    replace(&mut options.flows, flows);
    replace(&mut options.routes, routes);
    let measured = match rows.is_empty() {
        true => run(&options, &mut |row| println!("{}", row.to_json())),
        false => {
            let of = |kind: &[&'static str]| {
                let rows = rows.iter().copied();
                rows.filter(|row| kind.contains(row)).collect::<Vec<_>>()
            };
            let mut print = |row: bench::Row| println!("{}", row.to_json());
            layered(&options, &of(LAYERED), &mut print)
                .and_then(|()| sessions(&options, &of(SESSIONS), &mut print))
                .and_then(|()| protected(&options, &of(PROTECTED), &mut print))
                .and_then(|()| bridged(&options, &of(BRIDGED), &mut print))
                .and_then(|()| queued(&options, &of(QUEUED), &mut print))
                .and_then(|()| guarded(&options, &of(GUARDED), &mut print))
                .and_then(|()| home(&options, &of(HOME), &mut print))
        }
    };
    measured.map_err(|error: Invalid| error.to_string())
}

/// Replaces the default by the given values, if there are any.
fn replace<T>(default: &mut Vec<T>, given: Vec<T>) {
    if !given.is_empty() {
        *default = given;
    }
}
