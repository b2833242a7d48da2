//! Renders a report as an HTML page.
//!
//! The page loads nothing, runs nothing and is readable without colors.

mod charts;
mod writer;

use super::calls::{CallEnd, ToolCalls};
use super::data::{Bounds, LostTimeRow, ModelRow, ReportData, ReportRun, Summary};
use super::format::cost;
use super::run_health::RunHealth;
use super::run_timeline::TimelineAttempt;
use crate::output::envelope_text::{grouped, short_count};
use crate::output::phrases::{self, counted, money};
use crate::output::time::TimeFormat;
use longhaul_core::{Span, Usd};
use writer::Html;

/// Content security policy. It forbids everything except the inline style sheet, whatever the report
/// contains.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";
const SHEET: &str = include_str!("html/report.css");

/// Renders the report as a page, with times in this format.
pub fn page(report: &ReportData, clock: &TimeFormat) -> String {
    let mut html = Html::default();
    html.element("html", &[("lang", "en")], |html| {
        html.element("head", &[], |html| {
            html.void("meta", &[("charset", "utf-8")]);
            html.void("meta", &[("http-equiv", "Content-Security-Policy"), ("content", POLICY)]);
            html.void("meta", &[("name", "referrer"), ("content", "no-referrer")]);
            html.void("meta", &[("name", "viewport"), ("content", "width=device-width, initial-scale=1")]);
            html.void("meta", &[("name", "color-scheme"), ("content", "light dark")]);
            html.leaf("title", &[], &format!("Longhaul report of {}", clock.minute(report.generated_at)));
            html.style(SHEET);
        });
        html.line();
        html.element("body", &[], |html| body(html, report, clock));
    });
    html.into_document()
}

fn body(html: &mut Html, report: &ReportData, clock: &TimeFormat) {
    html.leaf("a", &[("class", "skip"), ("href", "#runs")], "Go to the runs");
    html.element("header", &[], |html| {
        html.leaf("h1", &[], "Longhaul report");
        html.leaf("p", &[("class", "dim")], &super::about(report, clock));
        contents(html, report);
    });
    html.element("main", &[], |html| {
        summary(html, report);
        attention(html, report, clock);
        html.element("div", &[("class", "columns")], |html| {
            lost(html, &report.lost_time);
            faults(html, report);
        });
        spent(html, report, clock);
        models(html, &report.models);
        runs(html, report, clock);
    });
    html.element("footer", &[], |html| {
        html.format(format_args!(
            "Made by longhaul {} out of the runs' own journals. Times are {}.",
            env!("CARGO_PKG_VERSION"),
            clock.zone(report.generated_at)
        ));
    });
}

fn contents(html: &mut Html, report: &ReportData) {
    let sections = [
        ("summary", "Summary", true),
        ("attention", "Needs attention", true),
        ("lost", "Time lost", true),
        ("faults", "Faults", true),
        ("spent", "Spent", !report.spend.is_empty()),
        ("models", "Models", !report.models.is_empty()),
        ("runs", "Runs", true),
    ];
    html.element("nav", &[("aria-label", "Contents")], |html| {
        html.element("ul", &[], |html| {
            for (id, name, _) in sections.into_iter().filter(|(_, _, shown)| *shown) {
                html.element("li", &[], |html| html.leaf("a", &[("href", &format!("#{id}"))], name));
            }
        });
    });
}

/// Writes a section with its heading.
fn section(html: &mut Html, id: &str, heading: &str, inside: impl FnOnce(&mut Html)) {
    let name = format!("{id}-heading");
    html.line();
    html.element("section", &[("id", id), ("aria-labelledby", &name)], |html| {
        html.leaf("h2", &[("id", &name)], heading);
        inside(html);
    });
}

/// Writes a table in its own panel.
fn table(html: &mut Html, class: &'static str, inside: impl FnOnce(&mut Html)) {
    html.element("div", &[("class", "panel")], |html| {
        let attributes = [("class", class)];
        html.element("table", if class.is_empty() { &[] } else { &attributes }, inside);
    });
}

/// Writes the head of a table: the name and class of each column.
fn head(html: &mut Html, columns: &[(&str, &str)]) {
    html.element("thead", &[], |html| {
        html.element("tr", &[], |html| {
            for (name, class) in columns {
                let attributes = [("scope", "col"), ("class", *class)];
                html.leaf("th", if class.is_empty() { &attributes[..1] } else { &attributes }, name);
            }
        });
    });
}

