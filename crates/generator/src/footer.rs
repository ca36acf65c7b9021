//! The special footer: the last bytes of a generated frame, from which the receiver measures.
//!
//! ```text
//! 0      3      4        5       6          10         16         18
//! │ magic │ test │ stream │ flags │ sequence │ sent, ns │ checksum │
//! ```
//!
//! The layout is ferroute's own; MikroTik publishes none. All numbers are big-endian. The time is the low 48 bits of
//! the sender's clock: only the sending router can measure latency.

use machine::Instant;

/// Bytes of the footer.
pub const FOOTER_BYTES: usize = 18;
const MAGIC: [u8; 3] = [0xfe, 0x44, 0x7e];
const HAS_CHECKSUM: u8 = 1;
const TIME_MASK: u64 = (1 << 48) - 1;

/// Contents of a footer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footer {
    /// Test of the sender (`test-id`).
    pub test: u8,
    /// Stream (`id`).
    pub stream: u8,
    /// Number of the frame in its stream, modulo 2^32.
    pub sequence: u32,
    /// Low 48 bits of the send time in nanoseconds.
    pub sent_nanos: u64,
    /// Internet checksum of the bytes from an offset up to this field, if the template asks for it.
    pub checksum: Option<u16>,
}

impl Footer {
    /// Reads the footer of a frame; `None` if the frame has none.
    #[inline]
    pub fn parse(frame: &[u8]) -> Option<Self> {
        let bytes: &[u8; FOOTER_BYTES] = frame.last_chunk()?;
        let [
            m0,
            m1,
            m2,
            test,
            stream,
            flags,
            s0,
            s1,
            s2,
            s3,
            time @ ..,
            c0,
            c1,
        ] = *bytes;
        if [m0, m1, m2] != MAGIC {
            return None;
        }
        let [t0, t1, t2, t3, t4, t5] = time;
        let checksum = u16::from_be_bytes([c0, c1]);
        Some(Self {
            test,
            stream,
            sequence: u32::from_be_bytes([s0, s1, s2, s3]),
            sent_nanos: u64::from_be_bytes([0, 0, t0, t1, t2, t3, t4, t5]),
            checksum: (flags & HAS_CHECKSUM != 0).then_some(checksum),
        })
    }

    /// Bytes of the footer.
    #[inline]
    pub fn to_bytes(&self) -> [u8; FOOTER_BYTES] {
        let mut bytes = [0; FOOTER_BYTES];
        bytes[..3].copy_from_slice(&MAGIC);
        bytes[3] = self.test;
        bytes[4] = self.stream;
        bytes[5] = if self.checksum.is_some() {
            HAS_CHECKSUM
        } else {
            0
        };
        bytes[6..10].copy_from_slice(&self.sequence.to_be_bytes());
        bytes[10..16].copy_from_slice(&self.sent_nanos.to_be_bytes()[2..]);
        bytes[16..].copy_from_slice(&self.checksum.unwrap_or(0).to_be_bytes());
        bytes
    }

    /// Low bits of a time, as the footer holds them.
    pub(crate) fn time(now: Instant) -> u64 {
        now.as_nanos() & TIME_MASK
    }

    /// Nanoseconds from the send time to `now`; correct below 78 hours.
    pub(crate) fn latency_nanos(&self, now: Instant) -> u64 {
        Self::time(now).wrapping_sub(self.sent_nanos) & TIME_MASK
    }
}
