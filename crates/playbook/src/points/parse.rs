//! Parses the text of a playbook file. Old formats are converted, typing errors are tolerated if nothing is
//! lost, and unknown content is preserved.

use crate::{Playbook, Point, PointId, Section};
use serde_json::{Map, Value};
use thiserror::Error;

/// Version that is written by default.
pub(super) const VERSION: &str = "1.0";
/// Supported major version, with any minor version.
const MAJOR: u64 = 1;

/// Why a text is not a usable playbook.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReadError {
    /// The text is not a playbook. The description begins with a line and column, or with a JSON path such as
    /// `sections.OTHERS[2]`, counted from 0 as JSON tools do.
    #[error("{0}")]
    Damaged(String),
    /// The format is newer.
    #[error("its version is {version}, but this program supports {MAJOR}.x")]
    Newer {
        /// Version of the file.
        version: String,
    },
}

impl Playbook {
    /// Parses the text of a file. Also returns warnings about conversions and oddities, each with its
    /// location.
    ///
    /// # Errors
    /// Returns [`ReadError`] if the text is not a usable playbook.
    pub fn read(text: &str) -> Result<(Playbook, Vec<String>), ReadError> {
        // Some editors write a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let whole: Value = serde_json::from_str(text).map_err(|error| not_json(&error))?;
        let Value::Object(mut whole) = whole else {
            return Err(invalid("the file", &format!("is {}, not an object", kind(&whole))));
        };
        let mut reader = Reader { warnings: Vec::new() };
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
                    reader.warn(
                        "key_points",
                        &format!("{count} in the old format ignored, because there are sections"),
                    );
                }
            }
            (None, Some(flat)) => *playbook.section_mut(Section::Others) = reader.flat(flat)?,
            (None, None) => reader.warn("the file", "has no sections"),
        }
        Ok((playbook, reader.warnings))
    }
}

struct Reader {
    warnings: Vec<String>,
}

impl Reader {
    fn warn(&mut self, path: &str, description: &str) {
        self.warnings.push(format!("{path}: {description}"));
    }

    fn version(&mut self, version: Option<Value>) -> Result<Option<Value>, ReadError> {
        let Some(version) = version.filter(|version| !version.is_null()) else { return Ok(None) };
        let text = version.as_str().map_or_else(|| version.to_string(), str::to_owned);
        let major = text.trim().trim_start_matches('v').split(['.', '-', '+']).next().unwrap_or_default();
        match major.parse::<u64>() {
            Ok(major) if major > MAJOR => return Err(ReadError::Newer { version: text }),
            Ok(_) => {}
            Err(_) => self.warn("version", &format!("`{text}` is not a version; read as {VERSION}")),
        }
        Ok((version != VERSION).then_some(version))
    }

    fn last_updated(&mut self, moment: Option<Value>) -> Option<String> {
        match moment {
            None | Some(Value::Null) => None,
            Some(Value::String(moment)) => Some(moment),
            Some(other) => {
                self.warn("last_updated", &format!("is {}, not a text", kind(&other)));
                None
            }
        }
    }

    fn sections(&mut self, playbook: &mut Playbook, sections: Value) -> Result<(), ReadError> {
        let Value::Object(sections) = sections else {
            return Err(invalid("sections", &format!("is {}, not an object", kind(&sections))));
        };
        // Existing ids must not be reused, so points without an id are named after all others.
        let mut nameless = Vec::new();
        for (title, points) in sections {
            let path = format!("sections.{title}");
            let Some(section) = Section::from_title(&title) else {
                self.warn(&path, "is not a section of a playbook; it is kept but never injected");
                playbook.unknown_sections.insert(title, points);
                continue;
            };
            if title != section.title() {
                self.warn(&path, &format!("read as {section}"));
            }
            for (index, point) in list(&path, points)?.into_iter().enumerate() {
                let path = format!("{path}[{index}]");
                let (point, is_named) = self.point(&path, point)?;
                if !is_named {
                    nameless.push((section, playbook.section(section).len(), path));
                }
                playbook.section_mut(section).push(point);
            }
        }
        for (section, index, path) in nameless {
            let name = playbook.next_name(section);
            self.warn(&path, &format!("has no name; named {name}"));
            if let Some(point) = playbook.section_mut(section).get_mut(index) {
                point.name = name;
            }
        }
        Ok(())
    }

