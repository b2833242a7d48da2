//! Renders a playbook for a session in the established format: one point per line by section, with its id and
//! its counters.

use super::TextSize;
use super::select::choose;
use crate::templates::{Template, Templates};
use crate::{Playbook, Point, Section, UserError};
use std::collections::BTreeSet;

/// The text to inject into a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Injection {
    /// Full text.
    pub text: String,
    /// Number of included points.
    pub points: usize,
    /// Number of points that did not fit.
    pub omitted: usize,
}

/// Renders the playbook for a session that starts with this prompt, or returns `None` if no point fits.
///
/// If the text, including the introduction, exceeds the limit, the points that fit the prompt best are included.
/// The text then ends with the number of omitted points. The result is deterministic.
pub fn inject(
    playbook: &Playbook,
    prompt: &str,
    limit: TextSize,
    templates: &Templates,
) -> Result<Option<Injection>, UserError> {
    let points: Vec<(Section, &Point)> =
        playbook.points().filter(|(_, point)| !point.text.trim().is_empty()).collect();
    let framed = |text: &str| templates.fill(Template::Playbook, &[("key_points", text)]);
    let whole = framed(&render_points(&points, 0))?;
    let fits = |text: &str| TextSize::measure(text).fits_in(limit);
    if points.is_empty() {
        return Ok(None);
    }
    if fits(&whole) {
        return Ok(Some(Injection { text: whole, points: points.len(), omitted: 0 }));
    }
    let frame = TextSize::measure(&framed(&omission_note(points.len()))?);
    let room = limit.saturating_sub(frame);
    let mut chosen = choose(
        &points,
        prompt,
        room,
        |point| TextSize::measure(&line(point)) + TextSize::measure("\n"),
        // The second line break ends the section.
        |section| TextSize::measure(&heading(section)) + TextSize::measure("\n\n"),
    );
    loop {
        let in_order: BTreeSet<usize> = chosen.iter().copied().collect();
        let included: Vec<(Section, &Point)> = in_order.into_iter().map(|index| points[index]).collect();
        let omitted = points.len() - included.len();
        let text = framed(&render_points(&included, omitted))?;
        if included.is_empty() {
            return Ok(None);
        }
        if fits(&text) {
            return Ok(Some(Injection { text, points: included.len(), omitted }));
        }
        // The text can still be too long, because a template may include the points twice.
        chosen.pop();
    }
}

/// Renders points by section, one per line, and the number of omitted points.
pub(crate) fn render_points(points: &[(Section, &Point)], omitted: usize) -> String {
    let mut blocks = Vec::new();
    for section in Section::ALL {
        let lines: Vec<String> =
            points.iter().filter(|(this, _)| this == section).map(|(_, point)| line(point)).collect();
        if !lines.is_empty() {
            blocks.push(format!("{}\n{}", heading(*section), lines.join("\n")));
        }
    }
    if omitted > 0 {
        blocks.push(omission_note(omitted));
    }
    blocks.join("\n\n")
}

fn heading(section: Section) -> String {
    format!("## {section}")
}

/// Renders a point in one line, so that its text cannot imitate another point or a heading.
fn line(point: &Point) -> String {
    let Point { name, text, helpful, harmful, .. } = point;
    let text: Vec<&str> = text.split_whitespace().collect();
    format!("[{name}] helpful={helpful} harmful={harmful} :: {}", text.join(" "))
}

fn omission_note(count: usize) -> String {
    let points = if count == 1 { "point" } else { "points" };
    format!(
        "({count} more key {points} left out, which fit this less; .claude/playbook.json has all of them)"
    )
}
