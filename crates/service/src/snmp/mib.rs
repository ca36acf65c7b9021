//! Tree of supported objects, and a [`View`] of a source of values.

use super::{Oid, Value, View};

/// Scalar object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// `sysDescr` (RFC 3418).
    Description,
    /// `sysObjectID`.
    Kind,
    /// `sysUpTime`, `hrSystemUptime`.
    Uptime,
    /// `sysContact`.
    Contact,
    /// `sysName`.
    Name,
    /// `sysLocation`.
    Location,
    /// `sysServices`.
    Services,
    /// `ifNumber`.
    Interfaces,
    /// `ipForwarding`.
    Forwarding,
    /// `ipDefaultTTL`.
    Lifetime,
    /// `ipCidrRouteNumber`, `inetCidrRouteNumber`.
    Routes,
    /// `hrMemorySize`, in kilobytes.
    Memory,
    /// `mtxrHlProcessorFrequency`, in megahertz.
    Frequency,
    /// `mtxrLicSoftwareId`.
    SoftwareId,
    /// `mtxrLicLevel`.
    Licence,
    /// `mtxrLicVersion`.
    Version,
    /// `mtxrSerialNumber`.
    Serial,
    /// `mtxrBuildTime`.
    BuildTime,
    /// `mtxrBoardName`.
    Board,
    /// Number of tracked connections.
    Connections,
    /// Number of tracked IPv4 connections.
    Connections4,
    /// Number of tracked IPv6 connections.
    Connections6,
    /// `mtxrDHCPLeaseCount`.
    Leases,
    /// Object of group `tcp` (RFC 4022), by number.
    Tcp(u8),
    /// Object of group `udp` (RFC 4113), by number.
    Udp(u8),
    /// `dot1dBaseBridgeAddress` (RFC 4188).
    BridgeAddress,
    /// `dot1dBaseNumPorts`.
    BridgePorts,
    /// `dot1dBaseType`.
    BridgeType,
    /// `dot1dStpProtocolSpecification`.
    SpanningTree,
    /// `dot1dStpPriority`.
    SpanningTreePriority,
    /// Object of `lldpLocalSystemData` (IEEE 802.1AB), by number.
    Lldp(u8),
}

/// Table object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Table {
    /// `ifTable` (RFC 2863), by `ifIndex`.
    Interfaces,
    /// `ifXTable`.
    MoreOfInterfaces,
    /// `ipAddrTable` (RFC 4293), by address.
    Addresses,
    /// `hrStorageTable` (RFC 2790).
    Storage,
    /// `hrProcessorTable`.
    Processors,
    /// `entPhysicalTable` (RFC 6933).
    Entities,
    /// `mtxrInterfaceStatsTable`.
    Statistics,
    /// `dskTable` (UCD-SNMP-MIB): whether configuration changes can be stored.
    Disks,
    /// `hrDeviceTable`: processors.
    Devices,
    /// `mtxrQueueSimpleTable`, by queue number.
    SimpleQueues,
    /// `mtxrQueueTreeTable`, by queue number.
    QueueTrees,
    /// `ipNetToMediaTable` (RFC 4293): ARP entries, by `ifIndex` and address.
    Arp,
    /// `ipCidrRouteTable` (RFC 2096), by destination, mask, TOS and next hop.
    Routes,
    /// `dot1dBasePortTable`: bridge ports, by `ifIndex`.
    BridgePorts,
    /// `dot1dTpFdbTable`: bridge hosts, by MAC address.
    BridgeHosts,
    /// `lldpLocPortTable`, by `ifIndex`.
    LldpPorts,
    /// `lldpRemTable`, by time, `ifIndex` and neighbour number.
    LldpNeighbours,
    /// `mtxrNeighborTable`, by number.
    Neighbours,
}

/// Table column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Column {
    number: u32,
    /// Type `Counter64`, which version 1 lacks.
    wide: bool,
}

const fn narrow(number: u32) -> Column {
    Column {
        number,
        wide: false,
    }
}

