//! Looks for what is blocked in a text: as it stands, with its escapes read, as the strings of a program, as a shell
//! script, and as what stands in it in base64 or hexadecimal. Each way makes texts that are looked at in turn, so
//! many levels deep.

use super::code;
use super::shell::{self, Reading, Variables};
use super::unescape::{coded_texts, readings};
use super::url_pattern::UrlPattern;
use super::urls::{Place, Urls};

// A script in a script in a script, with a code inside.
const LEVELS_MAX: usize = 4;
// All that is looked at for one call, in times of its own length, and a floor for short ones.
const LOOKED_FACTOR: usize = 256;
const LOOKED_BYTES_MIN: usize = 4 << 20;

/// Why a text is not passed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found<'a> {
    /// It names this.
    Blocked(&'a UrlPattern),
    /// There is more in it than anybody could look at.
    Endless,
}

/// Looks at texts for one call.
pub(super) struct Look<'a> {
    urls: &'a Urls,
    left: usize,
}

impl<'a> Look<'a> {
    /// For a call with an input of so many bytes.
    pub(super) fn new(urls: &'a Urls, bytes: usize) -> Look<'a> {
        Look { urls, left: LOOKED_BYTES_MIN + LOOKED_FACTOR * bytes }
    }

    /// What a text names that is no script: a URL, a question.
    pub(super) fn text(&mut self, text: &str, place: &Place) -> Option<Found<'a>> {
        self.at_level(text, place, 1)
    }

    /// What a script names.
    pub(super) fn script(&mut self, script: &str) -> Option<Found<'a>> {
        self.script_at(script, 1, &Variables::new())
    }

    fn at_level(&mut self, text: &str, place: &Place, level: usize) -> Option<Found<'a>> {
        for reading in readings(text) {
            self.left = self.left.saturating_sub(reading.len());
            if self.left == 0 {
                return Some(Found::Endless);
            }
            if let Some(pattern) = self.urls.named_in(&reading, place) {
                return Some(Found::Blocked(pattern));
            }
        }
        if level > LEVELS_MAX {
            return None;
        }
        let made =
            coded_texts(text).into_iter().chain(code::strings(text).into_iter().filter(|made| made != text));
        for made in made {
            if let Some(found) = self.at_level(&made, place, level + 1) {
                return Some(found);
            }
        }
        None
    }

    fn script_at(&mut self, script: &str, level: usize, outer: &Variables) -> Option<Found<'a>> {
        self.left = self.left.saturating_sub(script.len());
        if self.left == 0 {
            return Some(Found::Endless);
        }
        let Reading { said, is_whole, is_endless, variables } = shell::read(script, &[("IFS", " ")], outer);
        if is_endless {
            return Some(Found::Endless);
        }
        if !is_whole && let Some(found) = self.at_level(script, &Place::default(), level) {
            return Some(found);
        }
        for said in &said {
            let place = Place { is_client: said.is_for_client(), ports: said.ports.clone() };
            if let Some(found) = self.at_level(&said.text, &place, level) {
                return Some(found);
            }
            if level == LEVELS_MAX || said.text == script {
                continue;
            }
            let scripts = if said.is_code { code::strings(&said.text) } else { vec![said.text.clone()] };
            for script in scripts.iter().filter(|script| is_script(script)) {
                if let Some(found) = self.script_at(script, level + 1, &variables) {
                    return Some(found);
                }
            }
        }
        None
    }
}

/// Whether a shell would read something else in a text than stands there.
pub(super) fn is_script(text: &str) -> bool {
    text.contains(['\'', '"', '\\', '$', '`', ' ', '\n', '{'])
}
