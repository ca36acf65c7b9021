//! `/interface/loopback`: holds addresses without a link. No packet leaves by it, and it always runs.

use super::{IfType, Kind, Registration, Site};
use crate::compile::LayoutEntry;
use crate::intent::Class;
use crate::read;

pub(super) const KIND: Registration = Registration {
    menus: &["/interface/loopback"],
    read: |item| read::interface_of(item, Loopback, Class::Other),
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Loopback;

impl Kind for Loopback {
    fn lay_out(&self, entry: &mut LayoutEntry, _: &Site<'_>) {
        entry.loopback = true;
    }

    fn if_type(&self, _: Class) -> IfType {
        IfType::Loopback
    }
}