fn summary(html: &mut Html, report: &ReportData) {
    let Summary { runs, done, failed, needs_person, running, cancelled, .. } = report.summary;
    section(html, "summary", "Summary", |html| {
        let attempts = counted(report.summary.attempts.into(), "attempt");
        html.element("dl", &[("class", "tiles")], |html| {
            if let (Some(_), [run]) = (&report.run, report.runs.as_slice()) {
                let class = format!("tile first some-{}", run.health.as_str());
                return tile(html, &class, "The run", &capital(run.health.label()), &attempts);
            }
            tile(html, "tile first", "Runs", &runs.to_string(), &attempts);
            let counts = [
                (RunHealth::Done, done),
                (RunHealth::Failed, failed),
                (RunHealth::NeedsPerson, needs_person),
                (RunHealth::Running, running),
                (RunHealth::Cancelled, cancelled),
            ];
            for (health, count) in counts {
                if count > 0 || health != RunHealth::Cancelled {
                    let class = match count {
                        0 => "tile none".to_owned(),
                        _ => format!("tile some-{}", health.as_str()),
                    };
                    tile(html, &class, &capital(health.label()), &count.to_string(), "");
                }
            }
        });
        html.element("dl", &[("class", "tiles wide")], |html| {
            let Summary { cost, estimated_cost, tokens, active, lost_time, .. } = report.summary;
            let mut notes = vec!["stated by the vendor".to_owned()];
            if estimated_cost > Usd::ZERO {
                notes.push(format!("about {} more estimated", money(estimated_cost)));
            }
            notes.push(format!("{} tokens", short_count(tokens)));
            notes.extend(super::remarks(report));
            tile(html, "tile", "Spent", &money(cost), &notes.join("; "));
            let note = format!("{}attempts ran for {active}", largest(&report.lost_time));
            tile(html, "tile", "Time lost", &lost_time.to_string(), &note);
        });
    });
}

fn largest(lost: &[LostTimeRow]) -> String {
    lost.first().map(|row| format!("most of it: {}; ", row.cause.label())).unwrap_or_default()
}

fn tile(html: &mut Html, class: &str, name: &str, figure: &str, note: &str) {
    html.element("div", &[("class", class)], |html| {
        html.leaf("dt", &[], name);
        html.leaf("dd", &[("class", "figure")], figure);
        if !note.is_empty() {
            html.leaf("dd", &[("class", "note")], note);
        }
    });
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

fn badge(html: &mut Html, health: RunHealth) {
    html.leaf("span", &[("class", &format!("badge {}", health.as_str()))], health.label());
}

/// Lists the urgent runs with the command to type next.
fn attention(html: &mut Html, report: &ReportData, clock: &TimeFormat) {
    section(html, "attention", "Needs attention", |html| {
        let mut urgent = report.runs.iter().filter(|run| run.health.is_urgent()).peekable();
        if urgent.peek().is_none() {
            return html.leaf("p", &[], "Nothing.");
        }
        html.element("ul", &[("class", "cards")], |html| {
            for run in urgent {
                html.element("li", &[("class", &format!("card {}", run.health.as_str()))], |html| {
                    card(html, run, clock)
                });
            }
        });
    });
}

fn card(html: &mut Html, run: &ReportRun, clock: &TimeFormat) {
    html.element("h3", &[], |html| {
        badge(html, run.health);
        html.element("a", &[("href", &format!("#run-{}", run.id))], |html| html.leaf("code", &[], &run.id));
        html.format(format_args!(" {}", run.name.as_deref().unwrap_or_default()));
    });
    html.leaf("p", &[("class", "task")], &run.task);
    html.element("p", &[], |html| {
        html.leaf("strong", &[], &super::explanation(run, clock));
        if let Some(advice) = &run.advice {
            html.text(" ");
            prose(html, &super::sentence(advice));
        }
    });
    next(html, run);
}

/// Writes a text in which backticks enclose commands.
fn prose(html: &mut Html, text: &str) {
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        // An unpaired backtick is an ordinary character.
        return html.text(text);
    }
    for (index, part) in parts.into_iter().enumerate() {
        if index.is_multiple_of(2) { html.text(part) } else { html.leaf("code", &[], part) }
    }
}

