//! `longhaul cost`: sums spending by day, model, project, run, workflow or agent.
//!
//! Keeps reported and estimated cost apart. The requests of a playbook judge are included, as usage by the
//! agent `playbook` in no run.

use crate::args::{CostArgs, GlobalArgs, GroupBy};
use crate::failure::Failure;
use crate::output::envelope::EnvelopeUsage;
use crate::output::envelope_text::grouped;
use crate::output::pager::page_output;
use crate::output::table::{Column, hide_columns, table};
use crate::output::time::TimeFormat;
use crate::output::wrap::wrap;
use crate::{open_home, open_ledger, output};
use longhaul_core::{Dollars, Moment, Rfc3339, Span, Usd};
use longhaul_playbook::database::JudgeCost;
use longhaul_playbook::{LearningDb, LearningPaths};
use longhaul_store::{
    CostBy, CostRow, Home, Ledger, LedgerRun, LedgerSpend, QUARTER_MS, RunFilter, with_suffix,
};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

// Default period.
const LAST: Span = Span::from_hours(30 * 24);
// A narrow screen loses these columns, in this order.
const DISPENSABLE: [usize; 5] = [4, 8, 7, 2, 1];
// Room for a name and the first words of a task.
const TASK_WIDTH_MIN: usize = 16;

const JUDGE: &str = "playbook";
/// Key of spending in no run or no workflow. An empty key means that it is unknown.
const NOWHERE: &str = "-";

/// Describes all prices, including those that were never billed.
const BASIS: &str = "cost at API prices; subscriptions are billed differently";

/// Output of the command.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CostOutput {
    /// Grouping: `day`, `model`, `project`, `run`, `workflow` or `agent`.
    by: &'static str,
    /// Start of the period. `None` for all time.
    since: Option<Rfc3339>,
    /// Basis of the prices, as text.
    basis: &'static str,
    /// Spending of each group. Days are listed newest first.
    rows: Vec<Row>,
    /// Sum of all rows.
    total: Row,
}

/// Spending of one group.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Row {
    /// Name of the group. `None` if it is unknown, and for the total.
    key: Option<String>,
    /// Name of the run. Only set when grouped by run.
    name: Option<String>,
    /// Start of the run's task. Only set when grouped by run.
    task: Option<String>,
    /// Cost reported by the agent.
    reported_cost_usd: Dollars,
    /// Number of completed messages.
    messages: u64,
    #[serde(flatten)]
    usage: EnvelopeUsage,
}

pub fn cost(global: &GlobalArgs, args: &CostArgs) -> Result<u8, Failure> {
    let month = || Moment(output::now().0.saturating_sub(LAST.0));
    let since = args.since.or_else(|| (!args.all).then(month));
    let home = open_home::locate()?;
    let mut ledger = open_ledger::open(&home)?;
    let found = match args.group_by {
        GroupBy::Day => ledger.costs_by_quarter(since).map(days),
        GroupBy::Model => ledger.costs(CostBy::Model, since),
        GroupBy::Project => ledger.costs(CostBy::Project, since),
        GroupBy::Run => ledger.costs(CostBy::Run, since),
        GroupBy::Agent => ledger.costs(CostBy::Agent, since),
        GroupBy::Workflow => ledger.costs(CostBy::Workflow, since),
    };
    let mut found = found?;
    if args.group_by == GroupBy::Workflow {
        let others = found.iter_mut().filter(|row| row.key.is_empty());
        others.for_each(|row| NOWHERE.clone_into(&mut row.key));
    }
    let found = with_judge(found, &judge_costs(&home, since), args.group_by);
    let mut total = LedgerSpend::default();
    found.iter().for_each(|row| total += row.spend);
    let mut rows: Vec<Row> = found.iter().map(|row| Row::new(Some(&row.key), &row.spend)).collect();
    if args.group_by == GroupBy::Run {
        name_runs(&mut rows, &mut ledger)?;
    }
    let costs = CostOutput {
        by: args.group_by.as_str(),
        since: since.map(Rfc3339),
        basis: BASIS,
        rows,
        total: Row::new(None, &total),
    };
    if args.csv {
        output::print_text(&csv(&costs));
        return Ok(0);
    }
    let is_default_period = !args.all && args.since.is_none();
    page_output(global, &costs, || match costs.rows.as_slice() {
        [] if is_default_period => "no spending in the last 30 days; --all looks further back\n".to_owned(),
        [] => "no spending\n".to_owned(),
        _ => text(&costs, output::width()),
    });
    Ok(0)
}

