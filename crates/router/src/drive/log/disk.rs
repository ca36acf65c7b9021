//! Log lines in files. RouterOS: `log.0.txt` is the current file; a full file is renamed to `log.1.txt`, and the last
//! file is removed.

use std::collections::VecDeque;

use super::{Entry, push};
use crate::files::Files;

/// Names and limits of the files of an action.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Config {
    /// Prefix of the file names.
    pub(super) name: String,
    /// Lines per file.
    pub(super) lines: usize,
    /// Number of files.
    pub(super) files: usize,
    /// Whether writing stops when all files are full.
    pub(super) stop: bool,
}

/// Lines that wait for the files of an action.
#[derive(Debug, Default)]
pub(super) struct Disk {
    config: Config,
    waiting: VecDeque<String>,
    /// Number of lines in the current file, if it was counted.
    written: Option<usize>,
    full: bool,
}

impl Disk {
    /// Queues a line.
    pub(super) fn add(&mut self, config: &Config, entry: &Entry) {
        if self.config != *config {
            self.config.clone_from(config);
            (self.written, self.full) = (None, false);
        }
        let (at, topics) = (entry.at.date_time(), &entry.topics);
        let message = entry.message.replace('\n', " ");
        push(&mut self.waiting, format!("{at} {topics} {message}\n"));
    }

    /// Appends the queued lines. Lines are lost if the disk is full.
    pub(super) fn write(&mut self, files: &mut Files) {
        while !self.waiting.is_empty() && !self.full {
            let file = self.file(0);
            let written = *self.written.get_or_insert_with(|| lines_of(files, &file));
            let room = self.config.lines.saturating_sub(written);
            if room == 0 {
                self.turn(files);
                continue;
            }
            let count = room.min(self.waiting.len());
            let text: String = self.waiting.drain(..count).collect();
            let _ = files.append(&file, &menu::bytes::to_bytes(&text));
            self.written = Some(written + count);
        }
        if self.full {
            self.waiting.clear();
        }
    }

    /// Rotates the files.
    fn turn(&mut self, files: &mut Files) {
        let last = self.config.files - 1;
        if self.config.stop && files.entry(&self.file(last)).is_some() {
            self.full = true;
            return;
        }
        let _ = files.remove(&self.file(last));
        for number in (0..last).rev() {
            let _ = files.rename(&self.file(number), &self.file(number + 1));
        }
        self.written = Some(0);
    }

    fn file(&self, number: usize) -> String {
        format!("{}.{number}.txt", self.config.name)
    }
}

fn lines_of(files: &Files, name: &str) -> usize {
    let contents = files.contents(name).unwrap_or_default();
    contents.iter().filter(|byte| **byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use menu::Files as _;

    use crate::clock::DayClock;

    use super::*;

    fn files(stop: bool) -> Vec<String> {
        let config = Config {
            name: String::from("log"),
            lines: 2,
            files: 2,
            stop,
        };
        let mut files = Files::memory(DayClock::new(menu::Clock::utc(0)));
        for piece in [&["1", "2", "3"][..], &["4", "5"], &["6", "7"]] {
            // A new value each time, as after a restart: it has to count the lines of the current file.
            let mut disk = Disk::default();
            for word in piece {
                let entry = Entry {
                    number: 1,
                    at: menu::Clock::utc(0),
                    topics: "system,info".into(),
                    message: (*word).to_owned(),
                };
                disk.add(&config, &entry);
            }
            disk.write(&mut files);
        }
        let all = files.list();
        let told = all.iter().map(|file| {
            let text = String::from_utf8(files.read(&file.name).expect("it is there"));
            let text = text.expect("it is text");
            let last = text
                .lines()
                .map(|line| line.rsplit(' ').next().unwrap_or(""));
            format!("{} {}", file.name, last.collect::<String>())
        });
        told.collect()
    }

    #[test]
    fn files_take_turns_and_a_full_disk_can_be_the_end() {
        assert_eq!(files(false), ["log.0.txt 7", "log.1.txt 56"]);
        assert_eq!(files(true), ["log.0.txt 34", "log.1.txt 12"]);
    }
}
