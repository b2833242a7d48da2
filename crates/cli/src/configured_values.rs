//! The origins of configured values, which become defaults of flags. It reads no configuration.

use crate::failure::Failure;
use std::collections::BTreeMap;

/// The configured values that were inserted before the typed arguments, by key, with their origins.
#[derive(Clone, Debug, Default)]
pub struct ConfiguredValues(pub BTreeMap<String, String>);

impl ConfiguredValues {
    /// Corrects the origins of values that seem typed but are configured, and adds those that a plan does not
    /// list. The origin of a preset is its own name.
    pub fn record(&self, origins: &mut BTreeMap<String, String>) {
        for (key, origin) in &self.0 {
            let full_origin = match origins.get(key) {
                Some(preset) if key == "preset" => format!("{preset}, by {origin}"),
                Some(_) | None => origin.clone(),
            };
            origins.insert(key.clone(), full_origin);
        }
    }

    /// Extends an error about a flag that was configured rather than typed with the origin of its value.
    pub fn add_origin(&self, failure: Failure) -> Failure {
        let text = format!("{} {}", failure.error, failure.hint.as_deref().unwrap_or_default());
        let names_flag = |key: &str| {
            let flag = format!("--{}", key.replace('_', "-"));
            text.match_indices(&flag).any(|(offset, _)| {
                let rest = &text[offset + flag.len()..];
                !rest.starts_with(|c: char| c == '-' || c.is_ascii_alphanumeric())
            })
        };
        let mentioned = self.0.iter().filter(|(key, _)| names_flag(key));
        let set: Vec<String> = mentioned.map(|(key, origin)| format!("`{key}` is set by {origin}")).collect();
        let hints = failure.hint.iter().cloned().chain(set).collect::<Vec<_>>();
        Failure { hint: (!hints.is_empty()).then(|| hints.join("; ")), ..failure }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_names_origin_of_configured_flag() {
        let origins = [("wall_limit", "/w/longhaul.toml:3"), ("wall", "/w/longhaul.toml:4")];
        let owned = origins.map(|(key, origin)| (key.to_owned(), origin.to_owned()));
        let configured = ConfiguredValues(BTreeMap::from(owned));
        let hint = |hint: &str| configured.add_origin(Failure::usage("it is wrong", hint)).hint;
        assert_eq!(
            hint("raise --wall-limit").as_deref(),
            Some("raise --wall-limit; `wall_limit` is set by /w/longhaul.toml:3")
        );
        assert_eq!(hint("raise --time-limit").as_deref(), Some("raise --time-limit"));
    }

    #[test]
    fn plan_has_origin_of_each_value() {
        let owned = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        let mut origins = owned(&[("budget", "flag"), ("max_turns", "flag"), ("preset", "archon")]);
        ConfiguredValues(owned(&[("budget", "f:1"), ("model", "f:2"), ("preset", "f:3")]))
            .record(&mut origins);
        let expected =
            [("budget", "f:1"), ("max_turns", "flag"), ("model", "f:2"), ("preset", "archon, by f:3")];
        assert_eq!(origins, owned(&expected));
    }
}
