//! Assigns the next id to a new point: its number is one above the highest that the section ever had. An id
//! is never used twice.
//!
//! Otherwise a rating from an old transcript that cites `[pat-007]` would count for a newer point.
//!
//! The numbers of existing points are known. If a higher number was used, the file stores it under a separate
//! key, which other programs preserve.

use crate::{Playbook, PointId, Section};
use serde_json::{Map, Value};

/// The key, an object of numbers by [`Section::slug`]. It is omitted if no higher number was used.
const KEY: &str = "last_numbers";
// No real playbook reaches this number. Larger numbers are ignored, because adding one might overflow.
const NUMBER_MAX: u64 = 999_999_999;

impl Playbook {
    pub(super) fn next_name(&self, section: Section) -> PointId {
        PointId::from(format!("{}-{:03}", section.slug(), self.highest(section) + 1))
    }

    /// Reserves all ids that `earlier` has used.
    pub(crate) fn reserve_ids(&mut self, earlier: &Playbook) {
        let reserved = Section::ALL.iter().filter_map(|section| {
            let highest = self.highest(*section).max(earlier.highest(*section));
            (highest > self.highest_existing(*section)).then(|| (section.slug().to_owned(), highest.into()))
        });
        let reserved: Map<String, Value> = reserved.collect();
        if reserved.is_empty() {
            self.unknown_fields.remove(KEY);
        } else {
            self.unknown_fields.insert(KEY.to_owned(), reserved.into());
        }
    }

    fn highest(&self, section: Section) -> u64 {
        let stored = self
            .unknown_fields
            .get(KEY)
            .and_then(|stored| stored.get(section.slug()))
            .and_then(Value::as_u64);
        self.highest_existing(section).max(stored.filter(|number| *number <= NUMBER_MAX).unwrap_or(0))
    }

    fn highest_existing(&self, section: Section) -> u64 {
        // A point that was moved by hand still has its id, so its number counts in every section.
        let numbers = self.points().filter_map(|(_, point)| number(&point.name, section));
        numbers.max().unwrap_or(0)
    }
}

fn number(name: &PointId, section: Section) -> Option<u64> {
    let digits = name.as_str().strip_prefix(section.slug())?.strip_prefix('-')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    digits.parse().ok().filter(|number| is_number && *number <= NUMBER_MAX)
}
