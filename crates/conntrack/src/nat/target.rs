//! A rule's action, compiled: what becomes of a connection's source or destination.

/// Which end of a connection is translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The source: chains `srcnat` and `input`.
    Source,
    /// The destination: chains `dstnat` and `output`.
    Destination,
}

/// How the new address is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// `src-nat`, `dst-nat`: one of the target's addresses, by connection; without addresses the
    /// packet keeps its own and only the port is translated.
    Translate,
    /// `masquerade`, `redirect`: the router's own address of the moment ([`Context::own`]).
    ///
    /// [`Context::own`]: super::Context::own
    Own,
    /// `endpoint-independent-nat`: of UDP over IPv4, the endpoint that stands for the source towards
    /// everybody ([`Mappings`]), or who stands behind the destination. Everything else is masqueraded
    /// at the source and left alone at the destination.
    ///
    /// [`Mappings`]: super::Mappings
    EndpointIndependent,
    /// `netmap`: the address at the same place of the target's addresses.
    Netmap {
        /// The addresses that the rule matches, where they are as many as the target's: the first
        /// becomes the first. Without them the place is the address modulo the number of addresses,
        /// which for a prefix keeps the host part.
        from: Option<Addresses>,
    },
    /// `same`: one of the target's addresses, the same for all connections of a client.
    Same {
        /// The client's address depends on the destination too (`same-not-by-dst=no`).
        by_destination: bool,
    },
}

/// What a rule of the NAT table does to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Which end.
    pub side: Side,
    /// How the address is found.
    pub action: Action,
    /// `to-addresses`.
    pub addresses: Option<Addresses>,
    /// `to-ports`.
    pub ports: Option<Ports>,
    /// `randomise-ports`: the source port is drawn, even where the packet's own would do.
    pub randomise: bool,
}

/// Addresses from the first to the last, both among them; IPv4 in the low 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    first: u128,
    last: u128,
}

impl Addresses {
    /// None when the last lies before the first.
    pub const fn new(first: u128, last: u128) -> Option<Self> {
        if first <= last {
            Some(Self { first, last })
        } else {
            None
        }
    }

    /// A single address.
    pub const fn one(address: u128) -> Self {
        Self {
            first: address,
            last: address,
        }
    }

    /// Whether the address is one of them.
    pub const fn contains(&self, address: u128) -> bool {
        self.first <= address && address <= self.last
    }

    /// How many they are; all of IPv6 counts one less than it is.
    pub const fn count(&self) -> u128 {
        (self.last - self.first).saturating_add(1)
    }

    /// The address at a place, counted from the first, around and around.
    pub const fn at(&self, place: u128) -> u128 {
        // A division of such numbers is not cheap, and one address is what most targets have.
        if self.first == self.last {
            return self.first;
        }
        self.first + place % self.count()
    }

    /// The place of an address among them, counted from the first.
    pub const fn place(&self, address: u128) -> Option<u128> {
        if self.contains(address) {
            Some(address - self.first)
        } else {
            None
        }
    }
}

/// Ports from the first to the last, both among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    first: u16,
    last: u16,
}

impl Ports {
    /// Every number, as ICMP identifiers have it.
    pub const ALL: Self = Self {
        first: 0,
        last: u16::MAX,
    };

    /// None when the last lies before the first.
    pub const fn new(first: u16, last: u16) -> Option<Self> {
        if first <= last {
            Some(Self { first, last })
        } else {
            None
        }
    }

    /// The ports that may stand for this one where none are given: peers trust low ports, and some
    /// programs insist on very low ones.
    // RouterOS: its manual does not say; these are netfilter's classes, but for its gap at 512–599.
    pub const fn class(port: u16) -> Self {
        let (first, last) = match port {
            0..512 => (1, 511),
            512..1024 => (512, 1023),
            _ => (1024, u16::MAX),
        };
        Self { first, last }
    }

    /// Whether the port is one of them.
    pub const fn contains(&self, port: u16) -> bool {
        self.first <= port && port <= self.last
    }

    /// How many they are, 1 to 65,536.
    pub const fn count(&self) -> u32 {
        (self.last - self.first) as u32 + 1
    }

    /// The port at a place, counted from the first, around and around.
    pub const fn at(&self, place: u64) -> u16 {
        self.first + (place % self.count() as u64) as u16
    }
}
