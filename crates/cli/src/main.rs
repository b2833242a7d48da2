//! The `longhaul` binary. No other crate prints or exits.

mod api_judge;
mod args;
mod changes;
mod check_flags;
mod claude_judge;
mod command_flags;
mod commands;
mod config;
mod configured_values;
mod failure;
mod figures;
mod frozen_supervisor;
mod guard_flags;
mod hints;
mod limit_flags;
mod mcp_stdio;
mod next_commands;
mod open_home;
mod open_ledger;
mod openclawpack;
mod output;
mod own_program;
mod prompt_arg;
mod researchgym_dir;
mod run_history;
mod run_learning;
mod runtime;
mod schemas;
mod signals;
mod supervise_failure;
mod table_files;
mod telemetry;
mod time_arg;
mod usage_tips;
mod visible_commands;
mod workflow_history;
mod workflow_next_commands;

use args::{Cli, Command, ENVELOPE_COMMANDS, OutputFormat};
use clap::{CommandFactory, FromArgMatches};
use failure::Failure;
use output::envelope::Envelope;
use std::ffi::{OsStr, OsString};
use std::mem::ManuallyDrop;
use std::process::ExitCode;
use std::sync::Arc;

/// Warns of misspelled variables, except in commands whose output shells and builds read.
fn warn_of_variables(cli: &Cli, command: &clap::Command) {
    if matches!(cli.command, Command::Completions(_) | Command::Man(_)) {
        return;
    }
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for (warning, hint) in config::unknown::warnings(command, names) {
        output::print_warning(&warning, Some(&hint));
    }
}

/// Warns that a command has no JSON output.
fn warn_of_text_only(cli: &Cli) {
    let is_text_only = matches!(&cli.command, Command::Handoff(_))
        || matches!(&cli.command, Command::Drill(args) if args.list)
        || matches!(&cli.command, Command::Recover(args) if args.list);
    if is_text_only && cli.global.output_format.is_some_and(|format| format != OutputFormat::Text) {
        output::print_warning("this command prints text only", None);
    }
}

fn main() -> ExitCode {
    let code = run();
    runtime::flush_output();
    match output::out::stdout_error() {
        Some(error) => {
            let drives =
                std::env::args().nth(1).is_some_and(|name| ENVELOPE_COMMANDS.contains(&name.as_str()));
            let last_run = if drives { "; `longhaul show @` shows the last run" } else { "" };
            let hint = format!("the output is incomplete: make stdout writable{last_run}");
            output::print_error(&format!("cannot write to stdout: {error}"), Some(&hint));
            runtime::flush_output();
            // A run whose terminal is gone still says how it ended.
            if code == ExitCode::SUCCESS { ExitCode::from(failure::UNEXPECTED_ERROR) } else { code }
        }
        None => code,
    }
}

fn exit_code(result: Result<u8, Failure>) -> ExitCode {
    result.map_or_else(
        |failure| {
            output::print_error(&failure.error, failure.hint.as_deref());
            ExitCode::from(failure.exit_code)
        },
        ExitCode::from,
    )
}

