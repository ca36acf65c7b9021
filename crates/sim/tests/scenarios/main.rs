//! Whole routers and hosts in virtual time. A failing test prints its seed, which reproduces the failure.

mod bonding;
mod bridge;
mod fates;
mod firewall;
mod forward;
mod links;
mod local;
mod machine_rows;
mod macvlan;
mod neighbours;
mod path_mtu;
mod ping;
mod routes;
mod scripts;
mod trace;
mod vrrp;
mod vxlan;
mod workers;

use machine::Duration;
use sim::{HostConfig, Line, NodeId, Received, World};

/// Topology client — west — east — server, both families.
struct Chain {
    world: World,
    client: NodeId,
    server: NodeId,
    west: NodeId,
    east: NodeId,
}

const WEST: &str = "\
    /ip address add address=10.1.0.1/24 interface=ether1\n\
    /ip address add address=10.9.0.1/30 interface=ether2\n\
    /ip route add dst-address=10.2.0.0/24 gateway=10.9.0.2\n\
    /ipv6 address add address=2001:db8:1::1/64 interface=ether1\n\
    /ipv6 address add address=2001:db8:9::1/64 interface=ether2\n\
    /ipv6 route add dst-address=2001:db8:2::/64 gateway=2001:db8:9::2\n";
const EAST: &str = "\
    /ip address add address=10.2.0.1/24 interface=ether1\n\
    /ip address add address=10.9.0.2/30 interface=ether2\n\
    /ip route add gateway=10.9.0.1\n\
    /ipv6 address add address=2001:db8:2::1/64 interface=ether1\n\
    /ipv6 address add address=2001:db8:9::2/64 interface=ether2\n\
    /ipv6 route add gateway=2001:db8:9::1\n";

/// Builds a chain with the line `middle` between the routers.
fn chain(seed: u64, middle: Line, workers: usize) -> Chain {
    let mut world = World::new(seed);
    let west = world.router(WEST, 2, workers);
    let east = world.router(EAST, 2, workers);
    let client =
        HostConfig::new("10.1.0.2/24", "10.1.0.1").and("2001:db8:1::2/64", "2001:db8:1::1");
    let server =
        HostConfig::new("10.2.0.2/24", "10.2.0.1").and("2001:db8:2::2/64", "2001:db8:2::1");
    let client = world.host(client);
    let server = world.host(server);
    world.join((client, 0), (west, 0), Line::default());
    world.join((west, 1), (east, 1), middle);
    world.join((east, 0), (server, 0), Line::default());
    // Duplicate address detection takes a second.
    world.run(Duration::from_secs(3));
    Chain {
        world,
        client,
        server,
        west,
        east,
    }
}

const SERVERS: [&str; 2] = ["10.2.0.2", "2001:db8:2::2"];

/// Returns the ICMP errors that a host received: sender, type, code and MTU.
fn errors(world: &mut World, host: NodeId) -> Vec<(String, u8, u8, u32)> {
    let heard = world.at(host).heard.iter();
    heard
        .filter_map(|heard| match heard {
            Received::Error {
                from,
                kind,
                code,
                mtu,
                ..
            } => Some((from.to_string(), *kind, *code, *mtu)),
            _ => None,
        })
        .collect()
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}