/// Writes the command to type next.
fn next(html: &mut Html, run: &ReportRun) {
    let Some(next) = &run.next else { return };
    html.element("p", &[("class", "next")], |html| {
        html.text("Next: ");
        html.leaf("code", &[], next);
    });
}

fn lost(html: &mut Html, rows: &[LostTimeRow]) {
    section(html, "lost", "Time lost", |html| {
        if rows.is_empty() {
            return html.leaf("p", &[], "None.");
        }
        let whole: u64 = rows.iter().map(|row| row.waiting.millis() + row.wasted.millis()).sum();
        table(html, "", |html| {
            head(
                html,
                &[("To what", ""), ("Waiting", "number"), ("In attempts", "number"), ("Runs", "number")],
            );
            html.element("tbody", &[], |html| {
                for row in rows {
                    html.element("tr", &[], |html| {
                        html.element("th", &[("scope", "row")], |html| {
                            html.text(row.cause.label());
                            charts::bar(html, row.waiting.millis() + row.wasted.millis(), whole);
                        });
                        for span in [row.waiting, row.wasted] {
                            html.leaf("td", &[("class", "number")], &span_or_dash(span));
                        }
                        html.leaf("td", &[("class", "number")], &row.runs.to_string());
                    });
                }
            });
        });
    });
}

fn span_or_dash(span: Span) -> String {
    if span == Span::ZERO { "–".to_owned() } else { span.to_string() }
}

fn faults(html: &mut Html, report: &ReportData) {
    section(html, "faults", "Faults", |html| {
        if report.faults.is_empty() {
            return html.leaf("p", &[], "None.");
        }
        let whole: u64 = report.faults.iter().map(|row| u64::from(row.attempts)).sum();
        table(html, "", |html| {
            head(html, &[("What", ""), ("Attempts", "number"), ("Runs", "number"), ("Ended runs", "number")]);
            html.element("tbody", &[], |html| {
                for row in &report.faults {
                    html.element("tr", &[], |html| {
                        html.element("th", &[("scope", "row")], |html| {
                            html.text(phrases::fault_text(row.fault));
                            charts::bar(html, row.attempts.into(), whole);
                        });
                        for count in [row.attempts, row.runs, row.ended_runs] {
                            html.leaf("td", &[("class", "number")], &count.to_string());
                        }
                    });
                }
            });
        });
    });
}

fn spent(html: &mut Html, report: &ReportData, clock: &TimeFormat) {
    if report.spend.is_empty() {
        return;
    }
    section(html, "spent", "Spent over time", |html| {
        html.element("div", &[("class", "panel")], |html| charts::spent(html, &report.spend, clock));
    });
}

/// Columns of the token table. On a phone each figure carries the name of its column instead of a table head.
const TOKENS: [&str; 5] = ["Input", "Output", "Cache read", "Cache written", "Cut"];

fn models(html: &mut Html, rows: &[ModelRow]) {
    if rows.is_empty() {
        return;
    }
    section(html, "models", "Tokens by model", |html| {
        table(html, "models", |html| {
            let columns = TOKENS.map(|name| (name, "number"));
            head(html, &[&[("Model", "")], &columns[..], &[("Cost", "number")]].concat());
            html.element("tbody", &[], |html| rows.iter().for_each(|row| model(html, row)));
        });
    });
}

fn model(html: &mut Html, row: &ModelRow) {
    html.element("tr", &[], |html| {
        html.leaf("th", &[("scope", "row")], super::model_name(&row.model));
        let tokens = row.tokens;
        let counts =
            [tokens.input, tokens.output, tokens.cache_read, tokens.cache_write, row.truncated_tokens];
        for (name, count) in TOKENS.into_iter().zip(counts) {
            let attributes = [("class", "number"), ("data-name", name), ("title", &grouped(count))];
            html.leaf("td", &attributes, &short_count(count));
        }
        html.leaf("td", &[("class", "number cost")], &cost(row.cost, row.estimated_cost, row.unpriced));
    });
}

