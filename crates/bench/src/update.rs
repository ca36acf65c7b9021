//! The benchmark row `fib-update`: the time that the writer takes to change a route.
//!
//! A sample is a whole operation of the writer, as control performs it: a route is added or gets
//! another next hop, and the change is then undone. A reader passes its grace period between two
//! changes, so that memory is reclaimed as in a forwarding router.

use core::ops::BitOr;

use kernels::Level;
use machine::Rng;

use super::hops::gateway;
use super::rig::fill;
use super::row::percentile;
use super::{Family, Invalid, Options, Reference, Spread};
use crate::workload;
use dataplane::table::fib::TableRoutes;
use dataplane::table::grace::Reader;
use dataplane::table::{FibWriter, Network, NextHopId, Routes};

/// Number of networks that are changed for a row, with two samples each.
const NETWORKS: usize = 2_000;
/// Number of host routes in the crowded network.
const CROWD: u32 = 32_768;

/// A row: the time of one kind of change, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Update {
    /// `ipv4` or `ipv6`.
    pub family: &'static str,
    /// Number of routes, without those of the crowded network.
    pub routes: u32,
    /// The kind of change: a prefix length, `default`, or `crowded-host` (a host in a network with
    /// 32,768 host routes).
    pub change: &'static str,
    /// Frequency of the time stamp counter in Hz.
    pub tsc_hz: u64,
    /// Frequency of the core in Hz.
    pub core_hz: u64,
    /// Time stamp counter cycles per header of the reference workload, run before.
    pub reference_tsc: f64,
    /// Microseconds, over the changes.
    pub us: Spread,
    /// The 99th percentile in microseconds.
    pub us_p99: f64,
    /// The longest change in microseconds.
    pub us_max: f64,
}

impl Update {
    /// The name of the row.
    pub const ROW: &'static str = "fib-update";

    /// Returns the row as a JSON object on one line; `p10` and `p90` are in microseconds.
    pub fn to_json(&self) -> String {
        format!(
            concat!(
                r#"{{"row":"{}","family":"{}","routes":{},"change":"{}","via":"memory","#,
                r#""workers":0,"us_median":{:.3},"us_p99":{:.3},"us_max":{:.3},"tsc_hz":{},"#,
                r#""core_hz":{},"reference_tsc":{:.2},"p10":{:.3},"p90":{:.3},"simd":"{}","#,
                r#""peer":null}}"#
            ),
            Self::ROW,
            self.family,
            self.routes,
            self.change,
            self.us.median,
            self.us_p99,
            self.us_max,
            self.tsc_hz,
            self.core_hz,
            self.reference_tsc,
            self.us.p10,
            self.us.p90,
            // The writer uses no vector instructions.
            Level::Baseline.name(),
        )
    }
}

/// Measures every kind of change for each family and number of routes, smallest tables first.
///
/// # Errors
/// [`Invalid`]: the first row that could not be measured; earlier rows were emitted.
pub fn updates(options: &Options, emit: &mut dyn FnMut(Update)) -> Result<(), Invalid> {
    for &family in &options.families {
        for &routes in &options.routes {
            match family {
                Family::Ipv4 => Bench::new(options, family, routes, |table| &mut table.ipv4)?
                    .kinds(&LENGTHS4, 0xc0a8_0000, emit)?,
                Family::Ipv6 => Bench::new(options, family, routes, |table| &mut table.ipv6)?
                    .kinds(&LENGTHS6, 0x2001_0db8_0000_0007 << 64, emit)?,
            }
        }
    }
    Ok(())
}

const LENGTHS4: [(u8, &str); 5] = [
    (32, "/32"),
    (24, "/24"),
    (16, "/16"),
    (8, "/8"),
    (0, "default"),
];
const LENGTHS6: [(u8, &str); 5] = [
    (128, "/128"),
    (48, "/48"),
    (32, "/32"),
    (8, "/8"),
    (0, "default"),
];

/// The table whose routes are changed.
struct Bench<'o, A> {
    options: &'o Options,
    family: Family,
    routes: u32,
    writer: FibWriter,
    half: fn(&mut TableRoutes) -> &mut Routes<A>,
    reader: Reader,
    /// The next hop of changed routes.
    next_hop: NextHopId,
    reference: Reference,
    /// Frequencies of the time stamp counter and of the core, in Hz.
    hz: (u64, u64),
}

