//! Real configurations and scripts next to the repository. They are not part of it.

use std::path::{Path, PathBuf};

/// Path of such a file or folder. If there is none, the test is skipped for this reason.
pub(crate) fn shared(test: &str, what: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let places = ["../shared", "../../shared"].map(|place| root.join(place).join(what));
    let found = places.into_iter().find(|path| path.exists());
    if found.is_none() {
        lab::testing::skip(test, &format!("no ../shared/{what} beside the repository"));
    }
    found
}
