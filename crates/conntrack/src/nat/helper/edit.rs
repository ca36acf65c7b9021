//! Edits of a payload: replaces short texts and updates lengths and checksums.

use core::ops::Range;

use packet::{Fragment, protocol};
use wire::checksum::{combine, sum};

use super::text::Text;
use crate::nat::apply::{IPV4_CHECKSUM, Malformed, PacketLayout, put, update};
use crate::nat::rewrite::{Layer, difference};

/// Maximum number of edits per packet.
pub const EDITS: usize = 24;

/// A byte range of a payload and its replacement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Edit {
    at: u16,
    len: u16,
    text: Text,
}

/// Non-overlapping edits of one payload, in order of position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edits {
    list: [Edit; EDITS],
    count: u8,
    /// Bytes of the text that come before this payload: an earlier segment already forwarded them.
    gone: usize,
    /// True if an edit touches bytes that were already forwarded.
    cut: bool,
}

impl Default for Edits {
    fn default() -> Self {
        Self {
            list: [Edit::default(); EDITS],
            count: 0,
            gone: 0,
            cut: false,
        }
    }
}

impl Edits {
    /// Creates an empty list for a text whose first `gone` bytes were already forwarded.
    pub(super) fn behind(gone: usize) -> Self {
        Self {
            gone,
            ..Self::default()
        }
    }

    /// Inserts an edit in order. Returns `None` if there is no room, if it overlaps another edit, or if it
    /// touches bytes that were already forwarded.
    pub(super) fn push(&mut self, at: Range<usize>, text: Text) -> Option<()> {
        let Some(start) = at.start.checked_sub(self.gone) else {
            self.cut = true;
            return None;
        };
        let at = start..at.end - self.gone;
        let count = usize::from(self.count);
        let new = Edit {
            at: u16::try_from(at.start).ok()?,
            len: u16::try_from(at.len()).ok()?,
            text,
        };
        if count == EDITS {
            return None;
        }
        let place = self.as_slice().partition_point(|edit| edit.at < new.at);
        let before = self.list[..place]
            .last()
            .is_none_or(|edit| edit.end() <= at.start);
        let behind = self.as_slice().get(place);
        if !before || behind.is_some_and(|edit| at.end > usize::from(edit.at)) {
            return None;
        }
        self.list.copy_within(place..count, place + 1);
        self.list[place] = new;
        self.count += 1;
        Some(())
    }

    /// Adds the edits of a part of the payload that begins at `from`. Returns `None` if there is no room.
    pub(super) fn append(&mut self, part: &Self, from: usize) -> Option<()> {
        self.cut |= part.cut;
        for edit in part.as_slice() {
            let at = self.gone + from + usize::from(edit.at);
            self.push(at..at + usize::from(edit.len), edit.text)?;
        }
        Some(())
    }

    /// Returns true if the payload stays unchanged.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns true if an edit touched bytes that were already forwarded.
    pub(super) const fn is_cut(&self) -> bool {
        self.cut
    }

    /// Records that an edit touches bytes that were already forwarded.
    pub(super) const fn mark_cut(&mut self) {
        self.cut = true;
    }

    /// Returns by how many bytes the text from `from` on grows.
    pub fn growth(&self, from: usize) -> i32 {
        let from = from.saturating_sub(self.gone);
        let behind = self
            .as_slice()
            .iter()
            .filter(|edit| usize::from(edit.at) >= from);
        behind.map(Edit::growth).sum()
    }

    /// Returns the bytes that editing needs after the packet's end: edits are applied one after another, and
    /// growing edits may come before shrinking ones.
    pub fn reach(&self) -> usize {
        let growths = self.as_slice().iter().map(Edit::growth);
        growths.map(|growth| growth.max(0) as usize).sum()
    }

    fn as_slice(&self) -> &[Edit] {
        &self.list[..usize::from(self.count)]
    }
}

impl Edit {
    fn end(&self) -> usize {
        usize::from(self.at) + usize::from(self.len)
    }

    fn growth(&self) -> i32 {
        self.text.as_bytes().len() as i32 - i32::from(self.len)
    }
}

