//! Interfaces without effect: they have a name and never run. Unsupported kinds are idle, and so are kinds that wait
//! for their feature.

use super::{IfType, Kind, Site};
use crate::compile::LayoutEntry;
use crate::intent::Class;

/// An interface without effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idle;

impl Kind for Idle {
    fn lay_out(&self, _: &mut LayoutEntry, _: &Site<'_>) {}

    fn if_type(&self, class: Class) -> IfType {
        IfType::of_class(class, IfType::Other)
    }

    fn has_traffic(&self) -> bool {
        false
    }
}
