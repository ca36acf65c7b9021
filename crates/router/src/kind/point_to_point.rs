//! Point-to-point connections without an Ethernet header, such as sessions. Features create them; they run while they
//! exist.

use super::{IfType, Kind, Site};
use crate::compile::LayoutEntry;
use crate::intent::Class;

/// A point-to-point connection whose packets are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointToPoint;

impl Kind for PointToPoint {
    fn lay_out(&self, entry: &mut LayoutEntry, _: &Site<'_>) {
        entry.link.ethernet = false;
        entry.link.running = !entry.disabled;
    }

    fn if_type(&self, _: Class) -> IfType {
        IfType::Ppp
    }

    fn has_traffic(&self) -> bool {
        false
    }
}
