//! `/ip/ipsec/statistics`: IPsec error counters by reason.

use menu::{Menu, MenuShape, Property};

use crate::declare::counter;

const IN: &[Property] = &[
    counter("in-errors", "Received packets with other errors"),
    counter("in-buffer-errors", "Packets without memory"),
    counter("in-header-errors", "Packets with a bad header"),
    counter("in-no-states", "Packets of no association"),
    counter(
        "in-state-protocol-errors",
        "Received packets that could not be decrypted",
    ),
    counter("in-state-mode-errors", "Packets of the wrong mode"),
    counter("in-state-sequence-errors", "Packets out of order"),
    counter("in-state-expired", "Packets with an expired key"),
    counter("in-state-mismatches", "Packets of the wrong association"),
    counter(
        "in-state-invalid",
        "Received packets of an association that is not ready",
    ),
    counter(
        "in-template-mismatches",
        "Received packets without the required protection",
    ),
    counter("in-no-policies", "Packets without a policy"),
    counter(
        "in-policy-blocked",
        "Received packets discarded by a policy",
    ),
    counter("in-policy-errors", "Packets with a bad policy"),
];

const OUT: &[Property] = &[
    counter("out-errors", "Outgoing packets with other errors"),
    counter(
        "out-bundle-errors",
        "Outgoing packets that could not be prepared",
    ),
    counter(
        "out-bundle-check-errors",
        "Outgoing packets without the required protection",
    ),
    counter("out-no-states", "Packets to send without a key"),
    counter(
        "out-state-protocol-errors",
        "Outgoing packets that could not be encrypted",
    ),
    counter("out-state-mode-errors", "Packets to send of the wrong mode"),
    counter(
        "out-state-sequence-errors",
        "Outgoing packets dropped because sequence numbers ran out",
    ),
    counter("out-state-expired", "Packets to send with an expired key"),
    counter(
        "out-policy-blocked",
        "Outgoing packets discarded by a policy",
    ),
    counter("out-policy-dead", "Outgoing packets whose policy is gone"),
    counter("out-policy-errors", "Packets to send with a bad policy"),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[IN, OUT],
    ..Menu::new(
        "/ip/ipsec/statistics",
        MenuShape::Status,
        "Packets refused by IPsec",
    )
};
