//! `/mpls/traffic-eng/flow`: tunnels through this router.

use menu::{Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("tunnel", Kind::Text, "The tunnel"),
        shown("src", Kind::Text, "Where it begins"),
        shown("dst", Kind::Text, "Where it leads"),
        shown("bandwidth", Kind::Text, "Its bandwidth"),
        shown("out-interface", Kind::Text, "Where it goes on"),
        shown("out-label", Kind::Text, "With which label"),
    ]],
    columns: &["tunnel", "src", "dst", "bandwidth"],
    ..idle_rows("/mpls/traffic-eng/flow", "Tunnels that pass here")
};
