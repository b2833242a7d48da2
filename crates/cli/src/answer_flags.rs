//! Reads the answers that the user gives in advance, from flags and a file. Invalid answers are rejected
//! before anything starts.

use crate::args::RunArgs;
use crate::failure::Failure;
use crate::table_files;
use longhaul_agent::{Answers, AnswersError};
use std::path::Path;

const FLAG_HINT: &str = "pass KEY=VALUE, as in --answer database=SQLite";
const FILE_HINT: &str = "--answers-file reads keys and answers, as JSON `{\"database\": \"SQLite\", \"depth\": 3}` or as TOML \
                         `database = \"SQLite\"`";

/// Returns the answers to the agent's questions, or `None` if it may ask none.
pub fn parse_answers(args: &RunArgs) -> Result<Option<Answers>, Failure> {
    if args.answer.is_empty() && args.answers_file.is_none() && !args.answer_defaults {
        return Ok(None);
    }
    let by_flags = flags(&args.answer)?;
    let by_file = args.answers_file.as_deref().map(file).transpose()?.unwrap_or_default();
    Ok(Some(by_flags.or_else(by_file)))
}

fn flags(texts: &[String]) -> Result<Answers, Failure> {
    let pair = |text: &String| match text.split_once('=') {
        Some((key, answer)) => Ok((key.to_owned(), answer.to_owned())),
        None => Err(Failure::usage(format!("the answer `{text}` has no `=`"), FLAG_HINT)),
    };
    let pairs = texts.iter().map(pair).collect::<Result<Vec<_>, _>>()?;
    Answers::new(pairs).map_err(|error| Failure::usage(error.to_string(), hint(&error, FLAG_HINT)))
}

fn file(path: &Path) -> Result<Answers, Failure> {
    let text = table_files::read("--answers-file", path)?;
    Answers::parse(&text).map_err(|error| {
        Failure::usage(format!("cannot read {}: {error}", path.display()), hint(&error, FILE_HINT))
    })
}

fn hint(error: &AnswersError, otherwise: &'static str) -> &'static str {
    match error {
        AnswersError::Contradiction { .. } => "leave out one of them: case is ignored in keys",
        AnswersError::NoKey(_) | AnswersError::Unreadable(_) => otherwise,
    }
}
