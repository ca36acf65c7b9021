//! `/system`: settings and commands of the router as a whole.

pub(crate) mod backup;
pub(crate) mod clock;
pub(crate) mod configuration;
pub(crate) mod console;
pub(crate) mod device_mode;
pub(crate) mod doctor;
pub(crate) mod folder;
pub(crate) mod gps;
pub(crate) mod hardware;
pub(crate) mod history;
pub(crate) mod identity;
pub(crate) mod keymat;
pub(crate) mod license;
pub(crate) mod logging;
pub(crate) mod note;
pub(crate) mod ntp;
pub(crate) mod package;
pub(crate) mod parts;
pub(crate) mod power;
pub(crate) mod ptp;
pub(crate) mod reset;
pub(crate) mod resource;
pub(crate) mod routerboard;
pub(crate) mod scheduler;
pub(crate) mod script;
mod zones;
