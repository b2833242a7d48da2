//! Reads the configuration of a command: the files and the variables, merged.

use super::Origin;
use super::file::Setting;
use super::find::{self, ConfigFiles};
use super::keys::{Key, Keys, PROFILE, ValueKind};
use super::layers::{ChosenProfile, Values, merge};
use crate::args::ConfigSourceArgs;
use crate::failure::{Failure, OrFailure};
use std::env;
use std::ffi::OsString;
use std::path::Path;

const PROFILE_VARIABLE: &str = "LONGHAUL_PROFILE";

/// The effective values of the plain keys, and the files that they come from.
pub struct LoadedConfig {
    pub plain: Values,
    pub files: ConfigFiles,
}

impl LoadedConfig {
    /// Reads the user's file, the project's file if a directory is given, and the variables of the keys that
    /// are read. `source` selects the profile, or disables the files.
    pub fn read(
        keys: &Keys<'_>,
        directory: Option<&Path>,
        source: &ConfigSourceArgs,
        is_read: impl Fn(&Key<'_>) -> bool,
    ) -> Result<LoadedConfig, Failure> {
        let (files, chosen) = if source.no_config {
            (ConfigFiles::default(), None)
        } else {
            let files = find::read(keys, directory)?;
            let chosen = chosen_profile(&files, directory, source)?;
            (files, chosen)
        };
        let mut variables = variables(keys, is_read, |name| env::var_os(name))?;
        variables.extend(switched_off(keys, &source.off));
        Ok(LoadedConfig { plain: merge(keys, &files, &variables, chosen.as_ref())?, files })
    }
}

fn chosen_profile(
    files: &ConfigFiles,
    directory: Option<&Path>,
    source: &ConfigSourceArgs,
) -> Result<Option<ChosenProfile>, Failure> {
    if let Some(name) = source.profile.clone() {
        return Ok(Some(ChosenProfile { name, source: format!("--{PROFILE}") }));
    }
    let name = utf8_value(PROFILE_VARIABLE, env::var_os(PROFILE_VARIABLE))?;
    // The variable also reaches commands that do not read the project's file, which may define the profile.
    let name = name.filter(|name| directory.is_some() || files.user.profiles.contains_key(name));
    Ok(name.map(|name| ChosenProfile { name, source: PROFILE_VARIABLE.to_owned() }))
}

/// Returns the keys that `--off` names, without a value. Keys that no `false` can stand for are not among them.
fn switched_off(keys: &Keys<'_>, off: &[String]) -> impl Iterator<Item = Setting> {
    let keys = off.iter().filter_map(|name| keys.find(None, name)).filter(|key| key.can_be_off());
    keys.map(|key| {
        let origins = vec![Origin::Variable("--off".to_owned())];
        Setting { key: key.name.clone(), values: Vec::new(), origins }
    })
}

/// Reads these keys from the environment, each as a single value of its flag. Empty variables are ignored.
pub fn variables(
    keys: &Keys<'_>,
    is_read: impl Fn(&Key<'_>) -> bool,
    value: impl Fn(&str) -> Option<OsString>,
) -> Result<Vec<Setting>, Failure> {
    let mut settings = Vec::new();
    for key in keys.plain().filter(|key| is_read(key)) {
        let Some(variable) = key.variable() else { continue };
        let Some(text) = utf8_value(&variable, value(&variable))? else { continue };
        let values = if key.kind != ValueKind::Switch {
            keys.validate(key, &text)
                .or_usage(format!("cannot read {variable}: `{text}`"), "fix it, or unset it")?;
            vec![text]
        } else if text == "1" {
            vec!["true".to_owned()]
        } else if text == "0" {
            Vec::new()
        } else {
            let error = format!("cannot read {variable}: `{text}` is neither 1 nor 0");
            return Err(Failure::usage(error, "set it to 1, or unset it"));
        };
        settings.push(Setting { key: key.name.clone(), values, origins: vec![Origin::Variable(variable)] });
    }
    Ok(settings)
}

fn utf8_value(variable: &str, value: Option<OsString>) -> Result<Option<String>, Failure> {
    let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(None) };
    let text = value.into_string().map_err(|value| {
        let error = format!("cannot read {variable}: `{}` is not UTF-8", value.to_string_lossy());
        Failure::usage(error, "fix it, or unset it")
    });
    text.map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::CommandFactory;

    #[test]
    fn only_a_flag_that_may_stand_alone_can_be_off() {
        let root = Cli::command();
        let off = ["keep_going", "review", "budget", "no_such_key"].map(str::to_owned);
        let keys: Vec<String> =
            switched_off(&Keys::for_command(&root), &off).map(|setting| setting.key).collect();
        assert_eq!(keys, ["keep_going", "review"]);
    }
}
