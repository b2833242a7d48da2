//! Writing HTML. Whatever is written here is balanced, because an element is a closure, and escaped, because there is no
//! way to write a text as it is: names of elements and attributes are words of ours, and all else is text.

use crate::output::envelope_text::is_control_like;
use std::fmt::{Arguments, Write};

/// A page, or a part of one.
#[derive(Debug, Default)]
pub struct Html {
    out: String,
}

/// Attributes of an element, by name.
pub type Attributes<'a> = &'a [(&'static str, &'a str)];

impl Html {
    /// An element with this inside.
    pub fn element(
        &mut self,
        name: &'static str,
        attributes: Attributes<'_>,
        inside: impl FnOnce(&mut Html),
    ) {
        self.begin(name, attributes);
        inside(self);
        self.out.push_str("</");
        self.out.push_str(name);
        self.out.push('>');
    }

    /// An element with a text inside.
    pub fn leaf(&mut self, name: &'static str, attributes: Attributes<'_>, text: &str) {
        self.element(name, attributes, |html| html.text(text));
    }

    /// An element that never has anything inside.
    pub fn void(&mut self, name: &'static str, attributes: Attributes<'_>) {
        self.begin(name, attributes);
    }

    /// A text, whatever is in it.
    pub fn text(&mut self, text: &str) {
        escape(&mut self.out, text, false);
    }

    /// The same, put together of several.
    pub fn format(&mut self, text: Arguments<'_>) {
        match text.as_str() {
            Some(text) => self.text(text),
            None => self.text(&text.to_string()),
        }
    }

    /// A style sheet of ours.
    pub fn style(&mut self, sheet: &'static str) {
        debug_assert!(!sheet.contains('<'), "a style sheet ends at the first `</`");
        self.element("style", &[], |html| html.out.push_str(sheet));
    }

    /// A line of its own: it does not matter to a browser, and it does to whoever looks at the source.
    pub fn line(&mut self) {
        self.out.push('\n');
    }

    /// All of it as a document.
    pub fn into_document(self) -> String {
        format!("<!doctype html>\n{}\n", self.out)
    }

    fn begin(&mut self, name: &'static str, attributes: Attributes<'_>) {
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

/// Between elements a quotation mark is a sign like any other.
fn escape(out: &mut String, text: &str, in_attribute: bool) {
    for sign in text.chars() {
        match sign {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' if in_attribute => out.push_str("&quot;"),
            '\'' if in_attribute => out.push_str("&#39;"),
            sign if is_control_like(sign) => {}
            sign => out.push(sign),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Html;

    #[test]
    fn nothing_that_is_written_is_more_than_text() {
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
