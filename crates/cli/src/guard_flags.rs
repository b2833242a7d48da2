//! Guards from flags. Invalid guards are rejected before anything starts.

use crate::answer_flags;
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::table_files;
use longhaul_agent::{BlockedPaths, Guards, UrlPattern, url_patterns};
use std::env;
use std::path::Path;

const LIST_HINT: &str = "write one pattern per line, as in `example.com` or `https://example.com/papers/*`, or a list \
                         named `blocked_urls`, `urls` or `patterns` as YAML or JSON";

/// Returns the guards that the flags request.
pub fn from_flags(args: &RunArgs, cwd: &Path) -> Result<Guards, Failure> {
    let mut block_urls = args.block_urls.clone();
    if let Some(path) = &args.block_urls_file {
        let text = table_files::read("--block-urls-file", path)?;
        block_urls.extend(url_list(&path.display().to_string(), &text)?);
    }
    Ok(Guards {
        allow_tools: args.agent.allow_tools.clone(),
        deny_tools: args.agent.deny_tools.clone(),
        block_urls,
        block_paths: block_paths(&args.block_paths, cwd)?,
        answers: answer_flags::parse_answers(args)?,
    })
}

/// Parses a list of URL patterns in any of the supported formats. `source` names its origin in errors.
pub fn url_list(source: &str, text: &str) -> Result<Vec<UrlPattern>, Failure> {
    url_patterns(text).map_err(|error| Failure::usage(format!("cannot read {source}: {error}"), LIST_HINT))
}

fn block_paths(paths: &[String], cwd: &Path) -> Result<BlockedPaths, Failure> {
    // No call can name a path that is not UTF-8, and no relative path can be resolved against it.
    let home = env::var("HOME").unwrap_or_default();
    BlockedPaths::new(paths, &cwd.to_string_lossy(), &home).map_err(|error| {
        let hint =
            "name each path with --block-path: absolute, below `~/`, or relative to the working directory";
        Failure::usage(format!("cannot block a path: {error}"), hint)
    })
}