/// Adds the names and tasks of runs, because ids alone are hard to recognize.
fn name_runs(rows: &mut [Row], ledger: &mut Ledger) -> Result<(), Failure> {
    let runs = ledger.runs(&RunFilter::default())?;
    let mut runs: BTreeMap<String, LedgerRun> =
        runs.into_iter().map(|run| (run.id.to_string(), run)).collect();
    for row in rows {
        let run = row.key.as_ref().and_then(|id| runs.remove(id));
        (row.name, row.task) = run.map_or((None, None), |run| (run.name, Some(run.task)));
    }
    Ok(())
}

/// Returns the judge's requests since this time. Prints a warning and returns none if they cannot be read.
fn judge_costs(home: &Home, since: Option<Moment>) -> Vec<JudgeCost> {
    // The ledger counts by quarters of an hour.
    let since = Moment(since.unwrap_or(Moment(0)).0 / QUARTER_MS * QUARTER_MS);
    let paths = LearningPaths::in_home(home.path());
    let learning = LearningDb::open_existing(&paths);
    for path in LearningDb::damaged_copies(&paths).iter().filter(|path| was_written_since(path, since)) {
        let warning =
            format!("the cost of the playbook's judge is incomplete: {} is damaged", path.display());
        output::print_warning(&warning, Some("delete that file to hide this warning"));
    }
    let paid = learning.and_then(|learning| learning.map_or(Ok(Vec::new()), |db| db.judge_costs(since)));
    paid.unwrap_or_else(|error| {
        output::print_warning(
            &format!("the cost of the playbook's judge is missing: {error}"),
            Some(error.hint()),
        );
        Vec::new()
    })
}

/// Returns whether a database may contain costs since this time. Renaming it does not change its file times.
fn was_written_since(database: &Path, since: Moment) -> bool {
    let files = ["", "-wal"].map(|suffix| with_suffix(database, suffix));
    let times = files.iter().filter_map(|file| fs::metadata(file).and_then(|found| found.modified()).ok());
    times.max().is_none_or(|at| at >= UNIX_EPOCH + since.since(Moment(0)).to_std())
}

fn with_judge(mut rows: Vec<CostRow<String>>, paid: &[JudgeCost], by: GroupBy) -> Vec<CostRow<String>> {
    let clock = TimeFormat::here();
    for paid in paid {
        let key = match by {
            GroupBy::Day => clock.day(paid.at),
            GroupBy::Model => paid.model.clone(),
            GroupBy::Project => paid.project.clone(),
            GroupBy::Run | GroupBy::Workflow => NOWHERE.to_owned(),
            GroupBy::Agent => JUDGE.to_owned(),
        };
        let spend = LedgerSpend {
            estimated_cost: paid.cost.unwrap_or_default(),
            unpriced: paid.cost.is_none(),
            tokens: paid.tokens,
            messages: 1,
            ..LedgerSpend::default()
        };
        match rows.iter_mut().find(|row| row.key == key) {
            Some(row) => row.spend += spend,
            None => rows.push(CostRow { key, spend }),
        }
    }
    let cost = |row: &CostRow<String>| -> Usd { row.spend.cost + row.spend.estimated_cost };
    rows.sort_by(|one, other| match by {
        GroupBy::Day => other.key.cmp(&one.key),
        GroupBy::Model | GroupBy::Project | GroupBy::Run | GroupBy::Agent | GroupBy::Workflow => {
            cost(other).cmp(&cost(one)).then_with(|| one.key.cmp(&other.key))
        }
    });
    rows
}

fn days(quarters: Vec<CostRow<u64>>) -> Vec<CostRow<String>> {
    let clock = TimeFormat::here();
    let mut days: BTreeMap<String, LedgerSpend> = BTreeMap::new();
    for CostRow { key, spend } in quarters {
        *days.entry(clock.day(Moment(key.saturating_mul(QUARTER_MS)))).or_default() += spend;
    }
    days.into_iter().rev().map(|(key, spend)| CostRow { key, spend }).collect()
}

