//! Tests of the files, in memory and in a folder.

use super::*;
use menu::Files as _;

use super::file_store::missing;

/// Temporary folder, removed with the value.
struct Temporary(std::path::PathBuf);

impl Temporary {
    fn new() -> Self {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("ferroute-files-{}-{number}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn both(test: impl Fn(&mut Files)) {
    test(&mut Files::memory(DayClock::new(menu::Clock::utc(0))));
    let folder = Temporary::new();
    test(&mut Files::open(&folder.0.join("files")).expect("a new folder"));
}

fn names(files: &Files) -> Vec<String> {
    files.list().into_iter().map(|entry| entry.name).collect()
}

#[test]
fn a_file_is_written_read_renamed_and_removed() {
    both(|files| {
        files.write("b.rsc", b"one").expect("a new file");
        files.make_folder("flash").expect("a new folder");
        files.write("flash/a.txt", b"two").expect("a file in it");
        files.write("b.rsc", b"three").expect("it is replaced");

        assert_eq!(names(files), ["b.rsc", "flash", "flash/a.txt"]);
        assert_eq!(files.read("/b.rsc"), Ok(b"three".to_vec()));
        let kinds: Vec<_> = files.list().iter().map(Entry::kind).collect();
        assert_eq!(kinds, ["script", "directory", ".txt file"]);
        files.rename("flash/a.txt", "a").expect("a free name");
        files.remove("flash").expect("it is there");
        assert_eq!(files.rename("a", "b.rsc"), Err(taken()));
        files.remove("a").expect("it is there");
        assert_eq!(names(files), ["b.rsc"]);
        assert_eq!(files.read("a"), Err(missing()));
        assert_eq!(files.write("none/x", b""), Err(missing()));
    });
}

#[test]
fn nothing_leads_out_of_the_folder() {
    let folder = Temporary::new();
    let mut files = Files::open(&folder.0.join("files")).expect("a new folder");
    std::fs::write(folder.0.join("secret"), b"of others").expect("a file");
    std::os::unix::fs::symlink("../secret", folder.0.join("files/link")).expect("a link");
    std::os::unix::fs::symlink("..", folder.0.join("files/up")).expect("a link");

    for name in [
        "../secret",
        "link",
        "up/secret",
        "a/../../secret",
        "",
        ".",
        "a//b",
        "/",
    ] {
        assert!(files.read(name).is_err(), "{name}");
        assert!(files.remove(name).is_err(), "{name}");
    }
    assert!(files.write("up/secret", b"mine").is_err());
    files
        .write("link", b"mine")
        .expect("the link is replaced, not followed");

    let kept = std::fs::read(folder.0.join("secret")).expect("it is still there");
    assert_eq!(kept, b"of others");
    assert_eq!(names(&files), ["link"]);
}

#[test]
fn size_and_number_are_bounded() {
    both(|files| {
        let large = vec![0; FILE_BYTES + 1];
        let refused = files.write("large", &large);
        assert_eq!(refused, Err(Reason::failure("file is too large")));
    });
    let mut files = Files::memory(DayClock::new(menu::Clock::utc(0)));
    for number in 0..COUNT {
        files
            .write(&format!("{number}"), b"")
            .expect("there is room");
    }
    assert_eq!(
        files.write("more", b""),
        Err(Reason::failure("not enough space"))
    );
    files.write("0", b"again").expect("it is replaced");
}

#[test]
fn a_folder_is_removed_with_its_content() {
    both(|files| {
        files.make_folder("job").expect("a new folder");
        files.make_folder("job/in").expect("a new folder");
        files.write("job/in/a.txt", b"one").expect("a file in it");
        files.write("jobs", b"two").expect("a file beside it");

        files.remove("job").expect("it need not be empty");

        assert_eq!(names(files), ["jobs"]);
    });
}

#[test]
fn a_memory_disk_holds_files_up_to_its_size() {
    let clock = DayClock::new(menu::Clock::utc(0));
    both(|files| {
        files.write("a.txt", b"kept").expect("a new file");
        let missing = files.make_folder("fast/job");
        assert!(missing.is_err(), "there is no such disk yet");

        files.mount(&[(String::from("fast"), Some(10))], &clock);
        files.make_folder("fast/job").expect("a folder in it");
        files
            .write("fast/job/b.txt", b"12345678")
            .expect("there is room");
        let full = files.write("fast/c.txt", b"123");

        assert_eq!(full, Err(Reason::failure("not enough space")));
        assert_eq!(
            names(files),
            ["a.txt", "fast", "fast/job", "fast/job/b.txt"]
        );
        assert!(files.remove("fast").is_err(), "it is a disk");
        files
            .rename("fast/job/b.txt", "b.txt")
            .expect("to another disk");
        files.rename("a.txt", "fast/a.txt").expect("and back");
        assert_eq!(files.read("b.txt"), Ok(b"12345678".to_vec()));
        assert_eq!(files.read("fast/a.txt"), Ok(b"kept".to_vec()));
        files.mount(&[], &clock);
        assert_eq!(names(files), ["b.txt"]);
    });
}
