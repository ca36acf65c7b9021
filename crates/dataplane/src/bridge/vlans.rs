//! The VLAN table of a bridge (`/interface/bridge/vlan`): which ports are members of a VLAN, how its frames leave by
//! them, and which spanning tree it follows.

/// VLAN ids have 12 bits.
const VIDS: usize = 1 << 12;

/// What a port is in a VLAN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Member {
    /// Its frames neither come nor leave by the port.
    #[default]
    No,
    /// They leave with its tag.
    Tagged,
    /// They leave without it.
    Untagged,
    /// They leave as they came.
    AsTheyCame,
}

/// The VLANs of a bridge, compiled: immutable once the bridge has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VlanTable {
    vids: Box<[Vid]>,
    /// How many ports there are; the number behind the last is the bridge itself.
    ports: usize,
    /// Words of a set of ports.
    words: usize,
    /// Of each VLAN the members whose frames are tagged, then those whose are not; in both are those that send frames
    /// as they came.
    sets: Vec<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Vid {
    /// The place of its sets, from 1; 0: nobody is a member.
    row: u16,
    /// Its spanning tree: 0 is the common one.
    instance: u8,
}

impl VlanTable {
    /// A table for a bridge with so many ports, of VLANs that nobody is a member of.
    pub fn new(ports: usize) -> Self {
        Self {
            vids: vec![Vid::default(); VIDS].into(),
            ports,
            words: ports / 64 + 1,
            sets: Vec::new(),
        }
    }

    /// Says what the port with this number in [`Bridge::ports`] is in a VLAN; the number behind the last port is the
    /// bridge itself.
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

    /// Whether something was said of a VLAN.
    #[inline]
    pub fn knows(&self, vid: u16) -> bool {
        self.vids[usize::from(vid) % VIDS].row != 0
    }

    /// Says which spanning tree a VLAN follows, 0 to 31.
    pub fn set_instance(&mut self, vid: u16, instance: u8) {
        self.vids[usize::from(vid) % VIDS].instance = instance % 32;
    }

    /// The spanning tree of a VLAN.
    #[inline(always)]
    pub fn instance(&self, vid: u16) -> u8 {
        self.vids[usize::from(vid) % VIDS].instance
    }

    /// What the port with this number is in a VLAN, as in [`Self::set`].
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
