//! `/interface/veth`: ports whose other end is a device of the host, mapped by the interface's name.

use super::{Registration, port};
use crate::intent::Class;

pub(crate) const MENU: &str = "/interface/veth";

pub(super) const KIND: Registration = Registration {
    menus: &[MENU],
    read: |item| port::port(item, "name", Class::Other),
};
