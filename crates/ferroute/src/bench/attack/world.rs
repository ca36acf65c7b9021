//! The attacked router, and its surroundings in one namespace.
//!
//! ```text
//!   lan ── ether1 [        ] ether2 ── wan     established connections; the attacker
//!                 [ router ]
//!                 [        ] ether3 ── dmz     the attacked server
//! ```
//!
//! The router sends all frames to unused link addresses: the kernel behind the three devices counts and drops them, and
//! the receivers of the benchmark capture the frames on `lan` and `wan`.

use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use lab::{End, Holding, Host, Lab, Layout, Life, Link, Offloads, Options};
use netio::PacketReplay;
use netio::link::Links;

use super::console::ENTRIES;
use super::stream::{self, CONNECTIONS, DEVICES, PORT};
use crate::bench::process::{Router, exec};

/// Namespace of everything except the router.
const WORLD: &str = "world";
/// Devices of the namespace; the router's ports are their peers, in the same order.
const OURS: [&str; 3] = ["lan", "wan", "dmz"];
/// Frames per burst for transmission without loss, and the pause after a burst.
const SLOW_BURST: u32 = 32;
const SLOW_PAUSE: Duration = Duration::from_micros(500);
/// Timeout for conditions that should hold at once.
const PATIENCE: Duration = Duration::from_secs(20);

const HOST: Host = Host {
    name: WORLD,
    forwards: false,
    loopback: &[],
    routes: &[],
};

const LAYOUT: Layout = Layout {
    name: "attack",
    summary: "a router, connections through it, and an attacker",
    hosts: &[
        HOST,
        Host {
            name: "router",
            ..HOST
        },
    ],
    links: &[
        link("lan", "ether1"),
        link("wan", "ether2"),
        link("dmz", "ether3"),
    ],
    config: "/ip neighbor discovery-settings
set discover-interface-list=none
/ip address
add address=192.168.88.1/24 interface=ether1
add address=203.0.113.2/24 interface=ether2
add address=192.168.99.1/24 interface=ether3
/ip arp
add address=192.168.88.10 interface=ether1 mac-address=02:00:00:00:fe:fe
add address=203.0.113.1 interface=ether2 mac-address=02:00:00:00:fe:fe
add address=192.168.99.10 interface=ether3 mac-address=02:00:00:00:fe:fe
/ip route
add dst-address=10.64.0.0/16 gateway=192.168.88.10
add dst-address=10.99.0.0/16 gateway=192.168.99.10
add dst-address=0.0.0.0/0 gateway=203.0.113.1
/ip firewall filter
add chain=forward action=accept connection-state=established,related
add chain=forward action=drop connection-state=invalid
add chain=forward action=accept in-interface=ether1
add chain=forward action=drop src-address-list=scanners
add chain=forward action=add-src-to-address-list protocol=tcp psd=21,3s,3,1 address-list=scanners address-list-timeout=1m
add chain=forward action=accept in-interface=ether2 out-interface=ether3 protocol=tcp dst-port=80
add chain=forward action=accept in-interface=ether2 out-interface=ether3 protocol=udp dst-port=53
add chain=forward action=drop
",
};

const fn link(ours: &'static str, port: &'static str) -> Link {
    Link {
        mtu: 1500,
        queues: 1,
        offloads: Offloads::Off,
        ends: [at(WORLD, ours), at("router", port)],
    }
}

const fn at(host: &'static str, device: &'static str) -> End {
    End {
        host,
        device,
        addresses: &[],
    }
}

/// The namespaces; the calling thread is in the namespace with the devices.
pub(super) struct World {
    lab: Lab,
    links: Links,
}

/// Numbers of frames into the router's ports and out of them, and drops by reason.
#[derive(Clone, Debug, Default)]
pub(super) struct Balance {
    pub(super) into: u64,
    pub(super) out_of: u64,
    pub(super) drops: BTreeMap<String, u64>,
}

impl World {
    /// Creates the namespaces and devices, and moves the calling thread into the namespace.
    ///
    /// # Errors
    /// The machine does not permit it.
    pub(super) fn new() -> Result<Self, String> {
        let text = |error: lab::Error| error.to_string();
        let options = Options {
            name: Some(format!("attack-{}", std::process::id())),
            life: Life::Owned,
            holding: Some(Holding::Named),
            belongings: Vec::new(),
        };
        let lab = Lab::up(&LAYOUT, &options).map_err(text)?;
        // Disables the kernel's own IPv6 traffic on the links.
        let quiet = "echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6";
        let mut command = lab.command(WORLD, "sh").map_err(text)?;
        let done = command.args(["-c", quiet]).status();
        done.map_err(|error| format!("nsenter: {error}"))?;
        lab.enter(WORLD).map_err(text)?;
        let links = Links::open().map_err(|error| format!("netlink: {error}"))?;
        Ok(Self { lab, links })
    }

    /// Starts a router with ports of this driver.
    ///
    /// # Errors
    /// The router does not start.
    pub(super) fn router(&self, driver: &str) -> Result<Router, String> {
        let ports = LAYOUT.ports().into_iter();
        let ports: Vec<String> = ports
            .map(|port| format!("{port}={driver}:{port}"))
            .collect();
        Router::start(&self.lab, LAYOUT.config, &ports)
    }

