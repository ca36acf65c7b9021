//! `/ip/proxy/direct`: which pages are fetched without the other proxy.

use menu::Menu;

use super::rules;

pub(crate) static MENU: Menu = Menu {
    ..rules(
        "/ip/proxy/direct",
        "Which pages are fetched without the other proxy",
    )
};
