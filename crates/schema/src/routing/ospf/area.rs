//! `/routing/ospf/area`: OSPF areas.

pub(crate) mod range;

use menu::{Builtin, Family, Kind, Menu, OldProperty, Property, Unique};

use crate::declare::{U32, named, optional, reference};
use crate::fragment::{COMMENT_SAID, INVALID_DEFAULT, idle_list};

const NO: OldProperty = OldProperty {
    value: Some("no"),
    with: Some("yes"),
    ..OldProperty::renamed("inject-summary-lsas", "no-summaries")
};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            named("Name of the area"),
            reference("instance", "ospf-instance", "The instance"),
            Property::new("area-id", Kind::Address(Family::V4), "Area ID").default("0.0.0.0"),
            optional(
                "type",
                Kind::Words(&["default", "nssa", "stub"]),
                "Type of the area",
            )
            .default("default"),
            optional(
                "no-summaries",
                Kind::Presence,
                "Do not advertise routes of other areas into the area",
            ),
            optional(
                "default-cost",
                U32,
                "Cost of the default route advertised into the area",
            ),
            optional(
                "nssa-translator",
                Kind::Words(&["candidate", "no", "yes"]),
                "Translator of external routes",
            ),
        ],
        COMMENT_SAID,
    ],
    flags: INVALID_DEFAULT,
    columns: &["name", "instance", "area-id", "type"],
    space: Some("ospf-area"),
    key: Some("name"),
    unique: &[Unique {
        properties: &["name"],
        failure: "already have area with such name",
    }],
    supposed: &[Builtin {
        values: &[("name", "backbone"), ("instance", "default")],
    }],
    old: &[
        NO,
        OldProperty {
            value: Some("yes"),
            becomes: "",
            with: None,
            ..NO
        },
        OldProperty::renamed("translator-role", "nssa-translator"),
    ],
    ..idle_list("/routing/ospf/area", "OSPF areas")
};
