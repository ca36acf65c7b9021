//! `/ip/ipsec/statistics`: IPsec drops and refused IKE messages, under RouterOS's names.

use dataplane::DropReason;
use menu::Row;

use super::number;
use crate::drive::Control;

/// Each statistic with the drop reasons that it counts. RouterOS: the names are those of Linux (XFRM). Some of these,
/// such as template errors, cannot occur in this data plane and stay 0.
const STATISTICS: [(&str, &[DropReason]); 25] = [
    ("in-errors", &[DropReason::IkeMalformed]),
    ("in-buffer-errors", &[]),
    ("in-header-errors", &[DropReason::IpsecMalformed]),
    ("in-no-states", &[DropReason::IpsecUnknown]),
    ("in-state-protocol-errors", &[DropReason::IpsecIntegrity]),
    ("in-state-mode-errors", &[]),
    ("in-state-sequence-errors", &[DropReason::IpsecReplayed]),
    ("in-state-expired", &[]),
    ("in-state-mismatches", &[DropReason::IpsecMismatch]),
    ("in-state-invalid", &[]),
    ("in-template-mismatches", &[DropReason::IpsecClear]),
    ("in-no-policies", &[]),
    ("in-policy-blocked", &[DropReason::IpsecDiscard]),
    ("in-policy-errors", &[]),
    ("out-errors", &[DropReason::IpsecHeaders]),
    ("out-bundle-errors", &[]),
    ("out-bundle-check-errors", &[]),
    ("out-no-states", &[DropReason::IpsecNoKeys]),
    ("out-state-protocol-errors", &[]),
    ("out-state-mode-errors", &[]),
    ("out-state-sequence-errors", &[DropReason::IpsecExhausted]),
    ("out-state-expired", &[]),
    ("out-policy-blocked", &[DropReason::IpsecDiscardOut]),
    ("out-policy-dead", &[]),
    ("out-policy-errors", &[]),
];

impl Control {
    pub(super) fn annotate_ipsec_statistics(&self, row: &mut Row) {
        for (name, reasons) in STATISTICS {
            let dropped = |reason: &DropReason| -> u64 {
                let workers = self.workers.counters();
                workers.map(|counters| counters.drops(*reason)).sum()
            };
            let packets: u64 = reasons.iter().map(dropped).sum();
            let messages = match name {
                "in-errors" => self.features.ipsec.refused_messages(),
                _ => 0,
            };
            row.set(name, number(packets + messages));
        }
    }
}
