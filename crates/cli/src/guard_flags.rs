//! Guards from flags. Invalid guards are rejected before anything starts.

use crate::args::RunArgs;
use crate::failure::Failure;
use crate::{agent_settings, answer_flags, table_files};
use longhaul_agent::{Guards, UrlPattern, url_patterns};
use longhaul_core::GuardRules;
use std::env;
use std::path::Path;

const LIST_HINT: &str = "write one pattern per line, as in `example.com` or `https://example.com/papers/*`, or a list \
                         named `blocked_urls`, `urls` or `patterns` as YAML or JSON";

/// Returns the guards that the flags request.
pub fn from_flags(args: &RunArgs, cwd: &Path) -> Result<GuardRules, Failure> {
    let mut block_urls = args.block_urls.clone();
    if let Some(path) = &args.block_urls_file {
        let text = table_files::read("--block-urls-file", path)?;
        block_urls.extend(url_list(&path.display().to_string(), &text)?);
    }
    // No call can name a path that is not UTF-8, and no relative path can be resolved against it.
    let home = Some(env::var("HOME").unwrap_or_default()).filter(|_| !args.block_paths.is_empty());
    let rules = GuardRules {
        allow_tools: texts(&args.agent.allow_tools),
        deny_tools: texts(&args.agent.deny_tools),
        block_urls: texts(&block_urls),
        block_paths: args.block_paths.clone(),
        home,
        answers: answer_flags::parse_answers(args)?.map(|answers| answers.entries().clone()),
    };
    let guards = Guards::compile(&rules, cwd).map_err(|error| {
        let hint =
            "name each path with --block-path: absolute, below `~/`, or relative to the working directory";
        Failure::usage(format!("cannot block a path: {error}"), hint)
    })?;
    agent_settings::check("guards of commands", guards.must_disable_skill_commands(), &args.agent_args)?;
    Ok(rules)
}

/// Returns patterns as the user wrote them.
pub fn texts(patterns: &[impl ToString]) -> Vec<String> {
    patterns.iter().map(ToString::to_string).collect()
}

/// Parses a list of URL patterns in any of the supported formats. `source` names its origin in errors.
pub fn url_list(source: &str, text: &str) -> Result<Vec<UrlPattern>, Failure> {
    url_patterns(text).map_err(|error| Failure::usage(format!("cannot read {source}: {error}"), LIST_HINT))
}
