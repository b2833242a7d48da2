//! Where things stand in a text of JSON, so that one of them can be added or taken out and every other byte stays as it is.

use serde::Serialize;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;
use std::ops::Range;

/// One thing in an object or an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// Its name, in an object.
    pub(super) name: String,
    /// The bytes of its value.
    pub(super) value: Range<usize>,
    /// The same, from its name on.
    whole: Range<usize>,
}

/// What is in the object or the array at this place of the text, in its order. Nothing if it is neither of them.
pub(super) fn items(text: &str, container: &Range<usize>) -> Option<Vec<Item>> {
    let part = &text[container.clone()];
    let found = match part.trim_start().as_bytes().first()? {
        b'{' => serde_json::from_str::<Members<'_>>(part).ok()?.0,
        b'[' => {
            let elements: Vec<&RawValue> = serde_json::from_str(part).ok()?;
            elements.into_iter().map(|raw| (None, raw)).collect()
        }
        _ => return None,
    };
    // They are borrowed from the text, and lie in it one behind the other.
    let mut at = container.start;
    let items = found.into_iter().map(|(name, raw)| {
        let begins = raw.get().as_ptr().addr() - text.as_ptr().addr();
        let value = begins..begins + raw.get().len();
        // Nothing but space and a comma or a brace comes before the quote of a name.
        let quote = text[at..begins].find('"').filter(|_| name.is_some());
        let whole = quote.map_or(begins, |quote| at + quote)..value.end;
        at = value.end;
        Item { name: name.unwrap_or_default(), value, whole }
    });
    Some(items.collect())
}

/// The last one of this name: the one that counts, where there are several.
pub(super) fn named<'a>(items: &'a [Item], name: &str) -> Option<(usize, &'a Item)> {
    items.iter().enumerate().rev().find(|(_, item)| item.name == name)
}

/// The text without one of them.
pub(super) fn without(text: &str, items: &[Item], index: usize) -> String {
    let item = &items[index].whole;
    let before = index.checked_sub(1).and_then(|before| items.get(before));
    let gap = match (before, items.get(index + 1)) {
        (Some(before), _) => before.whole.end..item.end,
        (None, Some(after)) => item.start..after.whole.start,
        (None, None) => {
            let space_after = text[item.end..].len() - text[item.end..].trim_start().len();
            text[..item.start].trim_end().len()..item.end + space_after
        }
    };
    spliced(text, gap, "")
}

/// The text with a member or an element more at the end of a container, laid out as what is there.
pub(super) fn with(
    text: &str,
    container: &Range<usize>,
    items: &[Item],
    name: Option<&str>,
    value: &impl Serialize,
) -> String {
    let written = |layout: &Layout| match name {
        Some(name) => format!("{}: {}", serde_json::json!(name), layout.written(value)),
        None => layout.written(value),
    };
    let Some(last) = items.last() else {
        let outer = indent(text, container.start);
        let layout = Layout::lines(text, outer.clone() + unit(text));
        let (open, close) =
            (&text[container.start..container.start + 1], &text[container.end - 1..container.end]);
        let end = line_end(text);
        let filled = format!("{open}{end}{}{}{end}{outer}{close}", layout.indent(), written(&layout));
        return spliced(text, container.clone(), &filled);
    };
    let begins_line = text[..last.whole.start].trim_end_matches([' ', '\t']).ends_with('\n');
    let (layout, between) = if begins_line {
        let layout = Layout::lines(text, indent(text, last.whole.start));
        let between = format!(",{}{}", line_end(text), layout.indent());
        (layout, between)
    } else {
        (Layout::OneLine, ", ".to_owned())
    };
    spliced(text, last.whole.end..last.whole.end, &(between + &written(&layout)))
}

/// How what is added is laid out.
enum Layout {
    OneLine,
    Lines { indent: String, unit: String, line_end: &'static str },
}

impl Layout {
    fn lines(text: &str, indent: String) -> Layout {
        Layout::Lines { indent, unit: unit(text).to_owned(), line_end: line_end(text) }
    }

    fn indent(&self) -> &str {
        match self {
            Layout::OneLine => "",
            Layout::Lines { indent, .. } => indent,
        }
    }

    /// The value, without the indentation of its first line.
    fn written(&self, value: &impl Serialize) -> String {
        match self {
            Layout::OneLine => serde_json::to_string(value).unwrap_or_default(),
            Layout::Lines { indent, unit, line_end } => {
                let mut bytes = Vec::new();
                let pretty = serde_json::ser::PrettyFormatter::with_indent(unit.as_bytes());
                let mut out = serde_json::Serializer::with_formatter(&mut bytes, pretty);
                // What is written here has string keys, and memory does not refuse.
                let _ = value.serialize(&mut out);
                String::from_utf8(bytes).unwrap_or_default().replace('\n', &format!("{line_end}{indent}"))
            }
        }
    }
}

/// The space at the beginning of the line that this place is in.
fn indent(text: &str, at: usize) -> String {
    let begins = text[..at].rfind('\n').map_or(0, |end| end + 1);
    text[begins..at].chars().take_while(|letter| matches!(letter, ' ' | '\t')).collect()
}

/// One step of indentation: that of the first line that has any.
fn unit(text: &str) -> &str {
    let space = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let indented = text.lines().find(|line| space(line) > 0 && !line.trim().is_empty());
    indented.map_or("  ", |line| &line[..space(line)])
}

fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

fn spliced(text: &str, place: Range<usize>, new: &str) -> String {
    format!("{}{new}{}", &text[..place.start], &text[place.end..])
}

/// The members of an object in their order, each as it is written.
struct Members<'a>(Vec<(Option<String>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_map(InOrder)
    }
}

struct InOrder;

impl<'de> Visitor<'de> for InOrder {
    type Value = Members<'de>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
        let mut members = Vec::new();
        while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
            members.push((Some(name), value));
        }
        Ok(Members(members))
    }
}
