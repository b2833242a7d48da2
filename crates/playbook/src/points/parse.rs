//! A playbook out of the text of its file. What an older program wrote is taken over, what a person mistyped is read as it
//! was meant where that loses nothing, and whatever is none of ours is kept.

use crate::{Playbook, Point, PointId, Section};
use serde_json::{Map, Value};
use thiserror::Error;

/// The version of the format that is written where none is.
pub(super) const VERSION: &str = "1.0";
/// What can be read has this version, whatever stands behind its point.
const MAJOR: u64 = 1;

/// Why a text is no playbook that can be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReadError {
    /// It is no JSON.
    #[error("line {line}, column {column}: {description}")]
    NotJson {
        /// Where, from 1.
        line: usize,
        /// Where in the line, from 1.
        column: usize,
        /// What is wrong there.
        description: String,
    },
    /// It is JSON, and no playbook.
    #[error("{at}: {description}")]
    NotAPlaybook {
        /// Where: `sections.OTHERS[2]`, counted from 0 as JSON tools do.
        at: String,
        /// What is wrong there.
        description: String,
    },
    /// A later format.
    #[error("its version is {version}, and this program knows {MAJOR}.x")]
    Newer {
        /// What it says of itself.
        version: String,
    },
}

impl Playbook {
    /// The playbook that a file's text holds, and what was taken over from an older form or is odd about it, each with its
    /// place.
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn read(text: &str) -> Result<(Playbook, Vec<String>), ReadError> {
        // Editors of some systems put a mark at the beginning.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let whole: Value = serde_json::from_str(text).map_err(|error| not_json(&error))?;
        let Value::Object(mut whole) = whole else {
            return Err(wrong("the file", &format!("is {}, not an object", kind(&whole))));
        };
        let mut reader = Reader { odd: Vec::new() };
        let version = reader.version(whole.remove("version"))?;
        let last_updated = reader.last_updated(whole.remove("last_updated"));
        let sections = whole.remove("sections").filter(|sections| !sections.is_null());
        let flat = whole.remove("key_points").filter(|flat| !flat.is_null());
        let mut playbook = Playbook { last_updated, version, unknown_fields: whole, ..Playbook::default() };
        match (sections, flat) {
            (Some(sections), flat) => {
                reader.sections(&mut playbook, sections)?;
                if let Some(flat) = flat {
                    let count = flat.as_array().map_or(1, Vec::len);
                    reader.odd(
                        "key_points",
                        &format!("{count} of the old form are passed over: there are sections"),
                    );
                }
            }
            (None, Some(flat)) => *playbook.section_mut(Section::Others) = reader.flat(flat)?,
            (None, None) => reader.odd("the file", "has no sections"),
        }
        Ok((playbook, reader.odd))
    }
}

struct Reader {
    odd: Vec<String>,
}

impl Reader {
    fn odd(&mut self, at: &str, what: &str) {
        self.odd.push(format!("{at}: {what}"));
    }

    fn version(&mut self, version: Option<Value>) -> Result<Option<Value>, ReadError> {
        let Some(version) = version.filter(|version| !version.is_null()) else { return Ok(None) };
        let text = version.as_str().map_or_else(|| version.to_string(), str::to_owned);
        let major = text.trim().trim_start_matches('v').split(['.', '-', '+']).next().unwrap_or_default();
        match major.parse::<u64>() {
            Ok(major) if major > MAJOR => return Err(ReadError::Newer { version: text }),
            Ok(_) => {}
            Err(_) => self.odd("version", &format!("`{text}` is none; read as {VERSION}")),
        }
        Ok((version != VERSION).then_some(version))
    }

    fn last_updated(&mut self, moment: Option<Value>) -> Option<String> {
        match moment {
            None | Some(Value::Null) => None,
            Some(Value::String(moment)) => Some(moment),
            Some(other) => {
                self.odd("last_updated", &format!("is {}, not a text", kind(&other)));
                None
            }
        }
    }

    fn sections(&mut self, playbook: &mut Playbook, sections: Value) -> Result<(), ReadError> {
        let Value::Object(sections) = sections else {
            return Err(wrong("sections", &format!("is {}, not an object", kind(&sections))));
        };
        // Names that are there are given to nobody else: points without one are read behind all others.
        let mut nameless = Vec::new();
        for (title, points) in sections {
            let at = format!("sections.{title}");
            let known = Section::ALL.iter().copied().find(|section| is_title_of(&title, *section));
            let Some(section) = known else {
                self.odd(&at, "is no section of a playbook; kept, and told to nobody");
                playbook.unknown_sections.insert(title, points);
                continue;
            };
            if title != section.title() {
                self.odd(&at, &format!("read as {section}"));
            }
            for (place, point) in list(&at, points)?.into_iter().enumerate() {
                let at = format!("{at}[{place}]");
                let (point, is_named) = self.point(&at, point)?;
                if !is_named {
                    nameless.push((section, playbook.section(section).len(), at));
                }
                playbook.section_mut(section).push(point);
            }
        }
        for (section, place, at) in nameless {
            let name = playbook.next_name(section);
            self.odd(&at, &format!("has no name; named {name}"));
            if let Some(point) = playbook.section_mut(section).get_mut(place) {
                point.name = name;
            }
        }
        Ok(())
    }

