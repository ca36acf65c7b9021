//! Compiled action of a NAT rule: how it translates a connection's source or destination.

/// The end of a connection that is translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The source: chains `srcnat` and `input`.
    Source,
    /// The destination: chains `dstnat` and `output`.
    Destination,
}

/// How the new address is determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// `src-nat`, `dst-nat`: one of the target's addresses, chosen per connection; without addresses only the
    /// port is translated.
    Translate,
    /// `masquerade`, `redirect`: the router's current address ([`Context::own`]).
    ///
    /// [`Context::own`]: super::Context::own
    Own,
    /// `endpoint-independent-nat`: for UDP over IPv4 the outside endpoint of the source towards all
    /// destinations ([`Mappings`]), or the inside endpoint of the destination. Other packets are masqueraded
    /// at the source and unchanged at the destination.
    ///
    /// [`Mappings`]: super::Mappings
    EndpointIndependent,
    /// `netmap`: the address at the same position of the target's addresses.
    Netmap {
        /// The addresses that the rule matches, if they are as many as the target's: the first maps to the
        /// first. Without them the position is the address modulo the number of addresses, which for a prefix
        /// keeps the host part.
        from: Option<Addresses>,
    },
    /// `same`: one of the target's addresses, equal for all connections of a client.
    Same {
        /// True if the choice also depends on the destination (`same-not-by-dst=no`).
        by_destination: bool,
    },
}

/// Translation of a connection by a NAT rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The end that is translated.
    pub side: Side,
    /// How the new address is determined.
    pub action: Action,
    /// `to-addresses`.
    pub addresses: Option<Addresses>,
    /// `to-ports`.
    pub ports: Option<Ports>,
    /// `randomise-ports`: chooses a random source port even if the packet's own is free.
    pub randomise: bool,
}

/// Inclusive range of addresses; IPv4 in the low 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    first: u128,
    last: u128,
}

impl Addresses {
    /// Creates a range; `None` if `last` is before `first`.
    pub const fn new(first: u128, last: u128) -> Option<Self> {
        if first <= last {
            Some(Self { first, last })
        } else {
            None
        }
    }

    /// Creates a range of a single address.
    pub const fn one(address: u128) -> Self {
        Self {
            first: address,
            last: address,
        }
    }

    /// Returns true if the range contains the address.
    pub const fn contains(&self, address: u128) -> bool {
        self.first <= address && address <= self.last
    }

    /// Returns the number of addresses; one less for the whole of IPv6.
    pub const fn count(&self) -> u128 {
        (self.last - self.first).saturating_add(1)
    }

    /// Returns the address at a position from the first, modulo the count.
    pub const fn at(&self, place: u128) -> u128 {
        // Avoids the costly division for a single address, the usual case.
        if self.first == self.last {
            return self.first;
        }
        self.first + place % self.count()
    }

    /// Returns the index of an address in the range; `None` outside the range.
    pub const fn place(&self, address: u128) -> Option<u128> {
        if self.contains(address) {
            Some(address - self.first)
        } else {
            None
        }
    }
}

/// Inclusive range of ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    first: u16,
    last: u16,
}

impl Ports {
    /// All numbers, as for ICMP identifiers.
    pub const ALL: Self = Self {
        first: 0,
        last: u16::MAX,
    };

    /// Creates a range; `None` if `last` is before `first`.
    pub const fn new(first: u16, last: u16) -> Option<Self> {
        if first <= last {
            Some(Self { first, last })
        } else {
            None
        }
    }

    /// Returns the ports that may replace this one if the rule gives none: peers trust low ports, and some
    /// programs require very low ones.
    // RouterOS: undocumented; these are netfilter's classes, except for its gap at 512–599.
    pub const fn class(port: u16) -> Self {
        let (first, last) = match port {
            0..512 => (1, 511),
            512..1024 => (512, 1023),
            _ => (1024, u16::MAX),
        };
        Self { first, last }
    }

    /// Returns true if the range contains the port.
    pub const fn contains(&self, port: u16) -> bool {
        self.first <= port && port <= self.last
    }

    /// Returns the number of ports, 1 to 65,536.
    pub const fn count(&self) -> u32 {
        (self.last - self.first) as u32 + 1
    }

    /// Returns the port at a position from the first, modulo the count.
    pub const fn at(&self, place: u64) -> u16 {
        self.first + (place % self.count() as u64) as u16
    }
}
