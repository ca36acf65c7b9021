//! What is configured of a bond's LACP, and what its links are like.

use wire::Mac;

/// What is configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The bond as its partner knows it.
    pub system: Mac,
    /// Its priority: the lower is the better.
    pub system_priority: u16,
    /// What an administrator tells links apart by, 0 to 1023.
    pub user_key: u16,
    /// It speaks without being spoken to.
    pub active: bool,
    /// It wants to hear its partners each second, not each 30 seconds.
    pub fast: bool,
}

impl Config {
    /// An active bond with this system, with all else as RouterOS has it.
    pub const fn new(system: Mac) -> Self {
        Self {
            system,
            system_priority: 0xffff,
            user_key: 0,
            active: true,
            fast: false,
        }
    }

    /// The key of a port with this link: only links that are alike may be one.
    ///
    /// RouterOS: as in Linux, the administrator's key, a code of the speed, and one bit for full duplex.
    pub const fn key(&self, link: Link) -> u16 {
        (self.user_key & 0x3ff) << 6 | speed_code(link.megabits) << 1 | link.full_duplex as u16
    }
}

/// The code of a speed, as Linux counts them (`AD_LINK_SPEED_…`).
const fn speed_code(megabits: u32) -> u16 {
    match megabits {
        0 => 0,
        1..10 => 1,
        10..100 => 2,
        100..1_000 => 3,
        1_000..2_500 => 4,
        2_500..5_000 => 5,
        5_000..10_000 => 6,
        10_000..14_000 => 7,
        14_000..20_000 => 8,
        20_000..25_000 => 9,
        25_000..40_000 => 10,
        40_000..50_000 => 11,
        50_000..56_000 => 12,
        56_000..100_000 => 13,
        100_000..200_000 => 14,
        200_000..400_000 => 15,
        400_000..800_000 => 16,
        _ => 17,
    }
}

/// The link of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// It carries frames.
    pub up: bool,
    /// Megabits a second; 0: nobody knows.
    pub megabits: u32,
    /// Both sides may send at once. Only such links may be one of several (6.3.5).
    pub full_duplex: bool,
}
