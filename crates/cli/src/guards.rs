//! What the flags say that an agent may not do; whatever is wrong with it is said before anything is started.

use crate::answers;
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::tables;
use longhaul_agent::{Guards, url_patterns};

const LIST_HINT: &str = "write a pattern in each line, as in `example.com` or `https://example.com/papers/*`, or a list \
                         named `blocked_urls`, `urls` or `patterns` as YAML or JSON";

/// The guards that the flags ask for.
pub fn of(args: &RunArgs) -> Result<Guards, Failure> {
    let mut block_urls = args.block_urls.clone();
    if let Some(path) = &args.block_urls_file {
        let text = tables::read("--block-urls-file", path)?;
        let listed = url_patterns(&text)
            .map_err(|error| Failure::usage(format!("read {}: {error}", path.display()), LIST_HINT))?;
        block_urls.extend(listed);
    }
    let (allow_tools, deny_tools) = (args.allow_tools.clone(), args.deny_tools.clone());
    Ok(Guards { allow_tools, deny_tools, block_urls, answers: answers::of(args)? })
}
