//! The user's configuration as a line of the table: traffic of one host behind the receiving port, to a thousand
//! addresses behind the transmitting port. Connections are answered once before the measurement.

use std::net::Ipv4Addr;
use std::thread;
use std::time::{Duration, Instant};

use bench::{Family, finish};
use serde_json::Value;

use super::ports::{FLOWS, address};
use crate::bench::process::{Router, exec};
use crate::bench::veth::{Cores, Generator, NOBODY, templates};

/// Network between the router and the next hop, if the transmitting interface has no address (RFC 5737).
const UPLINK: &str = "198.51.100.1/30";
const GATEWAY: &str = "198.51.100.2";
/// Network of the senders, if the receiving interface has no address.
const NEAR: &str = "203.0.113.1/24";
/// Routed networks (RFC 2544).
const FAR: &str = "198.18.0.0/15";
/// Offset of addresses and ports in an IPv4 frame without options.
const SOURCE: usize = 26;
const DESTINATION: usize = 30;
const PORTS: usize = 34;
/// Maximum time until the router forwards.
const PASSES_WITHIN: Duration = Duration::from_secs(60);
/// Maximum time until the router has the connections of all flows.
const CONNECTED_WITHIN: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(100);

/// Addresses of the traffic through the configured router.
pub(super) struct Configured {
    /// Link address of the receiving interface, and of the transmitting one.
    macs: [[u8; 6]; 2],
    sender: Ipv4Addr,
}

impl Configured {
    /// Adds a neighbour on both sides and a route to the router.
    ///
    /// # Errors
    /// The configuration has no such port, or refuses an item.
    pub(super) fn prepare(router: &Router, ports: [&str; 2]) -> Result<Self, String> {
        let [near, far] = [carrier(router, ports[0])?, carrier(router, ports[1])?];
        let own = own_address(router, &near)?;
        let (own, added) = match own {
            Some(own) => (own, String::new()),
            None => (
                NEAR.to_owned(),
                format!("/ip/address/add address={NEAR} interface={near}\n"),
            ),
        };
        let sender = neighbour(&own)?;
        router.exec(&format!(
            "{added}/ip/address/add address={UPLINK} interface={far}
/ip/arp/add address={GATEWAY} interface={far} mac-address={NOBODY}
/ip/arp/add address={sender} interface={near} mac-address={NOBODY}
/ip/route/add dst-address={FAR} gateway={GATEWAY}"
        ))?;
        let mac = |interface: &str| {
            let get = format!(":put [/interface/get {interface} mac-address]");
            Ok::<_, String>(address(&router.exec(&get)?))
        };
        Ok(Self {
            macs: [mac(&near)?, mac(&far)?],
            sender,
        })
    }

    /// Returns a frame of each flow.
    pub(super) fn frames(&self, size: u16) -> Vec<Vec<u8>> {
        let mut frames = templates(Family::Ipv4, FLOWS, size);
        for frame in &mut frames {
            frame[..6].copy_from_slice(&self.macs[0]);
            frame[6..12].copy_from_slice(&address(NOBODY));
            frame[SOURCE..DESTINATION].copy_from_slice(&self.sender.octets());
            complete(frame);
        }
        frames
    }

    /// Sends a packet of each flow, and answers to the connections that the router tracks; none if it tracks none.
    ///
    /// # Errors
    /// Some packets do not arrive.
    pub(super) fn begin_connections(&self, router: &Router, cores: Cores) -> Result<(), String> {
        let mut there = Generator::new("ga1", lab::plan::mac(1, 2), "gb1", cores)?;
        there.load_as_they_are(&self.frames(64))?;
        // Ports of a bridge begin to forward after some seconds.
        let until = Instant::now() + PASSES_WITHIN;
        while let Err(error) = there.sweep() {
            if Instant::now() > until {
                return Err(format!("{error}; drops of the router: {}", drops(router)?));
            }
        }
        let answers = self.answers(&connections(router, "")?);
        if answers.is_empty() {
            return Ok(());
        }
        let mut back = Generator::new("gb1", lab::plan::mac(2, 1), "ga1", cores)?;
        back.load_as_they_are(&answers)?;
        let until = Instant::now() + CONNECTED_WITHIN;
        loop {
            // Answers that the configuration drops are its decision; the count decides.
            let arrived = back.sweep();
            let answered = connections(router, " and seen-reply")?.len();
            if answered >= answers.len() {
                return Ok(());
            }
            if Instant::now() > until {
                arrived?;
                return Err(format!(
                    "of {} connections {answered} were answered",
                    answers.len()
                ));
            }
            thread::park_timeout(POLL);
        }
    }

