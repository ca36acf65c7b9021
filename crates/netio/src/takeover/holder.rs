//! Which process has a device: three words that it writes on the device itself, in its guard.

use std::fs;
use std::io;
use std::os::linux::fs::MetadataExt;

/// A process, told from all others that this kernel ran since it started: its number, when it began, and in which
/// process namespace both are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Holder {
    pub(super) process: u32,
    /// In clock ticks since the kernel started, modulo 2^32.
    began: u32,
    namespace: u32,
}

impl Holder {
    /// This process.
    pub(super) fn this() -> io::Result<Self> {
        let stat = fs::read_to_string("/proc/self/stat")?;
        let (process, began) = fields(&stat).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self {
            process,
            began,
            namespace: namespace()?,
        })
    }

    pub(super) fn words(self) -> [u32; 3] {
        [self.process, self.began, self.namespace]
    }

    pub(super) fn of_words([process, began, namespace]: [u32; 3]) -> Self {
        Self {
            process,
            began,
            namespace,
        }
    }

    /// Whether it still runs; none when it counts its processes otherwise, so that it cannot be told from here.
    pub(super) fn lives(self) -> io::Result<Option<bool>> {
        if self.namespace != namespace()? {
            return Ok(None);
        }
        match fs::read_to_string(format!("/proc/{}/stat", self.process)) {
            Ok(stat) => Ok(Some(fields(&stat) == Some((self.process, self.began)))),
            // ESRCH: it ended while it was read.
            Err(error)
                if error.kind() == io::ErrorKind::NotFound
                    || error.raw_os_error() == Some(libc::ESRCH) =>
            {
                Ok(Some(false))
            }
            Err(error) => Err(error),
        }
    }
}

/// The name of a running process, as ps(1) shows it.
pub(super) fn name(process: u32) -> Option<String> {
    let name = fs::read_to_string(format!("/proc/{process}/comm")).ok()?;
    Some(name.trim_end().to_owned())
}

/// Number and beginning from proc_pid_stat(5); none of a process that has ended and was not yet waited for: its
/// descriptors are closed.
fn fields(stat: &str) -> Option<(u32, u32)> {
    let (process, rest) = stat.split_once(" (")?;
    // The name may have parentheses and spaces of its own.
    let (_, rest) = rest.rsplit_once(") ")?;
    let mut rest = rest.split_ascii_whitespace();
    if matches!(rest.next()?, "Z" | "X") {
        return None;
    }
    // Field 22, and the state was the third.
    let began: u64 = rest.nth(18)?.parse().ok()?;
    Some((process.parse().ok()?, began as u32))
}

fn namespace() -> io::Result<u32> {
    // The kernel numbers namespaces with 32 bits.
    Ok(fs::metadata("/proc/self/ns/pid")?.st_ino() as u32)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn this_process_lives_and_one_that_began_at_another_time_does_not() {
        let this = Holder::this().expect("proc is there");
        let [process, began, namespace] = this.words();

        assert_eq!(process, std::process::id());
        assert_eq!(Holder::of_words(this.words()), this);
        assert_eq!(this.lives().expect("proc is there"), Some(true));
        let before = Holder::of_words([process, began.wrapping_sub(1), namespace]);
        assert_eq!(before.lives().expect("proc is there"), Some(false));
        let elsewhere = Holder::of_words([process, began, namespace ^ 1]);
        assert_eq!(elsewhere.lives().expect("proc is there"), None);
    }

    #[test]
    fn a_process_that_was_killed_does_not_live_even_before_it_is_waited_for() {
        let mut cat = Command::new("cat")
            .stdin(Stdio::piped())
            .spawn()
            .expect("cat is everywhere");
        let stat = fs::read_to_string(format!("/proc/{}/stat", cat.id())).expect("it runs");
        let (process, began) = fields(&stat).expect("it runs");
        let holder = Holder {
            process,
            began,
            ..Holder::this().expect("proc is there")
        };
        assert_eq!(holder.lives().expect("proc is there"), Some(true));

        cat.kill().expect("our child");

        while holder.lives().expect("proc is there") != Some(false) {
            std::thread::yield_now();
        }
        cat.wait().expect("our child");
        assert_eq!(holder.lives().expect("proc is there"), Some(false));
    }

    #[test]
    fn a_name_with_parentheses_hides_nothing() {
        let rest = "1 1 1 0 -1 4194304 1 0 0 0 1 1 0 0 20 0 1 0 4321 1 1";

        assert_eq!(fields(&format!("7 (a) S 9 (b) S {rest}")), Some((7, 4321)));
        assert_eq!(fields(&format!("7 (a) Z {rest}")), None);
        assert_eq!(fields("7 (a) S 1"), None);
    }
}
