//! `longhaul playbook status`: what is queued and why it waits, what failed, what is being judged, what was learnt, and what it
//! cost.

use super::learn::{command, failure};
use super::settings;
use crate::args::playbook::PlaybookStatusArgs;
use crate::args::{GlobalArgs, OutputFormat};
use crate::failure::Failure;
use crate::output::envelope_text::short_count;
use crate::output::pager::page;
use crate::output::phrases::{bytes, counted, money};
use crate::output::time::coming;
use crate::time_arg::ago;
use crate::{open_home, output};
use longhaul_core::{Moment, Tokens, Usd};
use longhaul_playbook::database::{JudgeBackoff, JudgeCost, JudgeKind, QueueEntry, QueueStatus};
use longhaul_playbook::hooks::{HookError, troubles};
use longhaul_playbook::worker::WorkerLock;
use longhaul_playbook::{LearningDb, LearningPaths};
use longhaul_store::rfc3339;
use serde::Serialize;
use std::path::PathBuf;

// The rest is in the JSON.
const TROUBLES_MAX: usize = 5;

/// What is printed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LearningStatus {
    /// Whether a worker is at work, or stays for what is not due yet.
    worker: bool,
    /// The settings of Claude Code that have it call us: yours, and those of the project here.
    installed_in: Vec<PathBuf>,
    /// What is queued, the oldest first.
    waiting: Vec<Queued>,
    /// What failed and is kept, the oldest first.
    failed: Vec<Queued>,
    /// How many transcripts are done with.
    done: u64,
    /// What is being judged, or was when its worker died.
    in_progress: Vec<Judging>,
    /// How many parts of sessions were learnt from.
    learned: u64,
    /// The last of them, the newest first.
    lessons: Vec<Lesson>,
    /// Judges that gave no answer when they were asked last.
    paused_judges: Vec<PausedJudge>,
    /// Queues that were damaged, each kept under another name.
    damaged_copy: Vec<PathBuf>,
    /// What hooks and workers could not do, the oldest first.
    hook_errors: Vec<HookError>,
    /// What the Messages API was asked for, and what that costs; runs of `--judge claude` are among the runs.
    spent: Spent,
    #[serde(skip)]
    now: Moment,
}

/// A transcript that is queued, or was.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Queued {
    /// The directory whose playbook learns.
    project: PathBuf,
    /// The transcript.
    transcript: PathBuf,
    /// What happened: `SessionEnd`, `PreCompact`, `SubagentStop`, `run`, or `asked` by a person.
    event: String,
    /// When it was queued.
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Rfc3339"))]
    queued_at: String,
    /// Who judges it.
    judge: String,
    /// The API that it may be sent to.
    destination: String,
    /// How often it was tried in vain.
    tries: u32,
    /// When it is due again; nothing if it is due.
    #[cfg_attr(test, schemars(with = "Option<longhaul_core::schema::Rfc3339>"))]
    due_at: Option<String>,
    /// What happened at the last try.
    reason: Option<String>,
}

/// A part of a transcript that is being judged.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Judging {
    /// The transcript.
    transcript: PathBuf,
    /// Where the part begins, in bytes.
    begins: u64,
    /// Where it ends.
    ends: u64,
    /// How far it has come: `begun`, `reflected`, `curated`.
    state: String,
    /// Since when.
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Rfc3339"))]
    since: String,
}

/// A part of a session that was learnt from.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Lesson {
    /// The directory whose playbook has learnt.
    project: PathBuf,
    /// The transcript.
    transcript: PathBuf,
    /// When.
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Rfc3339"))]
    at: String,
    /// What came of it.
    description: String,
    #[serde(skip)]
    when: Moment,
}

