//! Warns of unknown `LONGHAUL_` variables, because a misspelled one would have no effect without any error.

use super::keys::Keys;
use clap::Command;
use longhaul_agent::did_you_mean;

/// Longhaul's variables that are not keys: the home, the profile, the pager, those that a run sets for its
/// agent, and the program that the packages for other languages start.
const OTHER_VARIABLES: [&str; 9] = [
    "LONGHAUL_HOME",
    "LONGHAUL_PROFILE",
    "LONGHAUL_PAGER",
    "LONGHAUL_RUN",
    "LONGHAUL_ATTEMPT",
    "LONGHAUL_RUN_MARKER",
    "LONGHAUL_CHECK",
    "LONGHAUL_JUDGE",
    "LONGHAUL_BIN",
];

/// Prefixes of variables for tests, drills and benchmarks.
const INTERNAL: [&str; 7] = ["TEST_", "SCRIPTED_", "DRILL_", "SWEEP", "FAILPOINT", "STORE_", "CORPUS"];

/// Returns a warning for each unknown variable, with the most similar known one.
pub fn warnings(root: &Command, names: impl Iterator<Item = String>) -> Vec<(String, String)> {
    let is_internal = |rest: &str| INTERNAL.iter().any(|prefix| rest.starts_with(prefix));
    let mut unknown: Vec<String> = names
        .filter(|name| name.strip_prefix("LONGHAUL_").is_some_and(|rest| !is_internal(rest)))
        .filter(|name| !OTHER_VARIABLES.contains(&name.as_str()))
        .collect();
    // Most of the time there is none, and this runs with every command.
    if unknown.is_empty() {
        return Vec::new();
    }
    let mut known: Vec<String> = Keys::for_command(root).plain().filter_map(|key| key.variable()).collect();
    unknown.retain(|name| !known.contains(name));
    unknown.sort();
    known.extend(OTHER_VARIABLES.map(str::to_owned));
    let warning = |name: String| {
        let hint = match did_you_mean(&name, known.iter().map(String::as_str)).first() {
            None => "unset it; `longhaul config show` lists all keys".to_owned(),
            Some(near) => format!("did you mean {near}?"),
        };
        (format!("unknown variable {name}"), hint)
    };
    unknown.into_iter().map(warning).collect()
}

#[cfg(test)]
mod tests {
    use super::warnings;
    use crate::args::Cli;
    use clap::CommandFactory;

    #[test]
    fn warns_of_unknown_variables_with_a_near_match() {
        let names = [
            "LONGHAUL_BUGDET",
            "LONGHAUL_BUDGET",
            "LONGHAUL_HOME",
            "LONGHAUL_BIN",
            "LONGHAUL_FAILPOINT_LOG",
            "PATH",
            "LONGHAUL_QQQQQQ",
        ];
        let warned = warnings(&Cli::command(), names.into_iter().map(str::to_owned));
        let expected = [
            ("unknown variable LONGHAUL_BUGDET", "did you mean LONGHAUL_BUDGET?"),
            ("unknown variable LONGHAUL_QQQQQQ", "unset it; `longhaul config show` lists all keys"),
        ];
        assert_eq!(warned, expected.map(|(warning, hint)| (warning.to_owned(), hint.to_owned())));
    }
}
