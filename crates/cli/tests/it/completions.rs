//! Completions and manual pages match the visible commands.

use crate::harness::{LONGHAUL, Stage};
use crate::server::{Server, WORK};
use crate::tidy;
use std::fs;

/// Returns the completions that fish receives for these words, the last of which is incomplete.
fn offered(stage: &Stage, words: &[&str]) -> Vec<String> {
    let call = stage.longhaul(["--", "longhaul"]).args(words).env("LONGHAUL_COMPLETE", "fish");
    let answer = call.output();
    assert_eq!((answer.code, answer.stderr.as_str()), (0, ""), "{answer:?}");
    let value = |line: &str| line.split('\t').next().unwrap_or_default().to_owned();
    answer.stdout.lines().map(value).collect()
}

#[test]
fn completions_offer_the_ids_and_names_of_runs() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    assert_eq!(offered(&stage, &["show", "o"]), Vec::<String>::new());
    assert!(!stage.home().exists(), "a completion creates nothing");
    let base_args = ["p", "--permission-mode", "bypassPermissions"];
    for id in ["one", "two"] {
        let run = stage.run(&stage.agent(), &base_args).args(["--run-id", id, "--name", "nightly"]);
        run.against(&server).output().envelope(0);
    }
    let first = offered(&stage, &["show", ""]);
    assert_eq!(first[..3], ["two", "nightly", "one"], "runs come before flags: {first:?}");
    for command in [
        "why", "logs", "diff", "report", "cancel", "attach", "resume", "rerun", "recover", "export",
        "handoff",
    ] {
        assert_eq!(offered(&stage, &[command, "ni"]), ["nightly"], "{command}");
    }
    assert_eq!(offered(&stage, &["playbook", "extract", "--run", "o"]), ["one"]);
    fs::write(stage.home().join("ledger.sqlite3"), "damaged").expect("writing succeeds");
    assert_eq!(offered(&stage, &["show", "o"]), Vec::<String>::new());
}

#[test]
fn bash_completes_run_ids() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    let base_args = ["p", "--permission-mode", "bypassPermissions", "--run-id", "onlyrun"];
    stage.run(&stage.agent(), &base_args).against(&server).output().envelope(0);
    let script = "source <(longhaul completions bash); COMP_WORDS=(longhaul show on); COMP_CWORD=2; COMP_TYPE=9; \
                  _clap_complete_longhaul longhaul on show; echo \"${COMPREPLY[@]}\"";
    let path = format!("{}:{}", LONGHAUL.rsplit_once('/').expect("a path").0, env!("PATH"));
    let completed = stage.program("bash").args(["-c", script]).env("PATH", path).output();
    assert_eq!((completed.code, completed.stdout.trim()), (0, "onlyrun"), "{completed:?}");
}

#[test]
fn commands_of_the_help_install_completions() {
    let stage = Stage::new();
    let help = stage.longhaul(["help", "completions"]).output().stdout;
    let mut commands: Vec<&str> = help.lines().filter(|line| line.contains(" ~/")).collect();
    commands.sort_by_key(|line| !line.contains("mkdir"));
    let path = format!("{}:{}", LONGHAUL.rsplit_once('/').expect("a path").0, env!("PATH"));
    let script = commands.join(" && ");
    let installed = stage.program("bash").args(["-c", &script]).env("PATH", path).output();
    assert_eq!(installed.code, 0, "{help}{installed:?}");
    for file in [
        ".local/share/bash-completion/completions/longhaul",
        ".config/fish/completions/longhaul.fish",
        ".config/elvish/rc.elv",
    ] {
        assert!(stage.user_home().join(file).is_file(), "no {file}: {help}");
    }
}

#[test]
fn help_command_equals_the_help_flag() {
    let stage = Stage::new();
    for command in [&["run"][..], &["playbook", "learn"]] {
        let by_command = stage.longhaul(["help"]).args(command).output();
        let by_flag = stage.longhaul(command).args(["--help"]).output();
        assert_eq!((by_command.code, &by_command.stdout), (0, &by_flag.stdout), "{command:?}");
    }
    let help = stage.longhaul(["help"]).output().stdout;
    let mistyped = stage.longhaul(["watchdo"]).output().stderr;
    for hidden in ["finish-tool", "drill-agent", "watchdog", "hook"] {
        assert!(!help.contains(hidden) && !mistyped.contains(hidden), "{hidden}: {help}{mistyped}");
    }
}

#[test]
fn completions_and_manual_pages_list_visible_commands() {
    let stage = Stage::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = stage.longhaul(["completions", shell]).output();
        assert_eq!(script.code, 0, "{shell}: {script:?}");
        assert!(script.stdout.contains("LONGHAUL_COMPLETE"), "{shell}: {script:?}");
    }
    let commands = offered(&stage, &[""]);
    for command in ["run", "simulate", "recover", "help"] {
        assert!(commands.iter().any(|offered| offered == command), "no {command} in {commands:?}");
    }
    for hidden in ["finish-tool", "drill-agent", "watchdog", "hook"] {
        assert!(!commands.iter().any(|offered| offered == hidden), "{hidden} in {commands:?}");
        assert_eq!(offered(&stage, &[hidden]), Vec::<String>::new());
    }
    let flags = offered(&stage, &["recover", "--"]);
    assert!(flags.iter().any(|flag| flag == "--active-within"), "{flags:?}");
    let flags = offered(&stage, &["run", "--de"]);
    assert_eq!(flags, ["--deny-tools", "--detach"]);
    let no_shell = stage.longhaul(["completions", "tcsh"]).output();
    assert_eq!(no_shell.code, 2, "{no_shell:?}");
    let dir = stage.folder().join("man");
    assert_eq!(stage.longhaul(["man", "--dir"]).args([&dir]).output().code, 0);
    let pages: Vec<String> = tidy::all_paths(&dir)
        .iter()
        .filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()))
        .collect();
    for page in ["longhaul.1", "longhaul-run.1", "longhaul-config-show.1"] {
        assert!(pages.iter().any(|found| found == page), "no {page} in {pages:?}");
    }
    assert!(!pages.iter().any(|page| page.contains("watchdog") || page.contains("drill-agent")), "{pages:?}");
    let run = fs::read_to_string(dir.join("longhaul-run.1")).expect("the file exists");
    assert!(
        run.contains("keep\\-going") && run.contains(".TH longhaul-run 1") && !run.contains("detached"),
        "{run}"
    );
    for path in tidy::all_paths(&dir).iter().filter(|path| path.is_file()) {
        let page = fs::read_to_string(path).expect("the file exists");
        for entry in page.split("\n.TP\n").skip(1) {
            let description = entry.lines().nth(1).unwrap_or_default();
            assert!(!description.is_empty() && !description.starts_with('.'), "{}: {entry}", path.display());
        }
    }
    let failed = stage.longhaul(["man", "--dir"]).args([stage.agent().join("man")]).output();
    assert_eq!(failed.code, 2, "{failed:?}");
    failed.assert_error(&["write manual pages to", "hint:"]);
}
