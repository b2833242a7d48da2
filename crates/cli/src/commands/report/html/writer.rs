//! Writes HTML.
//!
//! Output is always balanced, because an element is a closure, and always escaped, because there is no method
//! for raw text. Names of elements and attributes are constants of the program.

use crate::output::envelope_text::is_control_like;
use std::fmt::{Arguments, Write};

/// An HTML page or a fragment of one.
#[derive(Debug, Default)]
pub struct Html {
    out: String,
}

/// Attributes of an element: name and value.
pub type Attributes<'a> = &'a [(&'static str, &'a str)];

impl Html {
    /// Writes an element with this content.
    pub fn element(
        &mut self,
        name: &'static str,
        attributes: Attributes<'_>,
        inside: impl FnOnce(&mut Html),
    ) {
        self.start(name, attributes);
        inside(self);
        self.out.push_str("</");
        self.out.push_str(name);
        self.out.push('>');
    }

    /// Writes an element that contains only text.
    pub fn leaf(&mut self, name: &'static str, attributes: Attributes<'_>, text: &str) {
        self.element(name, attributes, |html| html.text(text));
    }

    /// Writes an element that has no content.
    pub fn void(&mut self, name: &'static str, attributes: Attributes<'_>) {
        self.start(name, attributes);
    }

    /// Writes text, escaped.
    pub fn text(&mut self, text: &str) {
        escape(&mut self.out, text, false);
    }

    /// Writes formatted text, escaped.
    pub fn format(&mut self, text: Arguments<'_>) {
        match text.as_str() {
            Some(text) => self.text(text),
            None => self.text(&text.to_string()),
        }
    }

    /// Writes a style sheet of the program.
    pub fn style(&mut self, sheet: &'static str) {
        debug_assert!(!sheet.contains('<'), "a style sheet ends at the first `</`");
        self.element("style", &[], |html| html.out.push_str(sheet));
    }

    /// Writes a line break. Browsers ignore it; it makes the source readable.
    pub fn line(&mut self) {
        self.out.push('\n');
    }

    /// Returns the complete document.
    pub fn into_document(self) -> String {
        format!("<!doctype html>\n{}\n", self.out)
    }

    fn start(&mut self, name: &'static str, attributes: Attributes<'_>) {
        self.out.push('<');
        self.out.push_str(name);
        for (name, value) in attributes {
            write!(self.out, " {name}=\"").expect("a string takes all");
            escape(&mut self.out, value, true);
            self.out.push('"');
        }
        self.out.push('>');
    }
}

/// Escapes text. Quotation marks are escaped only in attributes.
fn escape(out: &mut String, text: &str, in_attribute: bool) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' if in_attribute => out.push_str("&quot;"),
            '\'' if in_attribute => out.push_str("&#39;"),
            c if is_control_like(c) => {}
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Html;

    #[test]
    fn escapes_all_text() {
        let mut html = Html::default();
        html.element("p", &[("title", "\"><script>")], |html| {
            html.text("</p><img src=x onerror='alert(1)'>\u{0}\u{202e}&lt;");
            html.void("br", &[]);
            html.leaf("b", &[], "é 😀");
        });
        assert_eq!(
            html.into_document(),
            "<!doctype html>\n<p title=\"&quot;&gt;&lt;script&gt;\">\
             &lt;/p&gt;&lt;img src=x onerror='alert(1)'&gt;&amp;lt;<br><b>é 😀</b></p>\n"
        );
    }
}
