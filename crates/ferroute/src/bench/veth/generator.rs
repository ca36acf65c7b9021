//! The packet generator, and the packet counter at the far end.

use std::thread;
use std::time::{Duration, Instant};

use bench::{Family, packet};
use machine::Rng;
use netio::PacketReplay;
use netio::link::Links;

use super::cores::{Cores, realtime};
use super::{MEASURED, Sample, WARM_UP, WINDOW};

/// Routed networks: IPv4 in the low 32 bits of the first.
const NETWORK_V4: u128 = 0xc612_0000;
const NETWORK_V6: u128 = 0x2001_0db8_ffff << 80;
/// Time to watch the far end for packets in flight.
const DRAIN: Duration = Duration::from_secs(1);
/// Timeout until the first packet arrives.
const PATIENCE: Duration = Duration::from_secs(10);

/// Builds a frame for each of `flows` flows, in random order.
pub(in crate::bench) fn templates(family: Family, flows: u32, frame: u16) -> Vec<Vec<u8>> {
    let mut rng = Rng::seeded(u64::from(flows) ^ 0x7e3a);
    let mut templates: Vec<Vec<u8>> = (0..u128::from(flows.max(1)))
        .map(|flow| {
            // Consecutive destinations: each flow has its own, in any order.
            let destination = match family {
                Family::Ipv4 => NETWORK_V4 | (flow & 0x1_ffff),
                Family::Ipv6 => NETWORK_V6 | flow,
            };
            packet(family, frame, destination, &mut rng)
        })
        .collect();
    for at in (1..templates.len()).rev() {
        templates.swap(at, rng.below(at as u64 + 1) as usize);
    }
    templates
}

/// Number of sockets that send bursts in turn. The forwarder's core frees sent packets and writes to their socket;
/// meanwhile the generator uses another socket, so that the cores do not contend for cache lines at every packet.
const RINGS: usize = 8;
/// Frames per system call.
const BURST: u32 = 256;
/// Frames per burst for transmission without loss, with a pause after each burst.
const SLOW_BURST: u32 = 32;
const SLOW_PAUSE: Duration = Duration::from_micros(500);
/// Maximum number of rounds with losses.
const SWEEPS: usize = 12;

/// Sends into one path, and counts the packets at its end.
pub(in crate::bench) struct Generator {
    device: &'static str,
    /// Rings that send bursts in turn, and the index of the next.
    rings: Vec<PacketReplay>,
    turn: usize,
    /// Link address of the forwarder.
    to: [u8; 6],
    links: Links,
    sink: &'static str,
    cores: Cores,
}

impl Generator {
    /// Creates a generator in the namespace of the calling thread: sends by `device` to the link address `to`, and
    /// counts at `sink`.
    pub(in crate::bench) fn new(
        device: &'static str,
        to: String,
        sink: &'static str,
        cores: Cores,
    ) -> Result<Self, String> {
        let mut mac = [0; 6];
        for (byte, text) in mac.iter_mut().zip(to.split(':')) {
            *byte = u8::from_str_radix(text, 16).map_err(|error| format!("{to}: {error}"))?;
        }
        Ok(Self {
            device,
            rings: Vec::new(),
            turn: 0,
            to: mac,
            links: Links::open().map_err(|error| format!("{device}: {error}"))?,
            sink,
            cores,
        })
    }

    /// Sets the frames of the next runs, addressed to the link address of the forwarder.
    pub(super) fn load(&mut self, templates: &[Vec<u8>]) -> Result<(), String> {
        let mut frames = templates.to_vec();
        for frame in &mut frames {
            frame[..6].copy_from_slice(&self.to);
        }
        self.load_as_they_are(&frames)
    }

    /// Sets the frames of the next runs without changing their destination address.
    pub(in crate::bench) fn load_as_they_are(&mut self, frames: &[Vec<u8>]) -> Result<(), String> {
        // Release the memory of the previous frames first.
        self.rings.clear();
        let share = frames.len().div_ceil(RINGS).max(1);
        let shares = frames.chunks(share).cycle().take(RINGS);
        let rings = shares.map(|frames| PacketReplay::open(self.device, frames));
        let rings: Result<_, _> = rings.collect();
        self.rings = rings.map_err(|error| format!("{}: {error}", self.device))?;
        Ok(())
    }

