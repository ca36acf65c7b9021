//! What is still unfinished about a frame: its checksum, its segmentation (as virtio-net's header
//! says it; OASIS virtio 1.2, 5.1.6).

use wire::checksum;

use crate::Unfinishable;

/// How a merged frame is to be split when a port cannot take it whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Segmentation {
    /// The frame is one packet.
    #[default]
    None,
    /// TCP over IPv4.
    Tcp4,
    /// TCP over IPv6.
    Tcp6,
    /// UDP, each segment a datagram of its own (USO).
    Udp,
    /// Any packet, put together from fragments: it leaves this router in fragments again, none longer
    /// than the longest that came.
    Fragments,
}

/// The unfinished business of a frame. The default is a finished frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offload {
    /// The sum from `checksum_start` to the end belongs at `checksum_start + checksum_offset`,
    /// where the pseudo header's sum stands already.
    pub needs_checksum: bool,
    /// How to split it.
    pub segmentation: Segmentation,
    /// The payload bytes of each segment; of fragments the bytes from the network header on; 0 without
    /// segmentation.
    pub segment_bytes: u16,
    /// Bytes from the frame's first byte to where the checksum begins.
    pub checksum_start: u16,
    /// Bytes from there to the checksum field.
    pub checksum_offset: u16,
    /// Congestion was experienced: only the first segment carries CWR.
    pub ecn: bool,
}

impl Offload {
    /// A frame that needs nothing more.
    pub const FINISHED: Self = Self {
        needs_checksum: false,
        segmentation: Segmentation::None,
        segment_bytes: 0,
        checksum_start: 0,
        checksum_offset: 0,
        ecn: false,
    };

    /// Whether any port can take the frame as it is.
    #[inline]
    pub fn is_finished(&self) -> bool {
        !self.needs_checksum && matches!(self.segmentation, Segmentation::None)
    }

    /// Moves the checksum's place by `delta` bytes after a header was pushed (positive) or taken
    /// off (negative) in front of it.
    #[inline]
    pub fn shift(&mut self, delta: i16) {
        self.checksum_start = self.checksum_start.wrapping_add_signed(delta);
    }
}

/// Completes the checksum of a frame that needs one; a finished frame stays as it is.
///
/// `bytes` begin where `offload` counts from. Padding behind the packet is zero or the sum is wrong,
/// as with any device. A sum of zero is written as all ones, as UDP wants it and TCP allows
/// (RFC 768; RFC 1071, 2).
///
/// # Errors
/// [`Unfinishable::ChecksumOutside`] when the place lies outside `bytes`, which then are unchanged.
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

/// What a port finishes by itself on transmission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offloads {
    /// It completes checksums.
    pub checksum: bool,
    /// It takes whole TCP segments over IPv4.
    pub tcp4: bool,
    /// It takes whole TCP segments over IPv6.
    pub tcp6: bool,
    /// It takes whole runs of UDP datagrams.
    pub udp: bool,
}

impl Offloads {
    /// Whether a port with these abilities takes a frame in this state.
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
