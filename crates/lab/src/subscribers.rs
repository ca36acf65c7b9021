//! Lab `subscribers`: a provider's PPPoE server, ten customers with profiles and queues, and a host that floods the
//! server with PADI.
//!
//! ```text
//!   server ── ether1 router ether2 ── ether1 customers ┬ ether2 ── anna
//!   (the internet)   (the provider)   (ten VLANs)      ├ ether3 ── bert
//!                           ether3 ── flooder          └ ether4 ── carla
//! ```

use crate::daemons::{Daemon, File};
use crate::layout::{Layout, ROUTER, ROUTER_HOST, by, end, host, wire};
use crate::site::Site;

pub(crate) const SUBSCRIBERS: Layout = Layout {
    name: "subscribers",
    summary: "a PPPoE server, ten customers with queues, and one who floods",
    hosts: &[
        host("anna", &[by("192.168.1.1")]),
        host("bert", &[by("192.168.2.1")]),
        host("carla", &[by("192.168.3.1")]),
        ROUTER_HOST,
        host("server", &[by("198.51.100.1")]),
        host(CUSTOMERS, &[]),
        host("flooder", &[]),
    ],
    links: &[
        wire(
            end(ROUTER, "ether1", &[]),
            end("server", "eth0", &["198.51.100.80/24"]),
        ),
        wire(end(ROUTER, "ether2", &[]), end(CUSTOMERS, "ether1", &[])),
        wire(end(ROUTER, "ether3", &[]), end("flooder", "eth0", &[])),
        wire(
            end(CUSTOMERS, "ether2", &[]),
            end("anna", "eth0", &["192.168.1.2/24"]),
        ),
        wire(
            end(CUSTOMERS, "ether3", &[]),
            end("bert", "eth0", &["192.168.2.2/24"]),
        ),
        wire(
            end(CUSTOMERS, "ether4", &[]),
            end("carla", "eth0", &["192.168.3.2/24"]),
        ),
    ],
    config: include_str!("../configs/subscribers.rsc"),
};

/// Host of the customers' lines.
const CUSTOMERS: &str = "customers";

pub(crate) const SITES: &[Site] = &[Site {
    host: CUSTOMERS,
    config: include_str!("../configs/subscribers-customers.rsc"),
}];

pub(crate) const DAEMONS: &[Daemon] = &[Daemon {
    host: "flooder",
    argv: &["python3", "{folder}/flood.py", "eth0", "2000"],
    needs: "python3",
}];

pub(crate) const FILES: &[File] = &[File {
    name: "flood.py",
    text: include_str!("../configs/flood.py"),
}];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_customers_have_a_secret_and_a_line_and_one_password_is_wrong() {
        let secrets = { SUBSCRIBERS.config.lines() }.filter(|line| line.contains(" service=pppoe"));
        let secrets: Vec<_> = secrets.map(|line| pair(line, "name=")).collect();
        let clients = { SITES[0].config.lines() }.filter(|line| line.contains(" user="));
        let clients: Vec<_> = clients.map(|line| pair(line, "user=")).collect();
        assert_eq!(clients.len(), 10);
        let wrong: Vec<_> = { clients.iter() }
            .filter(|client| !secrets.contains(client))
            .collect();
        assert_eq!(wrong, [&("jan", "jan-secert")]);
    }

    /// Returns a user, named by this property, and the password.
    fn pair<'a>(line: &'a str, user: &str) -> (&'a str, &'a str) {
        let value = |name: &str| {
            let mut words = line.split(' ');
            words
                .find_map(|word| word.strip_prefix(name))
                .expect("it has one")
        };
        (value(user), value("password="))
    }
}
