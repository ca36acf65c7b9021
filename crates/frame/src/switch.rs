//! What switches frames between ports of a bridge below the workers: the kernel, or a chip.
//!
//! ```text
//!   control   who switches with whom, VLANs, spanning tree     ─▶ set_member, set_vlan
//!             hosts that age or move, ports that are flushed   ─▶ seen, forget, flush
//!             what was switched                                ◀─ take
//!   workers   a host was heard at a port, or elsewhere         ─▶ learn, forget
//! ```
//!
//! Known unicast alone is switched. Everything else comes to the workers as if nothing switched.

/// A port's place in a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seat(u8);

impl Seat {
    /// How many there are.
    pub const MOST: usize = 64;

    /// The place of this number; none from [`Seat::MOST`] on.
    pub fn new(number: usize) -> Option<Self> {
        (number < Self::MOST).then_some(Self(number as u8))
    }

    /// Its number.
    pub fn number(self) -> usize {
        usize::from(self.0)
    }
}

/// Some places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seats(pub u64);

impl Seats {
    /// These and one more.
    #[must_use]
    pub fn with(self, seat: Seat) -> Self {
        Self(self.0 | 1 << seat.0)
    }

    /// These but one.
    #[must_use]
    pub fn without(self, seat: Seat) -> Self {
        Self(self.0 & !(1 << seat.0))
    }

    /// Whether it is among them.
    pub fn has(self, seat: Seat) -> bool {
        self.0 >> seat.0 & 1 != 0
    }
}

impl FromIterator<Seat> for Seats {
    fn from_iter<I: IntoIterator<Item = Seat>>(seats: I) -> Self {
        seats.into_iter().fold(Self::default(), Self::with)
    }
}

/// Ports that switch among each other: those of one bridge on one chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Group(u8);

impl Group {
    /// How many there are.
    pub const MOST: usize = 15;

    /// The group of this number, from 1 to [`Group::MOST`].
    pub fn new(number: usize) -> Option<Self> {
        (1..=Self::MOST)
            .contains(&number)
            .then_some(Self(number as u8))
    }

    /// Its number.
    pub fn number(self) -> usize {
        usize::from(self.0)
    }
}

/// A port that switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// With whom.
    pub group: Group,
    /// Where its frames may leave, VLANs and spanning tree aside: itself is never among them.
    pub reaches: Seats,
    /// The longest frame that it sends, in bytes from the Ethernet header on.
    pub longest: u32,
    /// Whether a frame from a host that is not known here is a worker's, for it to be learned.
    pub learns: bool,
    /// What is done with tags; none where they are nobody's business, and all is in VLAN 0.
    pub tags: Option<MemberTags>,
}

/// A port of a bridge with VLAN filtering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberTags {
    /// The VLAN of frames without a tag, from 1 to 4094; none where those are not admitted.
    pub pvid: Option<u16>,
    /// Whether frames with a tag are admitted.
    pub admits_tagged: bool,
}

/// The ports of a VLAN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VlanSeats {
    /// Where its frames are taken.
    pub ingress: Seats,
    /// Where they may leave.
    pub egress: Seats,
    /// Where they leave without a tag.
    pub untagged: Seats,
}

/// A host, as a switch tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HostKey {
    /// Among whom.
    pub group: Group,
    /// Its VLAN; 0 where tags are nobody's business.
    pub vid: u16,
    /// Its link address.
    pub mac: [u8; 6],
}

/// What was switched from one port to another since that was told last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switched {
    /// Where it came in.
    pub from: Seat,
    /// Where it left.
    pub to: Seat,
    /// How many frames.
    pub frames: u64,
    /// Their bytes as they came in, Ethernet headers included.
    pub bytes: u64,
}

/// How full a group's host table is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filling {
    /// Hosts that are switched.
    pub hosts: u32,
    /// How often one found no room, and goes by workers.
    pub refused: u64,
}

/// See the module. Control alone calls what is not said to be for workers. Nothing blocks, and nothing here is a
/// system call.
pub trait BridgeOffload: Send + Sync + core::fmt::Debug {
    /// What a port does from here on; without it nothing it receives is switched, nor anything to it.
    fn set_member(&self, seat: Seat, member: Option<&Member>);

    /// The ports of a VLAN from here on; those of VLAN 0 where tags are nobody's business.
    fn set_vlan(&self, group: Group, vid: u16, seats: &VlanSeats);

    /// How many hosts a group may have.
    fn set_limit(&self, group: Group, hosts: u32);

    /// Forgets all hosts of a port.
    fn flush(&self, seat: Seat);

    /// Forgets a host. Workers may do so, too.
    fn forget(&self, host: &HostKey);

    /// Seconds since a host was heard last; none where it is not known here.
    fn seen(&self, host: &HostKey) -> Option<u32>;

    /// A host was heard at a port. Workers say so, from many threads at once; it asks for no memory.
    fn learn(&self, host: &HostKey, seat: Seat);

    /// Tells what was switched.
    fn take(&self, switched: &mut dyn FnMut(Switched));

    /// Gives a part of the memory of what was flushed free. All of it after 64 calls.
    fn sweep(&self);

    /// How full a group is.
    fn filling(&self, group: Group) -> Filling;
}
