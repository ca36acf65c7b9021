//! Rings: classes that take turns, in lists whose links lie in one array.

/// No link.
const NONE: u32 = u32::MAX;

/// The two neighbours of a link.
#[derive(Clone, Copy, Debug)]
struct Link {
    before: u32,
    behind: u32,
}

/// The links of all classes: eight each, one for each priority.
#[derive(Debug, Default)]
pub(super) struct Links(Vec<Link>);

/// A ring, by whose turn it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ring {
    turn: u32,
    count: u32,
    /// Turns since all have had theirs.
    turned: u32,
}

/// The link of a class in rings of a priority.
fn link(class: u32, priority: u8) -> u32 {
    class * 8 + u32::from(priority)
}

impl Links {
    /// Makes room for so many classes.
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

    /// The class whose turn it is.
    pub(super) fn turn(&self) -> Option<u32> {
        (self.turn != NONE).then_some(self.turn / 8)
    }

    /// Puts a class in; its turn comes after that of all others.
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

    /// Takes a class out.
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

    /// It is the next one's turn; true where all have had theirs.
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
