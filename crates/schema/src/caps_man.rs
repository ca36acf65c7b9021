//! `/caps-man`: CAPsMAN of the older wireless package, which configures the radios of remote access points
//! (CAPs).

pub(crate) mod aaa;
pub(crate) mod access_list;
pub(crate) mod actual_interface_configuration;
pub(crate) mod channel;
pub(crate) mod configuration;
pub(crate) mod datapath;
pub(crate) mod interface;
pub(crate) mod manager;
pub(crate) mod provisioning;
pub(crate) mod radio;
pub(crate) mod rates;
pub(crate) mod registration_table;
pub(crate) mod remote_cap;
pub(crate) mod security;
