//! `/ip/ipsec/statistics`: IPsec error counters by reason.

use menu::{Menu, MenuShape, Property};

use crate::declare::counter;

const IN: &[Property] = &[
    counter("in-errors", "Received packets with other errors"),
    counter(
        "in-buffer-errors",
        "Received packets dropped for lack of memory",
    ),
    counter("in-header-errors", "Received packets with a bad header"),
    counter(
        "in-no-states",
        "Received packets without a security association",
    ),
    counter(
        "in-state-protocol-errors",
        "Received packets that could not be decrypted",
    ),
    counter("in-state-mode-errors", "Received packets of the wrong mode"),
    counter(
        "in-state-sequence-errors",
        "Received packets outside the replay window",
    ),
    counter(
        "in-state-expired",
        "Received packets of an expired association",
    ),
    counter(
        "in-state-mismatches",
        "Received packets of a mismatched association",
    ),
    counter(
        "in-state-invalid",
        "Received packets of an association that is not ready",
    ),
    counter(
        "in-template-mismatches",
        "Received packets without the required protection",
    ),
    counter(
        "in-no-policies",
        "Received packets without a matching policy",
    ),
    counter(
        "in-policy-blocked",
        "Received packets discarded by a policy",
    ),
    counter("in-policy-errors", "Received packets with a policy error"),
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
    counter(
        "out-no-states",
        "Outgoing packets without a security association",
    ),
    counter(
        "out-state-protocol-errors",
        "Outgoing packets that could not be encrypted",
    ),
    counter(
        "out-state-mode-errors",
        "Outgoing packets of the wrong mode",
    ),
    counter(
        "out-state-sequence-errors",
        "Outgoing packets dropped because sequence numbers ran out",
    ),
    counter(
        "out-state-expired",
        "Outgoing packets of an expired association",
    ),
    counter(
        "out-policy-blocked",
        "Outgoing packets discarded by a policy",
    ),
    counter("out-policy-dead", "Outgoing packets whose policy is gone"),
    counter("out-policy-errors", "Outgoing packets with a policy error"),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[IN, OUT],
    ..Menu::new("/ip/ipsec/statistics", MenuShape::Status, "IPsec errors")
};
