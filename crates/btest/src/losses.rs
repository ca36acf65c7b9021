//! Loss counters from gaps in sequence numbers.
//!
//! RouterOS 7 sends from several ports to one. It is unknown whether it numbers datagrams per port or in total,
//! so both are counted: with duplicate numbers in total, the count per port applies; otherwise the smaller
//! count.

/// Maximum number of separately counted ports. A command can request 255.
const MAX_PORTS: usize = 255;
/// A larger jump restarts the sequence.
const RESTART_JUMP: u32 = 1 << 20;

/// Received datagrams by port and in total.
#[derive(Clone, Debug, Default)]
pub(crate) struct Losses {
    all: Sequence,
    ports: Vec<(u16, Sequence)>,
}

impl Losses {
    /// Counts a datagram with its sequence number.
    pub(crate) fn record(&mut self, port: u16, number: u32) {
        self.all.record(number);
        self.add_port(port);
        if let Some((_, run)) = self.ports.iter_mut().find(|(own, _)| *own == port) {
            run.record(number);
        }
    }

    /// Notes the source port of a datagram without a number.
    pub(crate) fn add_port(&mut self, port: u16) {
        let known = self.ports.iter().any(|(own, _)| *own == port);
        if !known && self.ports.len() < MAX_PORTS {
            self.ports.push((port, Sequence::default()));
        }
    }

    /// Iterates over the source ports, in order of first arrival.
    pub(crate) fn ports(&self) -> impl ExactSizeIterator<Item = u16> {
        self.ports.iter().map(|(port, _)| *port)
    }

    /// Returns the number of missing datagrams.
    pub(crate) fn lost(&self) -> u64 {
        let by_port = self.ports.iter().map(|(_, run)| run.lost()).sum();
        if self.all.is_shared() {
            return by_port;
        }
        self.all.lost().min(by_port)
    }
}

/// A sequence of numbered datagrams.
#[derive(Clone, Copy, Debug, Default)]
struct Sequence {
    /// Highest number; `None` before the first datagram.
    highest: Option<u32>,
    /// Length of the range between first and highest number, inclusive.
    numbers: u64,
    received: u64,
    /// Losses before the last restart.
    before: u64,
}

impl Sequence {
    fn record(&mut self, number: u32) {
        let ahead = self.highest.map(|highest| number.wrapping_sub(highest));
        match ahead {
            Some(ahead) if ahead <= RESTART_JUMP => {
                self.received += 1;
                self.numbers += u64::from(ahead);
                self.highest = Some(number);
            }
            // Late or duplicate.
            Some(ahead) if ahead.wrapping_neg() <= RESTART_JUMP => self.received += 1,
            _ => {
                *self = Self {
                    highest: Some(number),
                    numbers: 1,
                    received: 1,
                    before: self.lost(),
                };
            }
        }
    }

    fn lost(&self) -> u64 {
        self.before + self.numbers.saturating_sub(self.received)
    }

    /// Returns true if numbers repeat, so that several sequences share them.
    const fn is_shared(&self) -> bool {
        self.received > self.numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn losses(heard: impl IntoIterator<Item = (u16, u32)>) -> Losses {
        let mut losses = Losses::default();
        for (port, number) in heard {
            losses.record(port, number);
        }
        losses
    }

    #[test]
    fn gaps_are_lost_and_the_first_number_may_be_any() {
        let heard = [5, 6, 9, 10, 8].map(|number| (1, number));
        assert_eq!(losses(heard).lost(), 1, "7; 8 was late");
        assert_eq!(losses([]).lost(), 0);
    }

    #[test]
    fn ports_may_be_numbered_together() {
        let heard = (0..1000)
            .filter(|n| n % 100 != 50)
            .map(|n| (n as u16 % 7, n));
        let losses = losses(heard);
        assert_eq!(losses.lost(), 10);
        assert_eq!(losses.ports().len(), 7);
    }

    #[test]
    fn ports_may_be_numbered_each() {
        let heard = (0..1000).flat_map(|n| [1, 2, 3].map(|port| (port, n)));
        let heard = heard.filter(|&(port, n)| port != 2 || n % 100 != 50);
        assert_eq!(losses(heard).lost(), 10);
    }

    #[test]
    fn numbering_continues_and_restarts_after_a_jump() {
        let wrapped = [u32::MAX - 1, u32::MAX, 1].map(|number| (1, number));
        assert_eq!(losses(wrapped).lost(), 1);
        let jumped = [1, 3, 0x8000_0000, 0x8000_0001].map(|number| (1, number));
        assert_eq!(losses(jumped).lost(), 1);
    }

    #[test]
    fn ports_are_bounded() {
        let losses = losses((0..=u16::MAX).map(|port| (port, u32::from(port))));
        assert_eq!(losses.ports().len(), MAX_PORTS);
        assert_eq!(losses.lost(), 0);
    }
}
