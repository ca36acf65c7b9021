//! `/routing/mme/network`: announced networks.

use menu::{Family, Kind, Menu, Property};

use crate::fragment::{COMMENT_DISABLED, DISABLED, idle_list};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[Property::new("network", Kind::Prefix(Family::V4), "The network").required()],
        COMMENT_DISABLED,
    ],
    flags: DISABLED,
    columns: &["network"],
    older: true,
    ..idle_list("/routing/mme/network", "Version 6: networks of the mesh")
};
