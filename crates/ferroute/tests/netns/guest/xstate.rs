//! Builds the preload library that lets User Mode Linux before 6.13 start on processors whose extended state is larger
//! than it expects (AMX). `xstate.c` explains how. It is compiled on demand: the C compiler is installed, since linking
//! Rust needs it.

use std::path::Path;
use std::process::Command;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/netns/guest/xstate.c");

/// Compiles the library into a file. Returns the compiler's messages on failure.
pub(super) fn compile(library: &Path) -> Result<(), String> {
    cc(&["-shared", "-fPIC"], SOURCE, library)
}

fn cc(options: &[&str], source: &str, output: &Path) -> Result<(), String> {
    let mut command = Command::new("cc");
    command.args(["-O2", "-Wall"]);
    command
        .args(options)
        .arg("-o")
        .args([output, Path::new(source)]);
    let done = command.output().map_err(|error| format!("cc: {error}"))?;
    if done.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&done.stderr).into_owned())
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::world::Folder;

    /// EFAULT (Linux, errno-base.h): the kernel's error for an image of another length.
    const EFAULT: i32 = 14;

    #[test]
    fn extended_state_can_be_set_from_a_shorter_image() {
        let folder = Folder::new();
        let (library, program) = (folder.file("xstate.so"), folder.file("short"));
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/netns/guest/short.c");
        compile(&library).expect("the library compiles");
        cc(&[], source, &program).expect("the program compiles");
        let code = |preload: &Path| {
            let mut command = Command::new(&program);
            let status = command.env("LD_PRELOAD", preload).status();
            status.expect("the program starts").code()
        };

        assert_eq!(code(Path::new("")), Some(EFAULT), "the host takes it");
        assert_eq!(code(&library), Some(0));
    }
}