    /// Sends at maximum rate for one window; `cpu` returns the processor time of the forwarder so far, in nanoseconds.
    ///
    /// # Errors
    /// No packet arrived.
    pub(in crate::bench) fn run(&mut self, cpu: impl Fn() -> u64) -> Result<Sample, String> {
        let before = self.counted()?;
        self.cores.pin_generator()?;
        realtime(rustix::thread::gettid(), Some(MEASURED));
        let sample = self.window(cpu);
        realtime(rustix::thread::gettid(), None);
        self.drain()?;
        if self.counted()? == before {
            return Err(format!("no packet arrived at {}", self.sink));
        }
        sample
    }

    /// Sends every frame slowly until one round arrives completely, then once more.
    ///
    /// # Errors
    /// Every round has losses.
    pub(in crate::bench) fn sweep(&mut self) -> Result<(), String> {
        let mut whole = 0;
        for _ in 0..SWEEPS {
            let before = self.counted()?;
            let sent = self.round();
            self.drain()?;
            let came = self.counted()? - before;
            whole += u32::from(came >= u64::from(sent));
            if whole == 2 {
                return Ok(());
            }
        }
        Err(format!("some packets do not arrive at {}", self.sink))
    }

    /// Sends every frame at a rate that any forwarder can handle; returns their number.
    fn round(&mut self) -> u32 {
        for ring in &mut self.rings {
            let mut left = ring.round();
            while left > 0 {
                left -= ring.send(left.min(SLOW_BURST));
                thread::park_timeout(SLOW_PAUSE);
            }
        }
        self.rings.iter().map(PacketReplay::round).sum()
    }

    fn window(&mut self, cpu: impl Fn() -> u64) -> Result<Sample, String> {
        let patience = Instant::now() + PATIENCE;
        let first = self.counted()?;
        // A router that has just started may still be resolving its neighbours.
        while self.counted()? == first && Instant::now() < patience {
            self.send_for(Duration::from_millis(1));
        }
        self.send_for(WARM_UP);
        let (packets, used, start) = (self.counted()?, cpu(), Instant::now());
        self.send_for(WINDOW);
        let (packets, used, time) = (
            self.counted()? - packets,
            cpu() - used,
            start.elapsed().as_secs_f64(),
        );
        let packets = packets as f64;
        Ok(Sample {
            rate: packets / time,
            core_ns: used as f64 / packets.max(1.0),
        })
    }

    fn send_for(&mut self, duration: Duration) {
        let until = Instant::now() + duration;
        while Instant::now() < until {
            self.send(BURST);
        }
    }

    fn send(&mut self, burst: u32) {
        self.turn += 1;
        let rings = self.rings.len().max(1);
        if let Some(ring) = self.rings.get_mut(self.turn % rings) {
            ring.send(burst);
        }
    }

    /// Waits until no packet arrives, so that the next run starts with empty queues.
    fn drain(&mut self) -> Result<(), String> {
        let until = Instant::now() + DRAIN;
        let mut last = self.counted()?;
        while Instant::now() < until {
            self.send(0);
            thread::park_timeout(Duration::from_millis(10));
            let counted = self.counted()?;
            if counted == last {
                break;
            }
            last = counted;
        }
        Ok(())
    }

    /// Returns the number of packets that arrived since the creation of the far end.
    fn counted(&mut self) -> Result<u64, String> {
        let link = self.links.find(self.sink);
        let link = link.map_err(|error| format!("{}: {error}", self.sink))?;
        Ok(link.counters.rx_packets)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_flow_has_its_own_destination_in_the_routed_network() {
        for (family, at, network) in [
            (Family::Ipv4, 30..34, &[198, 18][..]),
            (Family::Ipv6, 38..54, &[0x20, 0x01, 0x0d, 0xb8, 0xff, 0xff]),
        ] {
            let templates = templates(family, 5000, 128);

            let destinations: HashSet<_> = templates.iter().map(|t| &t[at.clone()]).collect();
            assert_eq!(destinations.len(), 5000);
            assert!(destinations.iter().all(|to| to.starts_with(network)));
            assert!(templates.iter().all(|frame| frame.len() == 124));
        }
    }
}
