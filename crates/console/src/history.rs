//! History of submitted lines, newest last, with a bounded size.

use std::collections::VecDeque;

/// Maximum number of lines.
pub const LINES: usize = 1_000;

/// Submitted lines and the current position in them.
#[derive(Debug, Default)]
pub struct History {
    lines: VecDeque<String>,
    /// Index of the shown line; `lines.len()` stands for the line being typed.
    at: usize,
    /// The line being typed before the user moved up in the history.
    draft: String,
}

impl History {
    /// Creates a history from lines, oldest first.
    pub fn new(lines: impl IntoIterator<Item = String>) -> Self {
        let mut history = Self::default();
        lines.into_iter().for_each(|line| history.push(line));
        history
    }

    /// Appends a submitted line, unless it is empty or equals the last one.
    pub fn push(&mut self, line: String) {
        if !line.trim().is_empty() && self.lines.back() != Some(&line) {
            if self.lines.len() == LINES {
                self.lines.pop_front();
            }
            self.lines.push_back(line);
        }
        self.at = self.lines.len();
        self.draft.clear();
    }

    /// Moves to the previous line and returns it; `None` at the oldest. Keeps `current` as the draft.
    pub fn older(&mut self, current: &str) -> Option<&str> {
        if self.at == self.lines.len() {
            current.clone_into(&mut self.draft);
        }
        self.at = self.at.checked_sub(1)?;
        self.lines.get(self.at).map(String::as_str)
    }

    /// Moves to the next line and returns it; the draft comes last.
    pub fn newer(&mut self) -> Option<&str> {
        if self.at >= self.lines.len() {
            return None;
        }
        self.at += 1;
        Some(
            self.lines
                .get(self.at)
                .map_or(self.draft.as_str(), String::as_str),
        )
    }

    /// Returns the newest line before index `before` that contains `text`, with its index.
    pub fn search(&self, text: &str, before: usize) -> Option<(usize, &str)> {
        let upto = before.min(self.lines.len());
        let found = self
            .lines
            .iter()
            .take(upto)
            .enumerate()
            .rev()
            .find(|(_, l)| l.contains(text));
        found.map(|(at, line)| (at, line.as_str()))
    }

    /// Returns all lines, oldest first.
    pub fn lines(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.lines.iter().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn up_goes_to_the_oldest_and_no_further() {
        let mut history = History::new(["one", "two"].map(String::from));

        assert_eq!(history.older("dra"), Some("two"));
        assert_eq!(history.older("two"), Some("one"));
        assert_eq!(history.older("one"), None);
        assert_eq!(history.newer(), Some("two"));
    }

    #[test]
    fn the_draft_survives() {
        let mut history = History::new(["one"].map(String::from));

        history.older("dra");
        assert_eq!(history.newer(), Some("dra"));
        assert_eq!(history.newer(), None);
    }

    #[test]
    fn the_history_is_bounded_and_searchable() {
        let mut history = History::new((0..2_000).map(|n| format!("line {n}")));
        history.push(String::from("  "));

        assert_eq!(history.lines().count(), LINES);
        assert_eq!(
            history.search("line 19", usize::MAX).map(|(_, l)| l),
            Some("line 1999")
        );
        assert_eq!(history.search("line 5", usize::MAX), None);
    }
}
