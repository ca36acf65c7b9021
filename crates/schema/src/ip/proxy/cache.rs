//! `/ip/proxy/cache`: caching rules.

use menu::Menu;

use super::rules;

pub(crate) static MENU: Menu = Menu {
    ..rules("/ip/proxy/cache", "Rules for caching")
};
