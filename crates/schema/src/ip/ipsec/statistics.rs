//! `/ip/ipsec/statistics`: packets that IPsec refused, by reason.

use menu::{Effect, Menu, Property, Shape};

use crate::brief::count;

const IN: &[Property] = &[
    count("in-errors", "Packets with other errors"),
    count("in-buffer-errors", "Packets without memory"),
    count("in-header-errors", "Packets with a bad header"),
    count("in-no-states", "Packets of no association"),
    count(
        "in-state-protocol-errors",
        "Packets that could not be decrypted",
    ),
    count("in-state-mode-errors", "Packets of the wrong mode"),
    count("in-state-sequence-errors", "Packets out of order"),
    count("in-state-expired", "Packets with an expired key"),
    count("in-state-mismatches", "Packets of the wrong association"),
    count(
        "in-state-invalid",
        "Packets of an association that is not ready",
    ),
    count(
        "in-template-mismatches",
        "Packets that were not protected as they must",
    ),
    count("in-no-policies", "Packets without a policy"),
    count("in-policy-blocked", "Packets that a policy discards"),
    count("in-policy-errors", "Packets with a bad policy"),
];

const OUT: &[Property] = &[
    count("out-errors", "Packets to send with other errors"),
    count(
        "out-bundle-errors",
        "Packets to send that could not be prepared",
    ),
    count(
        "out-bundle-check-errors",
        "Packets to send that were not prepared as they must",
    ),
    count("out-no-states", "Packets to send without a key"),
    count(
        "out-state-protocol-errors",
        "Packets to send that could not be encrypted",
    ),
    count("out-state-mode-errors", "Packets to send of the wrong mode"),
    count(
        "out-state-sequence-errors",
        "Packets to send when numbers ran out",
    ),
    count("out-state-expired", "Packets to send with an expired key"),
    count(
        "out-policy-blocked",
        "Packets to send that a policy discards",
    ),
    count("out-policy-dead", "Packets to send whose policy is gone"),
    count("out-policy-errors", "Packets to send with a bad policy"),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[IN, OUT],
    effect: Effect::None,
    ..Menu::new(
        "/ip/ipsec/statistics",
        Shape::Status,
        "Packets that IPsec refused",
    )
};
