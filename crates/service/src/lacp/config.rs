//! Configuration of a bond's LACP, and properties of its links.

use wire::Mac;

/// Configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// System id.
    pub system: Mac,
    /// System priority; lower is better.
    pub system_priority: u16,
    /// Administrative key, 0 to 1023, which separates groups of links.
    pub user_key: u16,
    /// Active mode: sends LACPDUs without being asked.
    pub active: bool,
    /// Requests LACPDUs every second instead of every 30 seconds.
    pub fast: bool,
}

impl Config {
    /// Creates an active configuration with this system id and RouterOS's defaults.
    pub const fn new(system: Mac) -> Self {
        Self {
            system,
            system_priority: 0xffff,
            user_key: 0,
            active: true,
            fast: false,
        }
    }

    /// Key of a port: only links with equal keys may be aggregated.
    ///
    /// RouterOS: as in Linux, the administrative key, a code for the speed, and one bit for full duplex.
    pub const fn key(&self, link: Link) -> u16 {
        (self.user_key & 0x3ff) << 6 | speed_code(link.megabits) << 1 | link.full_duplex as u16
    }
}

/// Speed code of Linux (`AD_LINK_SPEED_…`).
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

/// Link of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// The link is up.
    pub up: bool,
    /// Speed in Mbit/s; 0 is unknown.
    pub megabits: u32,
    /// Full duplex. Only full-duplex links may be aggregated (6.3.5).
    pub full_duplex: bool,
}
