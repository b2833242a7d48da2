//! Which value holds where several are set: that of the environment before that of the project, and that before the user's;
//! in each file a profile's before the plain one. A project's file is held to what a stranger's may do ([`Trust`]). Pure.

use super::Origin;
use super::file::{File, Setting, profiles_hint};
use super::find::Files;
use super::keys::{Key, Keys, RUN, name};
use super::trust::ProjectTrust;
use crate::failure::Failure;
use clap::{ArgMatches, Command};
use longhaul_core::{Span, Usd};
use std::collections::BTreeMap;

/// A profile that was asked for, and where.
#[derive(Clone, Debug)]
pub struct ChosenProfile {
    pub name: String,
    /// `--profile`, or the variable.
    pub by: String,
}

/// A value that holds, with everything that it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectiveValue {
    pub values: Vec<String>,
    pub origins: Vec<Origin>,
    strength: Precedence,
}

impl EffectiveValue {
    fn new(setting: &Setting, strength: Precedence) -> EffectiveValue {
        EffectiveValue { values: setting.values.clone(), origins: vec![setting.origin.clone()], strength }
    }

    /// Where it comes from, for people.
    pub fn origin(&self) -> String {
        self.origins.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }
}

/// The layers, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Precedence {
    User,
    UserProfile,
    Project,
    ProjectProfile,
    Variable,
}

/// Values by the names of their keys.
pub type Values = BTreeMap<String, EffectiveValue>;

/// What cannot hold together though clap lets it: see `keep_going.rs`.
const EXCLUDED: &[(&str, &str)] = &[("keep_going", "check")];

/// Lays the plain keys over one another.
pub fn merge(
    (root, keys): (&Command, &Keys),
    files: &Files,
    variables: &[Setting],
    chosen: Option<&ChosenProfile>,
) -> Result<Values, Failure> {
    check_known(files, chosen)?;
    let mut values = of_file(&files.user, chosen, [Precedence::User, Precedence::UserProfile]);
    for (name, project) in of_file(&files.project, chosen, [Precedence::Project, Precedence::ProjectProfile])
    {
        let key = keys.find(None, &name).expect("a file is read by its keys");
        let holds = match values.remove(&name) {
            Some(user) => both(root, key, user, project),
            None => project,
        };
        values.insert(name, holds);
    }
    values.extend(
        variables
            .iter()
            .map(|setting| (setting.key.clone(), EffectiveValue::new(setting, Precedence::Variable))),
    );
    drop_excluded(root, &mut values)?;
    Ok(values)
}

/// The keys of one command's table: the user's alone.
pub fn of_table(file: &File, table: &str) -> Values {
    let settings = file.tables.get(table).into_iter().flatten();
    settings.map(|setting| (setting.key.clone(), EffectiveValue::new(setting, Precedence::User))).collect()
}

/// The plain keys of a file, and over them those of its profile.
fn of_file(file: &File, chosen: Option<&ChosenProfile>, [plain, profile]: [Precedence; 2]) -> Values {
    let name = chosen.map(|chosen| &chosen.name).or(file.profile.as_ref());
    let of_profile = name.and_then(|name| file.profiles.get(name)).into_iter().flatten();
    let settings = file.plain.iter().map(|setting| (setting, plain));
    let settings = settings.chain(of_profile.map(|setting| (setting, profile)));
    settings
        .map(|(setting, strength)| (setting.key.clone(), EffectiveValue::new(setting, strength)))
        .collect()
}

fn check_known(files: &Files, chosen: Option<&ChosenProfile>) -> Result<(), Failure> {
    let known = || files.user.profiles.keys().chain(files.project.profiles.keys());
    match chosen {
        Some(chosen) if !known().any(|name| *name == chosen.name) => Err(Failure::usage(
            format!("{}: there is no profile `{}`", chosen.by, chosen.name),
            profiles_hint(&chosen.name, known()),
        )),
        Some(_) | None => Ok(()),
    }
}

/// What holds of the user's value and the project's.
fn both(root: &Command, key: &Key, user: EffectiveValue, project: EffectiveValue) -> EffectiveValue {
    match key.trust {
        // Without trust a project's file that sets it is refused when it is read.
        ProjectTrust::Any | ProjectTrust::Trusted(_) => project,
        ProjectTrust::OnlyLower => {
            let amount = |value: &EffectiveValue| {
                value.values.first().map_or(u128::MAX, |word| amount(root, key, word))
            };
            if amount(&project) <= amount(&user) { project } else { user }
        }
        ProjectTrust::OnlyAdd => {
            let mut values = user.values;
            let added: Vec<_> = project.values.into_iter().filter(|value| !values.contains(value)).collect();
            values.extend(added);
            let origins = user.origins.into_iter().chain(project.origins).collect();
            EffectiveValue { values, origins, strength: project.strength }
        }
        ProjectTrust::OnlyIfUnset if user.values.is_empty() => project,
        // A project's file that sets one of the last is refused when it is read.
        ProjectTrust::OnlyIfUnset | ProjectTrust::UserOnly(_) => user,
    }
}

/// How much a limit allows, in whatever it counts; `none` is read as 0.
fn amount(root: &Command, key: &Key, word: &str) -> u128 {
    let asked = ["longhaul", RUN, &key.typed(word), "-"];
    let Ok(matches) = root.clone().try_get_matches_from(asked) else { return u128::MAX };
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
        .or_else(|| get::<u32>(matches, id).map(u128::from))
}

/// Of two values that exclude each other the stronger one holds; of one layer they are a mistake.
fn drop_excluded(root: &Command, values: &mut Values) -> Result<(), Failure> {
    for (one, other) in excluded(root, RUN) {
        let is_set = |value: &&EffectiveValue| !value.values.is_empty();
        let found = (values.get(&one).filter(is_set), values.get(&other).filter(is_set));
        let (Some(first), Some(second)) = found else { continue };
        if first.strength == second.strength {
            return Err(Failure::usage(
                format!(
                    "`{one}` (set by {}) and `{other}` (set by {}) exclude each other",
                    first.origin(),
                    second.origin()
                ),
                "leave one of them out",
            ));
        }
        let weaker = if first.strength < second.strength { &one } else { &other };
        values.remove(weaker);
    }
    Ok(())
}

/// The pairs of flags that this command takes only one of, by the names of their keys.
pub fn excluded(root: &Command, command: &str) -> Vec<(String, String)> {
    let Some(sub) = root.find_subcommand(command) else { return Vec::new() };
    let pairs = [root, sub].into_iter().flat_map(|command| {
        command.get_arguments().flat_map(move |arg| {
            command.get_arg_conflicts_with(arg).into_iter().map(move |other| (name(arg), name(other)))
        })
    });
    let ours = EXCLUDED.iter().map(|(one, other)| ((*one).to_owned(), (*other).to_owned()));
    pairs.chain(ours).collect()
}

#[cfg(test)]
mod tests;
