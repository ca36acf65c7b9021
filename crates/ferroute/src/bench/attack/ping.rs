//! Pings of a client to the router and through it, to a host behind the second port, while the attack goes on.
//!
//! The receivers of the benchmark answer and measure, so that all times include their sleep of at most half a
//! millisecond per direction; the times before the attack show it.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use netio::PacketReplay;
use wire::checksum;

use super::console::Took;
use super::stream;

/// Interval of pings to each target.
const INTERVAL: Duration = Duration::from_millis(20);
/// The client, the router's address at its port, and the host behind the second port.
const CLIENT: [u8; 4] = [10, 64, 255, 254];
const TARGETS: [[u8; 4]; 2] = [[192, 168, 88, 1], [198, 18, 255, 254]];
/// Names of the targets in reports.
const NAMES: [&str; 2] = ["to the router", "through the router"];
/// First bytes of the payload.
const MAGIC: [u8; 8] = *b"latency.";
const LINK: usize = 14;
const ICMP: usize = LINK + 20;
const PAYLOAD: usize = ICMP + 8;
/// Bytes of the payload: magic, target, and the time of transmission in nanoseconds since the beginning.
const PAYLOAD_LEN: usize = 8 + 1 + 8;
const REQUEST: u8 = 8;
const REPLY: u8 = 0;

/// Answered pings, filled by the receivers.
pub(super) struct Answers {
    begin: Instant,
    ms: Mutex<[Vec<f64>; 2]>,
}

impl Default for Answers {
    fn default() -> Self {
        Self {
            begin: Instant::now(),
            ms: Mutex::default(),
        }
    }
}

/// Sends pings.
pub(super) struct Pinger {
    sender: PacketReplay,
    next: Instant,
    sent: u64,
}

/// Pings to a target in a period.
#[derive(Clone, Debug)]
pub(super) struct Pings {
    pub(super) sent: u64,
    /// Round-trip times of answered pings.
    pub(super) took: Took,
}

impl Pings {
    /// Returns the number of pings without answer.
    pub(super) fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.took.ms.len() as u64)
    }
}

impl Pinger {
    /// Opens the sender on the clients' device; pings go to this link address.
    ///
    /// # Errors
    /// The kernel's error.
    pub(super) fn open(to: [u8; 6]) -> Result<Self, String> {
        let frames = [0, 1].map(|target| echo(REQUEST, target, to));
        Ok(Self {
            sender: stream::replay(stream::DEVICES[0], &frames)?,
            next: Instant::now(),
            sent: 0,
        })
    }

    /// Sends a ping to each target if it is time.
    pub(super) fn send_due(&mut self, answers: &Answers) {
        let now = Instant::now();
        if now < self.next {
            return;
        }
        self.next = now + INTERVAL;
        let sent = self.sender.send_changed(2, |frame| {
            let nanos = answers.begin.elapsed().as_nanos() as u64;
            frame[PAYLOAD + 9..PAYLOAD + PAYLOAD_LEN].copy_from_slice(&nanos.to_be_bytes());
            finish(frame);
        });
        self.sent += u64::from(sent) / 2;
    }

    /// Returns the pings since the last call, by target.
    pub(super) fn take(&mut self, answers: &Answers) -> [Pings; 2] {
        let sent = std::mem::take(&mut self.sent);
        let mut ms = answers.ms.lock().unwrap_or_else(PoisonError::into_inner);
        let [router, through] = std::mem::take(&mut *ms);
        [(NAMES[0], router), (NAMES[1], through)].map(|(what, mut ms)| {
            ms.sort_unstable_by(f64::total_cmp);
            Pings {
                sent,
                took: Took { what, ms },
            }
        })
    }
}

impl Answers {
    /// Handles a received frame: notes a reply, and turns a request into the reply to this link address, which the
    /// caller sends. Returns `None` for other frames.
    pub(super) fn receive(&self, frame: &[u8], to: [u8; 6]) -> Option<Vec<u8>> {
        let payload = frame.get(PAYLOAD..PAYLOAD + PAYLOAD_LEN)?;
        let stamped = payload.strip_prefix(&MAGIC)?;
        let (target, nanos) = (usize::from(stamped[0]), stamped[1..].first_chunk::<8>()?);
        match frame[ICMP] {
            REQUEST => {
                let mut reply = frame.to_vec();
                reply[..6].copy_from_slice(&to);
                reply[ICMP] = REPLY;
                for at in 0..4 {
                    reply.swap(LINK + 12 + at, LINK + 16 + at);
                }
                reply[LINK + 8] = 64;
                finish(&mut reply);
                Some(reply)
            }
            REPLY => {
                let now = self.begin.elapsed().as_nanos() as u64;
                let took = now.saturating_sub(u64::from_be_bytes(*nanos));
                let mut ms = self.ms.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(ms) = ms.get_mut(target) {
                    ms.push(took as f64 / 1e6);
                }
                None
            }
            _ => None,
        }
    }
}

/// Builds an echo message of the client to a target, without time.
pub(super) fn echo(kind: u8, target: usize, to: [u8; 6]) -> Vec<u8> {
    let mut frame = to.to_vec();
    frame.extend([2, 0, 0, 0, 0xfe, 1, 8, 0]);
    let len = (20 + 8 + PAYLOAD_LEN) as u8;
    frame.extend([0x45, 0, 0, len, 0, 0, 0, 0, 64, 1, 0, 0]);
    frame.extend(CLIENT);
    frame.extend(TARGETS[target]);
    frame.extend([kind, 0, 0, 0, 0x50, target as u8, 0, 1]);
    frame.extend(MAGIC);
    frame.push(target as u8);
    frame.extend([0; 8]);
    finish(&mut frame);
    frame
}

/// Writes both checksums.
fn finish(frame: &mut [u8]) {
    for (at, range) in [(LINK + 10, LINK..ICMP), (ICMP + 2, ICMP..frame.len())] {
        frame[at..at + 2].fill(0);
        let sum = checksum::checksum(&frame[range]);
        frame[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_answered_and_its_reply_is_timed() {
        let answers = Answers::default();
        let request = echo(REQUEST, 1, [2; 6]);
        let reply = answers.receive(&request, [3; 6]).expect("a reply");
        assert_eq!(reply[..6], [3; 6]);
        assert_eq!(reply[LINK + 12..LINK + 16], TARGETS[1]);
        for range in [LINK..ICMP, ICMP..reply.len()] {
            assert_eq!(checksum::sum(&reply[range]), 0xffff);
        }
        assert_eq!(answers.receive(&reply, [3; 6]), None);
        assert_eq!(answers.receive(&reply[..40], [3; 6]), None);
        let ms = answers.ms.lock().expect("no panic");
        assert_eq!((ms[0].len(), ms[1].len()), (0, 1));
    }
}
