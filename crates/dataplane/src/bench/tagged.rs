//! The rows of VLANs: the walk of `routing-fast-path` from tagged frames to tagged frames, with the shortest
//! frames that hold them.

use super::measure::Bench;
use super::packets::Templates;
use super::rig::Rig;
use super::{Invalid, Options, Row};
use crate::firewall::Firewall;

/// The rows of this kind, by name: frames of one VLAN, of 64 VLANs in random order, and of those and without a
/// tag.
pub const TAGGED: &[&str] = &["vlan", "vlan-64", "vlan-mixed"];

/// How many flows they have.
const FLOWS: u32 = 1_000;
/// Bytes of a frame with tag and check sequence.
const FRAME: u16 = 68;

/// Measures the rows of these names, for each family of the options.
///
/// # Errors
/// As [`super::run`].
pub fn tagged(
    options: &Options,
    rows: &[&'static str],
    emit: &mut dyn FnMut(Row),
) -> Result<(), Invalid> {
    for &name in rows {
        let vlans = if name == "vlan" { 1 } else { 64 };
        let mixed = name == "vlan-mixed";
        for &family in &options.families {
            let mut bench = Bench::new(options, |workers| {
                let mut rig = Rig::new(family, 1, workers, Firewall::default(), options.seed)?;
                rig.tag(vlans);
                Ok(rig)
            })?;
            bench.load(|rig, seed| {
                rig.load_these(|rig, worker| {
                    let of = (FLOWS, FRAME);
                    Templates::tagged(rig, of, (vlans, mixed), seed + worker)
                });
            });
            emit(Row {
                row: name,
                family: family.name(),
                frame: FRAME,
                flows: FLOWS,
                routes: 1,
                ..bench.measure()?
            });
        }
    }
    Ok(())
}
