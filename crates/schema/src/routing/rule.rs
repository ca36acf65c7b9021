//! `/routing/rule`: policy routing rules; the first matching rule applies.

use menu::{Family, Flag, Kind, Menu, MenuShape, Property};

use crate::fragment::COMMENT_DISABLED;

const PREFIX: Kind = Kind::Prefix(Family::Any);
const TABLE: Kind = Kind::Reference("routing-table");

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("src-address", PREFIX, "Source addresses that match").optional(),
            Property::new("dst-address", PREFIX, "Destination addresses that match").optional(),
            Property::new(
                "routing-mark",
                TABLE,
                "Packets with this routing mark match",
            )
            .optional(),
            Property::new(
                "interface",
                Kind::Reference("interface"),
                "Interface on which packets are received",
            )
            .optional(),
            Property::new(
                "min-prefix",
                Kind::Number { min: 0, max: 128 },
                "Ignore routes with this prefix length or a shorter one",
            )
            .optional(),
            Property::new(
                "action",
                Kind::Words(&["drop", "lookup", "lookup-only-in-table", "unreachable"]),
                "Action for packets that match",
            )
            .default("lookup"),
            Property::new("table", TABLE, "Routing table for the lookup").optional(),
            Property::new("chain", Kind::Name, "The chain that the rule is in")
                .optional()
                .inert(),
            Property::new(
                "realm",
                Kind::Number { min: 0, max: 255 },
                "Realm of the route",
            )
            .optional()
            .inert(),
            Property::new(
                "vrf",
                crate::declare::VRF,
                "VRF of the interface on which packets are received",
            )
            .optional()
            .inert(),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[Flag::new('X', "disabled", 0), Flag::new('I', "inactive", 0)],
    old_paths: &["/ip/route/rule"],
    ..Menu::new("/routing/rule", MenuShape::Ordered, "Policy routing rules")
};