impl Row {
    fn title(&self) -> String {
        let parts = [self.name.as_deref(), self.task.as_deref()].into_iter().flatten();
        parts.collect::<Vec<_>>().join(": ")
    }

    fn new(key: Option<&String>, spend: &LedgerSpend) -> Row {
        Row {
            key: key.filter(|key| !key.is_empty()).cloned(),
            name: None,
            task: None,
            reported_cost_usd: spend.cost.into(),
            messages: spend.messages,
            usage: EnvelopeUsage {
                tokens: spend.tokens.into(),
                total_cost_usd: (spend.cost + spend.estimated_cost).into(),
                estimated_cost_usd: spend.estimated_cost.into(),
                truncated_tokens: spend.truncated,
                unpriced: spend.unpriced,
            },
        }
    }
}

fn text(costs: &CostOutput, width: usize) -> String {
    let has_tasks = costs.rows.iter().any(|row| row.task.is_some());
    let names =
        [costs.by, "reported", "estimated", "total", "messages", "input", "output", "cached", "written"];
    let mut cells = vec![names.map(str::to_owned).to_vec()];
    cells.extend(costs.rows.iter().map(|row| cells_of(row, row.key.as_deref().unwrap_or("(unknown)"))));
    cells.push(cells_of(&costs.total, "total"));
    let mut kinds = [&[Column::Left][..], &[Column::Right; 8]].concat();
    if has_tasks {
        kinds.push(Column::Last);
        let tasks = costs.rows.iter().map(Row::title);
        let tasks = ["task".to_owned()].into_iter().chain(tasks).chain([String::new()]);
        cells.iter_mut().zip(tasks).for_each(|(row, task)| row.push(task));
    }
    let least = if has_tasks { TASK_WIDTH_MIN } else { 0 };
    let (cells, kinds) = hide_columns(&cells, &kinds, &DISPENSABLE, width, least);
    let unpriced = if costs.total.usage.unpriced {
        "; amounts with > are lower bounds: some usage is lost or has no price"
    } else {
        ""
    };
    let mut basis = String::new();
    wrap(&mut basis, &format!("{BASIS}{unpriced}"), 0);
    format!("{}\n{basis}", table(&cells, &kinds, width))
}

fn cells_of(row: &Row, key: &str) -> Vec<String> {
    let usage = &row.usage;
    let at_least = if usage.unpriced { ">" } else { "" };
    vec![
        key.to_owned(),
        row.reported_cost_usd.0.to_string(),
        usage.estimated_cost_usd.0.to_string(),
        format!("{at_least}{}", usage.total_cost_usd.0),
        grouped(row.messages),
        grouped(usage.tokens.input_tokens),
        grouped(usage.tokens.output_tokens),
        grouped(usage.tokens.cache_read_input_tokens),
        grouped(usage.tokens.cache_creation_input_tokens),
    ]
}

/// Renders a line of names followed by the rows. The total is omitted, so that columns can be summed.
fn csv(costs: &CostOutput) -> String {
    let mut out = format!(
        "{},reported_cost_usd,estimated_cost_usd,unpriced,messages,input_tokens,output_tokens,cache_read_input_tokens,\
         cache_creation_input_tokens,truncated_tokens,name,task\n",
        costs.by
    );
    for row in &costs.rows {
        out += &format!(
            "{},{:.6},{:.6},{},{},{},{},{},{},{},{},{}\n",
            quoted(row.key.as_deref().unwrap_or_default()),
            row.reported_cost_usd.0.as_dollars(),
            row.usage.estimated_cost_usd.0.as_dollars(),
            row.usage.unpriced,
            row.messages,
            row.usage.tokens.input_tokens,
            row.usage.tokens.output_tokens,
            row.usage.tokens.cache_read_input_tokens,
            row.usage.tokens.cache_creation_input_tokens,
            row.usage.truncated_tokens,
            quoted(row.name.as_deref().unwrap_or_default()),
            quoted(row.task.as_deref().unwrap_or_default())
        );
    }
    out
}