const fn wide(number: u32) -> Column {
    Column { number, wide: true }
}

/// Columns of `ifXTable`; columns 6 to 13 are 64-bit counters.
const MORE: &[Column] = &{
    let mut columns = first_columns::<19>();
    let mut at = 5;
    while at < 13 {
        columns[at] = wide(at as u32 + 1);
        at += 1;
    }
    columns
};
const STATISTICS: &[Column] = &[narrow(2), wide(11), wide(12), wide(13), wide(14)];
/// Columns from 2 on; columns 8 and 9 are 64-bit byte counters.
const SIMPLE_QUEUES: &[Column] = &{
    let mut columns = columns_from::<14>(2);
    columns[6] = wide(8);
    columns[7] = wide(9);
    columns
};
const QUEUE_TREES: &[Column] = &{
    let mut columns = columns_from::<8>(2);
    columns[5] = wide(7);
    columns
};
const ENTITIES: &[Column] = &[narrow(2)];
/// `dskIndex`, `dskPath`, `dskErrorFlag`, `dskErrorMsg`.
const DISKS: &[Column] = &[narrow(1), narrow(2), narrow(100), narrow(101)];
/// `dskEntry`.
pub const DISK: &[u32] = &[1, 3, 6, 1, 4, 1, 2_021, 9, 1];

impl Table {
    const fn columns(self) -> &'static [Column] {
        match self {
            Self::Interfaces => const { &first_columns::<21>() },
            Self::MoreOfInterfaces => MORE,
            Self::Addresses => const { &first_columns::<4>() },
            Self::Storage => const { &first_columns::<7>() },
            Self::Processors => const { &first_columns::<2>() },
            Self::Entities => ENTITIES,
            Self::Statistics => STATISTICS,
            Self::Disks => DISKS,
            Self::Devices => const { &first_columns::<6>() },
            Self::SimpleQueues => SIMPLE_QUEUES,
            Self::QueueTrees => QUEUE_TREES,
            Self::Arp => const { &first_columns::<4>() },
            Self::Routes => const { &first_columns::<16>() },
            Self::BridgePorts => const { &first_columns::<5>() },
            Self::BridgeHosts => const { &first_columns::<3>() },
            Self::LldpPorts => const { &columns_from::<3>(2) },
            Self::LldpNeighbours => const { &columns_from::<9>(4) },
            Self::Neighbours => const { &columns_from::<7>(2) },
        }
    }
}

const fn first_columns<const N: usize>() -> [Column; N] {
    columns_from(1)
}

const fn columns_from<const N: usize>(first: u32) -> [Column; N] {
    let mut columns = [narrow(first); N];
    let mut at = 0;
    while at < N {
        columns[at] = narrow(at as u32 + first);
        at += 1;
    }
    columns
}

/// Subtree of the object tree.
#[derive(Clone, Copy, Debug)]
enum Branch {
    Scalar(Scalar),
    /// Table entry object (`ifEntry`).
    Table(Table),
}

const fn one(oid: &'static [u32], scalar: Scalar) -> (&'static [u32], Branch) {
    (oid, Branch::Scalar(scalar))
}

const fn rows(oid: &'static [u32], table: Table) -> (&'static [u32], Branch) {
    (oid, Branch::Table(table))
}

