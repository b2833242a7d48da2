//! Tables for people: columns as wide as what is in them, the last one cut at the edge.

use super::color::{Colors, Style};
use super::envelope_text::cut;

/// How a column is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Words.
    Left,
    /// Numbers.
    Right,
    /// Words, as far as there is room.
    Last,
}

// Fewer characters of a text say nothing.
const LAST_WIDTH_MIN: usize = 8;

/// The cells, row by row, two spaces between columns.
pub fn table(rows: &[Vec<String>], columns: &[Column], width: usize) -> String {
    painted(rows, columns, width, Colors::plain(), |_, _| None)
}

/// The same, where the first row is the heading, and a cell, by its row and its place there, is shown as what it means.
pub fn painted(
    rows: &[Vec<String>],
    columns: &[Column],
    width: usize,
    paint: Colors,
    meaning: impl Fn(usize, usize) -> Option<Style>,
) -> String {
    let of = |place: usize| rows.iter().map(move |row| row[place].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns.len()).map(of).collect();
    let mut out = String::new();
    for (number, row) in rows.iter().enumerate() {
        let (mut line, mut used) = (String::new(), 0);
        for (place, (cell, column)) in row.iter().zip(columns).enumerate() {
            let means = if number == 0 { Some(Style::Heading) } else { meaning(number, place) };
            // What is around a cell has no colour.
            let around = " ".repeat(widths[place] - cell.chars().count());
            match column {
                Column::Left => line += &format!("{}{around}  ", paint.styled(cell, means)),
                Column::Right => line += &format!("{around}{}  ", paint.styled(cell, means)),
                Column::Last => {
                    let room = width.saturating_sub(used).max(LAST_WIDTH_MIN);
                    line += &paint.styled(&cut(cell, room), means);
                }
            }
            used += widths[place] + 2;
        }
        out += line.trim_end();
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::out::shown;
    use expect_test::expect;

    #[test]
    fn columns_are_as_wide_as_their_cells_and_the_last_one_is_cut() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let rows = [
            row(["id", "cost", "task"]),
            row(["a", "$1.00", "prove it"]),
            row(["bcd", "$10.00", &"é".repeat(40)]),
        ];
        let told = table(&rows, &[Column::Left, Column::Right, Column::Last], 36);
        expect![[r#"
            id     cost  task
            a     $1.00  prove it
            bcd  $10.00  éééééééééééééééééééééé…
        "#]]
        .assert_eq(&told);
    }
    #[test]
    fn colours_take_no_room() {
        let rows = [["state", "cost"], ["done", "$1.00"], ["failed", "$10.00"]]
            .map(|row| row.map(str::to_owned).to_vec());
        let bad = |row: usize, place: usize| ((row, place) == (2, 0)).then_some(Style::Bad);
        let told = painted(&rows, &[Column::Left, Column::Right], 80, Colors::coloured(), bad);
        let told = shown(&told).into_owned();
        let plain = table(&rows, &[Column::Left, Column::Right], 80);
        let codes = ["\x1b[1;31m", "\x1b[1m", "\x1b[0m"];
        assert_eq!(codes.iter().fold(told.clone(), |text, code| text.replace(code, "")), plain);
        assert_eq!(told.lines().last(), Some("\x1b[1;31mfailed\x1b[0m  $10.00"));
    }
}
