//! What a session is told of a playbook, in the form that users of existing playbooks know: a point a line, by section, with
//! its name and its record.

use super::select::{Chosen, choose};
use crate::judging::{Template, Templates, TemplatesError};
use crate::{Playbook, Point, Section};
use longhaul_agent::estimated_tokens;

/// What a session is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Injection {
    /// The text.
    pub text: String,
    /// How many points are in it.
    pub points: usize,
    /// How many are not, for want of room.
    pub omitted: usize,
}

/// What a session that begins with this prompt is told; nothing if there is nothing to tell, or no room for a single point.
/// Of a playbook that is larger than `max_tokens` ([`estimated_tokens`], the introduction included) it is what fits the
/// prompt best, and the text says at its end how much was left out. The same is always told the same.
///
/// # Errors
/// [`TemplatesError`] if the user has a template of his own that cannot be used.
pub fn inject(
    playbook: &Playbook,
    prompt: &str,
    max_tokens: Option<u64>,
    templates: &Templates,
) -> Result<Option<Injection>, TemplatesError> {
    let points: Vec<(Section, &Point)> =
        playbook.points().filter(|(_, point)| !point.text.trim().is_empty()).collect();
    let framed = |text: &str| templates.fill(Template::Playbook, &[("key_points", text)]);
    let whole = framed(&render_points(&points, 0))?;
    let fits = |text: &str| max_tokens.is_none_or(|max_tokens| estimated_tokens(text) <= max_tokens);
    if points.is_empty() {
        return Ok(None);
    }
    if fits(&whole) {
        return Ok(Some(Injection { text: whole, points: points.len(), omitted: 0 }));
    }
    let frame = estimated_tokens(&framed(&left_out(points.len()))?);
    let room = max_tokens.unwrap_or(u64::MAX).saturating_sub(frame);
    let mut chosen = choose(
        &points,
        prompt,
        room,
        |point| estimated_tokens(&line(point)) + 1,
        |section| estimated_tokens(&heading(section)) + 1,
    );
    loop {
        let told: Vec<(Section, &Point)> = Chosen::in_order(&chosen).map(|place| points[place]).collect();
        let left_out = points.len() - told.len();
        let text = framed(&render_points(&told, left_out))?;
        if told.is_empty() {
            return Ok(None);
        }
        if fits(&text) {
            return Ok(Some(Injection { text, points: told.len(), omitted: left_out }));
        }
        // A template may name the points twice.
        chosen.pop();
    }
}

/// Points by section, a line each, and how many there are besides.
pub(crate) fn render_points(points: &[(Section, &Point)], omitted: usize) -> String {
    let mut blocks = Vec::new();
    for section in Section::ALL {
        let lines: Vec<String> =
            points.iter().filter(|(of, _)| of == section).map(|(_, point)| line(point)).collect();
        if !lines.is_empty() {
            blocks.push(format!("{}\n{}", heading(*section), lines.join("\n")));
        }
    }
    if omitted > 0 {
        blocks.push(self::left_out(omitted));
    }
    blocks.join("\n\n")
}

fn heading(section: Section) -> String {
    format!("## {section}")
}

/// A point is a line, whatever its text: what looks like another point or a heading in it is neither.
fn line(point: &Point) -> String {
    let Point { name, text, helpful, harmful, .. } = point;
    let text: Vec<&str> = text.split_whitespace().collect();
    format!("[{name}] helpful={helpful} harmful={harmful} :: {}", text.join(" "))
}

fn left_out(count: usize) -> String {
    let points = if count == 1 { "point" } else { "points" };
    format!(
        "({count} more key {points} left out, which fit this less; .claude/playbook.json has all of them)"
    )
}
