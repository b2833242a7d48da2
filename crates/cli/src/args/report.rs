//! The flags of `longhaul report`.

use crate::time_arg::when;
use clap::Args;
use longhaul_core::Moment;

/// Said at the end of the help of `report`.
pub const FORMS: &str =
    "The page is one file that loads nothing and runs nothing. --json prints one JSON object instead.";

#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The run: the first letters of its id, `@` for the last one, or its directory [default: all of the last 24 hours]
    #[arg(value_name = "RUN", conflicts_with = "since")]
    pub run: Option<String>,
    /// Tell of all runs that were active since then: a duration such as `12h` or `7d`, or a date and time such as
    /// `2026-05-01` or `2026-05-01T18:30`
    #[arg(long, value_name = "WHEN", value_parser = when)]
    pub since: Option<Moment>,
    /// Write text of 100 columns instead of a page
    #[arg(long)]
    pub text: bool,
    /// The file to write, in place of one that is there; `-` is stdout [default: `reports/report-DATE.html` in
    /// `$LONGHAUL_HOME`, and its path is printed; text and JSON go to stdout]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<std::path::PathBuf>,
}