impl<'o, A> Bench<'o, A>
where
    A: workload::Family + From<u32> + BitOr<Output = A>,
{
    fn new(
        options: &'o Options,
        family: Family,
        routes: u32,
        half: fn(&mut TableRoutes) -> &mut Routes<A>,
    ) -> Result<Self, Invalid> {
        let mut writer = FibWriter::new();
        fill(&mut writer, family, routes, options.seed)?;
        let next_hop = writer.add_next_hop(&gateway(family, 255));
        let reader = writer.fib().grace.reader();
        Ok(Self {
            options,
            family,
            routes,
            half,
            reader: reader.ok_or(Invalid::TableFull)?,
            next_hop: next_hop.map_err(|_| Invalid::TableFull)?,
            writer,
            reference: Reference::new(),
            hz: kernels::measure_hz(),
        })
    }

    /// Measures every kind of change: random networks of these lengths, then a host among many in
    /// the network at `crowded`.
    fn kinds(
        mut self,
        lengths: &[(u8, &'static str)],
        crowded: A,
        emit: &mut dyn FnMut(Update),
    ) -> Result<(), Invalid> {
        for &(len, change) in lengths {
            let mut rng = Rng::seeded(self.options.seed ^ u64::from(len));
            let random = |_| Network::new(A::random(&mut rng), len);
            let networks: Vec<_> = (0..NETWORKS).map(random).collect();
            emit(self.row(change, &networks)?);
        }
        let host = |number: u32| Network::new(crowded | A::from(number), A::BITS);
        let hop = self.next_hop;
        let crowd = (0..CROWD).map(|number| (host(number * 2), hop));
        let filled = self.table()?.change(crowd);
        filled.map_err(|_| Invalid::TableFull)?;
        let between = CROWD / NETWORKS as u32;
        let networks = (0..NETWORKS as u32).map(|number| host(number * between * 2 + 1));
        emit(self.row("crowded-host", &networks.collect::<Vec<_>>())?);
        Ok(())
    }

    fn table(&mut self) -> Result<&mut Routes<A>, Invalid> {
        let table = self.writer.table(0).map_err(|_| Invalid::TableFull)?;
        Ok((self.half)(table))
    }

    fn row(&mut self, change: &'static str, networks: &[Network<A>]) -> Result<Update, Invalid> {
        let mut clocks: Vec<f64> = (0..11).map(|_| self.reference.clocks()).collect();
        let mut samples = Vec::with_capacity(networks.len() * 2);
        for &network in networks {
            // Control does the same after each round of changes.
            self.writer.prepare();
            let before = self.table()?.get(network).unwrap_or(NextHopId::NO_ROUTE);
            samples.extend(self.change(network, self.next_hop)?);
            samples.extend(self.change(network, before)?);
        }
        if samples.is_empty() {
            return Err(Invalid::Disturbed);
        }
        let us = Spread::of(&mut samples);
        Ok(Update {
            family: self.family.name(),
            routes: self.routes,
            change,
            tsc_hz: self.hz.0,
            core_hz: self.hz.1,
            reference_tsc: Spread::of(&mut clocks).median,
            us,
            us_p99: percentile(&samples, 99),
            us_max: percentile(&samples, 100),
        })
    }

    /// Returns the microseconds that one change takes; `None` if the thread had to wait for a
    /// processor.
    fn change(&mut self, network: Network<A>, id: NextHopId) -> Result<Option<f64>, Invalid> {
        self.reader.pass();
        let waited = || self.options.waited.and_then(|waited| waited());
        let before = waited();
        let start = kernels::tsc();
        let table = self.writer.table(0).map(self.half);
        let changed = table.and_then(|routes| match id {
            NextHopId::NO_ROUTE => routes.remove(network),
            id => routes.insert(network, id),
        });
        let clocks = kernels::tsc().wrapping_sub(start);
        let undisturbed = before == waited();
        changed.map_err(|_| Invalid::TableFull)?;
        let us = clocks as f64 * 1e6 / self.hz.0.max(1) as f64;
        Ok(undisturbed.then_some(us))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_change_is_measured_and_undone() {
        let options = Options {
            routes: vec![1, 1_000],
            ..Options::default()
        };
        let mut rows = Vec::new();

        let result = updates(&options, &mut |row| rows.push(row));

        assert_eq!((result, rows.len()), (Ok(()), 2 * 2 * 6));
        assert!(rows.iter().all(|row| row.us.median > 0.0
            && row.us.p90 <= row.us_p99
            && row.us_p99 <= row.us_max));
        let json = rows[0].to_json();
        assert!(json.starts_with(
            r#"{"row":"fib-update","family":"ipv4","routes":1,"change":"/32","via":"memory","#
        ));
    }

    #[test]
    fn a_change_that_waited_is_not_counted() {
        use core::sync::atomic::{AtomicU64, Ordering};
        static CLOCK: AtomicU64 = AtomicU64::new(0);
        let options = Options {
            families: vec![Family::Ipv6],
            routes: vec![1],
            waited: Some(|| Some(CLOCK.fetch_add(1, Ordering::Relaxed))),
            ..Options::default()
        };

        let result = updates(&options, &mut |row| panic!("{row:?} has no sample"));

        assert_eq!(result, Err(Invalid::Disturbed));
    }
}