    /// A point, and whether it has a name.
    fn point(&mut self, at: &str, point: Value) -> Result<(Point, bool), ReadError> {
        let mut fields = match point {
            Value::Object(fields) => fields,
            Value::String(text) => return Ok((Point::new(PointId::from(""), text), false)),
            other => return Err(wrong(at, &format!("is {}, not a point", kind(&other)))),
        };
        let name = self.text(at, "name", fields.remove("name"));
        let text = self.text(at, "text", fields.remove("text")).unwrap_or_else(|| {
            self.odd(at, "has no text");
            String::new()
        });
        let helpful = self.counter(at, "helpful", fields.remove("helpful"));
        let harmful = self.counter(at, "harmful", fields.remove("harmful"));
        let is_named = name.as_ref().is_some_and(|name| !name.trim().is_empty());
        let name = PointId::from(name.unwrap_or_default());
        Ok((Point { name, text, helpful, harmful, unknown_fields: fields }, is_named))
    }

    fn text(&mut self, at: &str, field: &str, value: Option<Value>) -> Option<String> {
        match value? {
            Value::Null => None,
            Value::String(text) => Some(text),
            other => {
                self.odd(at, &format!("its {field} is {}; read as the text of it", kind(&other)));
                Some(other.to_string())
            }
        }
    }

    fn counter(&mut self, at: &str, field: &str, value: Option<Value>) -> u64 {
        let Some(value) = value else {
            self.odd(at, &format!("has no {field}; read as 0"));
            return 0;
        };
        if let Some(count) = value.as_u64() {
            return count;
        }
        let written = value.as_str().map_or_else(|| value.as_f64(), |text| text.trim().parse().ok());
        let count = written.map_or(0, |written| written.max(0.0) as u64);
        self.odd(at, &format!("its {field} is {value}; read as {count}"));
        count
    }

    /// The points of the old form, which knows no sections.
    fn flat(&mut self, flat: Value) -> Result<Vec<Point>, ReadError> {
        let flat = list("key_points", flat)?;
        let named = |item: &Value| item.get("name").and_then(Value::as_str).map(str::to_owned);
        let taken: Vec<String> = flat.iter().filter_map(named).collect();
        let mut points: Vec<Point> = Vec::new();
        let count = flat.len();
        for (place, item) in flat.into_iter().enumerate() {
            let at = format!("key_points[{place}]");
            let (mut point, is_named) = self.point(&at, scored(item))?;
            if !is_named {
                point.name = old_name(&points, &taken);
            }
            points.push(point);
        }
        if count > 0 {
            self.odd("key_points", &format!("{count} of the old form taken over into {}", Section::Others));
        }
        Ok(points)
    }
}

/// A point of the old form with the two counters that its score stands for.
fn scored(item: Value) -> Value {
    let Value::Object(mut fields) = item else {
        return match item {
            Value::String(text) => {
                let mut fields = Map::from_iter([("text".to_owned(), Value::String(text))]);
                count(&mut fields, 0.0);
                fields.into()
            }
            other => other,
        };
    };
    let score = fields.remove("score");
    let is_counted = fields.contains_key("helpful") && fields.contains_key("harmful");
    match score.as_ref().and_then(Value::as_f64) {
        Some(score) if !is_counted => {
            fields.remove("helpful");
            fields.remove("harmful");
            count(&mut fields, score);
        }
        Some(_) | None => count(&mut fields, 0.0),
    }
    fields.into()
}

/// Sets the counters that are not there.
fn count(fields: &mut Map<String, Value>, score: f64) {
    fields.entry("helpful").or_insert((score.max(0.0) as u64).into());
    fields.entry("harmful").or_insert(((-score).max(0.0) as u64).into());
}

/// One above the highest of those before it, as ever, and nobody else's.
fn old_name(before: &[Point], taken: &[String]) -> PointId {
    let number = |point: &Point| point.name.as_str().strip_prefix("kpt_")?.split('_').next()?.parse().ok();
    let highest: u64 = before.iter().filter_map(number).max().unwrap_or(0);
    let names = (1..).map(|above| format!("kpt_{:03}", highest.saturating_add(above)));
    PointId::from(names.into_iter().find(|name| !taken.contains(name)).unwrap_or_default())
}

fn is_title_of(title: &str, section: Section) -> bool {
    title.trim().eq_ignore_ascii_case(section.title())
}

fn list(at: &str, points: Value) -> Result<Vec<Value>, ReadError> {
    match points {
        Value::Array(points) => Ok(points),
        Value::Null => Ok(Vec::new()),
        other => Err(wrong(at, &format!("is {}, not a list of points", kind(&other)))),
    }
}

fn not_json(error: &serde_json::Error) -> ReadError {
    let said = error.to_string();
    let what = said.rsplit_once(" at line ").map_or(said.as_str(), |(what, _)| what).to_owned();
    ReadError::NotJson { line: error.line(), column: error.column(), description: what }
}

fn wrong(at: &str, what: &str) -> ReadError {
    ReadError::NotAPlaybook { at: at.to_owned(), description: what.to_owned() }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
