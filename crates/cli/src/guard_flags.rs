//! Guards, network access and prepared answers from flags. Invalid ones are rejected before anything starts.

use crate::args::{NONE, RunArgs};
use crate::failure::{Failure, OrFailure};
use crate::table_files;
use longhaul_agent::{Answers, AnswersError, Guards, UrlPattern, check_hosts, url_patterns};
use longhaul_core::GuardRules;
use std::env;
use std::path::Path;

const LIST_HINT: &str = "write one pattern per line, as in `example.com` or `https://example.com/papers/*`, or a list \
                         named `blocked_urls`, `urls` or `patterns` as YAML or JSON";

const ANSWER_HINT: &str = "pass KEY=VALUE, as in --answer database=SQLite";
const ANSWERS_FILE_HINT: &str = "--answers-file reads keys and answers, as JSON `{\"database\": \"SQLite\", \"depth\": 3}` or as TOML \
                         `database = \"SQLite\"`";

/// The agent uses only the last `--settings`; the other two turn off hooks and settings (2.1.330).
const CONFLICTING: [&str; 3] = ["--bare", "--safe-mode", "--settings"];

pub fn from_flags(args: &RunArgs, cwd: &Path) -> Result<GuardRules, Failure> {
    let mut block_urls = args.block_url.clone();
    if let Some(path) = &args.block_urls_file {
        let text = table_files::read("--block-urls-file", path)?;
        block_urls.extend(url_list(&path.display().to_string(), &text)?);
    }
    // No call can name a path that is not UTF-8, and no relative path can be resolved against it.
    let home = Some(env::var("HOME").unwrap_or_default()).filter(|_| !args.block_path.is_empty());
    // Only a workflow limits edits: to the files of an item.
    let mut rules = GuardRules::default();
    rules.allow_tools = texts(&args.agent.allow_tools);
    rules.deny_tools = texts(&args.agent.deny_tools);
    rules.block_urls = texts(&block_urls);
    rules.block_paths.clone_from(&args.block_path);
    rules.home = home;
    rules.answers = answers(args)?.map(|answers| answers.entries().clone());
    let guards = Guards::compile(&rules, cwd).or_usage(
        "cannot block a path",
        "name each path with --block-path: absolute, below `~/`, or relative to the working directory",
    )?;
    rules.block_paths = guards.block_paths.movable_paths();
    check_skill_commands(&guards, &args.agent_args)?;
    Ok(rules)
}

/// Rejects arguments of the agent that would undo guards of commands.
pub fn check_skill_commands(guards: &Guards, agent_args: &[String]) -> Result<(), Failure> {
    check_agent_args("guards of commands", guards.must_disable_skill_commands(), agent_args)
}

pub fn texts(patterns: &[impl ToString]) -> Vec<String> {
    patterns.iter().map(ToString::to_string).collect()
}

/// Parses a list of URL patterns in any of the supported formats. `source` names its origin in errors.
pub fn url_list(source: &str, text: &str) -> Result<Vec<UrlPattern>, Failure> {
    url_patterns(text).or_usage(format!("cannot read {source}"), LIST_HINT)
}

pub fn network(args: &RunArgs) -> Result<Option<Vec<String>>, Failure> {
    if args.network.is_empty() {
        return Ok(None);
    }
    let is_none = |host: &String| host == NONE;
    if args.network.len() > 1 && args.network.iter().any(is_none) {
        return Err(Failure::usage(
            "--network names hosts in addition to `none`",
            "name either hosts or `none`",
        ));
    }
    let hosts: Vec<String> = args.network.iter().filter(|host| !is_none(host)).cloned().collect();
    check_hosts(&hosts).map_err(|error| {
        Failure::usage(
            error.to_string(),
            "name the hosts that commands may reach, as in --network example.com, or `none`",
        )
    })?;
    Ok(Some(hosts))
}

/// Rejects such arguments if `flag` is set, because `flag` depends on the settings that they replace.
pub fn check_agent_args(flag: &str, is_set: bool, agent_args: &[String]) -> Result<(), Failure> {
    let names = agent_args.iter().map(|arg| arg.split('=').next().unwrap_or_default());
    match names.into_iter().find(|name| is_set && CONFLICTING.contains(name)) {
        Some(name) => Err(Failure::usage(
            format!("`{name}` cannot be passed to the agent together with {flag}: it would undo {flag}"),
            "leave out one of them, or put the settings into the agent's own files",
        )),
        None => Ok(()),
    }
}

/// Returns the answers to the agent's questions, or `None` if it may ask none.
fn answers(args: &RunArgs) -> Result<Option<Answers>, Failure> {
    if args.answer.is_empty() && args.answers_file.is_none() && !args.answer_defaults {
        return Ok(None);
    }
    let by_flags = typed_answers(&args.answer)?;
    let by_file = args.answers_file.as_deref().map(answers_file).transpose()?.unwrap_or_default();
    Ok(Some(by_flags.or_else(by_file)))
}

fn typed_answers(texts: &[String]) -> Result<Answers, Failure> {
    let pair = |text: &String| match text.split_once('=') {
        Some((key, answer)) => Ok((key.to_owned(), answer.to_owned())),
        None => Err(Failure::usage(format!("the answer `{text}` has no `=`"), ANSWER_HINT)),
    };
    let pairs = texts.iter().map(pair).collect::<Result<Vec<_>, _>>()?;
    Answers::new(pairs).map_err(|error| Failure::usage(error.to_string(), answers_hint(&error, ANSWER_HINT)))
}

fn answers_file(path: &Path) -> Result<Answers, Failure> {
    let text = table_files::read("--answers-file", path)?;
    Answers::parse(&text).map_err(|error| {
        Failure::usage(
            format!("cannot read {}: {error}", path.display()),
            answers_hint(&error, ANSWERS_FILE_HINT),
        )
    })
}

fn answers_hint(error: &AnswersError, otherwise: &'static str) -> &'static str {
    match error {
        AnswersError::Contradiction { .. } => "leave out one of them: case is ignored in keys",
        AnswersError::NoKey(_) | AnswersError::Unreadable(_) => otherwise,
    }
}
