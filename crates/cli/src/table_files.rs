//! Reads the user's own tables, for example of prices and effects. Invalid tables are rejected before
//! anything starts.

use crate::args::RunArgs;
use crate::failure::{Failure, OrFailure};
use longhaul_agent::{Tables, UserTablesError};
use longhaul_store::{open_regular, read_at_most};
use std::io;
use std::path::Path;

// Bundled tables have a few kilobytes; the text is stored with every run.
const TABLE_BYTES_MAX: u64 = 1 << 20;

const PRICES_HINT: &str = "the file has `dated = \"2026-11-21\"`; each `[[model]]` has `names = [\"…\"]` and, in dollars per million \
                           tokens, input, output, cache_write, cache_write_hour and cache_read";
const EFFECTS_HINT: &str = "for example `tools = [\"mcp__pager__*\"]`, or below `[[program]]` both `names = [\"deploy.sh\"]` and \
                            `starts_with = [\"prod\"]`";

pub fn tables(args: &RunArgs) -> Result<(Option<String>, Option<String>), Failure> {
    let prices = args.prices_file.as_deref().map(|path| read("--prices-file", path)).transpose()?;
    let effects = args.effects_file.as_deref().map(|path| read("--effects-file", path)).transpose()?;
    Tables::new(prices.as_deref(), effects.as_deref()).map_err(|error| {
        let (path, hint) = match &error {
            UserTablesError::Prices(_) => (&args.prices_file, PRICES_HINT),
            UserTablesError::Effects(_) => (&args.effects_file, EFFECTS_HINT),
        };
        let (UserTablesError::Prices(error) | UserTablesError::Effects(error)) = &error;
        let path = path.as_deref().unwrap_or(Path::new("")).display();
        Failure::usage(format!("cannot read {path}: {error}"), hint)
    })?;
    Ok((prices, effects))
}

/// Reads a user's file completely, because it is stored with the run.
pub fn read(flag: &str, path: &Path) -> Result<String, Failure> {
    let bytes = open_regular(path).and_then(|file| read_at_most(file, TABLE_BYTES_MAX));
    let text =
        bytes.and_then(|bytes| String::from_utf8(bytes).map_err(|_| io::Error::other("it is not UTF-8")));
    text.or_usage(format!("cannot read {}", path.display()), format!("check {flag}"))
}