    /// Returns an answer for each connection.
    fn answers(&self, connections: &[Value]) -> Vec<Vec<u8>> {
        let answer = |connection: &Value| {
            let (source, source_port) = end(connection, "src")?;
            let (destination, destination_port) = end(connection, "dst")?;
            let mut frame = templates(Family::Ipv4, 1, 64).pop()?;
            frame[..6].copy_from_slice(&self.macs[1]);
            frame[6..12].copy_from_slice(&address(NOBODY));
            frame[SOURCE..DESTINATION].copy_from_slice(&source.octets());
            frame[DESTINATION..PORTS].copy_from_slice(&destination.octets());
            frame[PORTS..PORTS + 2].copy_from_slice(&source_port.to_be_bytes());
            frame[PORTS + 2..PORTS + 4].copy_from_slice(&destination_port.to_be_bytes());
            complete(&mut frame);
            Some(frame)
        };
        connections.iter().filter_map(answer).collect()
    }
}

/// Writes the length of the datagram in a frame, and the checksums.
fn complete(frame: &mut [u8]) {
    let datagram = (frame.len() - PORTS) as u16;
    frame[PORTS + 4..PORTS + 6].copy_from_slice(&datagram.to_be_bytes());
    finish(frame);
}

/// Returns the interface that has the addresses of a port: its bridge, or the port.
fn carrier(router: &Router, port: &str) -> Result<String, String> {
    let rows = rows(
        router,
        &format!("/interface/bridge/port/print where interface={port}"),
    )?;
    let bridge = rows.first().and_then(|row| row["bridge"].as_str());
    Ok(bridge.unwrap_or(port).to_owned())
}

/// Returns the first address of an interface with its prefix length.
fn own_address(router: &Router, interface: &str) -> Result<Option<String>, String> {
    let print = format!("/ip/address/print where interface={interface} and !disabled");
    let rows = rows(router, &print)?;
    let first = rows.first().and_then(|row| row["address"].as_str());
    Ok(first.map(str::to_owned))
}

/// Returns another host of the network of an address with prefix length.
///
/// # Errors
/// The network has no other host.
fn neighbour(own: &str) -> Result<Ipv4Addr, String> {
    let wrong = || format!("{own}: no network for a host that sends");
    let (address, len) = own.split_once('/').ok_or_else(wrong)?;
    let address: Ipv4Addr = address.parse().map_err(|_| wrong())?;
    let len: u32 = len
        .parse()
        .ok()
        .filter(|len| *len <= 30)
        .ok_or_else(wrong)?;
    let network = address.to_bits() & !(u32::MAX >> len);
    let first = network + 1;
    let host = if first == address.to_bits() {
        first + 1
    } else {
        first
    };
    Ok(Ipv4Addr::from_bits(host))
}

/// Returns the connections to the routed networks.
fn connections(router: &Router, and: &str) -> Result<Vec<Value>, String> {
    let print = "/ip/firewall/connection/print where dst-address~\"^198.1[89]\"";
    rows(router, &format!("{print}{and}"))
}

/// Returns the router's drops by reason.
fn drops(router: &Router) -> Result<String, String> {
    let rows = rows(router, "/tool/drop/print")?;
    let text = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
    let drops = rows.iter().filter(|row| row["packets"] != "0");
    let drops = drops.map(|row| format!("{} {}", text(row, "packets"), text(row, "reason")));
    let drops: Vec<_> = drops.collect();
    Ok(drops.join(", "))
}

/// Runs a command; returns its rows.
fn rows(router: &Router, command: &str) -> Result<Vec<Value>, String> {
    let said = exec(&router.control(), command, true)?;
    serde_json::from_str(&said).map_err(|error| format!("{command}: {error}"))
}

/// Returns address and port of one end of the replies of a connection: `src` or `dst`.
fn end(connection: &Value, end: &str) -> Option<(Ipv4Addr, u16)> {
    let text = |what: &str| connection[format!("reply-{end}-{what}")].as_str();
    Some((text("address")?.parse().ok()?, text("port")?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_neighbour_is_another_host_of_the_network() {
        let neighbour = |own| neighbour(own).map(|host| host.to_string());
        assert_eq!(neighbour("192.168.88.1/24").as_deref(), Ok("192.168.88.2"));
        assert_eq!(neighbour("10.0.0.9/30").as_deref(), Ok("10.0.0.10"));
        assert_eq!(neighbour("10.0.0.77/8").as_deref(), Ok("10.0.0.1"));
        assert!(neighbour("10.0.0.1/32").is_err());
    }

    #[test]
    fn answers_go_to_the_translated_address_of_a_connection() {
        let configured = Configured {
            macs: [[2, 0, 0, 0, 1, 2], [2, 0, 0, 0, 2, 1]],
            sender: Ipv4Addr::new(192, 168, 88, 2),
        };
        let connection = serde_json::json!({
            "reply-src-address": "198.18.0.7", "reply-src-port": "99",
            "reply-dst-address": "198.51.100.1", "reply-dst-port": "4321",
        });
        let answers = configured.answers(&[connection, serde_json::json!({})]);
        assert_eq!(answers.len(), 1);
        let frame = &answers[0];
        assert_eq!(frame[..6], [2, 0, 0, 0, 2, 1]);
        assert_eq!(frame[SOURCE..PORTS], [198, 18, 0, 7, 198, 51, 100, 1]);
        assert_eq!(frame[PORTS..PORTS + 6], [0, 99, 0x10, 0xe1, 0, 26]);
    }
}