/// A judge that gave no answer.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PausedJudge {
    /// `api` or `claude`.
    judge: &'static str,
    /// Its API.
    destination: String,
    /// How often in a row.
    failures: u32,
    /// Whether a person must change something first.
    needs_person: bool,
    /// When it is asked again; nothing if a person must change something first.
    #[cfg_attr(test, schemars(with = "Option<longhaul_core::schema::Rfc3339>"))]
    retry_at: Option<String>,
    /// What it said.
    reason: String,
    #[serde(skip)]
    until: Moment,
}

/// What the judge used.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Spent {
    /// Answers.
    answers: u64,
    /// What they cost, by our table of prices.
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Dollars"))]
    estimated_cost_usd: f64,
    /// Whether some of it has no price: the cost is then a lower bound.
    unpriced: bool,
    /// Input that no cache served.
    input_tokens: u64,
    /// Output.
    output_tokens: u64,
}

/// Carries out the command and returns its exit code.
pub fn status(global: &GlobalArgs, args: &PlaybookStatusArgs) -> Result<u8, Failure> {
    let place = LearningPaths::in_home(open_home::locate()?.path());
    let learning = LearningDb::open_existing(&place).map_err(|error| failure(&error))?;
    let (health, paid) = match &learning {
        Some(learning) => {
            let health = learning.standing(args.lessons).map_err(|error| failure(&error))?;
            (health, learning.paid(Moment(0)).map_err(|error| failure(&error))?)
        }
        None => (QueueStatus::default(), Vec::new()),
    };
    let told = LearningStatus::new(&place, health, &paid);
    match output::format(global) {
        OutputFormat::Text => page(global, &text(&told)),
        OutputFormat::Json | OutputFormat::StreamJson => output::print_json(&told),
    }
    Ok(0)
}

impl LearningStatus {
    fn new(place: &LearningPaths, health: QueueStatus, paid: &[JudgeCost]) -> LearningStatus {
        let now = output::now();
        let QueueStatus {
            waiting,
            failed,
            done,
            in_progress: judging,
            lessons,
            learned: learnt,
            paused_judges: silent,
        } = health;
        let queued =
            |entries: Vec<QueueEntry>| entries.into_iter().map(|entry| Queued::new(entry, now)).collect();
        LearningStatus {
            worker: WorkerLock::is_any_held(place),
            installed_in: settings::installed(),
            waiting: queued(waiting),
            failed: queued(failed),
            done,
            in_progress: judging
                .into_iter()
                .map(|judging| Judging {
                    transcript: judging.transcript,
                    begins: judging.begins,
                    ends: judging.ends,
                    state: judging.state,
                    since: rfc3339(judging.since),
                })
                .collect(),
            learned: learnt,
            lessons: lessons
                .into_iter()
                .map(|lesson| Lesson {
                    project: lesson.project,
                    transcript: lesson.transcript,
                    at: rfc3339(lesson.at),
                    description: lesson.description,
                    when: lesson.at,
                })
                .collect(),
            paused_judges: silent.into_iter().map(PausedJudge::new).collect(),
            damaged_copy: LearningDb::all_set_aside(place),
            hook_errors: troubles(place),
            spent: Spent::new(paid),
            now,
        }
    }
}

impl Queued {
    fn new(entry: QueueEntry, now: Moment) -> Queued {
        Queued {
            project: entry.project,
            transcript: entry.transcript,
            event: entry.event,
            queued_at: rfc3339(entry.at),
            judge: entry.judge,
            destination: entry.destination,
            tries: entry.tries,
            due_at: (entry.not_before > now).then(|| rfc3339(entry.not_before)),
            reason: entry.reason,
        }
    }
}

impl PausedJudge {
    fn new((judge, destination, silent): (JudgeKind, String, JudgeBackoff)) -> PausedJudge {
        let JudgeBackoff { failures, not_before, person, reason: why } = silent;
        PausedJudge {
            judge: judge.as_str(),
            destination,
            failures,
            needs_person: person,
            retry_at: (!person).then(|| rfc3339(not_before)),
            reason: why,
            until: not_before,
        }
    }
}

