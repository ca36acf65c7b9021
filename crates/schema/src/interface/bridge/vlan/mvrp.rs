//! `/interface/bridge/vlan/mvrp`: VLANs registered by MVRP.

use menu::{Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("bridge", Kind::Text, "The bridge"),
        shown("vlan-id", Kind::COUNTER, "The VLAN"),
        shown("registrar-state", Kind::Text, "Registrar state"),
        shown("applicant-state", Kind::Text, "Applicant state"),
        shown("last-event", Kind::Text, "Last event"),
        shown("port", Kind::Text, "The port"),
    ]],
    columns: &["port", "vlan-id", "registrar-state", "applicant-state"],
    ..idle_rows("/interface/bridge/vlan/mvrp", "VLANs registered by MVRP")
};