/// All subtrees, in order; none contains another one.
static BRANCHES: &[(&[u32], Branch)] = &[
    one(&[1, 0, 8_802, 1, 1, 2, 1, 3, 1], Scalar::Lldp(1)),
    one(&[1, 0, 8_802, 1, 1, 2, 1, 3, 2], Scalar::Lldp(2)),
    one(&[1, 0, 8_802, 1, 1, 2, 1, 3, 3], Scalar::Lldp(3)),
    one(&[1, 0, 8_802, 1, 1, 2, 1, 3, 4], Scalar::Lldp(4)),
    rows(&[1, 0, 8_802, 1, 1, 2, 1, 3, 7, 1], Table::LldpPorts),
    rows(&[1, 0, 8_802, 1, 1, 2, 1, 4, 1, 1], Table::LldpNeighbours),
    one(&[1, 3, 6, 1, 2, 1, 1, 1], Scalar::Description),
    one(&[1, 3, 6, 1, 2, 1, 1, 2], Scalar::Kind),
    one(&[1, 3, 6, 1, 2, 1, 1, 3], Scalar::Uptime),
    one(&[1, 3, 6, 1, 2, 1, 1, 4], Scalar::Contact),
    one(&[1, 3, 6, 1, 2, 1, 1, 5], Scalar::Name),
    one(&[1, 3, 6, 1, 2, 1, 1, 6], Scalar::Location),
    one(&[1, 3, 6, 1, 2, 1, 1, 7], Scalar::Services),
    one(&[1, 3, 6, 1, 2, 1, 2, 1], Scalar::Interfaces),
    rows(&[1, 3, 6, 1, 2, 1, 2, 2, 1], Table::Interfaces),
    one(&[1, 3, 6, 1, 2, 1, 4, 1], Scalar::Forwarding),
    one(&[1, 3, 6, 1, 2, 1, 4, 2], Scalar::Lifetime),
    rows(&[1, 3, 6, 1, 2, 1, 4, 20, 1], Table::Addresses),
    rows(&[1, 3, 6, 1, 2, 1, 4, 22, 1], Table::Arp),
    one(&[1, 3, 6, 1, 2, 1, 4, 24, 3], Scalar::Routes),
    rows(&[1, 3, 6, 1, 2, 1, 4, 24, 4, 1], Table::Routes),
    one(&[1, 3, 6, 1, 2, 1, 6, 1], Scalar::Tcp(1)),
    one(&[1, 3, 6, 1, 2, 1, 6, 2], Scalar::Tcp(2)),
    one(&[1, 3, 6, 1, 2, 1, 6, 3], Scalar::Tcp(3)),
    one(&[1, 3, 6, 1, 2, 1, 6, 4], Scalar::Tcp(4)),
    one(&[1, 3, 6, 1, 2, 1, 6, 5], Scalar::Tcp(5)),
    one(&[1, 3, 6, 1, 2, 1, 6, 6], Scalar::Tcp(6)),
    one(&[1, 3, 6, 1, 2, 1, 6, 7], Scalar::Tcp(7)),
    one(&[1, 3, 6, 1, 2, 1, 6, 8], Scalar::Tcp(8)),
    one(&[1, 3, 6, 1, 2, 1, 6, 9], Scalar::Tcp(9)),
    one(&[1, 3, 6, 1, 2, 1, 6, 10], Scalar::Tcp(10)),
    one(&[1, 3, 6, 1, 2, 1, 6, 11], Scalar::Tcp(11)),
    one(&[1, 3, 6, 1, 2, 1, 6, 12], Scalar::Tcp(12)),
    one(&[1, 3, 6, 1, 2, 1, 6, 14], Scalar::Tcp(14)),
    one(&[1, 3, 6, 1, 2, 1, 6, 15], Scalar::Tcp(15)),
    one(&[1, 3, 6, 1, 2, 1, 7, 1], Scalar::Udp(1)),
    one(&[1, 3, 6, 1, 2, 1, 7, 2], Scalar::Udp(2)),
    one(&[1, 3, 6, 1, 2, 1, 7, 3], Scalar::Udp(3)),
    one(&[1, 3, 6, 1, 2, 1, 7, 4], Scalar::Udp(4)),
    one(&[1, 3, 6, 1, 2, 1, 17, 1, 1], Scalar::BridgeAddress),
    one(&[1, 3, 6, 1, 2, 1, 17, 1, 2], Scalar::BridgePorts),
    one(&[1, 3, 6, 1, 2, 1, 17, 1, 3], Scalar::BridgeType),
    rows(&[1, 3, 6, 1, 2, 1, 17, 1, 4, 1], Table::BridgePorts),
    one(&[1, 3, 6, 1, 2, 1, 17, 2, 1], Scalar::SpanningTree),
    one(&[1, 3, 6, 1, 2, 1, 17, 2, 2], Scalar::SpanningTreePriority),
    rows(&[1, 3, 6, 1, 2, 1, 17, 4, 3, 1], Table::BridgeHosts),
    one(&[1, 3, 6, 1, 2, 1, 25, 1, 1], Scalar::Uptime),
    one(&[1, 3, 6, 1, 2, 1, 25, 2, 2], Scalar::Memory),
    rows(&[1, 3, 6, 1, 2, 1, 25, 2, 3, 1], Table::Storage),
    rows(&[1, 3, 6, 1, 2, 1, 25, 3, 2, 1], Table::Devices),
    rows(&[1, 3, 6, 1, 2, 1, 25, 3, 3, 1], Table::Processors),
    rows(&[1, 3, 6, 1, 2, 1, 31, 1, 1, 1], Table::MoreOfInterfaces),
    rows(&[1, 3, 6, 1, 2, 1, 47, 1, 1, 1, 1], Table::Entities),
    rows(DISK, Table::Disks),
    rows(
        &[1, 3, 6, 1, 4, 1, 14_988, 1, 1, 2, 1, 1],
        Table::SimpleQueues,
    ),
    rows(
        &[1, 3, 6, 1, 4, 1, 14_988, 1, 1, 2, 2, 1],
        Table::QueueTrees,
    ),
    one(&[1, 3, 6, 1, 4, 1, 14_988, 1, 1, 3, 14], Scalar::Frequency),
    one(&[1, 3, 6, 1, 4, 1, 14_988, 1, 1, 4, 1], Scalar::SoftwareId),
    one(&[1, 3, 6, 1, 4, 1, 14_988, 1, 1, 4, 3], Scalar::Licence),
    one(&[1, 3, 6, 1, 4, 1, 14_988, 1, 1, 4, 4], Scalar::Version),
    one(&[1, 3, 6, 1, 4, 1, 14_988, 1, 1, 6, 1], Scalar::Leases),
    one(&[1, 3, 6, 1, 4, 1, 14_988, 1, 1, 7, 3], Scalar::Serial),
    one(&[1, 3, 6, 1, 4, 1, 14_988, 1, 1, 7, 6], Scalar::BuildTime),
    one(&[1, 3, 6, 1, 4, 1, 14_988, 1, 1, 7, 8], Scalar::Board),
    rows(
        &[1, 3, 6, 1, 4, 1, 14_988, 1, 1, 11, 1, 1],
        Table::Neighbours,
    ),
    rows(
        &[1, 3, 6, 1, 4, 1, 14_988, 1, 1, 14, 1, 1],
        Table::Statistics,
    ),
    one(
        &[1, 3, 6, 1, 4, 1, 14_988, 1, 1, 22, 1, 1],
        Scalar::Connections,
    ),
    one(
        &[1, 3, 6, 1, 4, 1, 14_988, 1, 1, 22, 1, 2],
        Scalar::Connections4,
    ),
    one(
        &[1, 3, 6, 1, 4, 1, 14_988, 1, 1, 22, 1, 3],
        Scalar::Connections6,
    ),
];

