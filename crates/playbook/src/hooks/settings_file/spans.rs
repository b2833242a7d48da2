//! Locates values in JSON text, so that one can be added or removed while every other byte stays the same.

use serde::Serialize;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;
use std::ops::Range;

/// An element of an object or an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// Name, if it is in an object.
    pub(super) name: String,
    /// Byte range of the value.
    pub(super) value: Range<usize>,
    /// Byte range of the name and the value.
    whole: Range<usize>,
}

/// Returns the elements of the object or array in this range, in order. `None` if there is neither.
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
    // They are borrowed from the text and follow each other in it.
    let mut offset = container.start;
    let items = found.into_iter().map(|(name, raw)| {
        let start = raw.get().as_ptr().addr() - text.as_ptr().addr();
        let value = start..start + raw.get().len();
        // Only whitespace and a comma or a brace precede the quote of a name.
        let quote = text[offset..start].find('"').filter(|_| name.is_some());
        let whole = quote.map_or(start, |quote| offset + quote)..value.end;
        offset = value.end;
        Item { name: name.unwrap_or_default(), value, whole }
    });
    Some(items.collect())
}

/// Returns the last item of this name, which is the one that JSON parsers use.
pub(super) fn find_item<'a>(items: &'a [Item], name: &str) -> Option<(usize, &'a Item)> {
    items.iter().enumerate().rev().find(|(_, item)| item.name == name)
}

pub(super) fn remove_item(text: &str, items: &[Item], index: usize) -> String {
    let item = &items[index].whole;
    let previous = index.checked_sub(1).and_then(|index| items.get(index));
    let gap = match (previous, items.get(index + 1)) {
        (Some(previous), _) => previous.whole.end..item.end,
        (None, Some(next)) => item.start..next.whole.start,
        (None, None) => {
            let space_after = text[item.end..].len() - text[item.end..].trim_start().len();
            text[..item.start].trim_end().len()..item.end + space_after
        }
    };
    spliced(text, gap, "")
}

/// Returns the text with one more item at the end of a container, in the layout of the existing ones.
pub(super) fn insert_item(
    text: &str,
    container: &Range<usize>,
    items: &[Item],
    name: Option<&str>,
    value: &impl Serialize,
) -> String {
    let end = line_end(text);
    // The first line is not indented. Without an indentation, everything is on one line.
    let render = |indent: Option<&str>| {
        let value = match indent {
            Some(indent) => pretty(value, unit(text)).replace('\n', &format!("{end}{indent}")),
            None => serde_json::to_string(value).unwrap_or_default(),
        };
        match name {
            Some(name) => format!("{}: {value}", serde_json::json!(name)),
            None => value,
        }
    };
    let Some(last) = items.last() else {
        let outer = indent(text, container.start);
        let inner = outer.clone() + unit(text);
        let (open, close) =
            (&text[container.start..container.start + 1], &text[container.end - 1..container.end]);
        let filled = format!("{open}{end}{inner}{}{end}{outer}{close}", render(Some(&inner)));
        return spliced(text, container.clone(), &filled);
    };
    let begins_line = text[..last.whole.start].trim_end_matches([' ', '\t']).ends_with('\n');
    let added = if begins_line {
        let indent = indent(text, last.whole.start);
        format!(",{end}{indent}{}", render(Some(&indent)))
    } else {
        format!(", {}", render(None))
    };
    spliced(text, last.whole.end..last.whole.end, &added)
}

fn pretty(value: &impl Serialize, unit: &str) -> String {
    let mut bytes = Vec::new();
    let pretty = serde_json::ser::PrettyFormatter::with_indent(unit.as_bytes());
    // Serializing to memory with string keys never fails.
    let _ = value.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, pretty));
    String::from_utf8(bytes).unwrap_or_default()
}

fn indent(text: &str, offset: usize) -> String {
    let line_start = text[..offset].rfind('\n').map_or(0, |end| end + 1);
    text[line_start..offset].chars().take_while(|c| matches!(c, ' ' | '\t')).collect()
}

/// Returns one step of indentation, taken from the first indented line.
fn unit(text: &str) -> &str {
    let space = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let indented = text.lines().find(|line| space(line) > 0 && !line.trim().is_empty());
    indented.map_or("  ", |line| &line[..space(line)])
}

fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

fn spliced(text: &str, range: Range<usize>, new: &str) -> String {
    format!("{}{new}{}", &text[..range.start], &text[range.end..])
}

/// The members of an object in order, with their raw text.
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
