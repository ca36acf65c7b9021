//! Lanes of one port: numbers granted by the control plane, and their contents.
//!
//! ```text
//!  Registry ── granted numbers ─▶ Lanes (of a worker)
//!  Registry ◀─ entered: number, key ── Lanes
//! ```
//!
//! A lane belongs to its port. The port reuses its number when no shortcut of this generation leads to it, no
//! running program can have it, and the control plane has read all of its traffic.

use std::collections::HashMap;

use frame::shortcut::ShortcutPath;
use rtrb::{Consumer, Producer};

use super::slot::Line;
use super::table::{GRACE_STEPS, Map, Table};

/// Maximum number of lanes: one per ingress port, neighbour, family and set of counting rules.
pub(crate) const LANES: usize = 1 << 16;
/// Maximum number of lanes of one port.
pub(crate) const PORT_LANES_MAX: usize = 2048;
/// Length of an Ethernet header.
pub(crate) const ETHERNET: u32 = 14;

/// Byte offsets in a lane.
pub(crate) mod lane {
    /// Bytes of a lane: a cache line.
    pub(crate) const SIZE: usize = 64;
    pub(crate) const PACKETS: i16 = 0;
    pub(crate) const BYTES: i16 = 8;
    pub(crate) const DEVICE: i16 = 16;
    /// Maximum frame length, including the Ethernet header.
    pub(crate) const FRAME_MAX: i16 = 20;
    /// New MAC addresses of the frames.
    pub(crate) const LINK: i16 = 24;
    /// Destination MAC address of the frames on arrival.
    pub(crate) const TO: i16 = 36;
    /// Nonzero if the slot contains an address translation.
    pub(crate) const TRANSLATES: i16 = 42;
    /// The entrance of the frames.
    pub(crate) const ENTRANCE: i16 = 44;
}

/// Key of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LaneKey {
    pub(crate) lane: ShortcutPath,
    pub(crate) ipv6: bool,
    pub(crate) entrance: u32,
    pub(crate) translates: bool,
}

/// Message of a port to the control plane.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LaneMessage {
    /// The number is now used for this lane.
    Lane(u32, LaneKey),
    /// The port is removed and has not used this number.
    Unused(u32),
}

/// A lane of this port.
#[derive(Clone, Copy, Debug)]
struct LaneUse {
    number: u32,
    /// The generation of its last use, and the time step at which the end of that generation was noticed.
    generation: u32,
    ended_since: Option<u32>,
}

/// The lanes of one port.
#[derive(Debug)]
pub(crate) struct Lanes {
    /// At most half of the capacity is used, so that removing and adding lanes does not allocate.
    known: HashMap<LaneKey, LaneUse>,
    granted: Consumer<u32>,
    entered: Producer<LaneMessage>,
    /// Numbers of lanes that have ended.
    spare: Vec<u32>,
    /// Time step of the last search for ended lanes.
    last_search: u32,
}

impl Lanes {
    pub(crate) fn new(granted: Consumer<u32>, entered: Producer<LaneMessage>) -> Self {
        Self {
            known: HashMap::with_capacity(2 * PORT_LANES_MAX),
            granted,
            entered,
            spare: Vec::with_capacity(PORT_LANES_MAX),
            last_search: 0,
        }
    }

    /// Returns the number of a lane; writes the lane if it is new. Returns `None` if there are too many.
    pub(crate) fn number<M: Map>(
        &mut self,
        key: &LaneKey,
        generation: u32,
        step: u32,
        table: &Table<M>,
    ) -> Option<u32> {
        if let Some(known) = self.known.get_mut(key) {
            (known.generation, known.ended_since) = (generation, None);
            return Some(known.number);
        }
        // The control plane reads the messages with each new generation; until then the ring must have room
        // for all.
        if self.known.len() >= PORT_LANES_MAX || self.entered.is_full() {
            self.find_ended(generation, step, table);
            return None;
        }
        let number = self.take_number(generation, step, table)?;
        write(table.line(number), key);
        // The ring has room, as checked above.
        let _ = self.entered.push(LaneMessage::Lane(number, *key));
        let known = LaneUse {
            number,
            generation,
            ended_since: None,
        };
        self.known.insert(*key, known);
        Some(number)
    }

    fn take_number<M: Map>(&mut self, generation: u32, step: u32, table: &Table<M>) -> Option<u32> {
        if let Some(number) = self.spare.pop() {
            return Some(number);
        }
        if let Ok(number) = self.granted.pop() {
            return Some(number);
        }
        self.find_ended(generation, step, table);
        self.spare.pop()
    }

    /// Finds lanes whose generation ended long ago and whose traffic was read completely.
    fn find_ended<M: Map>(&mut self, generation: u32, step: u32, table: &Table<M>) {
        if self.last_search == step {
            return;
        }
        self.last_search = step;
        let spare = &mut self.spare;
        self.known.retain(|_, known| {
            if known.generation == generation {
                return true;
            }
            let since = *known.ended_since.get_or_insert(step);
            let is_told = table.counted(known.number) == table.told(known.number);
            let stays = step.saturating_sub(since) < GRACE_STEPS || !is_told;
            if !stays {
                spare.push(known.number);
            }
            stays
        });
    }

    /// Returns the unused numbers.
    pub(crate) fn close(&mut self) {
        while let Some(number) = self.spare.pop().or_else(|| self.granted.pop().ok()) {
            if self.entered.push(LaneMessage::Unused(number)).is_err() {
                return;
            }
        }
    }
}

/// Writes a lane except its counters. The previous lane of the number has ended, and its traffic was read.
fn write(line: Line<'_>, key: &LaneKey) {
    let lane = &key.lane;
    let longest = lane.mtu.saturating_add(ETHERNET);
    let mut bytes = [0; lane::SIZE];
    let mut put = |at: i16, what: &[u8]| bytes[at as usize..][..what.len()].copy_from_slice(what);
    put(lane::DEVICE, &lane.device.to_ne_bytes());
    put(lane::FRAME_MAX, &longest.to_ne_bytes());
    put(lane::LINK, &lane.link);
    put(lane::TO, &lane.to);
    put(lane::TRANSLATES, &u16::from(key.translates).to_ne_bytes());
    put(lane::ENTRANCE, &key.entrance.to_ne_bytes());
    let words = bytes.as_chunks::<8>().0.iter().enumerate();
    for (at, word) in words.skip(lane::DEVICE as usize / 8) {
        line.store(at as i16 * 8, u64::from_ne_bytes(*word));
    }
}
