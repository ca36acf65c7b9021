//! `/file` and `/disk`.

use super::{once, router, write};

#[test]
fn files_are_added_shown_read_and_removed() {
    let mut router = router();
    once(&mut router, "/file add name=a.txt contents=\"one\\ntwo\"");
    once(&mut router, "/file add name=flash type=directory");
    once(&mut router, "/file add name=flash/b.rsc contents=three");

    assert_eq!(
        once(&mut router, "/file print"),
        "Columns: NAME, TYPE, SIZE, LAST-MODIFIED\n\
         # NAME         TYPE       SIZE  LAST-MODIFIED      \n\
         0 a.txt        .txt file     7  2026-11-21 18:57:57\n\
         1 flash        directory        2026-11-21 18:57:57\n\
         2 flash/b.rsc  script        5  2026-11-21 18:57:57\n"
    );
    assert_eq!(
        once(&mut router, ":put [/file get a.txt contents]"),
        "one\ntwo\n"
    );
    once(&mut router, "/file set a.txt contents=four");
    assert_eq!(
        once(&mut router, ":put [/file get [find where name=a.txt] size]"),
        "4\n"
    );
    assert_eq!(
        once(
            &mut router,
            ":put ([/file read file=flash/b.rsc offset=1 chunk-size=3 as-value]->\"data\")"
        ),
        "hre\n"
    );
    once(&mut router, "/file remove [find]");
    assert_eq!(once(&mut router, "/file print count-only"), "0\n");
    let refused = once(&mut router, "/file add name=../x contents=y");
    assert_eq!(refused, "failure: invalid file name");
}

#[test]
fn a_file_makes_a_memory_disk_and_uses_it() {
    let mut router = router();
    write(
        &mut router,
        "disk.rsc",
        "/disk/add slot=fast type=tmpfs tmpfs-max-size=1M\n\
         /file/add name=fast/job type=directory\n\
         /file/add name=fast/job/a.txt contents=hello\n\
         :put [/file/get fast/job/a.txt contents]",
    );

    let done = once(&mut router, "/import disk.rsc");

    assert!(done.starts_with("hello\n"), "{done}");
    assert_eq!(once(&mut router, "/file/remove fast/job"), "");
    assert_eq!(once(&mut router, ":put [/file/get fast type]"), "disk\n");
    let left = ":put [:len [/file/find where name~\"^fast\"]]";
    assert_eq!(once(&mut router, left), "1\n");
    once(&mut router, "/disk/disable fast");
    assert_eq!(once(&mut router, left), "0\n");
}