/// `sysName`; writable.
pub const NAME: &[u32] = &[1, 3, 6, 1, 2, 1, 1, 5, 0];
/// `sysContact`; writable.
pub const CONTACT: &[u32] = &[1, 3, 6, 1, 2, 1, 1, 4, 0];
/// `sysLocation`; writable.
pub const LOCATION: &[u32] = &[1, 3, 6, 1, 2, 1, 1, 6, 0];
/// Value of `sysObjectID`: `mikrotik` (RouterOS).
pub const KIND: &[u32] = &[1, 3, 6, 1, 4, 1, 14_988, 1];

/// Source of values.
pub trait Source {
    /// Returns the value of a scalar; `None` if it is not available.
    fn scalar(&self, scalar: Scalar) -> Option<Value>;

    /// Returns the index of the next row; an empty index yields the first row.
    fn after(&self, table: Table, index: &[u32]) -> Option<Oid>;

    /// Returns a cell of a row; `None` if the row does not exist.
    fn cell(&self, table: Table, column: u32, index: &[u32]) -> Option<Value>;
}

/// View of a source.
#[derive(Clone, Copy, Debug)]
pub struct Tree<S>(pub S);

/// Maximum number of rows without a value that GetNext skips.
const GAPS: usize = 64;

impl<S: Source> Tree<S> {
    /// Returns the first object of a subtree after an identifier.
    fn within(
        &self,
        prefix: &[u32],
        branch: Branch,
        oid: &[u32],
        all: bool,
    ) -> Option<(Oid, Value)> {
        match branch {
            Branch::Scalar(scalar) => {
                let own = [prefix, &[0]].concat();
                let value = (*own > *oid).then(|| self.0.scalar(scalar))??;
                Some((own, value))
            }
            Branch::Table(table) => {
                let (first, index) = match oid.strip_prefix(prefix) {
                    Some([first, index @ ..]) => (*first, index),
                    Some([]) => (0, &[][..]),
                    None if oid < prefix => (0, &[][..]),
                    None => return None,
                };
                let columns = table.columns().iter();
                let mut columns =
                    columns.filter(|column| column.number >= first && (all || !column.wide));
                columns.find_map(|column| {
                    let from = if column.number == first { index } else { &[] };
                    self.in_column(prefix, table, column.number, from)
                })
            }
        }
    }

