//! Splits lines of Markdown into table cells and fields, and reads the words for a status.

use longhaul_workflow::document::list_item;

/// Returns the cells of a table's row. `None` for other lines and for the row below the header.
pub(crate) fn cells(line: &str) -> Option<Vec<&str>> {
    let row = line.trim().strip_prefix('|')?;
    let row = row.strip_suffix('|').unwrap_or(row);
    let is_rule = row.chars().all(|c| matches!(c, '-' | ':' | '|' | ' '));
    (!is_rule).then(|| row.split('|').map(str::trim).collect())
}

/// Returns the key in lower case and the value of `Key: value`, also in bold, as a list item or as a row of two cells.
pub(crate) fn field(line: &str) -> Option<(String, String)> {
    if let Some([key, value]) = cells(line).as_deref() {
        return Some((plain(key).trim_end_matches(':').to_lowercase(), plain(value)));
    }
    let text = list_item(line).map_or(line, |item| item.text);
    let (key, value) = text.split_once(':')?;
    let key = plain(key);
    let is_key = !key.is_empty() && key.split(' ').count() <= 3 && !key.contains(['|', '(', '#']);
    // In `**Key:** value`, the bold type ends after the colon.
    let value = if text.starts_with("**") { value.trim_start_matches('*') } else { value };
    is_key.then(|| (key.to_lowercase(), plain(value)))
}

/// Returns the text without marks for bold type, code and deletion.
pub(crate) fn plain(text: &str) -> String {
    text.replace("**", "").replace("~~", "").replace('`', "").trim().to_owned()
}

/// Returns the text without leading emoji and other marks, such as `✅ ` before the name of a milestone.
pub(crate) fn without_emoji(text: &str) -> &str {
    text.trim_start_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '(' | '[' | '*' | '`' | '~' | '#'))
}

const COMPLETE: &[&[&str]] = &[
    &["✅", "✓", "✔", "☑"],
    &["complete", "completed", "done", "shipped", "delivered", "finished", "closed", "verified"],
    &["completa", "completo", "completada", "completado", "concluída", "concluído"],
    &["terminé", "terminée"],
    &["已完成", "完成", "完了"],
    &["готово", "завершено"],
];
const OPEN: &[&str] =
    &["pending", "blocked", "bloqueado", "pendente", "pendiente", "in progress", "not ", "partial"];

/// Whether a status says that the work is complete, without a reservation.
pub(crate) fn says_complete(status: &str) -> bool {
    let status = plain(status).to_lowercase();
    let status = status.trim_start_matches(['(', '[', ' ', '—', '–', '-', ':']);
    let starts_complete = COMPLETE.iter().copied().flatten().any(|word| {
        let rest = status.strip_prefix(word);
        rest.is_some_and(|rest| !word.is_ascii() || !rest.starts_with(|c: char| c.is_alphanumeric()))
    });
    starts_complete && !OPEN.iter().any(|word| status.contains(word))
}

/// Whether a text is only a note such as `completed 2026-01-01`, unlike the name `Completed orders`.
pub(crate) fn is_complete_note(text: &str) -> bool {
    says_complete(text) && !text.split_whitespace().skip(1).any(|word| word.starts_with(char::is_alphabetic))
}

/// Returns the numbers of `A/B` or `A of B` at the start of a text. The second is `None` for `0/TBD`.
pub(crate) fn ratio(text: &str) -> Option<(usize, Option<usize>)> {
    let (count, rest) = leading_number(text.trim())?;
    let rest = rest.trim_start();
    let total = ["/", "of ", "de "].iter().find_map(|word| rest.strip_prefix(word))?;
    let total = total.trim_start();
    let is_unknown = total.starts_with('?') || total.to_lowercase().starts_with("tbd");
    match leading_number(total) {
        Some((total, _)) => Some((count, Some(total))),
        None => is_unknown.then_some((count, None)),
    }
}

/// Returns the number at the start of a text, and the rest.
pub(crate) fn leading_number(text: &str) -> Option<(usize, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

/// Returns the ASCII letters and digits of a name in lower case, which its slug keeps.
pub(crate) fn letters(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}