impl Spent {
    fn new(paid: &[JudgeCost]) -> Spent {
        let tokens = paid.iter().fold(Tokens::default(), |sum, paid| sum + paid.tokens);
        Spent {
            answers: paid.len() as u64,
            estimated_cost_usd: paid.iter().filter_map(|paid| paid.cost).sum::<Usd>().as_dollars(),
            unpriced: paid.iter().any(|paid| paid.cost.is_none()),
            input_tokens: tokens.input,
            output_tokens: tokens.output,
        }
    }
}

fn text(told: &LearningStatus) -> String {
    let mut lines = Vec::new();
    let worker = if told.worker { "a worker is there" } else { "no worker is there" };
    lines.push(format!(
        "{} waiting, {} failed, {} done; {worker}",
        counted(told.waiting.len() as u64, "transcript"),
        told.failed.len(),
        told.done
    ));
    let installed: Vec<_> = told.installed_in.iter().map(|file| file.display().to_string()).collect();
    lines.push(match installed.as_slice() {
        [] => "Claude Code's sessions do not call us: longhaul playbook install".to_owned(),
        files => format!("Claude Code's sessions call us by {}", files.join(", ")),
    });
    for silent in &told.paused_judges {
        let next = if silent.needs_person {
            let learn = command(JudgeKind::parse(silent.judge).unwrap_or(JudgeKind::Api));
            format!("nothing is learnt before that is changed; then: {learn}")
        } else {
            format!("asked again from {}", coming(silent.until))
        };
        lines.push(format!("the judge at {} gave no answer: {}; {next}", silent.destination, silent.reason));
    }
    for judging in &told.in_progress {
        let length = bytes(judging.ends.saturating_sub(judging.begins));
        lines.push(format!("judging {} of {}: {}", length, judging.transcript.display(), judging.state));
    }
    let reason = |queued: &Queued| {
        let why = queued.reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        format!("  {} ({}){why}", queued.transcript.display(), queued.event)
    };
    if !told.waiting.is_empty() {
        lines.push("waiting:".to_owned());
        lines.extend(told.waiting.iter().map(reason));
    }
    for judge in JudgeKind::ALL {
        let of_it = |queued: &&Queued| JudgeKind::parse(&queued.judge).unwrap_or(JudgeKind::Api) == *judge;
        let mut failed = told.failed.iter().filter(of_it).peekable();
        if failed.peek().is_some() {
            lines.push(format!("failed, and tried again by `{} --failed`:", command(*judge)));
            lines.extend(failed.map(reason));
        }
    }
    if !told.lessons.is_empty() {
        lines.push(format!("{} learnt, the last ones:", counted(told.learned, "lesson")));
        lines.extend(told.lessons.iter().map(|lesson| {
            format!("  {}, {}: {}", ago(lesson.when, told.now), lesson.project.display(), lesson.description)
        }));
    }
    let first = told.hook_errors.len().saturating_sub(TROUBLES_MAX);
    if !told.hook_errors.is_empty() {
        lines.push(format!("{}, the last ones:", counted(told.hook_errors.len() as u64, "trouble")));
        lines.extend(
            told.hook_errors[first..]
                .iter()
                .map(|trouble| format!("  {} {}: {}", trouble.at, trouble.event, trouble.description)),
        );
    }
    for path in &told.damaged_copy {
        lines.push(format!("a damaged queue is kept as {}", path.display()));
    }
    if told.spent.answers > 0 {
        let Spent { answers, estimated_cost_usd, unpriced, input_tokens, output_tokens } = told.spent;
        let at_least = if unpriced { "at least " } else { "" };
        let cost = Usd::from_dollars(estimated_cost_usd).unwrap_or_default();
        lines.push(format!(
            "{}: {at_least}{} by our prices, {} tokens in and {} out",
            counted(answers, "answer"),
            money(cost),
            short_count(input_tokens),
            short_count(output_tokens)
        ));
    }
    lines.join("\n") + "\n"
}