fn run() -> ExitCode {
    // A file that reaches the size limit is an error like a full disk. Unlike an ignored signal, a handler is
    // not inherited by agents.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    // Programs that run in every attempt, and hooks, for which an agent waits, skip the full parser. No
    // configuration applies to them.
    let mut raw = std::env::args_os();
    match raw.nth(1).as_deref().and_then(OsStr::to_str) {
        Some(commands::drill::AGENT_SUBCOMMAND) => return longhaul_drill::scripted::main(raw),
        Some(commands::hook::SUBCOMMAND) => return commands::hook::main(raw),
        Some(commands::watchdog::SUBCOMMAND) => return exit_code(commands::watchdog::main(raw)),
        Some(commands::finish_tool::SUBCOMMAND) => return exit_code(commands::finish_tool::finish_tool()),
        Some(_) | None => {}
    }
    if commands::completions::answer() {
        return ExitCode::SUCCESS;
    }
    output::wrap::measure_terminal();
    // The process ends with it: freeing the tree takes a twentieth of a short command.
    let mut command = ManuallyDrop::new(args::with_groups(Cli::command()));
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let of_openclawpack = openclawpack::arguments(&arguments);
    let is_openclawpack = of_openclawpack.is_some();
    let typed = of_openclawpack.unwrap_or(arguments);
    let configured = match config::arguments::configure(&mut command, &typed, &[]) {
        Ok(configured) => configured,
        Err(failure) => return exit_code(Err(failure)),
    };
    usage_tips::accept_texts_with_dash(&mut command, &typed);
    let parsed = command.try_get_matches_from_mut(&typed);
    let parsed = parsed.and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, matches)));
    let (mut cli, matches) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return output::usage::answer(&usage_tips::improved(error, &command, &typed)),
    };
    if let Some(failure) = configured.warning {
        output::print_warning(&format!("{}; continuing without it", failure.error), failure.hint.as_deref());
    }
    if cli.global.quiet {
        output::set_quiet();
    }
    cli.global.configured.values = configured.values;
    cli.resolve_format(&matches);
    if is_openclawpack {
        cli.global.is_openclawpack = true;
        cli.global.output_format.get_or_insert(OutputFormat::Json);
    }
    warn_of_variables(&cli, &command);
    warn_of_text_only(&cli);
    let format = output::format(&cli.global);
    let prints =
        (format != OutputFormat::Text || is_openclawpack) && !args::streams_events_to_stdout(&matches);
    let (_, matches) = matches.subcommand().expect("clap requires a subcommand");
    let result = match cli.command {
        Command::Run(args) => commands::run::run(&cli.global, &args),
        Command::Resume(args) => commands::run_or_workflow::resume(&cli.global, &args, matches),
        Command::Rerun(args) => commands::rerun::rerun(&cli.global, &args),
        Command::Research(args) => commands::research::research(&cli.global, &args, matches),
        Command::Loop(args) => commands::loop_workflow::run(&cli.global, &args, matches),
        Command::Gsd(args) => commands::gsd::gsd(&cli.global, &args, matches),
        Command::Hint(args) => commands::hint::hint(&args),
        Command::Recover(args) => commands::recover::recover(&cli.global, &args),
        Command::Attach(args) => commands::run_or_workflow::attach(&cli.global, &args),
        Command::Runs(args) => commands::runs::runs(&cli.global, &args),
        Command::Status(args) => commands::status::status(&cli.global, &args),
        Command::Cost(args) => commands::cost::cost(&cli.global, &args),
        Command::Gc(args) => commands::gc::gc(&cli.global, &args),
        Command::Ledger(command) => commands::ledger::ledger(&cli.global, command),
        Command::Show(args) => commands::show::show(&cli.global, &args),
        Command::Why(args) => commands::why::why(&cli.global, &args),
        Command::Logs(args) => commands::logs::logs(&cli.global, &args),
        Command::Diff(args) => commands::diff::diff(&cli.global, &args),
        Command::Report(args) => commands::report::report(&cli.global, &args),
        Command::Handoff(args) => commands::handoff::handoff(&args),
        Command::Cancel(args) => commands::cancel::cancel(&cli.global, &args),
        Command::Export(args) => commands::export::export(&cli.global, &args),
        Command::Import(args) => commands::import::import(&cli.global, &args),
        Command::Drill(args) => commands::drill::drill(&cli.global, &args),
        Command::Simulate(args) => commands::simulate::simulate(&cli.global, &args),
        Command::Doctor(args) => commands::doctor::doctor(&cli.global, &args),
        Command::Config(args) => commands::config::config(&cli.global, &args),
        Command::Schema(args) => commands::schema::schema(&cli.global, &args),
        Command::Completions(args) => commands::completions::completions(&args),
        Command::Man(args) => commands::man::man(&args),
        Command::Playbook(args) => commands::playbook::playbook(&cli.global, &args),
        Command::Mcp(args) => commands::mcp::mcp(&cli.global, &args),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            let failure = cli.global.configured.values.add_origin(failure);
            output::print_error(&failure.error, failure.hint.as_deref());
            // A program that reads JSON gets an envelope, except for wrong usage, which only people read.
            if prints && failure.exit_code != failure::USAGE {
                let mut envelope =
                    Envelope::without_run(failure.outcome, failure.exit_code, failure.fault, failure.error);
                let hint = failure.hint.filter(|hint| !hint.is_empty());
                envelope.errors.extend(hint.map(|hint| format!("hint: {hint}")));
                if let Some(run) = failure.run {
                    envelope.run.resume = Some(format!("longhaul recover {run}"));
                    envelope.run.next.extend(envelope.run.resume.clone());
                    envelope.run.id = Some(run.to_string());
                }
                output::print_without_run(&cli.global, envelope);
            }
            ExitCode::from(failure.exit_code)
        }
    }
}
