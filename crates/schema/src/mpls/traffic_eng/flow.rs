//! `/mpls/traffic-eng/flow`: tunnels through this router.

use menu::{Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("tunnel", Kind::Text, "The tunnel"),
        shown("src", Kind::Text, "Source of the tunnel"),
        shown("dst", Kind::Text, "Destination of the tunnel"),
        shown("bandwidth", Kind::Text, "Bandwidth of the tunnel"),
        shown("out-interface", Kind::Text, "Next hop of the flow"),
        shown("out-label", Kind::Text, "Label of the next hop"),
    ]],
    columns: &["tunnel", "src", "dst", "bandwidth"],
    ..idle_rows("/mpls/traffic-eng/flow", "Tunnels through this router")
};
