//! The lanes of one port: numbers that control grants it, and what it writes at them.
//!
//! ```text
//!   Registry ── granted numbers ─▶ Lanes (a worker's)
//!   Registry ◀─ entered: number, key ── Lanes
//! ```
//!
//! A lane stays with its port. When nothing of this generation leads to it, no program can be left that had
//! found it, and control has told all that went there, the port uses its number for another one.

use std::collections::HashMap;

use frame::shortcut::Lane;
use rtrb::{Consumer, Producer};

use super::slot::Line;
use super::table::{GRACE, Map, Table};

/// Lanes at a time: from each port to each neighbour, by family and by the rules that count.
pub(crate) const LANES: usize = 1 << 16;
/// Lanes of one port.
pub(crate) const HELD_MAX: usize = 2048;
/// Bytes of an Ethernet header.
pub(crate) const ETHERNET: u32 = 14;

/// Where the parts of a lane are, in bytes.
pub(crate) mod lane {
    /// Bytes of a lane: a cache line.
    pub(crate) const SIZE: usize = 64;
    pub(crate) const PACKETS: i16 = 0;
    pub(crate) const BYTES: i16 = 8;
    pub(crate) const DEVICE: i16 = 16;
    /// The longest frame, with its Ethernet header.
    pub(crate) const LONGEST: i16 = 20;
    /// Link addresses that frames get.
    pub(crate) const LINK: i16 = 24;
    /// The link address that they come to.
    pub(crate) const TO: i16 = 36;
    /// Not 0 where the slot says what is written into packets.
    pub(crate) const TRANSLATES: i16 = 42;
    /// The entrance that they come by.
    pub(crate) const ENTRANCE: i16 = 44;
}

/// What makes a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LaneKey {
    pub(crate) lane: Lane,
    pub(crate) ipv6: bool,
    pub(crate) entrance: u32,
    pub(crate) translates: bool,
}

/// What a port tells control.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Entered {
    /// This number is that lane from here on.
    Lane(u32, LaneKey),
    /// The port goes, and has not used this number.
    Unused(u32),
}

/// A lane that is known here.
#[derive(Clone, Copy, Debug)]
struct Known {
    number: u32,
    /// The generation that it was last asked for in, and since when that is known to be over.
    generation: u32,
    over_since: Option<u32>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Lanes {
    /// Never more than half of what there is room for, so that nothing is allocated when one goes and
    /// another comes.
    known: HashMap<LaneKey, Known>,
    granted: Consumer<u32>,
    entered: Producer<Entered>,
    /// Numbers whose lanes are over.
    spare: Vec<u32>,
    /// When such were last looked for.
    looked: u32,
}

impl Lanes {
    pub(crate) fn new(granted: Consumer<u32>, entered: Producer<Entered>) -> Self {
        Self {
            known: HashMap::with_capacity(2 * HELD_MAX),
            granted,
            entered,
            spare: Vec::with_capacity(HELD_MAX),
            looked: 0,
        }
    }

    /// The number of a lane, which is written if it is new; none when there are too many.
    pub(crate) fn number<M: Map>(
        &mut self,
        key: &LaneKey,
        (generation, step): (u32, u32),
        table: &Table<M>,
    ) -> Option<u32> {
        if let Some(known) = self.known.get_mut(key) {
            (known.generation, known.over_since) = (generation, None);
            return Some(known.number);
        }
        // Control reads what is entered with each new generation; until then there is room for all.
        if self.known.len() >= HELD_MAX || self.entered.is_full() {
            self.look_for_spare((generation, step), table);
            return None;
        }
        let number = self.take_number((generation, step), table)?;
        write(table.line(number), key);
        // There is room: it was looked for above.
        let _ = self.entered.push(Entered::Lane(number, *key));
        let known = Known {
            number,
            generation,
            over_since: None,
        };
        self.known.insert(*key, known);
        Some(number)
    }

    fn take_number<M: Map>(&mut self, now: (u32, u32), table: &Table<M>) -> Option<u32> {
        if let Some(number) = self.spare.pop() {
            return Some(number);
        }
        if let Ok(number) = self.granted.pop() {
            return Some(number);
        }
        self.look_for_spare(now, table);
        self.spare.pop()
    }

    /// Finds lanes of generations that are over for good, and of which everything was told.
    fn look_for_spare<M: Map>(&mut self, (generation, step): (u32, u32), table: &Table<M>) {
        if self.looked == step {
            return;
        }
        self.looked = step;
        let spare = &mut self.spare;
        self.known.retain(|_, known| {
            if known.generation == generation {
                return true;
            }
            let since = *known.over_since.get_or_insert(step);
            let is_told = table.counted(known.number) == table.told(known.number);
            let stays = step.saturating_sub(since) < GRACE || !is_told;
            if !stays {
                spare.push(known.number);
            }
            stays
        });
    }

    /// Gives back what was not used.
    pub(crate) fn close(&mut self) {
        while let Some(number) = self.spare.pop().or_else(|| self.granted.pop().ok()) {
            if self.entered.push(Entered::Unused(number)).is_err() {
                return;
            }
        }
    }
}

/// Writes all of a lane but what it has counted. Who had the number before has gone, and all that went there
/// was told.
fn write(line: Line<'_>, key: &LaneKey) {
    let lane = &key.lane;
    let longest = lane.mtu.saturating_add(ETHERNET);
    let mut bytes = [0; lane::SIZE];
    let mut put = |at: i16, what: &[u8]| bytes[at as usize..][..what.len()].copy_from_slice(what);
    put(lane::DEVICE, &lane.device.to_ne_bytes());
    put(lane::LONGEST, &longest.to_ne_bytes());
    put(lane::LINK, &lane.link);
    put(lane::TO, &lane.to);
    put(lane::TRANSLATES, &u16::from(key.translates).to_ne_bytes());
    put(lane::ENTRANCE, &key.entrance.to_ne_bytes());
    let words = bytes.as_chunks::<8>().0.iter().enumerate();
    for (at, word) in words.skip(lane::DEVICE as usize / 8) {
        line.store(at as i16 * 8, u64::from_ne_bytes(*word));
    }
}
