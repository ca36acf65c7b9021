//! Real configurations and scripts that lie beside the repository and are no part of it.

use std::path::{Path, PathBuf};

/// A file or folder of them; without it the test is skipped, with this reason.
pub(crate) fn shared(test: &str, what: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let places = ["../shared", "../../shared"].map(|place| root.join(place).join(what));
    let found = places.into_iter().find(|path| path.exists());
    if found.is_none() {
        lab::testing::skip(test, &format!("no ../shared/{what} beside the repository"));
    }
    found
}
