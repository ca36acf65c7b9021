//! `/ip/ipsec/statistics`: IPsec error counters by reason.

use menu::{Menu, Property, Shape};

use crate::declare::counter;

const IN: &[Property] = &[
    counter("in-errors", "Packets with other errors"),
    counter("in-buffer-errors", "Packets without memory"),
    counter("in-header-errors", "Packets with a bad header"),
    counter("in-no-states", "Packets of no association"),
    counter(
        "in-state-protocol-errors",
        "Packets that could not be decrypted",
    ),
    counter("in-state-mode-errors", "Packets of the wrong mode"),
    counter("in-state-sequence-errors", "Packets out of order"),
    counter("in-state-expired", "Packets with an expired key"),
    counter("in-state-mismatches", "Packets of the wrong association"),
    counter(
        "in-state-invalid",
        "Packets of an association that is not ready",
    ),
    counter(
        "in-template-mismatches",
        "Packets that were not protected as they must",
    ),
    counter("in-no-policies", "Packets without a policy"),
    counter("in-policy-blocked", "Packets that a policy discards"),
    counter("in-policy-errors", "Packets with a bad policy"),
];

const OUT: &[Property] = &[
    counter("out-errors", "Packets to send with other errors"),
    counter(
        "out-bundle-errors",
        "Packets to send that could not be prepared",
    ),
    counter(
        "out-bundle-check-errors",
        "Packets to send that were not prepared as they must",
    ),
    counter("out-no-states", "Packets to send without a key"),
    counter(
        "out-state-protocol-errors",
        "Packets to send that could not be encrypted",
    ),
    counter("out-state-mode-errors", "Packets to send of the wrong mode"),
    counter(
        "out-state-sequence-errors",
        "Packets to send when numbers ran out",
    ),
    counter("out-state-expired", "Packets to send with an expired key"),
    counter(
        "out-policy-blocked",
        "Packets to send that a policy discards",
    ),
    counter("out-policy-dead", "Packets to send whose policy is gone"),
    counter("out-policy-errors", "Packets to send with a bad policy"),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[IN, OUT],
    ..Menu::new(
        "/ip/ipsec/statistics",
        Shape::Status,
        "Packets that IPsec refused",
    )
};
