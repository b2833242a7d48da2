//! Tables for people: columns as wide as what is in them, the last one cut at the edge.

use super::text::cut;

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

// A table that is narrower than this says nothing.
const LAST_WIDTH_MIN: usize = 20;

/// The cells, row by row, two spaces between columns.
pub fn table(rows: &[Vec<String>], columns: &[Column], width: usize) -> String {
    let of = |place: usize| rows.iter().map(move |row| row[place].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns.len()).map(of).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (place, (cell, column)) in row.iter().zip(columns).enumerate() {
            let wide = widths[place];
            match column {
                Column::Left => line += &format!("{cell:<wide$}  "),
                Column::Right => line += &format!("{cell:>wide$}  "),
                Column::Last => {
                    let room = width.saturating_sub(line.chars().count()).max(LAST_WIDTH_MIN);
                    line += &cut(cell, room);
                }
            }
        }
        out += line.trim_end();
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
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
}
