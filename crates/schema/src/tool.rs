//! `/tool`: tools.

pub(crate) mod bandwidth_server;
pub(crate) mod calea;
pub(crate) mod drop;
pub(crate) mod e_mail;
pub(crate) mod folder;
pub(crate) mod graphing;
pub(crate) mod mac_server;
pub(crate) mod netinstall;
pub(crate) mod netwatch;
pub(crate) mod romon;
pub(crate) mod sms;
pub(crate) mod sniffer;
pub(crate) mod trace;
pub(crate) mod traffic_generator;
pub(crate) mod traffic_monitor;
pub(crate) mod user_manager;
