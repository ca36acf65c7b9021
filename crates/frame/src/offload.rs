//! Unfinished checksum and segmentation of a frame, as in the header of virtio-net (OASIS virtio 1.2, 5.1.6).

use wire::checksum;

use crate::Unfinishable;

/// How a merged frame is split if a port cannot send it as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Segmentation {
    /// The frame is a single packet.
    #[default]
    None,
    /// TCP over IPv4.
    Tcp4,
    /// TCP over IPv6.
    Tcp6,
    /// UDP, with one datagram per segment (USO).
    Udp,
    /// A reassembled packet of any protocol: it is sent in fragments again, none longer than the longest that
    /// arrived.
    Fragments,
}

/// Unfinished work of a frame. The default is a finished frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offload {
    /// True if the sum from `checksum_start` to the end must be written at `checksum_start +
    /// checksum_offset`, where the sum of the pseudo header is already stored.
    pub needs_checksum: bool,
    /// How the frame is split.
    pub segmentation: Segmentation,
    /// Payload bytes per segment; for fragments the bytes from the network header on; 0 without segmentation.
    pub segment_bytes: u16,
    /// Offset in the frame at which the checksum begins.
    pub checksum_start: u16,
    /// Offset of the checksum field, relative to `checksum_start`.
    pub checksum_offset: u16,
    /// True if congestion was signalled: only the first segment gets CWR.
    pub ecn: bool,
}

impl Offload {
    /// A frame without unfinished work.
    pub const FINISHED: Self = Self {
        needs_checksum: false,
        segmentation: Segmentation::None,
        segment_bytes: 0,
        checksum_start: 0,
        checksum_offset: 0,
        ecn: false,
    };

    /// Returns true if any port can send the frame as it is.
    #[inline]
    pub fn is_finished(&self) -> bool {
        !self.needs_checksum && matches!(self.segmentation, Segmentation::None)
    }

    /// Moves `checksum_start` by `delta` bytes after a header was added (positive) or removed (negative)
    /// before it.
    #[inline]
    pub fn shift(&mut self, delta: i16) {
        self.checksum_start = self.checksum_start.wrapping_add_signed(delta);
    }
}

/// Completes the checksum of a frame that needs one; without effect on a finished frame.
///
/// `bytes` begins at the byte that `offload` counts from. Padding after the packet must be zero, as for any
/// device. A sum of zero is written as all ones, as UDP requires and TCP permits (RFC 768; RFC 1071, 2).
///
/// # Errors
/// [`Unfinishable::ChecksumOutside`] with `bytes` unchanged if the field lies outside.
#[inline]
pub fn finish_checksum(bytes: &mut [u8], offload: &Offload) -> Result<(), Unfinishable> {
    if !offload.needs_checksum {
        return Ok(());
    }
    let covered = bytes.get_mut(usize::from(offload.checksum_start)..);
    let covered = covered.ok_or(Unfinishable::ChecksumOutside)?;
    let sum = checksum::udp(checksum::checksum(covered));
    let field = covered.get_mut(usize::from(offload.checksum_offset)..);
    let field = field.and_then(|tail| tail.first_chunk_mut());
    *field.ok_or(Unfinishable::ChecksumOutside)? = sum.to_be_bytes();
    Ok(())
}

/// Offload capabilities of a port on transmission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offloads {
    /// The port completes checksums.
    pub checksum: bool,
    /// The port segments TCP over IPv4.
    pub tcp4: bool,
    /// The port segments TCP over IPv6.
    pub tcp6: bool,
    /// The port segments runs of UDP datagrams.
    pub udp: bool,
}

impl Offloads {
    /// Returns true if a port with these capabilities can send a frame in this state.
    #[inline]
    pub fn take(&self, offload: &Offload) -> bool {
        let segmentation = match offload.segmentation {
            Segmentation::None => true,
            Segmentation::Tcp4 => self.tcp4,
            Segmentation::Tcp6 => self.tcp6,
            Segmentation::Udp => self.udp,
            Segmentation::Fragments => false,
        };
        segmentation && (self.checksum || !offload.needs_checksum)
    }
}
