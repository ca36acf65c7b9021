//! Rings of classes that take turns: linked lists in one array.

/// No link.
const NONE: u32 = u32::MAX;

/// The neighbours of a link.
#[derive(Clone, Copy, Debug)]
struct Link {
    before: u32,
    behind: u32,
}

/// Links of all classes: eight per class, one per priority.
#[derive(Debug, Default)]
pub(super) struct Links(Vec<Link>);

/// A ring and its current link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ring {
    turn: u32,
    count: u32,
    /// Turns in the current round.
    turned: u32,
}

/// Returns the link of a class for a priority.
fn link(class: u32, priority: u8) -> u32 {
    class * 8 + u32::from(priority)
}

impl Links {
    /// Resizes the array for this number of classes.
    pub(super) fn grow(&mut self, classes: usize) {
        let none = Link {
            before: NONE,
            behind: NONE,
        };
        self.0.resize(classes * 8, none);
    }
}

impl Ring {
    pub(super) const EMPTY: Self = Self {
        turn: NONE,
        count: 0,
        turned: 0,
    };

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the class whose turn it is.
    pub(super) fn turn(&self) -> Option<u32> {
        (self.turn != NONE).then_some(self.turn / 8)
    }

    /// Inserts a class at the end of the round.
    pub(super) fn insert(&mut self, links: &mut Links, class: u32, priority: u8) {
        let new = link(class, priority);
        self.count += 1;
        if self.turn == NONE {
            links.0[new as usize] = Link {
                before: new,
                behind: new,
            };
            self.turn = new;
            return;
        }
        let behind = self.turn;
        let before = links.0[behind as usize].before;
        links.0[new as usize] = Link { before, behind };
        links.0[before as usize].behind = new;
        links.0[behind as usize].before = new;
    }

    /// Removes a class.
    pub(super) fn remove(&mut self, links: &mut Links, class: u32, priority: u8) {
        let old = link(class, priority);
        let Link { before, behind, .. } = links.0[old as usize];
        self.count -= 1;
        links.0[before as usize].behind = behind;
        links.0[behind as usize].before = before;
        if self.turn == old {
            self.turn = if self.count == 0 { NONE } else { behind };
        }
    }

    /// Passes the turn to the next class. Returns true if all classes have had a turn.
    pub(super) fn advance(&mut self, links: &Links) -> bool {
        if self.turn != NONE {
            self.turn = links.0[self.turn as usize].behind;
        }
        self.turned += 1;
        let all = self.turned >= self.count;
        if all {
            self.turned = 0;
        }
        all
    }
}
