//! Facts about a board's hardware: processor, ports, rates, engines, prices. A fact without a published source is
//! `None`, and the planner names it as unknown.

use crate::rates::{Forwarding, SoftwareRate, SuiteRates};

/// Hardware of a board.
#[derive(Clone, Debug, PartialEq)]
pub struct Hardware<'a> {
    /// Name of the board (`Board::name`).
    pub board: &'static str,
    /// Further names on slides and labels, without the suffix of the housing.
    pub aliases: &'static [&'static str],
    /// The processor.
    pub processor: Option<Processor>,
    /// All ports. Empty if they are unknown.
    pub ports: &'a [PortGroup<'a>],
    /// Modules that take a lane away from other ports.
    pub exclusions: &'static [Exclusion],
    /// Forwarding rates.
    pub forwarding: Option<&'a Forwarding>,
    /// Encryption by IPsec.
    pub encryption: Encryption,
    /// Form of its smart-card slot.
    pub smart_card: Option<&'static str>,
    /// Price of the manufacturer.
    pub price: Option<Price>,
}

/// Processor of a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processor {
    /// Model.
    pub name: &'static str,
    /// Number of cores.
    pub cores: u32,
    /// Clock in MHz; `None` if unknown.
    pub mhz: Option<u32>,
}

/// Ports of the same kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortGroup<'a> {
    /// Device names.
    pub names: &'a [&'a str],
    /// Maximum rate in Mbps in each direction; of a radio, its data rate. `None` if unknown.
    pub mbps: Option<u32>,
    /// Connection to the processor.
    pub connection: Connection,
    /// Purpose.
    pub purpose: Purpose,
}

/// How a port reaches the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connection {
    /// Through a lane of [`crate::Board::lanes`].
    Lane,
    /// Through a separate connection at the rate of the port.
    Direct,
    /// Not published.
    Unknown,
}

/// Purpose of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Traffic of users.
    Traffic,
    /// Management or emergency bypass: a slow controller without FastPath.
    Management,
    /// Wireless, half duplex.
    Radio,
}

/// A module whose use takes a part of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exclusion {
    /// Port with the module.
    pub port: &'static str,
    /// Number of the lane.
    pub lane: usize,
    /// Remaining rate of the lane in Mbps.
    pub mbps: u32,
}

/// Encryption by IPsec.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Encryption {
    /// Whether an engine in hardware encrypts; `None` if unknown.
    pub engine: Option<bool>,
    /// Published rates of IPsec tunnels.
    pub rates: &'static [SuiteRates],
    /// Measured rates of the processor.
    pub software: &'static [SoftwareRate],
}

/// A price with its date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    /// US cents.
    pub cents: u32,
    /// Date of the price list, as `2026-03-25`.
    pub date: &'static str,
}

impl<'a> Hardware<'a> {
    /// Returns the group of a port.
    pub fn group_of(&self, port: &str) -> Option<&'a PortGroup<'a>> {
        self.ports.iter().find(|group| group.names.contains(&port))
    }

    /// Returns the names of all ports.
    pub fn port_names(&self) -> impl Iterator<Item = &'a str> {
        self.ports.iter().flat_map(|group| group.names).copied()
    }

    /// Returns the facts that are unknown.
    pub fn unknown(&self) -> Vec<String> {
        let mut unknown = Vec::new();
        if self.processor.is_none() {
            unknown.push(String::from("processor"));
        }
        if self.ports.is_empty() {
            unknown.push(String::from("ports"));
        }
        if self.forwarding.is_none() {
            unknown.push(String::from("forwarding rates"));
        }
        if self.encryption.engine.is_none() {
            unknown.push(String::from("encryption engine"));
        }
        if self.encryption.rates.is_empty() {
            unknown.push(String::from("IPsec rates"));
        }
        unknown
    }
}
