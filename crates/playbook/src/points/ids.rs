//! The names of new points: one above the highest number that their section ever had. A name is never given twice: an
//! old transcript that cites `[pat-007]` must not speak for a point that it has never seen.
//!
//! The numbers of points that are there are known. Where a higher one was in use, that is kept in the file under a key of
//! its own, which other programs pass on as they find it.

use crate::{Playbook, PointId, Section};
use serde_json::{Map, Value};

/// The key, an object of numbers by [`Section::slug`]. A file in which no high number is gone does not have it.
const KEY: &str = "last_numbers";
// Nobody counts so far. A number beyond it was made up, and one more might not be a number.
const NUMBER_MAX: u64 = 999_999_999;

impl Playbook {
    /// The name of the next new point of a section.
    pub(super) fn next_name(&self, section: Section) -> PointId {
        PointId::from(format!("{}-{:03}", section.slug(), self.highest(section) + 1))
    }

    /// Never gives a name again that `earlier` has given.
    pub(crate) fn reserve_ids(&mut self, earlier: &Playbook) {
        let gone = Section::ALL.iter().filter_map(|section| {
            let highest = self.highest(*section).max(earlier.highest(*section));
            (highest > self.highest_there(*section)).then(|| (section.slug().to_owned(), highest.into()))
        });
        let gone: Map<String, Value> = gone.collect();
        if gone.is_empty() {
            self.unknown_fields.remove(KEY);
        } else {
            self.unknown_fields.insert(KEY.to_owned(), gone.into());
        }
    }

    fn highest(&self, section: Section) -> u64 {
        let kept =
            self.unknown_fields.get(KEY).and_then(|kept| kept.get(section.slug())).and_then(Value::as_u64);
        self.highest_there(section).max(kept.filter(|number| *number <= NUMBER_MAX).unwrap_or(0))
    }

    fn highest_there(&self, section: Section) -> u64 {
        // Whoever moved a point by hand has left its name to it: its number counts wherever it is.
        let numbers = self.points().filter_map(|(_, point)| number(&point.name, section));
        numbers.max().unwrap_or(0)
    }
}

fn number(name: &PointId, section: Section) -> Option<u64> {
    let digits = name.as_str().strip_prefix(section.slug())?.strip_prefix('-')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    digits.parse().ok().filter(|number| is_number && *number <= NUMBER_MAX)
}
