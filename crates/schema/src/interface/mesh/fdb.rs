//! `/interface/mesh/fdb`: forwarding table of a mesh.

use menu::{Flag, Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("mesh", Kind::Text, "The mesh"),
        shown("type", Kind::Text, "Type of the entry"),
        shown("mac-address", Kind::Mac, "Hardware address of the host"),
        shown("on-interface", Kind::Text, "Egress interface"),
        shown("lifetime", Kind::SPAN, "Lifetime of the entry"),
        shown("age", Kind::SPAN, "Age of the entry"),
        shown("metric", Kind::COUNTER, "Metric of the path"),
        shown("seqnum", Kind::COUNTER, "Sequence number"),
    ]],
    flags: &[Flag::new('A', "active", 0), Flag::new('R', "root", 1)],
    columns: &["mesh", "type", "mac-address", "on-interface"],
    ..idle_rows("/interface/mesh/fdb", "Hosts of meshes")
};
