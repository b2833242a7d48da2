//! Merges the layers of configuration. The environment overrides the project, the project overrides the user,
//! and in each file a profile overrides the plain keys. A project's file is subject to [`ProjectTrust`].
//! Pure.

use super::file::{File, Setting, profiles_hint};
use super::find::ConfigFiles;
use super::keys::{Key, Keys, RUN, excluded, excludes_others};
use super::trust::ProjectTrust;
use crate::failure::Failure;
use clap::ArgMatches;
use longhaul_core::{Span, Usd};
use std::collections::BTreeMap;
use std::num::NonZeroU32;

/// A requested profile and where it was requested.
#[derive(Clone, Debug)]
pub struct ChosenProfile {
    pub name: String,
    /// `--profile`, or the name of the variable.
    pub source: String,
}

/// Effective settings by the names of their keys.
pub type Values = BTreeMap<String, Setting>;

pub fn merge(
    keys: &Keys<'_>,
    files: &ConfigFiles,
    variables: &[Setting],
    chosen: Option<&ChosenProfile>,
) -> Result<Values, Failure> {
    check_known(files, chosen)?;
    let mut values = file_values(&files.user, chosen);
    for (name, project) in file_values(&files.project, chosen) {
        let key = keys.find(None, &name).expect("a file is read by its keys");
        let value = match values.remove(&name) {
            Some(user) => merge_values(keys, key, user, project),
            None if key.trust == ProjectTrust::OnlyLower && exceeds_default(keys, key, &project) => continue,
            None => project,
        };
        values.insert(name, value);
    }
    values.extend(effective(variables));
    drop_excluded(keys, &mut values)?;
    Ok(values)
}

/// Returns the keys of one command's table. Only the user's file has them.
pub fn table_values(file: &File, table: &str) -> Values {
    effective(file.tables.get(table).into_iter().flatten()).collect()
}

/// Returns the plain keys of a file, overridden by those of its profile.
fn file_values(file: &File, chosen: Option<&ChosenProfile>) -> Values {
    let name = chosen.map(|chosen| &chosen.name).or(file.profile.as_ref());
    let of_profile = name.and_then(|name| file.profiles.get(name)).into_iter().flatten();
    effective(file.plain.iter().chain(of_profile)).collect()
}

fn effective<'a>(settings: impl IntoIterator<Item = &'a Setting>) -> impl Iterator<Item = (String, Setting)> {
    settings.into_iter().map(|setting| (setting.key.clone(), setting.clone()))
}

fn check_known(files: &ConfigFiles, chosen: Option<&ChosenProfile>) -> Result<(), Failure> {
    let known = || files.user.profiles.keys().chain(files.project.profiles.keys());
    match chosen {
        Some(chosen) if !known().any(|name| *name == chosen.name) => Err(Failure::usage(
            format!("{}: there is no profile `{}`", chosen.source, chosen.name),
            profiles_hint(&chosen.name, known()),
        )),
        Some(_) | None => Ok(()),
    }
}

fn merge_values(keys: &Keys<'_>, key: &Key<'_>, mut user: Setting, project: Setting) -> Setting {
    match key.trust {
        // An untrusted project file that sets such a key is rejected when it is read.
        ProjectTrust::Any | ProjectTrust::Trusted(_) => project,
        ProjectTrust::OnlyLower => {
            let amount = |setting: &Setting| amount(keys, key, &setting.values);
            if amount(&project) <= amount(&user) { project } else { user }
        }
        ProjectTrust::OnlyAdd => {
            let is_new = |value: &String| !user.values.contains(value);
            let added: Vec<_> = project.values.into_iter().filter(is_new).collect();
            user.values.extend(added);
            user.origins.extend(project.origins);
            user
        }
        ProjectTrust::OnlyIfUnset if user.values.is_empty() => project,
        // A project file that sets a `UserOnly` key is rejected when it is read.
        ProjectTrust::OnlyIfUnset | ProjectTrust::UserOnly(_) => user,
    }
}

/// Returns whether a project's limit allows more than the default, which applies if the user sets none.
fn exceeds_default(keys: &Keys<'_>, key: &Key<'_>, project: &Setting) -> bool {
    amount(keys, key, &project.values) > amount(keys, key, &keys.default(key).unwrap_or_default())
}

/// Returns how much a limit allows, in its own unit. `none` is parsed as 0 and means unlimited.
fn amount(keys: &Keys<'_>, key: &Key<'_>, values: &[String]) -> u128 {
    let Some(Ok(matches)) = values.first().map(|word| keys.parse(key, word)) else { return u128::MAX };
    let id = key.arg.get_id().as_str();
    let found = matches.subcommand_matches(RUN).and_then(|matches| number(matches, id));
    found.filter(|amount| *amount > 0).unwrap_or(u128::MAX)
}

fn number(matches: &ArgMatches, id: &str) -> Option<u128> {
    fn get<T: Copy + Send + Sync + 'static>(matches: &ArgMatches, id: &str) -> Option<T> {
        matches.try_get_one::<T>(id).ok().flatten().copied()
    }
    get::<Usd>(matches, id)
        .map(|usd| usd.0.into())
        .or_else(|| get::<Span>(matches, id).map(|span| span.millis().into()))
        .or_else(|| get::<u64>(matches, id).map(u128::from))
        .or_else(|| get::<NonZeroU32>(matches, id).map(|count| u32::from(count).into()))
}

/// Removes the weaker of two values that exclude each other. Within one layer they are an error.
fn drop_excluded(keys: &Keys<'_>, values: &mut Values) -> Result<(), Failure> {
    for (one, other) in excluded(keys.root, RUN) {
        let find = |key: &String| values.get(key).filter(|value| excludes_others(key, &value.values));
        let (Some(first), Some(second)) = (find(&one), find(&other)) else { continue };
        if first.layer() == second.layer() {
            return Err(Failure::usage(
                format!(
                    "`{one}` (set by {}) and `{other}` (set by {}) exclude each other",
                    first.origin(),
                    second.origin()
                ),
                "leave one of them out",
            ));
        }
        let weaker = if first.layer() < second.layer() { &one } else { &other };
        values.remove(weaker);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
