//! Tables for people: columns as wide as their cells, the last one shortened at the edge.

use super::color::{Colors, Style};
use super::envelope_text::fit;
use unicode_width::UnicodeWidthStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    Left,
    Right,
    /// Text, shortened to the remaining width.
    Last,
}

// A shorter text would be meaningless.
const LAST_WIDTH_MIN: usize = 8;

pub fn table(rows: &[Vec<String>], columns: &[Column], width: usize) -> String {
    colored_table(rows, columns, width, Colors::plain(), |_, _| None)
}

/// Formats a table in color. The first row is the heading. `style` returns the style of a cell by its row and
/// column.
pub fn colored_table(
    rows: &[Vec<String>],
    columns: &[Column],
    width: usize,
    colors: Colors,
    style: impl Fn(usize, usize) -> Option<Style>,
) -> String {
    let widths: Vec<usize> = (0..columns.len()).map(|index| column_width(rows, index)).collect();
    let mut out = String::new();
    for (number, row) in rows.iter().enumerate() {
        let (mut line, mut used) = (String::new(), 0);
        for (index, (cell, column)) in row.iter().zip(columns).enumerate() {
            let cell_style = if number == 0 { Some(Style::Heading) } else { style(number, index) };
            // Only the text of a cell is colored, not its padding.
            let padding = " ".repeat(widths[index] - cell.width());
            match column {
                Column::Left => line += &format!("{}{padding}  ", colors.styled(cell, cell_style)),
                Column::Right => line += &format!("{padding}{}  ", colors.styled(cell, cell_style)),
                Column::Last => {
                    let room = width.saturating_sub(used).max(LAST_WIDTH_MIN);
                    line += &colors.styled(&fit(cell, room), cell_style);
                }
            }
            used += widths[index] + 2;
        }
        out += line.trim_end();
        out.push('\n');
    }
    out
}

/// Hides these columns, in this order, until `least` of the width remains for the last column. Returns the cells and the
/// kinds of the others.
pub fn hide_columns(
    rows: &[Vec<String>],
    kinds: &[Column],
    dispensable: &[usize],
    width: usize,
    least: usize,
) -> (Vec<Vec<String>>, Vec<Column>) {
    let mut columns: Vec<usize> = (0..kinds.len()).collect();
    for column in dispensable {
        let fixed = columns.iter().filter(|column| kinds[**column] != Column::Last);
        if fixed.map(|column| column_width(rows, *column) + 2).sum::<usize>() + least > width {
            columns.retain(|other| other != column);
        }
    }
    let row = |row: &Vec<String>| columns.iter().map(|column| row[*column].clone()).collect();
    (rows.iter().map(row).collect(), columns.iter().map(|column| kinds[*column]).collect())
}

fn column_width(rows: &[Vec<String>], column: usize) -> usize {
    rows.iter().map(|row| row[column].width()).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::out::sanitize;
    use expect_test::expect;

    #[test]
    fn columns_fit_cells_and_last_is_shortened() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let rows = [
            row(["id", "cost", "task"]),
            row(["a", "$1.00", "prove it"]),
            row(["bcd", "$10.00", &"é".repeat(40)]),
        ];
        let text = table(&rows, &[Column::Left, Column::Right, Column::Last], 36);
        expect![[r#"
            id     cost  task
            a     $1.00  prove it
            bcd  $10.00  éééééééééééééééééééééé…
        "#]]
        .assert_eq(&text);
    }

    #[test]
    fn wide_characters_take_two_columns() {
        let rows = [["日本", "x"], ["abc", "日本語日本語"]].map(|row| row.map(str::to_owned).to_vec());
        expect![[r#"
            日本  x
            abc   日本語…
        "#]]
        .assert_eq(&table(&rows, &[Column::Left, Column::Last], 14));
    }

    #[test]
    fn colors_take_no_width() {
        let rows = [["state", "cost"], ["done", "$1.00"], ["failed", "$10.00"]]
            .map(|row| row.map(str::to_owned).to_vec());
        let bad = |row: usize, index: usize| ((row, index) == (2, 0)).then_some(Style::Bad);
        let text = colored_table(&rows, &[Column::Left, Column::Right], 80, Colors::colored(), bad);
        let text = sanitize(&text).into_owned();
        let plain = table(&rows, &[Column::Left, Column::Right], 80);
        let codes = ["\x1b[1;31m", "\x1b[1m", "\x1b[0m"];
        assert_eq!(codes.iter().fold(text.clone(), |text, code| text.replace(code, "")), plain);
        assert_eq!(text.lines().last(), Some("\x1b[1;31mfailed\x1b[0m  $10.00"));
    }
}
