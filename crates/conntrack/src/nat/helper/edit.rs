//! Edits of a payload: a few texts in place of others, and the headers that follow.

use core::ops::Range;

use packet::{Fragment, protocol};
use wire::checksum::{combine, sum};

use super::text::Text;
use crate::nat::apply::{IPV4_CHECKSUM, Malformed, Shape, put, update};
use crate::nat::rewrite::{Layer, difference};

/// The most edits of one packet.
pub const EDITS: usize = 24;

/// Bytes of a payload, and what they become.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Edit {
    at: u16,
    len: u16,
    text: Text,
}

/// Edits of one payload, from its beginning to its end, none over another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edits {
    list: [Edit; EDITS],
    count: u8,
    /// So many bytes of the text that was read lie before the payload: they have left already.
    gone: usize,
    /// One of those would have had to be another.
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
    /// None yet, of a text of which so many bytes have left already.
    pub(super) fn behind(gone: usize) -> Self {
        Self {
            gone,
            ..Self::default()
        }
    }

    /// Adds one in its place in the text; none when there is no room, it lies over another, or what it
    /// would change has left.
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

    /// Adds those of a part of the payload, from this byte on; none when there is no room.
    pub(super) fn append(&mut self, part: &Self, from: usize) -> Option<()> {
        self.cut |= part.cut;
        for edit in part.as_slice() {
            let at = self.gone + from + usize::from(edit.at);
            self.push(at..at + usize::from(edit.len), edit.text)?;
        }
        Some(())
    }

    /// Whether the payload stays as it is.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether a byte that has left already would have had to be another.
    pub(super) const fn is_cut(&self) -> bool {
        self.cut
    }

    /// Says so.
    pub(super) const fn mark_cut(&mut self) {
        self.cut = true;
    }

    /// How many bytes longer the part of the text from `from` on becomes.
    pub fn growth(&self, from: usize) -> i32 {
        let from = from.saturating_sub(self.gone);
        let behind = self
            .as_slice()
            .iter()
            .filter(|edit| usize::from(edit.at) >= from);
        behind.map(Edit::growth).sum()
    }

    /// How far behind its end a packet reaches while it is edited, in bytes: edits are made one after
    /// another, and those that need room may come before those that give some.
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

/// Edits the payload of a whole TCP segment or UDP datagram. `room` begins with the packet's network
/// header and goes on behind its end as far as it may grow. Lengths and checksums follow: a checksum that was
/// wrong stays wrong. Says the packet's new length.
///
/// # Errors
/// [`Malformed`] when the packet is something else, the edits lie outside or there is no room; it is
/// unchanged then.
pub fn edit(room: &mut [u8], shape: Shape, edits: &Edits) -> Result<u32, Malformed> {
    let place = Place::of(room, shape).ok_or(Malformed)?;
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

/// Moves what lies between edits, and writes their texts.
fn write(room: &mut [u8], start: usize, end: usize, edits: &Edits) {
    // From the end on, each edit in turn: what lies behind it moves, and it is written.
    let mut tail = end;
    for edit in edits.as_slice().iter().rev() {
        let (from, to) = (start + edit.end(), start + usize::from(edit.at));
        let text = edit.text.as_bytes();
        room.copy_within(from..tail, to + text.len());
        room[to..to + text.len()].copy_from_slice(text);
        tail = tail + text.len() - (from - to);
    }
}

/// Where the payload begins, and what the layer's checksum is.
pub(super) struct Place {
    payload: usize,
    layer: Layer,
    ipv6: bool,
}

impl Place {
    pub(super) const fn payload(&self) -> usize {
        self.payload
    }

    pub(super) const fn layer(&self) -> Layer {
        self.layer
    }

    /// None for what is no whole segment or datagram.
    pub(super) fn of(room: &[u8], shape: Shape) -> Option<Self> {
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

    /// Lengths of IP and UDP, and their checksums. `change` is what the payload adds to its sum.
    fn lengths(&self, room: &mut [u8], shape: Shape, new_end: usize, change: u16) {
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
        // The pseudo header has the length; UDP's own header has it again.
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