    fn in_column(
        &self,
        prefix: &[u32],
        table: Table,
        column: u32,
        from: &[u32],
    ) -> Option<(Oid, Value)> {
        let mut index = self.0.after(table, from)?;
        for _ in 0..GAPS {
            if let Some(value) = self.0.cell(table, column, &index) {
                return Some(([prefix, &[column], &index].concat(), value));
            }
            index = self.0.after(table, &index)?;
        }
        None
    }
}

impl<S: Source> View for Tree<S> {
    fn get(&self, oid: &[u32]) -> Result<Value, Value> {
        let behind = BRANCHES.partition_point(|(prefix, _)| *prefix <= oid);
        let branch = behind.checked_sub(1).and_then(|at| BRANCHES.get(at));
        let (branch, rest) = branch
            .and_then(|(prefix, branch)| Some((branch, oid.strip_prefix(*prefix)?)))
            .ok_or(Value::NoObject)?;
        match (branch, rest) {
            (Branch::Scalar(scalar), [0]) => self.0.scalar(*scalar).ok_or(Value::NoObject),
            (Branch::Scalar(_), _) => Err(Value::NoInstance),
            (Branch::Table(table), [number, index @ ..])
                if table
                    .columns()
                    .iter()
                    .any(|column| column.number == *number) =>
            {
                let value = self.0.cell(*table, *number, index);
                value.ok_or(Value::NoInstance)
            }
            (Branch::Table(_), _) => Err(Value::NoObject),
        }
    }

    fn next(&self, oid: &[u32], all: bool) -> Option<(Oid, Value)> {
        let behind = BRANCHES.partition_point(|(prefix, _)| *prefix <= oid);
        let mut branches = BRANCHES[behind.saturating_sub(1)..].iter();
        branches.find_map(|(prefix, branch)| self.within(prefix, *branch, oid, all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_are_ordered_and_disjoint() {
        for pair in BRANCHES.windows(2) {
            let ((one, _), (next, _)) = (pair[0], pair[1]);
            assert!(one < next && !next.starts_with(one), "{one:?} {next:?}");
        }
        for (_, branch) in BRANCHES {
            if let Branch::Table(table) = branch {
                let columns = table.columns();
                assert!(columns.windows(2).all(|two| two[0].number < two[1].number));
            }
        }
    }
}
