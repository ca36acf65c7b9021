//! `/routing/bgp/template`: connection templates.

use menu::{Builtin, ExportSelector, Flag, Menu, OldProperty, Unique};

use super::{INPUT, OUTPUT, WHOLE};
use crate::declare::named;
use crate::fragment::{COMMENT_SAID, idle_list};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[named("Name of the template")],
        WHOLE,
        INPUT,
        OUTPUT,
        COMMENT_SAID,
    ],
    flags: &[
        Flag::new('*', "default", 0),
        Flag::new('X', "disabled", 1),
        Flag::new('I', "inactive", 1),
    ],
    columns: &["name", "as", "router-id", "afi"],
    space: Some("bgp-template"),
    key: Some("name"),
    unique: &[Unique {
        properties: &["name"],
        failure: "already have template with such name",
    }],
    builtin: &[Builtin {
        values: &[("name", "default"), ("as", "65530")],
    }],
    pick: ExportSelector::Name,
    old: &[
        OldProperty::renamed("address-families", "afi"),
        OldProperty::renamed("as-override", "output.as-override"),
        OldProperty::renamed("output.default-prepent", "output.default-prepend"),
        OldProperty::gone("add-path-out"),
        OldProperty::gone("input.accept-unknown"),
        OldProperty::gone("input.ignore-as-path-len"),
        OldProperty::gone("input.limit-nlri-diversity"),
    ],
    ..idle_list("/routing/bgp/template", "BGP templates")
};
