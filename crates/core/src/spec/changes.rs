//! Finds the settings that differ between two descriptions of a run: a user changed them when resuming it.
//!
//! This module never parses a setting; the command line does.

use crate::amounts::NONE;
use crate::{GuardRules, RunSpec, SpecError, exact_span};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A setting that the user changed when resuming the run. It never holds a secret: commands are counted, not
/// quoted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SettingChange {
    /// Its name.
    pub setting: String,
    /// Previous value: `none` for unlimited or empty, `default` for the agent's own setting.
    pub from: String,
    /// New value.
    pub to: String,
}

impl RunSpec {
    /// Returns the settings that differ in `new`.
    pub fn changes_to(&self, new: &RunSpec) -> Vec<SettingChange> {
        let values = self.values().into_iter().zip(new.values());
        let changed = values.filter(|((_, from), (_, to))| from != to).map(|((name, from), (_, to))| {
            let (from, mut to) = (from.render(), to.render());
            // Other commands can be as many.
            if from == to {
                to = format!("{to} (changed)");
            }
            SettingChange { setting: name.to_owned(), from, to }
        });
        changed.collect()
    }

    /// Checks that a finished run can be resumed as `new`: its task, its agent, its session, and its guards on
    /// URLs and paths never change.
    ///
    /// # Errors
    /// Returns [`SpecError::Fixed`] with the first setting that differs, and otherwise the errors of
    /// [`RunSpec::validate`].
    pub fn validate_resumed(&self, new: &RunSpec) -> Result<(), SpecError> {
        let (guards, new_guards) = (&self.guards, &new.guards);
        let fixed = [
            ("prompt", self.prompt == new.prompt),
            ("agent", self.agent.name == new.agent.name),
            ("session", self.session == new.session),
            ("block_urls", guards.block_urls == new_guards.block_urls),
            ("block_paths", guards.block_paths == new_guards.block_paths),
            ("edit_paths", guards.edit_paths == new_guards.edit_paths),
            ("network", self.network == new.network),
        ];
        match fixed.into_iter().find(|(_, is_same)| !is_same) {
            Some((setting, _)) => Err(SpecError::Fixed(setting)),
            None => new.validate(),
        }
    }

    /// Returns the description of this finished run, resumed with the settings of `new`. What never changes stays as it
    /// is.
    pub fn with_settings_of(&self, new: RunSpec) -> RunSpec {
        let GuardRules { allow_tools, deny_tools, .. } = new.guards;
        RunSpec {
            prompt: self.prompt.clone(),
            session: self.session.clone(),
            network: self.network.clone(),
            guards: GuardRules { allow_tools, deny_tools, ..self.guards.clone() },
            ..new
        }
    }

    /// Returns the values that can change when the run is resumed, by name.
    fn values(&self) -> Vec<(&'static str, SettingValue<'_>)> {
        let named =
            |value: &Option<String>| SettingValue::Text(value.clone().unwrap_or("default".to_owned()));
        let path = |path: &Path| SettingValue::Text(path.display().to_string());
        let list = |values: &[String]| {
            SettingValue::Text(if values.is_empty() { NONE.to_owned() } else { values.join(",") })
        };
        let checks = self.policy.checks.as_ref();
        let review = checks.and_then(|checks| checks.review.as_ref());
        let timeout = checks.map(|checks| checks.timeout.map_or_else(|| NONE.to_owned(), exact_span));
        let limits = [
            ("max_failed_checks", checks.map(|checks| checks.failures_max.to_string())),
            ("check_timeout", timeout),
            ("review", review.map(|review| review.model.clone().unwrap_or_else(|| "same".to_owned()))),
            ("review_timeout", review.map(|review| exact_span(review.timeout))),
            ("allow_denials", Some(self.policy.allow_denials.to_string())),
        ];
        let text = |value: Option<String>| SettingValue::Text(value.unwrap_or_else(|| NONE.to_owned()));
        let policy = self.policy.settings().into_iter().chain(limits);
        [
            ("cwd", path(&self.cwd)),
            ("model", named(&self.model)),
            ("permission_mode", named(&self.permission_mode)),
            ("agent_path", path(&self.agent.program)),
            ("allow_tools", list(&self.guards.allow_tools)),
            ("deny_tools", list(&self.guards.deny_tools)),
            ("check", SettingValue::Commands(checks.map_or(&[], |checks| &checks.commands))),
            ("notify", SettingValue::Commands(&self.notify)),
        ]
        .into_iter()
        .chain(policy.map(|(name, value)| (name, text(value))))
        .collect()
    }
}

#[derive(PartialEq)]
enum SettingValue<'a> {
    Text(String),
    /// A command's text may contain a secret. Only the plan stores it, because only its owner can read the
    /// plan.
    Commands(&'a [String]),
}

impl SettingValue<'_> {
    fn render(self) -> String {
        match self {
            SettingValue::Text(text) => text,
            SettingValue::Commands([]) => NONE.to_owned(),
            SettingValue::Commands([_]) => "1 command".to_owned(),
            SettingValue::Commands(commands) => format!("{} commands", commands.len()),
        }
    }
}
