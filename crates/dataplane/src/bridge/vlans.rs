//! The VLAN table of a bridge (`/interface/bridge/vlan`): the members of each VLAN, how its frames
//! leave by them, and its spanning tree.

/// VLAN ids have 12 bits.
const VIDS: usize = 1 << 12;

/// The membership of a port in a VLAN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Member {
    /// No member: frames of the VLAN are not forwarded by the port.
    #[default]
    No,
    /// Frames leave with the VLAN's tag.
    Tagged,
    /// Frames leave without a tag.
    Untagged,
    /// Frames leave unchanged.
    AsTheyCame,
}

/// The compiled VLANs of a bridge; immutable once the bridge uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VlanTable {
    vids: Box<[Vid]>,
    /// Number of ports; the router's number follows that of the last port.
    ports: usize,
    /// Words of a port set.
    words: usize,
    /// Two port sets per VLAN: tagged members, then untagged members. A port in both sends frames
    /// unchanged.
    sets: Vec<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Vid {
    /// Row of the VLAN's sets, from 1; 0: no members.
    row: u16,
    /// Spanning tree; 0 is the common one.
    instance: u8,
}

impl VlanTable {
    /// Creates a table without members for a bridge with this many ports.
    pub fn new(ports: usize) -> Self {
        Self {
            vids: vec![Vid::default(); VIDS].into(),
            ports,
            words: ports / 64 + 1,
            sets: Vec::new(),
        }
    }

    /// Sets the membership of the port with this number in [`Bridge::ports`]; the router's number
    /// follows that of the last port.
    ///
    /// [`Bridge::ports`]: super::Bridge::ports
    pub fn set(&mut self, vid: u16, port: usize, member: Member) {
        if port > self.ports {
            return;
        }
        let words = self.words;
        let is = &mut self.vids[usize::from(vid) % VIDS];
        if is.row == 0 {
            self.sets.resize(self.sets.len() + 2 * words, 0);
            is.row = (self.sets.len() / (2 * words)) as u16;
        }
        let first = (usize::from(is.row) - 1) * 2 * words + port / 64;
        let bit = 1 << (port % 64);
        for (at, kind) in [(first, Member::Tagged), (first + words, Member::Untagged)] {
            match member == kind || member == Member::AsTheyCame {
                true => self.sets[at] |= bit,
                false => self.sets[at] &= !bit,
            }
        }
    }

    /// Returns true if a membership was set for the VLAN.
    #[inline]
    pub fn knows(&self, vid: u16) -> bool {
        self.vids[usize::from(vid) % VIDS].row != 0
    }

    /// Sets the spanning tree of a VLAN, 0 to 31.
    pub fn set_instance(&mut self, vid: u16, instance: u8) {
        self.vids[usize::from(vid) % VIDS].instance = instance % 32;
    }

    /// Returns the spanning tree of a VLAN.
    #[inline(always)]
    pub fn instance(&self, vid: u16) -> u8 {
        self.vids[usize::from(vid) % VIDS].instance
    }

    /// Returns the membership of the port with this number in a VLAN.
    #[inline(always)]
    pub fn member(&self, vid: u16, port: usize) -> Member {
        let row = usize::from(self.vids[usize::from(vid) % VIDS].row);
        if row == 0 {
            return Member::No;
        }
        let first = (row - 1) * 2 * self.words + port / 64;
        let has = |at: usize| {
            self.sets
                .get(at)
                .is_some_and(|set| set >> (port % 64) & 1 != 0)
        };
        match (has(first), has(first + self.words)) {
            (true, true) => Member::AsTheyCame,
            (false, true) => Member::Untagged,
            (true, false) => Member::Tagged,
            (false, false) => Member::No,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_what_was_said_of_them_last() {
        let mut table = VlanTable::new(70);
        table.set(10, 0, Member::Tagged);
        table.set(10, 69, Member::Untagged);
        table.set(4094, 70, Member::Tagged);
        table.set(10, 0, Member::Untagged);
        table.set(10, 64, Member::Tagged);
        table.set(10, 64, Member::No);
        table.set(11, 3, Member::AsTheyCame);
        table.set(11, 4, Member::AsTheyCame);
        table.set(11, 4, Member::Tagged);
        table.set_instance(10, 3);

        for (vid, port, is) in [
            (10, 0, Member::Untagged),
            (10, 1, Member::No),
            (10, 64, Member::No),
            (10, 69, Member::Untagged),
            (10, 70, Member::No),
            (4094, 70, Member::Tagged),
            (4094, 0, Member::No),
            (1, 0, Member::No),
            (11, 3, Member::AsTheyCame),
            (11, 4, Member::Tagged),
        ] {
            assert_eq!(table.member(vid, port), is, "VLAN {vid} at {port}");
        }
        assert_eq!((table.instance(10), table.instance(11)), (3, 0));
        assert!(table.knows(10) && !table.knows(1));
    }
}
