//! Owner of a folder lock (proc_locks(5)): detects killed processes whose cleanup is pending.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Returns true if a dying process holds the lock of a folder. In another pid namespace the answer is false.
pub(crate) fn is_held_by_ending(folder: &Path) -> bool {
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    let inode = fs::metadata(folder).map(|found| found.ino());
    let holder = inode.ok().and_then(|inode| holder(&locks, inode));
    holder.is_some_and(netio::takeover::is_ending)
}

/// Returns the process that holds a flock(2) on the whole file with this inode.
fn holder(locks: &str, inode: u64) -> Option<u32> {
    locks.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace().skip(1);
        let is_whole = words.next()? == "FLOCK";
        let (process, file) = (words.nth(2)?, words.next()?);
        // Device numbers, then the inode.
        let is_it = file.rsplit(':').next()?.parse() == Ok(inode);
        (is_whole && is_it).then(|| process.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCKS: &str = "1: FLOCK  ADVISORY  WRITE 812 fe:00:4711 0 EOF\n\
                         2: POSIX  ADVISORY  WRITE 813 fe:00:4712 0 EOF\n\
                         2: -> FLOCK  ADVISORY  WRITE 815 fe:00:4711 0 EOF\n\
                         3: FLOCK  ADVISORY  WRITE 814 fe:00:4712 0 EOF\n";

    #[test]
    fn the_holder_is_the_process_that_locks_the_whole_file() {
        assert_eq!(holder(LOCKS, 4711), Some(812));
        assert_eq!(holder(LOCKS, 4712), Some(814));
        assert_eq!(holder(LOCKS, 471), None);
        assert_eq!(holder("", 4711), None);
    }

    #[test]
    fn a_folder_locked_by_this_process_has_no_ending_holder() {
        let folder = std::env::temp_dir().join(format!("ferroute-lock-{}", std::process::id()));
        fs::create_dir(&folder).expect("a folder of our own");
        let lock = fs::File::open(&folder).expect("it is there");
        lock.try_lock().expect("nobody else has it");
        let locks = fs::read_to_string("/proc/locks").expect("proc");
        let inode = fs::metadata(&folder).expect("it is there").ino();

        assert_eq!(holder(&locks, inode), Some(std::process::id()));
        assert!(!is_held_by_ending(&folder));
        fs::remove_dir(&folder).expect("it is empty");
    }
}