    /// Opens the established connections, and waits until the router tracks all of them.
    ///
    /// # Errors
    /// The router does not track them.
    pub(super) fn greet(&self, router: &Router) -> Result<(), String> {
        let until = Instant::now() + PATIENCE;
        loop {
            for turn in 0..3 {
                let end = turn % 2;
                let frames = stream::greetings(turn, mac(end));
                let mut sender = stream::replay(DEVICES[end], &frames)?;
                slowly(&mut sender, CONNECTIONS, |_| ());
                // Answers must belong to connections that the router already tracks.
                thread::park_timeout(Duration::from_millis(50));
            }
            let kept = connections(router, " and assured")?.len();
            if kept == CONNECTIONS as usize {
                return Ok(());
            }
            if Instant::now() > until {
                return Err(format!(
                    "the router keeps {kept} of {CONNECTIONS} connections"
                ));
            }
        }
    }

    /// Returns the frames through the router since the creation of the devices, and its drops since its start.
    ///
    /// # Errors
    /// The router does not answer.
    pub(super) fn balance(&mut self, router: &Router) -> Result<Balance, String> {
        let mut balance = Balance::default();
        for device in OURS {
            let link = self.links.find(device);
            let counters = link.map_err(|error| format!("{device}: {error}"))?.counters;
            balance.into += counters.tx_packets;
            balance.out_of += counters.rx_packets;
        }
        let said = exec(&router.control(), "/tool/drop/print", true)?;
        let rows: Vec<serde_json::Value> =
            serde_json::from_str(&said).map_err(|error| format!("/tool/drop: {error}"))?;
        for row in rows {
            let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
            let packets = text("packets").parse().unwrap_or(0);
            balance.drops.insert(text("reason"), packets);
        }
        Ok(balance)
    }

    /// Removes the namespaces.
    ///
    /// # Errors
    /// The removal fails.
    pub(super) fn end(self) -> Result<(), String> {
        self.lab.down().map_err(|error| error.to_string())
    }
}

impl Balance {
    /// Returns the difference to an earlier balance.
    pub(super) fn since(&self, before: &Self) -> Self {
        let drops = self.drops.iter().map(|(reason, count)| {
            let earlier = before.drops.get(reason).copied().unwrap_or(0);
            (reason.clone(), count - earlier)
        });
        Self {
            into: self.into - before.into,
            out_of: self.out_of - before.out_of,
            drops: drops.filter(|(_, count)| *count > 0).collect(),
        }
    }

    /// Returns the number of frames that neither left nor were counted as dropped.
    pub(super) fn unnamed(&self) -> i64 {
        let named: u64 = self.drops.values().sum();
        self.into as i64 - self.out_of as i64 - named as i64
    }
}

/// Returns the link address of the router's port behind a device.
pub(super) fn mac(end: usize) -> [u8; 6] {
    [2, 0, 0, 0, end as u8 + 1, 2]
}

/// Sends frames at a rate that any router can forward.
pub(super) fn slowly(sender: &mut PacketReplay, count: u32, mut change: impl FnMut(&mut [u8])) {
    let mut left = count;
    while left > 0 {
        left -= sender.send_changed(left.min(SLOW_BURST), &mut change);
        thread::park_timeout(SLOW_PAUSE);
    }
}

/// Returns the ids of the established connections that still exist.
pub(super) fn connections(router: &Router, and: &str) -> Result<Vec<String>, String> {
    let find = format!(":put [/ip/firewall/connection/find dst-port={PORT}{and}]");
    let said = exec(&router.control(), &find, false)?;
    let ids = said.trim().split(';').filter(|id| !id.is_empty());
    Ok(ids.map(str::to_owned).collect())
}

/// Returns the number of connections of the router, and its limit.
pub(super) fn entries(router: &Router) -> Result<(u64, u64), String> {
    let number = |command: &str| {
        let said = exec(&router.control(), command, false)?;
        let said = said.trim();
        said.parse().map_err(|_| format!("{command}: {said}"))
    };
    let max = ENTRIES.replace("total-entries", "max-entries");
    Ok((number(ENTRIES)?, number(&max)?))
}

/// Returns the resident memory of the router in bytes.
pub(super) fn memory(router: &Router) -> u64 {
    let path = format!("/proc/{}/status", router.id());
    let status = fs::read_to_string(path).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_ascii_whitespace().nth(1));
    kilobytes.and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_neither_sent_nor_dropped_are_unnamed() {
        let drops = |count| [(String::from("no-route"), count)].into();
        let before = Balance {
            into: 10,
            out_of: 8,
            drops: drops(2),
        };
        let after = Balance {
            into: 30,
            out_of: 20,
            drops: drops(9),
        };

        let moved = after.since(&before);

        assert_eq!(
            (moved.into, moved.out_of, moved.drops["no-route"]),
            (20, 12, 7)
        );
        assert_eq!((moved.unnamed(), before.unnamed()), (1, 0));
    }

    #[test]
    fn the_routers_ports_have_the_link_addresses_that_the_lab_gives() {
        for (end, ours) in OURS.iter().enumerate() {
            let text = lab::plan::mac(end as u8 + 1, 2);
            let bytes = text.split(':').map(|byte| u8::from_str_radix(byte, 16));
            assert_eq!(bytes.collect::<Result<Vec<_>, _>>(), Ok(mac(end).to_vec()));
            assert_eq!(LAYOUT.links[end].ends[0].device, *ours);
        }
    }
}
