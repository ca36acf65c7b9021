//! `/routing/pimsm`: PIM-SM multicast routing (RFC 7761).

pub(crate) mod bsr;
pub(crate) mod igmp_interface_template;
pub(crate) mod instance;
pub(crate) mod interface;
pub(crate) mod interface_template;
pub(crate) mod neighbor;
pub(crate) mod static_rp;
pub(crate) mod uib_g;
pub(crate) mod uib_sg;

use menu::Property;

use crate::declare::reference;

/// The instance of an item.
pub(crate) const INSTANCE: Property =
    reference("instance", "pimsm-instance", "The instance").required();