/// Edits the payload of a whole TCP segment or UDP datagram. `room` begins with the network header and
/// extends beyond the packet's end as far as the packet may grow. Lengths and checksums are updated; a wrong
/// checksum stays wrong. Returns the packet's new length.
///
/// # Errors
/// Returns [`Malformed`] with the packet unchanged if it is neither, if an edit lies outside, or if there is
/// no room.
pub fn edit(room: &mut [u8], shape: PacketLayout, edits: &Edits) -> Result<u32, Malformed> {
    let place = PayloadLayout::of(room, shape).ok_or(Malformed)?;
    let (start, end) = (place.payload, shape.len as usize);
    let new_end = end.wrapping_add_signed(edits.growth(0) as isize);
    let most = end + edits.reach();
    if most > room.len() || end.max(new_end) > usize::from(u16::MAX) {
        return Err(Malformed);
    }
    let inside = edits
        .as_slice()
        .last()
        .is_none_or(|edit| start + edit.end() <= end);
    if !inside {
        return Err(Malformed);
    }
    let before = sum(&room[start..end]);
    write(room, start, end, edits);
    let change = combine(!before, sum(&room[start..new_end]));
    place.lengths(room, shape, new_end, change);
    Ok(new_end as u32)
}

/// Moves the bytes between edits and writes the replacements.
fn write(room: &mut [u8], start: usize, end: usize, edits: &Edits) {
    // From the last edit to the first: moves what follows the edit, then writes its text.
    let mut tail = end;
    for edit in edits.as_slice().iter().rev() {
        let (from, to) = (start + edit.end(), start + usize::from(edit.at));
        let text = edit.text.as_bytes();
        room.copy_within(from..tail, to + text.len());
        room[to..to + text.len()].copy_from_slice(text);
        tail = tail + text.len() - (from - to);
    }
}

/// Offset of the payload, and the layer whose checksum covers it.
pub(super) struct PayloadLayout {
    payload: usize,
    layer: Layer,
    ipv6: bool,
}

impl PayloadLayout {
    pub(super) const fn payload(&self) -> usize {
        self.payload
    }

    pub(super) const fn layer(&self) -> Layer {
        self.layer
    }

    /// Parses the headers; `None` unless the packet is a whole segment or datagram.
    pub(super) fn of(room: &[u8], shape: PacketLayout) -> Option<Self> {
        let packet = room.get(..shape.len as usize)?;
        let upper = usize::from(shape.upper);
        let ipv6 = packet.first()? >> 4 == 6;
        if shape.fragment != Fragment::Whole || upper < if ipv6 { 40 } else { 20 } {
            return None;
        }
        let segment = packet.get(upper..)?;
        let (layer, header) = match layer(packet, ipv6) {
            Layer::Tcp => (Layer::Tcp, usize::from(segment.get(12)? >> 4) * 4),
            Layer::Udp => (Layer::Udp, 8),
            _ => return None,
        };
        let fits = header >= if layer == Layer::Tcp { 20 } else { 8 } && header <= segment.len();
        fits.then_some(Self {
            payload: upper + header,
            layer,
            ipv6,
        })
    }

    /// Updates the lengths of IP and UDP and the checksums. `change` is the payload's contribution to the
    /// sum.
    fn lengths(&self, room: &mut [u8], shape: PacketLayout, new_end: usize, change: u16) {
        let upper = usize::from(shape.upper);
        let (old, new) = (shape.len as u16, new_end as u16);
        let length = difference(&old.to_be_bytes(), &new.to_be_bytes());
        if self.ipv6 {
            put(room, 4, (new - 40).to_be_bytes());
        } else {
            put(room, 2, new.to_be_bytes());
            if let Some(checksum) = room[IPV4_CHECKSUM..].first_chunk_mut() {
                update(checksum, length.to_be());
            }
        }
        // The length is part of the pseudo header, and of UDP's own header.
        let mut whole = combine(change, length);
        if self.layer == Layer::Udp {
            put(room, upper + 4, (new - shape.upper).to_be_bytes());
            whole = combine(whole, length);
        }
        let at = upper + self.layer.places().checksum;
        let Some(checksum) = room.get_mut(at..).and_then(|tail| tail.first_chunk_mut()) else {
            return;
        };
        match shape.unfinished {
            true => {
                let sum = combine(u16::from_ne_bytes(*checksum), length.to_be());
                *checksum = sum.to_ne_bytes();
            }
            false if self.layer == Layer::Udp && *checksum == [0, 0] => {}
            false => {
                update(checksum, whole.to_be());
                if self.layer == Layer::Udp && *checksum == [0, 0] {
                    *checksum = [0xff; 2];
                }
            }
        }
    }
}

fn layer(packet: &[u8], ipv6: bool) -> Layer {
    let upper = match ipv6 {
        true => packet::flow::upper6(packet),
        false => packet::flow::upper4(packet),
    };
    Layer::of(upper.map_or(protocol::ICMP, |upper| upper.protocol))
}
