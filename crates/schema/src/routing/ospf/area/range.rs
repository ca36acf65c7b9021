//! `/routing/ospf/area/range`: aggregates of an area's routes.

use menu::{Family, Kind, Menu, OldProperty, Property};

use crate::declare::{U32, maybe, optional};
use crate::fragment::{COMMENT_SAID, DISABLED, idle_list};
use crate::routing::ospf::AREA;

const COST: Kind = Kind::Or(&["calculated", "default"], &U32);

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            AREA.required(),
            Property::new("prefix", Kind::Prefix(Family::Any), "The network").required(),
            maybe("advertise", "Advertise the range"),
            optional("cost", COST, "Cost of the range"),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED,
    columns: &["area", "prefix", "advertise"],
    old: &[OldProperty::renamed("range", "prefix")],
    ..idle_list("/routing/ospf/area/range", "Ranges of OSPF areas")
};
