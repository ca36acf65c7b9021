//! `/ip/proxy/cache`: which pages are kept.

use menu::Menu;

use super::rules;

pub(crate) static MENU: Menu = Menu {
    ..rules("/ip/proxy/cache", "Which pages are kept")
};
