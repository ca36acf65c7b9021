//! Reasons for which a measurement is void.

/// The reason why a measurement means nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// There is no memory for pools.
    Memory(String),
    /// The table did not take the routes.
    TableFull,
    /// Not every packet came out: how many of how many.
    Lost {
        /// Packets that were to come out.
        expected: u64,
        /// Packets that did.
        sent: u64,
        /// The reasons for which packets were dropped since the worker began, with their numbers.
        drops: Vec<(&'static str, u64)>,
    },
    /// A packet arrived where or how it should not, or FastTrack forwarded other packets than it should.
    Astray(String),
    /// Memory was allocated while packets were walked.
    Allocated(u64),
    /// Something else ran on the core during every change.
    Disturbed,
}

impl core::fmt::Display for Invalid {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Memory(error) => write!(f, "no memory for packets: {error}"),
            Self::TableFull => write!(f, "the routing table is full"),
            Self::Lost {
                expected,
                sent,
                drops,
            } => {
                write!(f, "only {sent} of {expected} packets were forwarded")?;
                for (at, (reason, count)) in drops.iter().enumerate() {
                    write!(
                        f,
                        "{} {reason} {count}",
                        if at == 0 { "; drops:" } else { "," }
                    )?;
                }
                Ok(())
            }
            Self::Astray(what) => f.write_str(what),
            Self::Disturbed => f.write_str("the machine is too busy: every change had to wait"),
            Self::Allocated(count) => write!(f, "{count} allocations while packets were walked"),
        }
    }
}