    fn point(&mut self, path: &str, point: Value) -> Result<(Point, bool), ReadError> {
        let mut fields = match point {
            Value::Object(fields) => fields,
            Value::String(text) => return Ok((Point::new(PointId::from(""), text), false)),
            other => return Err(invalid(path, &format!("is {}, not a point", kind(&other)))),
        };
        let name = self.text(path, "name", fields.remove("name"));
        let text = self.text(path, "text", fields.remove("text")).unwrap_or_else(|| {
            self.warn(path, "has no text");
            String::new()
        });
        let helpful = self.counter(path, "helpful", fields.remove("helpful"));
        let harmful = self.counter(path, "harmful", fields.remove("harmful"));
        let is_named = name.as_ref().is_some_and(|name| !name.trim().is_empty());
        let name = PointId::from(name.unwrap_or_default());
        Ok((Point { name, text, helpful, harmful, unknown_fields: fields }, is_named))
    }

    fn text(&mut self, path: &str, field: &str, value: Option<Value>) -> Option<String> {
        match value? {
            Value::Null => None,
            Value::String(text) => Some(text),
            other => {
                self.warn(path, &format!("its {field} is {}; read as text", kind(&other)));
                Some(other.to_string())
            }
        }
    }

    fn counter(&mut self, path: &str, field: &str, value: Option<Value>) -> u64 {
        let Some(value) = value else {
            self.warn(path, &format!("has no {field}; read as 0"));
            return 0;
        };
        if let Some(count) = value.as_u64() {
            return count;
        }
        let number = value.as_str().map_or_else(|| value.as_f64(), |text| text.trim().parse().ok());
        let count = number.map_or(0, |number| number.max(0.0) as u64);
        self.warn(path, &format!("its {field} is {value}; read as {count}"));
        count
    }

    fn flat(&mut self, flat: Value) -> Result<Vec<Point>, ReadError> {
        let flat = list("key_points", flat)?;
        let name_of = |item: &Value| item.get("name").and_then(Value::as_str).map(str::to_owned);
        let used_names: Vec<String> = flat.iter().filter_map(name_of).collect();
        let mut points: Vec<Point> = Vec::new();
        let count = flat.len();
        for (index, item) in flat.into_iter().enumerate() {
            let path = format!("key_points[{index}]");
            let (mut point, is_named) = self.point(&path, scored(item))?;
            if !is_named {
                point.name = old_name(&points, &used_names);
            }
            points.push(point);
        }
        if count > 0 {
            self.warn("key_points", &format!("{count} in the old format moved to {}", Section::Others));
        }
        Ok(points)
    }
}

/// Converts the score of a point in the old format to two counters.
fn scored(item: Value) -> Value {
    let mut fields = match item {
        Value::Object(fields) => fields,
        Value::String(text) => Map::from_iter([("text".to_owned(), Value::String(text))]),
        other => return other,
    };
    let score = fields.remove("score").and_then(|score| score.as_f64());
    let is_counted = fields.contains_key("helpful") && fields.contains_key("harmful");
    if let Some(score) = score.filter(|_| !is_counted) {
        fields.insert("helpful".to_owned(), (score.max(0.0) as u64).into());
        fields.insert("harmful".to_owned(), ((-score).max(0.0) as u64).into());
    }
    fields.entry("helpful").or_insert(0_u64.into());
    fields.entry("harmful").or_insert(0_u64.into());
    fields.into()
}

/// Returns an id one above the highest before it, as the old format did, skipping used ids.
fn old_name(before: &[Point], used_names: &[String]) -> PointId {
    let number = |point: &Point| point.name.as_str().strip_prefix("kpt_")?.split('_').next()?.parse().ok();
    let highest: u64 = before.iter().filter_map(number).max().unwrap_or(0);
    let names = (1..).map(|step| format!("kpt_{:03}", highest.saturating_add(step)));
    PointId::from(names.into_iter().find(|name| !used_names.contains(name)).unwrap_or_default())
}

fn list(path: &str, points: Value) -> Result<Vec<Value>, ReadError> {
    match points {
        Value::Array(points) => Ok(points),
        Value::Null => Ok(Vec::new()),
        other => Err(invalid(path, &format!("is {}, not a list of points", kind(&other)))),
    }
}

fn not_json(error: &serde_json::Error) -> ReadError {
    let message = error.to_string();
    let description = message.rsplit_once(" at line ").map_or(&*message, |(description, _)| description);
    ReadError::Damaged(format!("line {}, column {}: {description}", error.line(), error.column()))
}

fn invalid(path: &str, description: &str) -> ReadError {
    ReadError::Damaged(format!("{path}: {description}"))
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
