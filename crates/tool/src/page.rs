//! Layout of a monitor page: one line per value, one column per item; remarks stand above the values.

use menu::{Row, Value};

/// Maximum length of a line of a remark, in characters.
const REMARK_WIDTH: usize = 80;

/// Formats a remark beside the column of the values. RouterOS: three semicolons, and further lines below the text.
fn remark(text: &str, indent: usize) -> String {
    let (mut lines, mut line) = (String::new(), String::new());
    let mut mark = ";;;";
    let mut end = |line: &mut String| {
        lines.push_str(&format!("{:indent$}{mark:3} {line}\n", ""));
        mark = "";
        line.clear();
    };
    for word in text.split(' ') {
        if !line.is_empty() && line.len() + 1 + word.len() > REMARK_WIDTH {
            end(&mut line);
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    end(&mut line);
    lines
}

/// Formats the page of these rows.
pub fn page(rows: &[Row]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in rows.iter().flat_map(|row| &row.cells) {
        if *name != Row::ABOUT && !names.contains(name) {
            names.push(name);
        }
    }
    let texts = |row: &Row| -> Vec<String> {
        let cell = |name: &&str| row.get(name).map(Value::to_string);
        names.iter().map(|n| cell(n).unwrap_or_default()).collect()
    };
    let columns: Vec<_> = rows.iter().map(texts).collect();
    // Several columns are right-aligned; a single one is left-aligned.
    let width = |column: &Vec<String>| match columns.len() {
        0 | 1 => 0,
        _ => column
            .iter()
            .map(|text| text.chars().count() + 1)
            .max()
            .unwrap_or(0),
    };
    let widths: Vec<_> = columns.iter().map(width).collect();
    let indent = names.iter().map(|name| name.len()).max().unwrap_or(0) + 2;
    let mut page = String::new();
    for about in rows.iter().filter_map(|row| row.get(Row::ABOUT)) {
        page.push_str(&remark(&about.to_string(), indent.saturating_sub(2)));
    }
    for (at, name) in names.iter().enumerate() {
        page.push_str(&format!("{name:>indent$}:"));
        for (column, width) in columns.iter().zip(&widths) {
            let text = &column[at];
            page.push_str(&format!(" {text:>width$}"));
        }
        page.push('\n');
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, bits: i64) -> Row {
        let mut row = Row::default();
        row.set("name", Value::text(name));
        row.set("rx-bits-per-second", Value::BitRate(bits));
        row
    }

    #[test]
    fn interfaces_monitored_together_are_columns() {
        assert_eq!(
            page(&[row("ether1", 1_250)]),
            "                name: ether1\n  rx-bits-per-second: 1.2kbps\n"
        );
        assert_eq!(
            page(&[row("ether1", 999), row("bridge-local", 9_876_543_210)]),
            "                name:  ether1  bridge-local\n  \
               rx-bits-per-second:  999bps       9.8Gbps\n"
        );
        assert_eq!(page(&[]), "");
    }
}
