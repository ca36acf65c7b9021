//! The lines that were submitted, newest last, bounded.

use std::collections::VecDeque;

/// How many lines are kept.
pub const LINES: usize = 1_000;

/// Submitted lines and where the user is among them.
#[derive(Debug, Default)]
pub struct History {
    lines: VecDeque<String>,
    /// Where we are: `lines.len()` is the line being typed.
    at: usize,
    /// What was being typed when the user went up.
    draft: String,
}

impl History {
    /// A history with these lines, oldest first.
    pub fn new(lines: impl IntoIterator<Item = String>) -> Self {
        let mut history = Self::default();
        lines.into_iter().for_each(|line| history.push(line));
        history
    }

    /// Adds a submitted line, unless it is empty or repeats the last one.
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

    /// The line before the one shown, if there is one; `current` is kept as the draft.
    pub fn older(&mut self, current: &str) -> Option<&str> {
        if self.at == self.lines.len() {
            current.clone_into(&mut self.draft);
        }
        self.at = self.at.checked_sub(1)?;
        self.lines.get(self.at).map(String::as_str)
    }

    /// The line after the one shown, the draft last.
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

    /// The newest line before place `before` that contains `text`, and its place.
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

    /// All lines, oldest first.
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
    fn it_is_bounded_and_searchable() {
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
