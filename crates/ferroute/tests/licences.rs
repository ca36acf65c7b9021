//! Checks that each library is available under one of the licences in [`ALLOWED`].
//!
//! Reads the metadata of cargo on this machine and downloads nothing.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Licences that permit distributing the library in a program under Apache-2.0, with no condition except notices.
const ALLOWED: [&str; 12] = [
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-1-Clause",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
];

/// Returns true if allowed licences satisfy an SPDX expression (SPDX annex D). A slash in older manifests means `OR`.
fn is_allowed(expression: &str) -> bool {
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    let allowed = any(&mut words);
    allowed && words.next().is_none()
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn any(words: &mut Words<'_>) -> bool {
    let mut allowed = all(words);
    while words.next_if_eq(&"OR").is_some() {
        allowed |= all(words);
    }
    allowed
}

fn all(words: &mut Words<'_>) -> bool {
    let mut allowed = one(words);
    while words.next_if_eq(&"AND").is_some() {
        allowed &= one(words);
    }
    allowed
}

fn one(words: &mut Words<'_>) -> bool {
    if words.next_if_eq(&"(").is_some() {
        let allowed = any(words);
        return words.next_if_eq(&")").is_some() && allowed;
    }
    let Some(name) = words.next() else {
        return false;
    };
    match words.next_if_eq(&"WITH").and_then(|_| words.next()) {
        Some(exception) => ALLOWED.contains(&&*format!("{name} WITH {exception}")),
        None => ALLOWED.contains(&name),
    }
}

#[test]
fn licence_expressions_have_the_meaning_of_spdx() {
    for good in [
        "MIT",
        "MIT/Apache-2.0",
        "GPL-2.0-only OR MIT",
        "(MIT OR LGPL-2.1-or-later) AND Unicode-3.0",
        "Apache-2.0 WITH LLVM-exception OR GPL-3.0-only",
        "ISC AND (Apache-2.0 OR OpenSSL)",
    ] {
        assert!(is_allowed(good), "{good}");
    }
    for bad in [
        "",
        "GPL-3.0-only",
        "MIT AND GPL-2.0-only",
        "MIT AND GPL-2.0-only OR MPL-2.0",
        "MIT WITH Classpath-exception-2.0",
        "(MIT",
        "MIT Apache-2.0",
    ] {
        assert!(!is_allowed(bad), "{bad}");
    }
}

#[test]
fn every_library_has_an_allowed_licence() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let asked = Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--locked", "--format-version=1"])
        .args(["--filter-platform", &target])
        .current_dir(root)
        .output()
        .expect("cargo runs");
    let said = String::from_utf8_lossy(&asked.stderr);
    assert!(asked.status.success(), "{said}");
    let metadata: Value = serde_json::from_slice(&asked.stdout).expect("cargo writes JSON");
    let packages = metadata["packages"].as_array().expect("it lists packages");
    assert!(packages.len() > 100, "{} packages", packages.len());

    let refused: Vec<_> = packages
        .iter()
        .filter(|package| !is_allowed(package["license"].as_str().unwrap_or_default()))
        .map(|package| {
            format!(
                "{} {}: {}",
                package["name"], package["version"], package["license"]
            )
        })
        .collect();
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}
