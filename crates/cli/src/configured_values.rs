//! The origins of typed and configured values. It reads no configuration.

use crate::failure::Failure;
use longhaul_core::Preset;
use std::collections::BTreeMap;

/// Origin of a typed flag.
const FLAG: &str = "flag";

/// The keys that are typed or configured, with the origins of their values.
#[derive(Clone, Debug, Default)]
pub struct ConfiguredValues(BTreeMap<String, String>);

impl ConfiguredValues {
    pub fn new(
        typed: impl IntoIterator<Item = String>,
        configured: impl IntoIterator<Item = (String, String)>,
    ) -> ConfiguredValues {
        ConfiguredValues(typed.into_iter().map(|key| (key, FLAG.to_owned())).chain(configured).collect())
    }

    /// Returns the origins of a run's values. The origin of a preset is its own name.
    pub fn origins(&self, preset: Preset) -> BTreeMap<String, String> {
        let mut origins = self.0.clone();
        let origin = match origins.get("preset").filter(|origin| *origin != FLAG) {
            Some(origin) => format!("{preset}, by {origin}"),
            None => preset.to_string(),
        };
        origins.insert("preset".to_owned(), origin);
        origins
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
        let mentioned = self.0.iter().filter(|(key, origin)| *origin != FLAG && names_flag(key));
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
        let configured = ConfiguredValues::new(["time_limit".to_owned()], owned);
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
        let configured = owned(&[("budget", "f:1"), ("model", "f:2"), ("preset", "f:3")]);
        let values = ConfiguredValues::new(["max_turns".to_owned()], configured);
        let expected =
            [("budget", "f:1"), ("max_turns", "flag"), ("model", "f:2"), ("preset", "archon, by f:3")];
        assert_eq!(values.origins(Preset::Archon), owned(&expected));
        let typed = ConfiguredValues::new(["preset".to_owned()], []);
        assert_eq!(typed.origins(Preset::Archon), owned(&[("preset", "archon")]));
    }
}