fn runs(html: &mut Html, report: &ReportData, clock: &TimeFormat) {
    let bounds = Bounds::new(report.runs.len());
    section(html, "runs", "Runs", |html| {
        if report.runs.is_empty() {
            return html.leaf("p", &[], "There are none.");
        }
        let detailed = report.runs.len().min(bounds.runs);
        charts::legend(html, report.runs[..detailed].iter().flat_map(|run| &run.timeline));
        for run in &report.runs[..detailed] {
            html.line();
            let attributes =
                [("id", format!("run-{}", run.id)), ("class", format!("run {}", run.health.as_str()))];
            let attributes = attributes.each_ref().map(|(name, value)| (*name, value.as_str()));
            html.element("article", &attributes, |html| one(html, run, bounds, clock));
        }
        let others = &report.runs[detailed..];
        if !others.is_empty() {
            html.format(format_args!("And {}, each in a line:", counted(others.len() as u64, "more run")));
            html.element("ul", &[], |html| others.iter().for_each(|run| line(html, run, clock)));
        }
    });
}

/// Writes a run without details, on one line.
fn line(html: &mut Html, run: &ReportRun, clock: &TimeFormat) {
    html.element("li", &[("id", &format!("run-{}", run.id))], |html| {
        html.leaf("code", &[], &run.id);
        html.format(format_args!(" {}; {}", super::explanation(run, clock), super::facts(run, clock)));
    });
}

fn one(html: &mut Html, run: &ReportRun, bounds: Bounds, clock: &TimeFormat) {
    html.element("h3", &[], |html| {
        badge(html, run.health);
        html.leaf("code", &[], &run.id);
        html.format(format_args!(" {}", run.name.as_deref().unwrap_or_default()));
    });
    html.leaf("p", &[("class", "task")], &run.task);
    html.leaf("p", &[], &super::explanation(run, clock));
    html.leaf("p", &[("class", "facts")], &super::facts(run, clock));
    if !run.health.is_urgent() {
        // The section of urgent runs has shown it for the others.
        next(html, run);
    }
    charts::timeline(html, &run.timeline, bounds.slices, clock);
    if !run.attempts.is_empty() {
        html.element("details", &[], |html| {
            html.leaf("summary", &[], &super::attempts_heading(run));
            attempts(html, run, clock);
        });
    }
    if !run.calls.last.is_empty() {
        html.element("details", &[], |html| {
            html.leaf("summary", &[], &super::calls_heading(run));
            calls(html, &run.calls, clock);
        });
    }
    html.leaf("p", &[("class", "facts")], &super::agent_and_files(run));
}

fn attempts(html: &mut Html, run: &ReportRun, clock: &TimeFormat) {
    html.element("table", &[("class", "lines attempts")], |html| {
        head(html, &[("#", ""), ("Began", ""), ("Took", "number"), ("How it ended", ""), ("Cost", "number")]);
        html.element("tbody", &[], |html| {
            for attempt in &run.attempts {
                html.element("tr", &[], |html| row(html, attempt, run, clock));
            }
        });
    });
}

fn row(html: &mut Html, attempt: &TimelineAttempt, run: &ReportRun, clock: &TimeFormat) {
    html.leaf("th", &[("scope", "row"), ("class", "count")], &attempt.number.to_string());
    html.leaf("td", &[], &clock.short(attempt.started_at));
    html.leaf("td", &[("class", "number")], &super::took(attempt));
    html.leaf("td", &[("class", "long")], &super::ending(attempt, run));
    html.leaf("td", &[("class", "number cost")], &cost(attempt.cost, attempt.estimated_cost, false));
}

fn calls(html: &mut Html, calls: &ToolCalls, clock: &TimeFormat) {
    html.element("table", &[("class", "lines calls")], |html| {
        head(html, &[("#", ""), ("At", ""), ("Tool", ""), ("With", ""), ("Ended", "")]);
        html.element("tbody", &[], |html| {
            for call in &calls.last {
                html.element("tr", &[], |html| {
                    html.leaf("td", &[], &call.attempt.to_string());
                    html.leaf(
                        "td",
                        &[],
                        &call.at.as_deref().map(|at| clock.time_written(at)).unwrap_or_default(),
                    );
                    let by = if call.subagent { " (sub-agent)" } else { "" };
                    html.leaf("td", &[("class", "tool")], &format!("{}{by}", call.tool));
                    html.leaf("td", &[("class", "long call")], &call.argument);
                    html.element("td", &[], |html| match call.ended_at {
                        CallEnd::Ok => html.text(call.ended_at.label()),
                        CallEnd::Unknown | CallEnd::Failed | CallEnd::Denied | CallEnd::Interrupted => {
                            html.leaf("strong", &[], call.ended_at.label());
                        }
                    });
                });
            }
        });
    });
}
