//! The flags of `longhaul report`.

use crate::time_arg::when;
use clap::{Args, ValueEnum};
use longhaul_core::Moment;

#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Run id prefix, name, directory, or `@` for the latest run [default: all of the last 24 hours]
    #[arg(value_name = "RUN", conflicts_with = "since")]
    pub run: Option<String>,
    /// All runs active since WHEN: a duration like 12h or 7d, or a date and time like 2026-05-01T18:30
    #[arg(long, value_name = "WHEN", value_parser = when)]
    pub since: Option<Moment>,
    /// Format of the report: an HTML page, text of 100 columns, or JSON [default: html]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub format: Option<ReportFormat>,
    /// The file to write; `-` is stdout [default: `reports/report-DATE.html` in `$LONGHAUL_HOME`; stdout for
    /// text and JSON]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<std::path::PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// One HTML page that loads nothing and runs nothing
    Html,
    /// Text of 100 columns
    Text,
    /// One JSON object
    Json,
}
