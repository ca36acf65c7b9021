//! `/ip/proxy/direct`: requests that bypass the parent proxy.

use menu::Menu;

use super::rules;

pub(crate) static MENU: Menu = Menu {
    ..rules(
        "/ip/proxy/direct",
        "Rules for requests that bypass the parent proxy",
    )
};