/// Quotes a field of comma-separated values (RFC 4180).
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use longhaul_core::{Tokens, Usd};

    fn spend(cents: u64, estimated: u64, unpriced: bool) -> LedgerSpend {
        let tokens = Tokens { input: 1_000, output: 20, cache_read: 3_000_000, cache_write: 4 };
        let usd = |cents| Usd(cents * 10_000);
        LedgerSpend {
            cost: usd(cents),
            estimated_cost: usd(estimated),
            unpriced,
            tokens,
            truncated: 5,
            messages: 6,
        }
    }

    fn costs() -> CostOutput {
        let rows = [("claude-large, the \"new\"", spend(1_234, 0, false)), ("", spend(5, 6, true))];
        let mut total = LedgerSpend::default();
        rows.iter().for_each(|(_, spend)| total += *spend);
        CostOutput {
            by: "model",
            since: None,
            basis: BASIS,
            rows: rows.iter().map(|(key, spend)| Row::new(Some(&(*key).to_owned()), spend)).collect(),
            total: Row::new(None, &total),
        }
    }

    #[test]
    fn renders_text() {
        expect![[r#"
            model                    reported  estimated     total  messages  input  output     cached  written
            claude-large, the "new"    $12.34         $0    $12.34         6  1,000      20  3,000,000        4
            (unknown)                 $0.0500    $0.0600  >$0.1100         6  1,000      20  3,000,000        4
            total                      $12.39    $0.0600   >$12.45        12  2,000      40  6,000,000        8

            cost at API prices; subscriptions are billed differently; amounts with > are lower bounds: some
            usage is lost or has no price
        "#]]
        .assert_eq(&text(&costs(), 200));
    }

    #[test]
    fn narrow_terminal_hides_columns() {
        expect![[r#"
            model                    reported  estimated     total  input  output
            claude-large, the "new"    $12.34         $0    $12.34  1,000      20
            (unknown)                 $0.0500    $0.0600  >$0.1100  1,000      20
            total                      $12.39    $0.0600   >$12.45  2,000      40

            cost at API prices; subscriptions are billed differently; amounts with > are lower bounds: some
            usage is lost or has no price
        "#]]
        .assert_eq(&text(&costs(), 80));
    }

    #[test]
    fn costs_by_run_show_tasks() {
        let mut costs = CostOutput { by: "run", ..costs() };
        costs.rows[0].key = Some("kmzxqp".to_owned());
        costs.rows[0].name = Some("nightly".to_owned());
        costs.rows[0].task = Some("Fix the failing tests of the parser, one by one".to_owned());
        costs.rows[1].key = Some("-".to_owned());
        expect![[r#"
            run     reported  estimated     total  messages  input  output     cached  written  task
            kmzxqp    $12.34         $0    $12.34         6  1,000      20  3,000,000        4  nightly: Fix the failing tests of t…
            -        $0.0500    $0.0600  >$0.1100         6  1,000      20  3,000,000        4
            total     $12.39    $0.0600   >$12.45        12  2,000      40  6,000,000        8

            cost at API prices; subscriptions are billed differently; amounts with > are lower bounds: some
            usage is lost or has no price
        "#]].assert_eq(&text(&costs, 120));
        let narrow = text(&costs, 60);
        expect![[r#"
            run     reported     total  input  output  task
            kmzxqp    $12.34    $12.34  1,000      20  nightly: Fix the…
            -        $0.0500  >$0.1100  1,000      20
            total     $12.39   >$12.45  2,000      40

            cost at API prices; subscriptions are billed differently; amounts with > are lower bounds: some
            usage is lost or has no price
        "#]]
        .assert_eq(&narrow);
    }

    #[test]
    fn renders_csv() {
        expect![[r#"
            model,reported_cost_usd,estimated_cost_usd,unpriced,messages,input_tokens,output_tokens,cache_read_input_tokens,cache_creation_input_tokens,truncated_tokens,name,task
            "claude-large, the ""new""",12.340000,0.000000,false,6,1000,20,3000000,4,5,,
            ,0.050000,0.060000,true,6,1000,20,3000000,4,5,,
        "#]].assert_eq(&csv(&costs()));
    }

    #[test]
    fn sums_quarters_to_days() {
        let quarter = |quarter, cents| CostRow { key: quarter, spend: spend(cents, 0, false) };
        // Three days apart, so that the dates differ in every time zone.
        let days = days(vec![quarter(100_000, 1), quarter(100_001, 2), quarter(100_288, 4)]);
        let cents: Vec<_> = days.iter().map(|day| day.spend.cost.0 / 10_000).collect();
        assert_eq!(cents, [4, 3]);
        assert!(days[0].key > days[1].key, "{days:?}");
    }
}
